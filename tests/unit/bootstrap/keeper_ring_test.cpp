// Rings of keepers, each with ranks that are processes: who hears of what, who ends, and what is said.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/os/own_namespace.hpp"
#include "bootstrap/keeper/keeper.hpp"
#include "bootstrap/keeper/post.hpp"

namespace {

using namespace atl::keeping;

constexpr std::uint32_t usual_patience_ms = 2000;
constexpr std::size_t frames_in_patience = 20;
/// So long that the first host has spoken before the next one's turn also where it is seldom given a core.
constexpr std::int64_t long_turn_ms = 1000;
/// After which something will not happen any more.
constexpr std::chrono::seconds too_long{60};

/// What lies between a keeper and the next one: a link that can become silent, as TCP is after a cut, for the connections of that time.
class link_between {
 public:
  link_between() {
    listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at = loopback(0);
    ::socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
  }

  /// Where to call instead of there.
  [[nodiscard]] card leading_to(card const& there) {
    behind_ = there.addresses[0].port;
    card mine = there;
    mine.addresses = {};
    mine.addresses[0] = {4, port_, 0, {127, 0, 0, 1}};
    return mine;
  }

  /// To here, of which nothing becomes.
  [[nodiscard]] int connection() const {
    int const made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in const at = loopback(port_);
    EXPECT_EQ(::connect(made, reinterpret_cast<sockaddr const*>(&at), sizeof at), 0);
    return made;
  }

  void silence() { pairs_.clear(), kept_ = std::move(all_); }

  /// Carries what there is to carry, until so many bytes have gone both ways over one connection; false: not in time.
  bool carry(std::size_t least) {
    auto const end = std::chrono::steady_clock::now() + too_long;
    while (std::chrono::steady_clock::now() < end) {
      std::vector<pollfd> found{{listener_.get(), POLLIN, 0}};
      for (auto const& [from, to] : pairs_) found.push_back({from, POLLIN, 0});
      ::poll(found.data(), found.size(), 100);
      for (std::size_t i = 1; i < found.size(); ++i) {
        std::array<char, 4096> piece;
        if (found[i].revents == 0) continue;
        ::ssize_t const got = ::recv(found[i].fd, piece.data(), piece.size(), MSG_DONTWAIT);
        int const to = pairs_[i - 1].second;
        if (got <= 0) {
          ::shutdown(to, SHUT_WR);
          pairs_[i - 1].first = -1;
          continue;
        }
        EXPECT_EQ(::send(to, piece.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL), got);
        carried_[i - 1] += static_cast<std::size_t>(got);
      }
      if (found[0].revents != 0) take_call();
      for (std::size_t i = 0; i + 1 < carried_.size(); i += 2) {
        if (carried_[i] >= least && carried_[i + 1] >= least && pairs_[i].first >= 0) return true;
      }
    }
    return false;
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
  }

