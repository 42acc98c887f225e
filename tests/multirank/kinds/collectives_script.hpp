#pragma once

/// Collectives in a stream, one behind the other, with data that tell where they come from.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <atoll/stream.hpp>
#include <atoll/stream_collectives.hpp>

#include "multirank/kinds/stream_fixture.hpp"

struct collective_call {
  enum { broadcast, gather_all, all_to_all } what;
  std::size_t count;
  int root = 0;
};

/// Some of them, from several roots, over destinations of `room` elements; short, odd and long ones.
inline std::vector<collective_call> some_collectives(int ranks, std::size_t room) {
  std::size_t const each = room / static_cast<std::size_t>(ranks);
  std::size_t const few = std::min<std::size_t>(3, each);
  using call = collective_call;
  return {{call::broadcast, room, 0},
          {call::gather_all, each},
          {call::broadcast, few, ranks - 1},
          {call::all_to_all, each},
          {call::broadcast, 0},
          {call::broadcast, room, ranks / 2},
          {call::all_to_all, few},
          {call::broadcast, room - 1, 1 % ranks},
          {call::gather_all, 1}};
}

/// A source and a destination of `room` elements, and of all that go through them a record in host memory.
class collectives_script {
 public:
  collectives_script(upcxx::team const& over, gpu_ptr<int> source, gpu_ptr<int> destination, std::size_t room,
                     std::vector<collective_call> calls)
      : me_(over.rank_me()),
        ranks_(over.rank_n()),
        source_(source),
        destination_(destination),
        room_(room),
        calls_(std::move(calls)),
        in_(room * calls_.size(), 0),
        out_((room + 1) * calls_.size(), 0) {}

  /// New data for all calls.
  void fill(int round) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      for (std::size_t k = 0; k < room_; ++k) in_[i * room_ + k] = value(me_, round, i, k);
    }
    std::fill(out_.data(), out_.data() + (room_ + 1) * calls_.size(), -2);
  }
  /// The host has no part in what is between the calls.
  void run(atl::stream const& s, atl::collective_destination<int> const& to) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      collective_call const& c = calls_[i];
      upcxx::copy(in_.data() + i * room_, source_, room_, atl::on_stream(s));
      if (c.what == collective_call::broadcast) to.broadcast(s, c.root, source_, c.count);
      if (c.what == collective_call::gather_all) to.gather_all(s, source_, c.count);
      if (c.what == collective_call::all_to_all) to.all_to_all(s, source_, c.count);
      // One more than may be written, and the source may be overwritten.
      upcxx::copy(destination_, out_.data() + i * (room_ + 1), room_ + 1, atl::on_stream(s));
    }
  }
  /// Each call has written what it should, and nothing else. The first one writes all of the destination.
  void expect(int round) const {
    std::vector<int> wanted(room_ + 1, -1);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      std::vector<int> const written = received(round, i);
      std::copy(written.begin(), written.end(), wanted.begin());
      int const* const found = out_.data() + i * (room_ + 1);
      auto const differs = std::mismatch(wanted.begin(), wanted.end(), found);
      ASSERT_TRUE(differs.first == wanted.end())
          << "round " << round << " call " << i << " element " << differs.first - wanted.begin() << " of "
          << written.size() << ": " << *differs.second << " instead of " << *differs.first;
    }
  }

 private:
  static int value(int rank, int round, std::size_t call, std::size_t k) {
    return (((rank * 7 + round) * 61 + static_cast<int>(call)) << 16) + static_cast<int>(k);
  }
  [[nodiscard]] std::vector<int> received(int round, std::size_t i) const {
    collective_call const& c = calls_[i];
    std::vector<int> all;
    if (c.what == collective_call::broadcast) {
      for (std::size_t k = 0; k < c.count; ++k) all.push_back(value(c.root, round, i, k));
      return all;
    }
    std::size_t const first =
        c.what == collective_call::all_to_all ? static_cast<std::size_t>(me_) * c.count : 0;
    for (int r = 0; r < ranks_; ++r) {
      for (std::size_t k = 0; k < c.count; ++k) all.push_back(value(r, round, i, first + k));
    }
    return all;
  }

  int me_;
  int ranks_;
  gpu_ptr<int> source_;
  gpu_ptr<int> destination_;
  std::size_t room_;
  std::vector<collective_call> calls_;
  pinned<int> in_;
  pinned<int> out_;
};
