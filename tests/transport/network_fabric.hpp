#pragma once

/// Ranks of a network in one process: the suite network_* runs against the operations table, for every transport
/// that can be opened like this, in every configuration listed here.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "transport/network.hpp"

namespace atl::transport {

/// After which something does not come any more.
inline constexpr std::chrono::minutes too_long{4};

/// What is open between ranks of one job; owns whatever they share.
class network_job {
 public:
  virtual ~network_job() = default;
  virtual std::unique_ptr<network> open(std::int32_t rank) = 0;
  /// As if the connection had broken; false: this transport cannot play that.
  virtual bool break_connection(network& of, std::int32_t peer) {
    of.give_up(peer);
    return true;
  }
};

/// A transport in a configuration.
struct network_kind {
  std::string name;
  std::unique_ptr<network_job> (*make)(std::int32_t ranks, std::string const& options);
  std::string options;
};
inline void PrintTo(network_kind const& kind, std::ostream* out) { *out << kind.name; }

/// Those of the program: network_sims.cpp, or network_modules.cpp.
std::vector<network_kind> network_kinds();
/// Why none of them can be tried here, for what has no part of Atoll to blame; else nothing.
std::string why_no_network();
inline std::string name_of_network(testing::TestParamInfo<network_kind> const& info) {
  return info.param.name;
}

using bytes = std::vector<std::byte>;
inline std::span<std::byte const> view(bytes const& of) { return of; }

inline started send_on(network& by, std::int32_t to, lane where, bytes const& header, bytes const& payload,
                       operation* events) {
  auto* const source = const_cast<std::byte*>(payload.data());  // only read
  return by.send(to, where, header, {source, nullptr}, payload.size(), events);
}

/// Bytes that tell sizes and senders apart.
inline bytes pattern(std::size_t size, std::uint64_t seed) {
  bytes result(size);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + size;
  for (std::byte& b : result) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    b = static_cast<std::byte>(state >> 56);
  }
  return result;
}

/// An operation that counts its events.
struct counted : operation {
  int source = 0, finished = 0;
  outcome how = outcome::ok;

  explicit counted(std::uint8_t which = ask_both) : operation(&on, which) {}
  static void on(operation& self, completion what, outcome how) {
    auto& mine = static_cast<counted&>(self);
    if (what == completion::source) {
      EXPECT_EQ(mine.finished, 0) << "the source event came after the last one";
      ++mine.source;
    } else {
      ++mine.finished;
    }
    if (how != outcome::ok) mine.how = how;
  }
};

struct arrived_message {
  std::int32_t peer;
  transport::lane lane;
  bytes header, payload;
};

/// One rank: its network, and what it has been told.
class node final : public receiver {
 public:
  std::unique_ptr<network> net;
  std::int32_t rank = -1;
  std::vector<arrived_message> messages;
  std::vector<std::pair<std::int32_t, std::uint64_t>> notes;
  std::vector<connection_event> connections;  ///< words are gone
  /// Replaces what follows for messages; returns what arrived() returns.
  std::function<taken(arrival const&)> on_message;
  std::function<void(connection_event const&)> on_connection;

  taken arrived(arrival const& what) override;
  void notified(std::int32_t peer, std::uint64_t tag) override { notes.emplace_back(peer, tag); }
  void connection(connection_event const& event) override {
    connections.push_back(event);
    connections.back().words = {};
    if (on_connection) on_connection(event);
  }

  int count(connection_change what, std::int32_t peer) const {
    int n = 0;
    for (connection_event const& e : connections) n += e.what == what && e.peer == peer;
    return n;
  }
  bool connected(std::int32_t peer) const {
    return count(connection_change::connected, peer) > count(connection_change::closed, peer);
  }
  void poll();
  bool fetching() const { return !fetches_.empty(); }

 private:
  struct late_fetch : counted {
    arrival_handle handle;
    arrived_message message;
    bool started = false;
  };
  std::deque<std::unique_ptr<late_fetch>> fetches_;
};

/// An operation that also notes how many losses of rank 1 its own rank had been told of by its last event.
struct told_of_loss : counted {
  node& by;
  int losses = 0;

  explicit told_of_loss(node& rank, std::uint8_t which = ask_both) : counted(which), by(rank) {
    on_event = &note;
  }
  static void note(operation& self, completion what, outcome how) {
    auto& mine = static_cast<told_of_loss&>(self);
    mine.losses = mine.by.count(connection_change::lost, 1);
    on(self, what, how);
  }
};

class network_test : public testing::TestWithParam<network_kind> {
 protected:
  void open(std::int32_t ranks);
  /// Polls all ranks in turn until it is so; fails after a while.
  template <class Condition>
  [[nodiscard]] bool until(Condition const& condition) {
    auto const end = std::chrono::steady_clock::now() + too_long;
    for (unsigned n = 0; !condition(); ++n) {
      for (auto& one : nodes) {
        if (one->net != nullptr) one->poll();
      }
      if (n % 64 == 0 && std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }
  void rounds(int n) {
    for (int i = 0; i < n; ++i) {
      for (auto& one : nodes) {
        if (one->net != nullptr) one->poll();
      }
    }
  }
  node& at(std::int32_t rank) { return *nodes[static_cast<std::size_t>(rank)]; }
  /// Connects, again if that is refused.
  void connect(std::int32_t from, std::int32_t to);
  /// Starts until there is room.
  template <class Start>
  started persist(Start const& start) {
    started result = started::no_room;
    EXPECT_TRUE(until([&] { return (result = start()) != started::no_room; }));
    return result;
  }
  void send(std::int32_t from, std::int32_t to, lane where, bytes const& header, bytes const& payload);
  /// Registers at `owner`, and gives `user` the key; again if it misses.
  remote_key* share(std::int32_t owner, registration* memory, std::int32_t user);
  registration* enter(std::int32_t owner, bytes& memory);
  /// Runs an operation with both events to its end; the outcome. Those that miss are repeated.
  template <class Start>
  void complete(Start const& start) {
    for (int tries = 0; tries < 50; ++tries) {
      counted op;
      started const s = persist([&] { return start(&op); });
      if (s == started::complete) return;
      ASSERT_TRUE(s == started::under_way || s == started::source_free) << static_cast<int>(s);
      ASSERT_TRUE(until([&] { return op.finished == 1; }));
      if (op.how == outcome::ok) return;
      ASSERT_TRUE(op.how == outcome::bad_key || op.how == outcome::refused);
    }
    FAIL() << "the key misses for ever";
  }

  std::unique_ptr<network_job> job;
  std::vector<std::unique_ptr<node>> nodes;  ///< after the job, so they end before it
};

/// Two ranks, of which the first has a key of the other's memory.
class network_pair : public network_test {
 protected:
  explicit network_pair(std::size_t size) : target(size) {}
  void begin() {
    open(2);
    connect(0, 1);
    entered = enter(1, target);
    key = share(1, entered, 0);
  }
  network& net() { return *at(0).net; }

  bytes target;
  registration* entered = nullptr;
  remote_key* key = nullptr;
};

}  // namespace atl::transport