  void take_call() {
    atl::os::unique_fd caller(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    atl::os::unique_fd called(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in const at = loopback(behind_);
    if (::connect(called.get(), reinterpret_cast<sockaddr const*>(&at), sizeof at) != 0) return;
    if (pairs_.empty()) carried_.clear();
    pairs_.emplace_back(caller.get(), called.get());
    pairs_.emplace_back(called.get(), caller.get());
    carried_.resize(pairs_.size());
    all_.push_back(std::move(caller));
    all_.push_back(std::move(called));
  }

  atl::os::unique_fd listener_;
  std::uint16_t port_ = 0;
  std::uint16_t behind_ = 0;
  std::vector<std::pair<int, int>> pairs_;
  std::vector<std::size_t> carried_;
  std::vector<atl::os::unique_fd> all_;
  std::vector<atl::os::unique_fd> kept_;  ///< which are silent
};

int lifeline_to_close = -1;

class KeeperRing : public testing::Test {
 protected:
  struct host {
    post at;
    place* board = nullptr;
    std::vector<::pid_t> ranks;
    ::pid_t keeper = -1;
  };

  void SetUp() override { ASSERT_EQ(::pipe2(said_, O_CLOEXEC | O_NONBLOCK), 0); }
  void TearDown() override {
    for (host const& each : hosts_) {
      for (::pid_t const rank : each.ranks) ::kill(rank, SIGKILL);
      ::kill(each.keeper, SIGKILL);
    }
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    ::close(said_[0]);
    ::close(said_[1]);
  }

  /// A ring of hosts of two ranks, which do nothing.
  void start(std::uint32_t count) {
    start_ranks(count);
    for (std::uint32_t h = 0; h < count; ++h) start_keeper(h);
  }
  void start_ranks(std::uint32_t count) {
    for (std::uint32_t h = 0; h < count; ++h) {
      host one;
      one.at = open_post(atl::format("host%u", h),
                         words_of_ranks({static_cast<int>(2 * h), static_cast<int>(2 * h + 1)}), "lo");
      one.board = static_cast<place*>(
          ::mmap(nullptr, 2 * sizeof(place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
      for (std::uint32_t local = 0; local < 2; ++local)
        one.ranks.push_back(start_rank(one.board[local], 2 * h + local));
      hosts_.push_back(std::move(one));
    }
  }

  static ::pid_t start_rank(place& where, std::uint32_t rank) {
    int lifeline[2];
    EXPECT_EQ(::pipe2(lifeline, O_CLOEXEC), 0);
    ::pid_t const pid = ::fork();
    if (pid == 0) {
      lifeline_to_close = lifeline[1];
      ::signal(SIGUSR1, [](int) { ::close(lifeline_to_close); });
      for (;;) ::pause();
    }
    for (int const each : lifeline) ::close(each);
    where.pid = pid;
    where.lifeline = lifeline[0];
    where.rank = static_cast<std::int32_t>(rank);
    where.pid_namespace = atl::os::own_namespace("pid");
    where.how = standing::runs;
    return pid;
  }

  /// Returns when it has.
  static void close_lifeline(::pid_t rank) {
    auto const open = [rank] {
      std::size_t pipes = 0;
      for (auto const& each :
           std::filesystem::directory_iterator(atl::format("/proc/%d/fd", static_cast<int>(rank)))) {
        std::error_code gone;
        pipes += std::filesystem::read_symlink(each, gone).string().starts_with("pipe:") ? 1 : 0;
      }
      return pipes;
    };
    std::size_t const before = open();
    ::kill(rank, SIGUSR1);
    auto const end = std::chrono::steady_clock::now() + too_long;
    while (open() == before && std::chrono::steady_clock::now() < end) ::usleep(1000);
    EXPECT_EQ(open(), before - 1);
  }

  void start_keeper(std::uint32_t h) {
    orders what{};
    what.version = orders_version;
    what.host = h;
    what.hosts = static_cast<std::uint32_t>(hosts_.size());
    what.local_ranks = 2;
    what.patience_ms = patience_ms_;
    what.picture_ms = picture_ms_;
    what.launchers_turn_ms = launchers_turn_ms_;
    what.secret.fill(7);
    what.mine = hosts_[h].at.mine;
    what.next = hosts_[(h + 1) % hosts_.size()].at.mine;
    if (h == 0 && link_ != nullptr) what.next = link_->leading_to(what.next);
    if (h == 0 && further_ != nullptr) what.next.addresses = {what.next.addresses[0], further_address_};
    what.previous = hosts_[(h + hosts_.size() - 1) % hosts_.size()].at.mine;
    what.listeners = static_cast<std::uint32_t>(hosts_[h].at.listeners.size());
    hosts_[h].keeper = ::fork();
    if (hosts_[h].keeper != 0) return;
    ::dup2(said_[1], STDERR_FILENO);
    ::signal(SIGQUIT, &ask_for_picture);
    std::vector<atl::os::unique_fd> listeners = std::move(hosts_[h].at.listeners);
    for (host& each : hosts_) each.at.listeners.clear();
    keeper(what, hosts_[h].board, std::move(listeners), pidfds_, long_turn_ms).run();
    ::_exit(0);
  }

  /// Waits for processes to end: by which signal each did, in order; -1: it was not ended in time.
  static std::vector<int> ended(std::vector<::pid_t> const& which) {
    std::vector<int> how(which.size(), -1);
    auto const end = std::chrono::steady_clock::now() + too_long;
    for (std::size_t i = 0; i < which.size();) {
      int status = 0;
      if (::waitpid(which[i], &status, WNOHANG) == which[i]) {
        how[i++] = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      } else if (std::chrono::steady_clock::now() > end) {
        ++i;
      } else {
        ::usleep(1000);
      }
    }
    return how;
  }
  [[nodiscard]] std::vector<::pid_t> ranks_but(std::set<std::size_t> const& but) const {
    std::vector<::pid_t> all;
    for (std::size_t r = 0; r < 2 * hosts_.size(); ++r) {
      if (!but.contains(r)) all.push_back(hosts_[r / 2].ranks[r % 2]);
    }
    return all;
  }
  [[nodiscard]] std::vector<::pid_t> keepers_but(std::set<std::size_t> const& but) const {
    std::vector<::pid_t> all;
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      if (!but.contains(h)) all.push_back(hosts_[h].keeper);
    }
    return all;
  }
  std::string said() const {
    std::array<char, 8192> text{};
    ::ssize_t const got = ::read(said_[0], text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<::ssize_t>(got, 0))};
  }
  /// What has been said when all hosts have shown their ranks.
  [[nodiscard]] std::string pictures(std::string text = {}) const {
    auto const shown = [&] {
      std::size_t found = 0;
      for (std::size_t at = 0; (at = text.find("what its ranks are doing", at)) != std::string::npos; ++at)
        ++found;
      return found;
    };
    await([&] {
      text += said();
      return shown() >= hosts_.size();
    });
    return text;
  }
  /// Of three hosts, and nothing else.
  static void expect_one_table_each(std::string const& text) {
    for (char const* const name : {"host0", "host1", "host2"}) {
      std::string const head = std::string("atoll: host ") + name + ": what its ranks are doing:\n    rank";
      EXPECT_NE(text.find(head), std::string::npos) << text;
      EXPECT_EQ(text.find(head), text.rfind(head)) << text;
    }
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 * 4) << text;
  }
  /// False: not in time.
  static bool await(std::function<bool()> const& holds, std::chrono::seconds limit = too_long) {
    auto const end = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      ::usleep(1000);
    }
    return true;
  }
  /// Until the ring stands, as ranks are told.
  void settle() const {
    for (host const& each : hosts_)
      EXPECT_TRUE(await([&] { return each.board[0].met.load() == meeting::held; }));
  }
  /// For what must not happen to happen.
  static void let_pass() { ::usleep(300'000); }

  bool pidfds_ = true;
  std::uint32_t picture_ms_ = 0;
  std::uint32_t launchers_turn_ms_ = 1000;
  std::uint32_t patience_ms_ = usual_patience_ms;
  /// Two hosts that have a further way between them, which is `link`; the ranks of the first use it, or not.
  void start_with_further_way(link_between& link, bool used) {
    atl::os::unique_fd const connection(used ? connection_over_lo() : -1);
    start_ranks(2);
    post further = open_post("host1", "", "lo");
    further_ = &link;
    further_address_ = link.leading_to(further.mine).addresses[0];
    hosts_[1].at.listeners.push_back(std::move(further.listeners[0]));
    for (std::uint32_t h = 0; h < 2; ++h) start_keeper(h);
    ASSERT_TRUE(link.carry(1000));
  }
  static int connection_over_lo() {
    static link_between somewhere;
    return somewhere.connection();
  }
  void expect_good_end() {
    for (host const& each : hosts_) {
      for (std::size_t local = 0; local < 2; ++local) each.board[local].how = standing::may_end;
      for (::pid_t const rank : each.ranks) EXPECT_EQ(::kill(rank, SIGKILL), 0);
    }
    EXPECT_EQ(ended(ranks_but({})), std::vector<int>(2 * hosts_.size(), SIGKILL));
    EXPECT_EQ(ended(keepers_but({})), std::vector<int>(hosts_.size(), 0));
    EXPECT_EQ(said(), "");
  }

  /// To the keeper of a host, by whoever finds its port.
  [[nodiscard]] atl::os::unique_fd stranger(std::size_t h, std::string_view says) const {
    address const& there = hosts_[h].at.mine.addresses[0];
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(there.port);
    std::memcpy(&at.sin_addr, there.bytes.data(), sizeof at.sin_addr);
    atl::os::unique_fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(made.get(), reinterpret_cast<sockaddr const*>(&at), sizeof at), 0);
    EXPECT_EQ(::send(made.get(), says.data(), says.size(), MSG_NOSIGNAL),
              static_cast<::ssize_t>(says.size()));
    return made;
  }
  /// Until the other side has closed it; what it said before.
  static std::string until_closed(atl::os::unique_fd const& connection) {
    std::string all;
    timeval const patience{too_long.count(), 0};
    ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::array<char, 512> piece{};
    ::ssize_t got = 0;
    while ((got = ::recv(connection.get(), piece.data(), piece.size(), 0)) > 0)
      all.append(piece.data(), static_cast<std::size_t>(got));
    EXPECT_TRUE(got == 0 || errno == ECONNRESET) << "it is kept";
    return all;
  }

  link_between* link_ = nullptr;     ///< between the first two
  link_between* further_ = nullptr;  ///< between them, beside the way by which they meet
  address further_address_{};
  std::vector<host> hosts_;
  int said_[2] = {-1, -1};
};

TEST_F(KeeperRing, AllEndAsTheyShould) {
  start(3);
  settle();
  for (host const& each : hosts_) {
    for (std::size_t local = 0; local < 2; ++local) each.board[local].how = standing::may_end;
    for (::pid_t const rank : each.ranks) ::kill(rank, SIGKILL);
    ::usleep(50'000);
  }
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(3, 0));
  EXPECT_EQ(said(), "");
}

/// A pager at its first page. Who says nothing to its neighbours counts as lost.
TEST_F(KeeperRing, NobodyWaitsForAReaderWhoHasStopped) {
  std::array<char, 4096> const filling{};
  while (::write(said_[1], filling.data(), filling.size()) > 0) {
  }
  ::fcntl(said_[1], F_SETFL, ::fcntl(said_[1], F_GETFL) & ~O_NONBLOCK);
  start(2);
  settle();
  ::kill(hosts_[0].keeper, SIGQUIT);
  ::usleep(usual_patience_ms * 1500);
  for (::pid_t const rank : ranks_but({})) EXPECT_EQ(::waitpid(rank, nullptr, WNOHANG), 0);
  EXPECT_THAT(pictures(), testing::EndsWith("\n"));
  expect_good_end();
}

TEST(Post, ADeviceIsFoundByANetworksNameOfIt) {
  for (char const* const devices : {"lo", "none,lo:1", "tcp/lo", "tcp;ofi_rxm/lo"}) {
    address const first = open_post("host", "", devices).mine.addresses[0];
    EXPECT_TRUE(first.family == 4 && first.bytes[0] == 127) << devices;
  }
}

TEST_F(KeeperRing, ARankIsKilled) {
  start(3);
  settle();
  ::kill(hosts_[1].ranks[1], SIGKILL);
  EXPECT_EQ(ended(ranks_but({3})), std::vector<int>(5, SIGTERM));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(3, 0));
  EXPECT_EQ(
      said(),
      "atoll: host host0: rank 3 on host host1 has ended without upcxx::finalize(), killed perhaps; the job ends\n");
}

/// Launchers end the others of a host at once: a keeper that was late to look has found several that have ended.
TEST_F(KeeperRing, TheFirstRankOfAHostToEndIsTheOneThatIsToldOf) {
  start(3);
  settle();
  ::kill(hosts_[1].keeper, SIGSTOP);
  for (::pid_t const rank : {hosts_[1].ranks[1], hosts_[1].ranks[0]}) {
    ::kill(rank, SIGKILL);
    EXPECT_EQ(ended({rank}), std::vector<int>{SIGKILL});
  }
  ::kill(hosts_[1].keeper, SIGCONT);
  EXPECT_EQ(ended(ranks_but({2, 3})), std::vector<int>(4, SIGTERM));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(3, 0));
  EXPECT_EQ(
      said(),
      "atoll: host host0: rank 3 on host host1 has ended without upcxx::finalize(), killed perhaps; the job ends\n");
}

/// The system may be done with what a launcher ends before it is with the one of which that was the end.
TEST_F(KeeperRing, WhoHasClosedItsFilesFirstIsTheOneThatIsToldOf) {
  start(3);
  settle();
  ::kill(hosts_[1].keeper, SIGSTOP);
  close_lifeline(hosts_[1].ranks[1]);
  for (::pid_t const rank : hosts_[1].ranks) {
    ::kill(rank, SIGKILL);
    EXPECT_EQ(ended({rank}), std::vector<int>{SIGKILL});
  }
  ::kill(hosts_[1].keeper, SIGCONT);
  EXPECT_EQ(ended(ranks_but({2, 3})), std::vector<int>(4, SIGTERM));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(3, 0));
  EXPECT_NE(said().find("rank 3 on host host1 has ended"), std::string::npos);
}

