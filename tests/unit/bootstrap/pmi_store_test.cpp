// Both versions of PMI's client against servers that are played here: good, old, and bad ones.

#include "bootstrap/pmi_store.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/pmi_wire.hpp"

namespace atl::bootstrap::pmi {
namespace {

/// Answers the client's requests, one after the other, with what it was given, whatever they are; then hangs up.
class played_server {
 public:
  played_server(std::vector<std::string> answers, bool counted) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    client_ = ends[0];
    thread_ = std::thread([this, server = ends[1], answers = std::move(answers), counted] {
      stream with(server);
      try {
        bool first = true;
        for (std::string const& answer : answers) {
          requests_.push_back(first || !counted ? with.receive_line() : with.receive_counted());
          with.send(answer);
          first = false;
        }
      } catch (bootstrap_error const&) {  // the client has had enough
      }
      ::close(server);
    });
  }
  played_server(played_server const&) = delete;
  played_server& operator=(played_server const&) = delete;
  ~played_server() { end(); }

  [[nodiscard]] int client() const { return client_; }
  /// All requests, after the end.
  std::vector<std::string> const& end() {
    if (client_ >= 0) {
      ::shutdown(client_, SHUT_RDWR);
      thread_.join();
      ::close(client_);
      client_ = -1;
    }
    return requests_;
  }

