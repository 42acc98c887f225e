// Messages of PMI as launchers send them, and as nobody should.

#include "bootstrap/pmi_wire.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace atl::bootstrap::pmi {
namespace {

TEST(pmi_wire, lines_are_words_with_values) {
  message const got = parse_line("cmd=get_result rc=0 msg=success value=(vector,(0,2,2)) =x");
  EXPECT_EQ(got.command, "get_result");
  ASSERT_NE(got.find("value"), nullptr);
  EXPECT_EQ(*got.find("value"), "(vector,(0,2,2)) =x");
  EXPECT_EQ(*got.find("rc"), "0");
  EXPECT_EQ(got.find("cmd"), nullptr);
  EXPECT_EQ(got.find("nothing"), nullptr);
  EXPECT_EQ(*parse_line("cmd=a msg=key not found value=").find("msg"), "key not found");
  EXPECT_EQ(*parse_line("cmd=a value=b=c").find("value"), "b=c");
}

TEST(pmi_wire, fields_end_with_semicolons) {
  message const got = parse_fields("cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b=c;;;empty=;");
  EXPECT_EQ(got.command, "kvs-get-response");
  EXPECT_EQ(*got.find("value"), "a;b=c;");
  EXPECT_EQ(*got.find("empty"), "");
  std::string const printed = print_fields("kvs-put", {{"key", "k"}, {"value", "a;b"}});
  EXPECT_EQ(printed, "    29cmd=kvs-put;key=k;value=a;;b;");
  EXPECT_EQ(*parse_fields(printed.substr(6)).find("value"), "a;b");
}

TEST(pmi_wire, nonsense_is_refused) {
  for (char const* const line : {"", " ", "x", "cmd", "cmd=", "rc=0 cmd=a", "= =", "\x01\xff", "barrier_out"})
    EXPECT_THROW(parse_line(line), bootstrap_error) << line;
  for (char const* const text : {"", ";", "cmd=a", "cmd=a;b", "cmd=a;b;", "cmd=a;=b;", "=", "cmd=;", "cmd;",
                                 "rc=0;cmd=a;", "cmd=a;x=1;;"})
    EXPECT_THROW(parse_fields(text), bootstrap_error) << text;
  for (char const* const number : {"", " 1", "1 ", "x", "1x", "99999999999999999999", "-"})
    EXPECT_THROW(read_number(number, "rank"), bootstrap_error) << number;
  EXPECT_EQ(read_number("-1", "rc"), -1);
}

TEST(pmi_wire, what_cannot_be_understood_is_shown_safely) {
  try {
    parse_line("\x1b[31m" + std::string(5000, 'x'));
    FAIL();
  } catch (bootstrap_error const& error) {
    std::string const text = error.what();
    EXPECT_LT(text.size(), 200U);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
}

/// Neither crashes nor reads beyond: sanitizers watch.
TEST(pmi_wire, random_bytes_are_read_or_refused) {
  std::mt19937 random(7);
  std::string const alphabet = "cmd=rc;; ,()vector0123456789-\n\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string text = round % 2 == 0 ? "cmd=" : "";
    for (auto left = random() % 40; left > 0; --left) text += alphabet[random() % alphabet.size()];
    try {
      parse_line(text);
    } catch (bootstrap_error const&) {
    }
    try {
      parse_fields(text);
    } catch (bootstrap_error const&) {
    }
    try {
      from_letters(text);
    } catch (bootstrap_error const&) {
    }
    EXPECT_LE(read_process_mapping("(vector," + text + ")", 5).size(), 5U);
  }
}

TEST(pmi_wire, process_mappings) {
  using nodes = std::vector<std::int32_t>;
  EXPECT_EQ(read_process_mapping("(vector,(0,2,2))", 4), (nodes{0, 0, 1, 1}));
  EXPECT_EQ(read_process_mapping("(vector,(0,3,1))", 7), (nodes{0, 1, 2, 0, 1, 2, 0})) << "cyclic";
  EXPECT_EQ(read_process_mapping("(vector,(0,1,1),(1,1,3))", 4), (nodes{0, 1, 1, 1}));
  EXPECT_EQ(read_process_mapping("(vector,(5,1,8))", 2), (nodes{5, 5}));
  for (char const* const text :
       {"", "(vector)", "(vector,", "(vector,(0,2,2)", "(vector,(0,2,2)))", "(vector,(0,0,1))",
        "(vector,(0,1,0))", "(vector,(-1,1,1))", "(vector,(2147483647,2,1))", "(vector,(0,99999999999,1))",
        "(vector,(0,2))", "(other,(0,2,2))", "(vector,(0,2,2),)", "(vector,(0,2,2)x)"}) {
    EXPECT_TRUE(read_process_mapping(text, 4).empty()) << text;
  }
  EXPECT_TRUE(read_process_mapping("(vector,(0,2,2))", 0).empty());
}

TEST(pmi_wire, any_bytes_travel_as_letters) {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    std::string const text = to_letters(bytes);
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
    EXPECT_EQ(from_letters(text), bytes);
    bytes += static_cast<char>(length * 73);
  }
  EXPECT_THROW(from_letters("ab=c"), bootstrap_error);
}

/// What a peer that sends `text` and hangs up is taken for.
template <class Receive>
void expect_refused(std::string const& text, Receive receive) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::size_t const limit = 200'000;
  int const room = 1 << 20;
  ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  ASSERT_LE(text.size(), limit);
  ASSERT_EQ(::send(ends[1], text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT),
            static_cast<::ssize_t>(text.size()));
  ::close(ends[1]);
  stream with(ends[0]);
  EXPECT_THROW(receive(with), bootstrap_error) << text.substr(0, 100);
  ::close(ends[0]);
}

TEST(pmi_wire, streams_that_end_or_never_do) {
  auto const line = [](stream& from) { from.receive_line(); };
  auto const counted = [](stream& from) { from.receive_counted(); };
  expect_refused("", line);
  expect_refused("cmd=a", line);
  expect_refused(std::string(150'000, 'x'), line);
  for (char const* const text : {"", "    1", "     5cmd", "abcdef", "     x", "   -10cmd=finalize;",
                                 "999999", "      ", "1 2  3abcdefg", "0x0010"})
    expect_refused(text, counted);
}

TEST(pmi_wire, streams_come_in_pieces_or_together) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::string const all = "cmd=a x=1\n    6 cmd=b;6     cmd=c;\n";
  ASSERT_GT(::send(ends[1], all.data(), all.size(), 0), 0);
  stream with(ends[0]);
  EXPECT_EQ(with.receive_line(), "cmd=a x=1");
  EXPECT_EQ(with.receive_counted(), "cmd=b;");
  EXPECT_EQ(with.receive_counted(), "cmd=c;");
  EXPECT_EQ(with.receive_line(), "");
  ::close(ends[1]);
  EXPECT_THROW(with.send("cmd=x\n"), bootstrap_error);  // no signal
  ::close(ends[0]);
}

}  // namespace
}  // namespace atl::bootstrap::pmi