TEST_F(KeeperRing, WhoHasClosedItsFilesAndRunsIsNotToldOf) {
  start(3);
  settle();
  close_lifeline(hosts_[1].ranks[1]);
  ::kill(hosts_[1].ranks[0], SIGKILL);
  EXPECT_EQ(ended(ranks_but({2})), std::vector<int>(5, SIGTERM));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(3, 0));
  EXPECT_NE(said().find("rank 2 on host host1 has ended"), std::string::npos);
}

/// Where a launcher that hears of the end of that host ends all others before they have spoken.
TEST_F(KeeperRing, AKeeperWithoutRanksStaysUntilTheFallIsTold) {
  patience_ms_ = 10 * usual_patience_ms;
  start(3);
  settle();
  std::vector<::pid_t> const others = {hosts_[1].keeper, hosts_[2].keeper};
  for (::pid_t const each : others) ::kill(each, SIGSTOP);
  for (::pid_t const rank : hosts_[0].ranks) {
    ::kill(rank, SIGKILL);
    EXPECT_EQ(ended({rank}), std::vector<int>{SIGKILL});
  }
  ::usleep(launchers_turn_ms_ * 1500);
  EXPECT_EQ(::waitpid(hosts_[0].keeper, nullptr, WNOHANG), 0);
  for (::pid_t const each : others) ::kill(each, SIGCONT);
  std::string text;
  bool gone = false;
  EXPECT_TRUE(await([&] {
    gone = gone || ::waitpid(hosts_[0].keeper, nullptr, WNOHANG) != 0;
    text += said();
    return gone || !text.empty();
  }));
  // One that has ranks speaks, since launchers may take nothing any more from a host that has none.
  EXPECT_EQ(
      text,
      "atoll: host host1: rank 0 on host host0 has ended without upcxx::finalize(), killed perhaps; the job ends\n");
  EXPECT_EQ(ended(ranks_but({0, 1})), std::vector<int>(4, SIGTERM));
  EXPECT_EQ(ended(others), std::vector<int>(2, 0));
  EXPECT_EQ(said(), "");
}

