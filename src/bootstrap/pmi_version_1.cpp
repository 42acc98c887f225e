// PMI-1: a line for each request, a line for each answer. Hydra's (MPICH, Intel MPI), Flux' and others' launchers.
//
//   cmd=init pmi_version=1 pmi_subversion=1        cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
//   cmd=get_maxes                                  cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024
//   cmd=get_my_kvsname                             cmd=my_kvsname kvsname=kvs_1_0
//   cmd=put kvsname=kvs_1_0 key=k value=v          cmd=put_result rc=0 msg=success
//   cmd=barrier_in                                 cmd=barrier_out
//   cmd=get kvsname=kvs_1_0 key=k                  cmd=get_result rc=0 msg=success value=v
//   cmd=finalize                                   cmd=finalize_ack
//   cmd=abort exitcode=1
//
// Older servers leave out `rc`, newer ones add it everywhere.

#include <algorithm>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/pmi_store.hpp"
#include "bootstrap/pmi_wire.hpp"

namespace atl::bootstrap::pmi {
namespace {

constexpr std::size_t enough_for_value = 16384;

class version_1 final : public store {
 public:
  version_1(int descriptor, std::int32_t rank, std::int32_t size) : stream_(descriptor) {
    rank_ = rank;
    size_ = size;
    message const hello = ask("init pmi_version=1 pmi_subversion=1", "response_to_init");
    if (std::string const* const version = hello.find("pmi_version"); version == nullptr || *version != "1") {
      throw bootstrap_error(
          format("the launcher does not speak version 1 of PMI, but %s",
                 version != nullptr ? version->substr(0, 20).c_str() : "none that it tells"));
    }
    std::int64_t const longest = read_number(ask("get_maxes", "maxes").need("vallen_max"), "vallen_max");
    // The length counts an end of string that some servers store.
    if (longest < 64)
      throw bootstrap_error(format("the launcher's PMI service stores values of %lld characters only",
                                   static_cast<long long>(longest)));
    longest_value_ = std::min(static_cast<std::size_t>(longest), enough_for_value) - 1;
    space_ = ask("get_my_kvsname", "my_kvsname").need("kvsname");
  }

  std::string process_mapping() override { return get("PMI_process_mapping").value_or(""); }
  void put(std::string const& key, std::string const& value) override {
    ask("put kvsname=" + space_ + " key=" + key + " value=" + value, "put_result");
  }
  void barrier() override { ask("barrier_in", "barrier_out"); }
  std::optional<std::string> get(std::string const& key) override {
    message const answer = exchange("get kvsname=" + space_ + " key=" + key, "get_result");
    if (answer.refused()) return std::nullopt;
    if (std::string const* const found = answer.find("found"); found != nullptr && *found == "FALSE")
      return std::nullopt;
    return answer.need("value");
  }
  void abort(int status) noexcept override {
    try {
      stream_.send(format("cmd=abort exitcode=%d\n", status));
    } catch (std::exception const&) {  // it is gone, and ends us as well
    }
  }
  void finalize() noexcept override {
    try {
      ask("finalize", "finalize_ack");
    } catch (std::exception const&) {  // as above
    }
  }

 private:
  message exchange(std::string const& request, std::string_view expected) {
    stream_.send("cmd=" + request + "\n");
    std::string const line = stream_.receive_line();
    message answer = parse_line(line);
    if (answer.command != expected) {
      throw bootstrap_error(format("the launcher's PMI service answers `%s` with `%s`",
                                   request.substr(0, 100).c_str(), line.substr(0, 100).c_str()));
    }
    return answer;
  }
  message ask(std::string const& request, std::string_view expected) {
    message answer = exchange(request, expected);
    answer.require_success(request, "msg");
    return answer;
  }

  stream stream_;
  std::string space_;  ///< name of the job's pairs
};

}  // namespace

std::unique_ptr<store> connect_version_1(int descriptor, std::int32_t rank, std::int32_t size) {
  return std::make_unique<version_1>(descriptor, rank, size);
}

}  // namespace atl::bootstrap::pmi
