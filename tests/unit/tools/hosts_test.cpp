// Hosts as users write them, their shares, and what launchers are told.

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "run/hosts/host_list.hpp"
#include "run/hosts/launchers.hpp"

namespace {

using namespace atl::tools;
using shares = std::vector<host_share>;

std::string complaint(auto const& what) {
  try {
    what();
  } catch (atl::startup_error const& error) {
    return error.what();
  }
  return "none";
}

TEST(Hosts, Lists) {
  EXPECT_EQ(parse_hosts("a", "x"), (shares{{"a", 0}}));
  EXPECT_EQ(parse_hosts("a,b-1.example.org:12,10.0.0.7", "x"),
            (shares{{"a", 0}, {"b-1.example.org", 12}, {"10.0.0.7", 0}}));
  EXPECT_EQ(parse_hosts("a,b,a,a:3", "x"), (shares{{"a", 5}, {"b", 0}}));
  EXPECT_EQ(parse_hosts("n[08-10,12]:2,m", "x"),
            (shares{{"n08", 2}, {"n09", 2}, {"n10", 2}, {"n12", 2}, {"m", 0}}));
  for (std::string const bad :
       {"",    "n[1", "n]",   "n[]", "n[2-1]", "n[1-2]]", "n[a]", "n[0-99999999]", "a,",         ",a",
        "a b", "a;b", "$(x)", "-a",  "a:",     "a:0",     "a:-1", "a:x",           "a:99999999", "a:4:4"})
    EXPECT_EQ(complaint([&] { parse_hosts(bad, "--hosts"); }).find("--hosts: `"), 0U) << bad;
}

TEST(Hosts, NoAddressesOfIpv6) {
  for (std::string const address :
       {"::1", "fe80::1%eth0", "[2001:db8::1]", "[2001:db8::1]:4", "2001:db8:0:0:0:0:0:1"})
    EXPECT_EQ(complaint([&] {
                parse_hosts(address, "--hosts");
              }).find("--hosts: `" + address + "` is an address of IPv6"),
              0U);
  EXPECT_EQ(complaint([] { parse_hosts("node1::4", "--hosts"); }), "--hosts: `:4` is no number of ranks");
}

TEST(Hosts, Files) {
  std::string const file = testing::TempDir() + "hosts_of_a_test";
  auto const with = [&](char const* text) {
    std::ofstream(file) << text;
    return read_hostfile(file);
  };
  EXPECT_EQ(with("# all\na slots=2\n\n  b:3 # more\nc max_slots=9\n"),
            (shares{{"a", 2}, {"b", 3}, {"c", 0}}));
  EXPECT_EQ(complaint([&] { with("a\nb slot=2\n"); }),
            file + ":2: `slot=2` is not understood; write for example: node1 slots=4");
  EXPECT_EQ(complaint([&] { with("a\n\nb;c\n"); }), file + ":3: `b;c` is no name of a host");
  EXPECT_EQ(complaint([&] { with("# none\n"); }), "--hostfile " + file + ": no host stands there");
  std::remove(file.c_str());
  EXPECT_EQ(complaint([&] { read_hostfile(file); }), "--hostfile " + file + ": it cannot be read");
  EXPECT_EQ(complaint([] { read_hostfile("/"); }), "--hostfile /: it cannot be read");
}

TEST(Hosts, Shares) {
  shares const three{{"a", 0}, {"b", 0}, {"c", 0}};
  EXPECT_EQ(deal_out(three, 0, 6), (shares{{"a", 2}, {"b", 2}, {"c", 2}}));
  EXPECT_EQ(deal_out(three, 0, 7), (shares{{"a", 3}, {"b", 2}, {"c", 2}}));
  EXPECT_EQ(deal_out(three, 2, 7), (shares{{"a", 4}, {"b", 3}}));
  EXPECT_EQ(deal_out(three, 0, 2), (shares{{"a", 1}, {"b", 1}}));
  EXPECT_EQ(deal_out(three, 0, 0), (shares{{"a", 1}, {"b", 1}, {"c", 1}}));
  shares const said{{"a", 4}, {"b", 0}, {"c", 2}};
  EXPECT_EQ(deal_out(said, 0, 0), (shares{{"a", 4}, {"b", 1}, {"c", 2}}));
  EXPECT_EQ(deal_out(said, 0, 5), (shares{{"a", 4}, {"b", 1}}));
  // Who says -N 2 means both.
  EXPECT_EQ(deal_out({{"a", 4}, {"b", 4}, {"c", 4}}, 2, 4), (shares{{"a", 2}, {"b", 2}}));
  EXPECT_EQ(deal_out({{"a", 4}, {"b", 4}}, 2, 5), (shares{{"a", 3}, {"b", 2}}));
  EXPECT_EQ(deal_out(said, 3, 6), (shares{{"a", 3}, {"b", 1}, {"c", 2}}));
  EXPECT_EQ(deal_out(said, 3, 1), (shares{{"a", 1}}));
  EXPECT_EQ(complaint([&] { deal_out(said, 0, 8); }).find("-n 8: the hosts have room for 7"), 0U);
  EXPECT_EQ(complaint([&] { deal_out(said, 4, 0); }), "-N 4: only 3 hosts are named");
}

class LauncherWords : public testing::Test {
 protected:
  LauncherWords() {
    options.path = "/bin/it";
    options.arguments = {"-x", "1"};
    start.hosts = {{"a", 2}, {"b", 2}};
    start.ranks = 4;
    start.variables = {"FOO"};
  }
  std::string words(launcher_kind kind, char const* mpi = "pmix") const {
    std::string text;
    for (std::string const& each : words_for({kind, "L", "", mpi}, start, options))
      text += (text.empty() ? "" : " ") + each;
    return text;
  }
  run_options options;
  cluster_start start;
};

TEST_F(LauncherWords, OfEach) {
  EXPECT_EQ(words(launcher_kind::openmpi), "L --host a:2,b:2 -n 4 -x FOO --oversubscribe /bin/it -x 1");
  EXPECT_EQ(words(launcher_kind::prterun),
            "L --host a:2,b:2 -n 4 -x FOO --map-by slot:oversubscribe /bin/it -x 1");
  EXPECT_EQ(words(launcher_kind::hydra), "L -hosts a:2,b:2 -n 4 /bin/it -x 1");
  EXPECT_EQ(
      words(launcher_kind::srun),
      "L --mpi=pmix --kill-on-bad-exit=1 --quit-on-interrupt --overcommit --export=ALL -w a,b -N 2 --ntasks-per-node 2 -m block -n 4 "
      "--input=0 /bin/it -x 1");
}

TEST_F(LauncherWords, OfOptions) {
  start.tagged = true;
  options.binding = binding_mode::numa;
  options.input = input_mode::none;
  EXPECT_EQ(
      words(launcher_kind::openmpi),
      "L --host a:2,b:2 -n 4 --tag-output --stdin none -x FOO --oversubscribe --bind-to numa /bin/it -x 1");
  EXPECT_EQ(words(launcher_kind::hydra),
            "L -hosts a:2,b:2 -n 4 -prepend-pattern <atoll:%r> -bind-to numa /bin/it -x 1");
  start = {};
  start.tagged = true;
  start.host_count = 3;
  EXPECT_EQ(
      words(launcher_kind::srun),
      "L --mpi=pmix --kill-on-bad-exit=1 --quit-on-interrupt --overcommit --export=ALL -N 3 --label --input=none --cpu-bind=ldoms /bin/it -x 1");
}

TEST_F(LauncherWords, OfSharesThatDiffer) {
  start.hosts = {{"b", 1}, {"a", 3}};
  EXPECT_EQ(
      words(launcher_kind::srun),
      "L --mpi=pmix --kill-on-bad-exit=1 --quit-on-interrupt --overcommit --export=ALL -m arbitrary -w b,a,a,a -n 4 --input=0 /bin/it -x 1");
  EXPECT_EQ(words(launcher_kind::hydra), "L -hosts b:1,a:3 -n 4 /bin/it -x 1");
}

TEST_F(LauncherWords, WhatIsRefused) {
  start.hosts = {{"a", 3}, {"b", 1}};
  options.input = input_mode::all;
  EXPECT_EQ(words(launcher_kind::hydra, "intel"), "L -hosts a:3,b:1 -n 4 -s all /bin/it -x 1");
  EXPECT_EQ(complaint([&] { words(launcher_kind::hydra); }).find("--stdin all: MPICH's Hydra hands input"),
            0U);
  options.terminal = true;
  EXPECT_EQ(complaint([&] { words(launcher_kind::openmpi); }).find("--pty: "), 0U);
  EXPECT_EQ(complaint([] { find_launcher("rsh", false); }),
            "--launcher rsh: not one of srun, mpirun, prterun, hydra");
  options.terminal = false;
  options.arguments = {"-x", ":", "1"};
  for (auto const each :
       {launcher_kind::openmpi, launcher_kind::prterun, launcher_kind::hydra, launcher_kind::srun})
    EXPECT_EQ(complaint([&] { words(each); }).find("the program's argument `:` begins another program"), 0U);
  options.arguments = {"a:b", "::"};
  EXPECT_EQ(words(launcher_kind::hydra, "intel"), "L -hosts a:3,b:1 -n 4 -s all /bin/it a:b ::");
}

}  // namespace