TEST_F(KeeperRing, NobodyStaysForAHostThatWillTellNothing) {
  launchers_turn_ms_ = 1000 * 2 * static_cast<std::uint32_t>(too_long.count());
  start(4);
  settle();
  for (::pid_t const pid : {hosts_[1].keeper, hosts_[1].ranks[0], hosts_[1].ranks[1]}) ::kill(pid, SIGKILL);
  for (::pid_t const rank : ranks_but({2, 3})) ::kill(rank, SIGKILL);
  EXPECT_EQ(ended(keepers_but({1})), std::vector<int>(3, 0));
  EXPECT_EQ(said(), "");
}

TEST_F(KeeperRing, AJobThatIsStoppedAsAWholeGoesOn) {
  start(2);
  settle();
  std::vector<::pid_t> all = keepers_but({});
  for (::pid_t const rank : ranks_but({})) all.push_back(rank);
  for (::pid_t const each : all) ::kill(each, SIGSTOP);
  ::usleep(patience_ms_ * 1500);
  for (::pid_t const each : all) ::kill(each, SIGCONT);
  let_pass();
  expect_good_end();
}

TEST_F(KeeperRing, SystemsWithoutPidfds) {
  pidfds_ = false;
  start(2);
  settle();
  ::kill(hosts_[1].ranks[1], SIGKILL);
  EXPECT_EQ(ended(ranks_but({3})), std::vector<int>(3, SIGTERM));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(2, 0));
  EXPECT_EQ(
      said(),
      "atoll: host host0: rank 3 on host host1 has ended without upcxx::finalize(), killed perhaps; the job ends\n");
}