 private:
  int client_ = -1;
  std::thread thread_;
  std::vector<std::string> requests_;
};

std::string counted(std::string const& text) { return format("%6zu", text.size()) + text; }

std::vector<std::string> with_start_1(std::vector<std::string> more) {
  std::vector<std::string> all{"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                               "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0\n",
                               "cmd=my_kvsname kvsname=kvs_7_0 rc=0\n"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
std::vector<std::string> with_start_2(std::vector<std::string> more) {
  std::vector<std::string> all{
      "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n",
      counted(
          "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=4;appnum=0;debugged=FALSE;pmiverbose=FALSE;")};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(pmi_version_1, requests_and_answers) {
  played_server server(
      with_start_1({"cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n",
                    "cmd=put_result rc=0 msg=success\n", "cmd=barrier_out\n", "cmd=get_result rc=0 value=v\n",
                    "cmd=get_result rc=-1 msg=key_x_not_found value=unknown\n",
                    "cmd=get_result found=FALSE\n", "cmd=finalize_ack\n"}),
      false);
  auto const with = connect_version_1(server.client(), 1, 4);
  EXPECT_EQ(with->rank(), 1);
  EXPECT_EQ(with->size(), 4);
  EXPECT_EQ(with->longest_value(), 1023U);
  EXPECT_EQ(with->process_mapping(), "(vector,(0,2,2))");
  with->put("k", "v");
  with->barrier();
  EXPECT_EQ(with->get("k"), "v");
  EXPECT_EQ(with->get("x"), std::nullopt);
  EXPECT_EQ(with->get("y"), std::nullopt);
  with->finalize();
  std::vector<std::string> const expected{"cmd=init pmi_version=1 pmi_subversion=1",
                                          "cmd=get_maxes",
                                          "cmd=get_my_kvsname",
                                          "cmd=get kvsname=kvs_7_0 key=PMI_process_mapping",
                                          "cmd=put kvsname=kvs_7_0 key=k value=v",
                                          "cmd=barrier_in",
                                          "cmd=get kvsname=kvs_7_0 key=k",
                                          "cmd=get kvsname=kvs_7_0 key=x",
                                          "cmd=get kvsname=kvs_7_0 key=y",
                                          "cmd=finalize"};
  EXPECT_EQ(server.end(), expected);
}

TEST(pmi_version_2, requests_and_answers) {
  played_server server(
      with_start_2({counted("cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2));"),
                    counted("cmd=kvs-put-response;rc=0;"), counted("cmd=kvs-fence-response;rc=0;"),
                    counted("cmd=kvs-get-response;rc=0;found=TRUE;value=v;;w;"),
                    counted("cmd=kvs-get-response;rc=0;found=FALSE;"),
                    counted("cmd=finalize-response;rc=0;")}),
      true);
  auto const with = connect_version_2(server.client(), 1, "12.0");
  EXPECT_EQ(with->rank(), 1);
  EXPECT_EQ(with->size(), 4);
  EXPECT_EQ(with->process_mapping(), "(vector,(0,2,2))");
  with->put("k", "v;w");
  with->barrier();
  EXPECT_EQ(with->get("k"), "v;w");
  EXPECT_EQ(with->get("x"), std::nullopt);
  with->finalize();
  std::vector<std::string> const expected{"cmd=init pmi_version=2 pmi_subversion=0",
                                          "cmd=fullinit;pmijobid=12.0;pmirank=1;threaded=FALSE;",
                                          "cmd=info-getjobattr;key=PMI_process_mapping;",
                                          "cmd=kvs-put;key=k;value=v;;w;",
                                          "cmd=kvs-fence;",
                                          "cmd=kvs-get;jobid=12.0;srcid=-1;key=k;",
                                          "cmd=kvs-get;jobid=12.0;srcid=-1;key=x;",
                                          "cmd=finalize;"};
  EXPECT_EQ(server.end(), expected);
}

TEST(pmi_version_1, servers_that_do_not_speak_it) {
  std::vector<std::vector<std::string>> const bad{
      {},
      {"\n"},
      {"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"},
      {"cmd=response_to_init rc=-1\n"},
      {"cmd=response_to_init rc=0\n"},
      {"cmd=barrier_out\n"},
      {"HTTP/1.1 400 Bad Request\n"},
      {"cmd=response_to_init pmi_version=1 pmi_subversion=1\n"},
      {"cmd=response_to_init pmi_version=1 pmi_subversion=1\n", "cmd=maxes\n"},
      {"cmd=response_to_init pmi_version=1 pmi_subversion=1\n", "cmd=maxes vallen_max=-5\n"},
      {"cmd=response_to_init pmi_version=1 pmi_subversion=1\n", "cmd=maxes vallen_max=many\n"},
      {"cmd=response_to_init pmi_version=1 pmi_subversion=1\n", "cmd=maxes vallen_max=1024\n",
       "cmd=my_kvsname\n"},
  };
  for (auto const& answers : bad) {
    played_server server(answers, false);
    EXPECT_THROW(connect_version_1(server.client(), 0, 2), bootstrap_error)
        << (answers.empty() ? "" : answers.back());
  }
  played_server generous(with_start_1({}), false);
  EXPECT_NO_THROW(connect_version_1(generous.client(), 0, 2));
}

TEST(pmi_version_2, servers_that_do_not_speak_it) {
  std::string const hello = "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n";
  std::vector<std::vector<std::string>> const bad{
      {},
      {"cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"},
      {"cmd=response_to_init rc=14 pmi_version=2\n"},
      {hello},
      {hello, "cmd=fullinit-response;rc=0;rank=0;size=2;"},  // no length
      {hello, counted("cmd=fullinit-response;rc=0;size=2;")},
      {hello, counted("cmd=fullinit-response;rc=0;rank=2;size=2;")},
      {hello, counted("cmd=fullinit-response;rc=0;rank=-1;size=2;")},
      {hello, counted("cmd=fullinit-response;rc=0;rank=0;size=99999999999;")},
      {hello, counted("cmd=fullinit-response;rc=3;errmsg=no;rank=0;size=2;")},
      {hello, counted("cmd=finalize-response;rc=0;")},
      {hello, "999999cmd=fullinit-response;"},
  };
  for (auto const& answers : bad) {
    played_server server(answers, true);
    EXPECT_THROW(connect_version_2(server.client(), 0, "1.0"), bootstrap_error)
        << (answers.empty() ? "" : answers.back());
  }
}

TEST(pmi_stores, servers_that_fail_later) {
  for (char const* const answer :
       {"cmd=put_result rc=-1 msg=duplicate_key\n", "cmd=get_result rc=0 value=v\n", "junk\n"}) {
    played_server server(with_start_1({answer}), false);
    auto const with = connect_version_1(server.client(), 0, 2);
    EXPECT_THROW(with->put("k", "v"), bootstrap_error) << answer;
  }
  played_server gone(with_start_2({}), true);
  auto const with = connect_version_2(gone.client(), 0, "1.0");
  EXPECT_THROW(with->barrier(), bootstrap_error);
  // On the way down nothing throws.
  with->abort(3);
  with->finalize();
}

}  // namespace
}  // namespace atl::bootstrap::pmi