TEST_F(KeeperRing, RanksThatIgnoreSignalsAreKilled) {
  start(2);
  settle();
  // Stopped ones do not end by SIGTERM.
  ::kill(hosts_[0].ranks[0], SIGSTOP);
  ::kill(hosts_[1].ranks[1], SIGKILL);
  EXPECT_EQ(ended(ranks_but({0, 3})), std::vector<int>(2, SIGTERM));
  EXPECT_EQ(ended({hosts_[0].ranks[0]}), std::vector<int>{SIGKILL});
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(2, 0));
}

TEST_F(KeeperRing, RanksThatHaveFinalizedAreLeftAlone) {
  start(2);
  settle();
  hosts_[0].board[0].how = standing::may_end;
  ::kill(hosts_[1].ranks[1], SIGKILL);
  EXPECT_EQ(ended(ranks_but({0, 3})), std::vector<int>(2, SIGTERM));
  ::usleep(1'200'000);
  EXPECT_EQ(::waitpid(hosts_[0].ranks[0], nullptr, WNOHANG), 0);
  EXPECT_EQ(ended(keepers_but({0})), std::vector<int>{0});
}

TEST_F(KeeperRing, WhatALauncherEndsIsNoNews) {
  start(3);
  settle();
  for (host const& each : hosts_) {
    for (::pid_t const rank : each.ranks) ::kill(rank, SIGKILL);
    ::usleep(100'000);
  }
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(3, 0));
  EXPECT_EQ(said(), "");
}

TEST_F(KeeperRing, WhoEndsTheJobHasSaidWhy) {
  start(3);
  settle();
  hosts_[2].board[0].how = standing::ends_job;
  ::kill(hosts_[2].ranks[0], SIGKILL);
  EXPECT_EQ(ended(ranks_but({4})), std::vector<int>(5, SIGTERM));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(3, 0));
  EXPECT_EQ(said(), "");
}

TEST_F(KeeperRing, WhoIsEndedBeforeTheOneThatHasSaidWhyIsNoNews) {
  start(3);
  settle();
  hosts_[2].board[0].how = standing::ends_job;
  ::kill(hosts_[2].ranks[1], SIGKILL);
  EXPECT_EQ(ended(ranks_but({5})), std::vector<int>(5, SIGTERM));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(3, 0));
  EXPECT_EQ(said(), "");
}

TEST_F(KeeperRing, OneHostExplainsAMistakeOfSeveral) {
  start(4);
  settle();
  auto const explained = [this](std::size_t h) { return hosts_[h].board[1].explained.load(); };
  for (std::size_t const h : {1, 2}) hosts_[h].board[0].how = standing::ends_job;
  for (std::size_t const h : {0, 2, 3}) await([&] { return explained(h) != 0; });
  EXPECT_EQ(explained(0), 1U);
  EXPECT_EQ(explained(1), 0U);
  EXPECT_EQ(explained(2), 1U);
  EXPECT_EQ(explained(3), 1U);
  // Nobody is ended over it: a debugger may be waited for.
  EXPECT_EQ(::waitpid(hosts_[3].ranks[0], nullptr, WNOHANG), 0);
  // One that comes later is not the first, whatever its number.
  hosts_[0].board[0].how = standing::ends_job;
  let_pass();
  EXPECT_EQ(explained(0), 1U);
  for (::pid_t const rank : ranks_but({})) ::kill(rank, SIGKILL);
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(4, 0));
  EXPECT_EQ(said(), "");
}

TEST_F(KeeperRing, AMistakeBeforeKeepersMeetIsKnownWhenTheyHave) {
  start_ranks(3);
  hosts_[1].board[0].how = standing::ends_job;
  start_keeper(1);
  let_pass();
  auto const met = [this](std::size_t h) { return hosts_[h].board[1].met.load(); };
  auto const explained = [this](std::size_t h) { return hosts_[h].board[1].explained.load(); };
  EXPECT_EQ(met(1), meeting::awaited);
  // One that makes the same mistake waits until keepers have met.
  hosts_[2].board[0].how = standing::ends_job;
  for (std::uint32_t const h : {0U, 2U}) start_keeper(h);
  await([&] { return met(1) != meeting::awaited && explained(0) != 0 && explained(2) != 0; });
  EXPECT_EQ(met(1), meeting::held);
  EXPECT_EQ(explained(0), 1U);
  EXPECT_EQ(explained(1), 0U);
  EXPECT_EQ(explained(2), 1U);
  for (::pid_t const rank : ranks_but({})) ::kill(rank, SIGKILL);
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(3, 0));
  EXPECT_EQ(said(), "");
}

TEST_F(KeeperRing, EachHostShowsItsRanksBeforeTheTimeIsUp) {
  picture_ms_ = 1000;
  start(3);
  auto& record = *::new (&hosts_[1].board[0].record) atl::rank_diagnostics;
  record.state = atl::rank_state::initialized;
  record.last_call = atl::activity::rpc;
  record.peer = 5;
  record.replies_awaited = 1;
  std::string const text = pictures();
  expect_one_table_each(text);
  EXPECT_NE(text.find("running       last call rpc (rank 5)  1 reply awaited\n"), std::string::npos) << text;
  expect_good_end();
}

TEST_F(KeeperRing, EachHostShowsItsRanksWhenOneIsAsked) {
  start(3);
  settle();
  ::kill(hosts_[1].keeper, SIGQUIT);
  expect_one_table_each(pictures());
  // Again, and of several at once: whoever asks so means one picture. Not within a second, of which keepers leave out what they
  // were kept from their cores, so that some may take it for the question before.
  std::string again;
  for (int tries = 0; tries < 5 && again.empty(); ++tries) {
    ::usleep(1'100'000);
    for (auto const& each : hosts_) ::kill(each.keeper, SIGQUIT);
    await([&] { return !(again = said()).empty(); }, std::chrono::seconds(10));
  }
  expect_one_table_each(pictures(again));
  let_pass();
  EXPECT_EQ(said(), "");
  expect_good_end();
}

TEST_F(KeeperRing, OfOneHostShowsItsRanksAndWatchesThem) {
  start(1);
  settle();
  ::kill(hosts_[0].keeper, SIGQUIT);
  std::string const text = pictures();
  EXPECT_EQ(text.rfind("atoll: host host0: what its ranks are doing:\n    rank", 0), 0U) << text;
  ::kill(hosts_[0].ranks[1], SIGKILL);
  EXPECT_EQ(ended(hosts_[0].ranks), (std::vector<int>{SIGTERM, SIGKILL}));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(1, 0));
}

TEST_F(KeeperRing, TheJobEndsBeforeKeepersMeet) {
  start_ranks(2);
  hosts_[1].board[1].how = standing::ends_job;
  for (::pid_t const rank : hosts_[1].ranks) {
    ASSERT_EQ(::kill(rank, SIGKILL), 0);
    ASSERT_EQ(ended({rank}), std::vector<int>{SIGKILL});
  }
  start_keeper(1);
  let_pass();
  start_keeper(0);
  EXPECT_EQ(ended(hosts_[0].ranks), std::vector<int>(2, SIGTERM));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(2, 0));
  EXPECT_EQ(said(), "");
}

TEST_F(KeeperRing, OneHostSaysThatNoneCanBeReached) {
  patience_ms_ = 200;
  start_ranks(3);
  for (host& each : hosts_) each.at.mine.addresses = {};
  for (std::uint32_t h = 0; h < 3; ++h) start_keeper(h);
  std::string text;
  await([&] {
    text = said();
    return !text.empty();
  });
  ::usleep(patience_ms_ * 1000);  // others would say so at about the same time
  text += said();
  EXPECT_EQ(
      text,
      "atoll: host host0: cannot reach the keeper of host host1 (ranks 2 to 3): it has no address. The loss of a host may go "
      "unnoticed (a firewall?)\n");
  // Ranks know that no news will come by keepers.
  for (host const& each : hosts_)
    EXPECT_TRUE(await([&] { return each.board[0].met.load() == meeting::failed; }));
  expect_good_end();
}

TEST_F(KeeperRing, AHostIsSilent) {
  for (std::uint32_t const hosts : {2U, 4U}) {
    hosts_.clear();
    start(hosts);
    settle();
    auto const begin = std::chrono::steady_clock::now();
    for (::pid_t const pid : {hosts_[1].keeper, hosts_[1].ranks[0], hosts_[1].ranks[1]}) ::kill(pid, SIGSTOP);
    EXPECT_EQ(ended(ranks_but({2, 3})), std::vector<int>(2 * hosts - 2, SIGTERM));
    EXPECT_EQ(ended(keepers_but({1})), std::vector<int>(hosts - 1, 0));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(patience_ms_ / 2));
    EXPECT_EQ(
        said(),
        "atoll: host host0: host host1 (ranks 2 to 3) is lost: nothing has been heard of it for 1.4 s; the "
        "job ends. Has it crashed, or its network? A larger ATOLL_HOST_TIMEOUT (now 2 s) waits longer\n");
    // When it wakes up, it hears that all has been said.
    for (::pid_t const pid : {hosts_[1].keeper, hosts_[1].ranks[0], hosts_[1].ranks[1]}) ::kill(pid, SIGCONT);
    EXPECT_EQ(ended({hosts_[1].ranks[0], hosts_[1].ranks[1]}), std::vector<int>(2, SIGTERM));
    EXPECT_EQ(ended({hosts_[1].keeper}), std::vector<int>{0});
    EXPECT_EQ(said(), "");
  }
}

TEST_F(KeeperRing, ALinkIsCutAndMended) {
  link_between link;
  link_ = &link;
  start(2);
  ASSERT_TRUE(link.carry(1000));
  link.silence();
  // A new connection takes the place of the silent one, and is spoken over for longer than a silence may last.
  ASSERT_TRUE(link.carry(frames_in_patience * sizeof(frame)));
  expect_good_end();
}

TEST_F(KeeperRing, AFurtherWayIsCut) {
  link_between link;
  start_with_further_way(link, true);
  auto const begin = std::chrono::steady_clock::now();
  link.silence();
  EXPECT_EQ(ended(ranks_but({})), std::vector<int>(4, SIGTERM));
  EXPECT_EQ(ended(keepers_but({})), std::vector<int>(2, 0));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(patience_ms_ / 2));
  EXPECT_EQ(
      said(),
      "atoll: host host0: the link lo between hosts host0 (ranks 0 to 1) and host1 (ranks 2 to 3) is lost: "
      "nothing has come over it for 1.4 s, while they hear each other over another; the job ends. Is a cable "
      "out? A larger ATOLL_HOST_TIMEOUT (now 2 s) waits longer\n");
}

TEST_F(KeeperRing, AFurtherWayIsCutAndMended) {
  link_between link;
  start_with_further_way(link, true);
  link.silence();
  ASSERT_TRUE(link.carry(frames_in_patience * sizeof(frame)));
  expect_good_end();
}

TEST_F(KeeperRing, AFurtherWayThatIsNotUsedIsNotMissed) {
  link_between link;
  start_with_further_way(link, false);
  link.silence();
  ::usleep(patience_ms_ * 1000);
  expect_good_end();
}

TEST_F(KeeperRing, AHostIsMissedWithAllItsWays) {
  link_between link;
  start_with_further_way(link, true);
  link.silence();
  for (::pid_t const pid : {hosts_[1].keeper, hosts_[1].ranks[0], hosts_[1].ranks[1]}) ::kill(pid, SIGSTOP);
  EXPECT_EQ(ended(hosts_[0].ranks), std::vector<int>(2, SIGTERM));
  EXPECT_EQ(ended({hosts_[0].keeper}), std::vector<int>{0});
  std::string const words = said();
  EXPECT_NE(words.find("host host1 (ranks 2 to 3) is lost: nothing has been heard of it"), std::string::npos)
      << words;
}

TEST_F(KeeperRing, StrangersAreRefusedInWords) {
  start(2);
  settle();
  std::string const http =
      "GET / HTTP/1.1\r\nHost: somewhere.example\r\nAccept: */*\r\nUser-Agent: a scanner of ports\r\n\r\n";
  EXPECT_EQ(until_closed(stranger(1, http)), "");
  // One who knows how keepers speak, but not the secret.
  hello const first{protocol, 0, static_cast<std::uint32_t>(role::caller), {}};
  std::string const beginning(reinterpret_cast<char const*>(&first), sizeof first);
  until_closed(stranger(1, beginning + std::string(sizeof(proof), 'x')));
  atl::os::unique_fd const half = stranger(1, beginning.substr(0, beginning.size() / 2));
  ::shutdown(half.get(), SHUT_WR);
  until_closed(half);
  std::string words;
  await([&] {
    words += said();
    return std::count(words.begin(), words.end(), '\n') >= 3;
  });
  EXPECT_EQ(
      words,
      "atoll: host host1: a stranger's connection was refused: it does not speak as keepers do\n"
      "atoll: host host1: a stranger's connection was refused: it does not know the job's secret\n"
      "atoll: host host1: a stranger's connection was refused: it stops in the middle of its first words\n");
  // The user has read enough of them.
  EXPECT_EQ(until_closed(stranger(1, http)), "");
  expect_good_end();
}

TEST_F(KeeperRing, StrangersTakeNobodysPlace) {
  link_between link;
  link_ = &link;
  start(2);
  ASSERT_TRUE(link.carry(1000));
  // Silent ones, more than a keeper keeps; the oldest go.
  std::vector<atl::os::unique_fd> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(stranger(1, ""));
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(until_closed(crowd[i]), "");
  // The neighbour calls anew beside them.
  link.silence();
  ASSERT_TRUE(link.carry(frames_in_patience * sizeof(frame)));
  expect_good_end();
}

TEST_F(KeeperRing, AKeeperIsKilled) {
  start(3);
  settle();
  ::kill(hosts_[0].keeper, SIGKILL);
  EXPECT_EQ(ended(ranks_but({0, 1})), std::vector<int>(4, SIGTERM));
  EXPECT_EQ(ended(keepers_but({0})), std::vector<int>(2, 0));
  std::string const words = said();
  EXPECT_EQ(
      words.find(
          "atoll: host host1: host host0 (ranks 0 to 1) is lost: the process that watches over it is gone"),
      0U)
      << words;
  EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 1) << words;
}

/// Between two periods of the ranks nobody is there to be ended. Who comes to the next one would wait for the lost host.
TEST_F(KeeperRing, AHostIsLostBetweenPeriods) {
  for (int const signal : {SIGKILL, SIGSTOP}) {
    hosts_.clear();
    start(2);
    settle();
    for (std::size_t local = 0; local < 2; ++local) hosts_[1].board[local].how = standing::may_end;
    for (::pid_t const pid : {hosts_[0].keeper, hosts_[0].ranks[0], hosts_[0].ranks[1]}) ::kill(pid, signal);
    std::string words;
    auto const heard = [&] { return !(words += said()).empty(); };
    // A keeper that is gone is missed by those who run; one that is silent by all.
    if (signal == SIGSTOP) await(heard);
    ::usleep(2'000'000);
    EXPECT_EQ(::waitpid(hosts_[1].ranks[0], nullptr, WNOHANG), 0);
    hosts_[1].board[0].how = standing::runs;
    EXPECT_THAT(ended({hosts_[1].ranks[0]}), testing::ElementsAre(testing::AnyOf(SIGTERM, SIGKILL)));
    await(heard);
    EXPECT_THAT(words, testing::StartsWith("atoll: host host1: host host0 (ranks 0 to 1) is lost: "));
    EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 1) << words;
    // The other one is at its end.
    EXPECT_EQ(::waitpid(hosts_[1].ranks[1], nullptr, WNOHANG), 0);
    ::kill(hosts_[1].ranks[1], SIGKILL);
    EXPECT_EQ(ended({hosts_[1].keeper}), std::vector<int>{0});
    for (::pid_t const pid : {hosts_[0].keeper, hosts_[0].ranks[0], hosts_[0].ranks[1]}) ::kill(pid, SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }
}

TEST(KeeperWords, OfRanks) {
  EXPECT_EQ(words_of_ranks({3}), "rank 3");
  EXPECT_EQ(words_of_ranks({4, 5, 6}), "ranks 4 to 6");
  EXPECT_EQ(words_of_ranks({0, 2}), "ranks 0, 2");
  EXPECT_EQ(words_of_ranks({0, 2, 4, 6, 8, 10, 12, 14, 16}), "ranks 0, 2, 4, 6, 8, 10, 12, 14, ...");
}

}  // namespace
