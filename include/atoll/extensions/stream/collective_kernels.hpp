#pragma once

/// Collectives in streams that the library's kernels do: one on each rank's device, which stores straight into the destinations of the
/// others. Copies, which wait for signals one after the other, take two to three times as long where there is little to move.
///
/// All ranks must do a call in the same way. So whether devices reach destinations is agreed on when these are bound, and how much kernels
/// do when the object is made; what a rank sends may lie anywhere, and is copied to where its device finds it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <atoll/engine/kernels.hpp>
#include <atoll/engine/streams.hpp>
#include <atoll/extensions/detail/allocate_together.hpp>
#include <atoll/extensions/detail/kept_team.hpp>
#include <atoll/extensions/stream/stream_steps.hpp>
#include <atoll/signal_array.hpp>
#include <atoll/stream.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// By rank of a team: where each receives.
struct collective_places {
  std::vector<engine::memory_place> of;
  bool by_kernels = false;  ///< all devices reach all of them

  engine::memory_place operator[](std::size_t rank) const { return of[rank]; }
};

/// That of the streams.
struct device_name {
  unsigned kind;
  int number;
};

inline bool same(engine::memory_place a, engine::memory_place b) {
  return a.owner == b.owner && a.address == b.address;
}

/// Copies to all ranks, to the place of this one: `bytes` from `from`, or from the part there that is meant for a rank.
inline void put_to_all(stream_steps& steps, collective_places const& to, upcxx::team const& over,
                       engine::memory_place from, std::size_t bytes, bool in_parts) {
  auto const ranks = static_cast<std::size_t>(over.rank_n());
  auto const me = static_cast<std::size_t>(over.rank_me());
  auto const part = static_cast<std::ptrdiff_t>(bytes);
  std::vector<copy_piece> all;
  // First to the next one, so that not all write to one at a time; to itself last.
  for (std::size_t k = 1; k <= ranks; ++k) {
    std::size_t const peer = (me + k) % ranks;
    engine::memory_place const target = to[peer].moved_by(static_cast<std::ptrdiff_t>(me) * part);
    engine::memory_place const source =
        in_parts ? from.moved_by(static_cast<std::ptrdiff_t>(peer) * part) : from;
    if (!same(target, source)) all.push_back({target, source, bytes});
  }
  steps.copy_all(std::move(all));
}

/// A rank's part in what kernels do.
class collective_kernels {
 public:
  /// Two ranks copy what is long faster, since a device's engines for copies use the whole link; more would copy one
  /// after the other.
  static constexpr std::size_t fastest = ~std::size_t{0};
  static constexpr std::size_t usual_of_two = std::size_t{32} << 20;
  static constexpr std::size_t usual_of_more = std::size_t{256} << 20;

  /// Words of each rank; 0 where kernels do nothing.
  static std::size_t words(upcxx::team const& over, std::size_t most_bytes) {
    auto const ranks = static_cast<std::size_t>(over.rank_n());
    bool const some = most_bytes != 0 && ranks > 1 && ranks <= engine::stream_exchange::most_ranks;
    return some ? engine::stream_exchange::words_for(ranks) : 0;
  }

  /// `signals`: from number `first` on, words() of each rank. Collective over the team.
  template <class Signals>
  collective_kernels(Signals const& signals, std::size_t first, upcxx::team const& over,
                     std::size_t most_bytes, device_name device)
      : over_(over),
        most_bytes_(most_bytes != fastest ? most_bytes
                    : over.rank_n() == 2  ? usual_of_two
                                          : usual_of_more),
        device_(device) {
    using access = upcxx::detail::global_ptr_access;
    for (upcxx::intrank_t r = 0; r < over.rank_n(); ++r) {
      auto const theirs = signals.at(r, first);
      words_.push_back({access::owner(theirs), access::address(theirs)});
    }
    reach_each_other_ = has_a_device_alone();
    reach_each_other_ = reach(words_, words(over, most_bytes) * sizeof(std::uint64_t), over);
  }

  /// Whether they do any call.
  [[nodiscard]] bool do_some() const { return reach_each_other_; }
  /// Whether all devices reach what all ranks have there. Collective over the team.
  [[nodiscard]] bool reach(std::vector<engine::memory_place> const& all, std::size_t bytes,
                           upcxx::team const& over) const {
    bool reached = reach_each_other_;
    for (engine::memory_place const& each : all) reached = reached && reaches(each, bytes);
    return detail::on_all(reached, over);
  }
  /// Gives each rank a landing, if all have room, which is collective over the team, as drop_landing() is.
  template <class Device>
  void make_landing(upcxx::device_allocator<Device>& gpu) {
    if (!reach_each_other_) return;
    using access = upcxx::detail::global_ptr_access;
    std::size_t const bytes = engine::stream_exchange::landing_bytes();
    std::size_t const staged = staging_bytes;
    try {
      auto made = std::make_shared<signal_array<Device::kind>>(
          atl::make_signals(gpu, (bytes + staged) / sizeof(std::uint64_t), *over_));
      for (upcxx::intrank_t r = 0; r < over_->rank_n(); ++r) {
        auto const theirs = made->at(r);
        landing_.push_back({access::owner(theirs), access::address(theirs)});
      }
      drop_landing_ = [made] { made->destroy(); };
    } catch (upcxx::bad_shared_alloc const&) {
      return;  // on all ranks
    }
    if (!reach(landing_, bytes + staged, *over_)) drop_landing();
  }
  void drop_landing() {
    if (drop_landing_) drop_landing_();
    drop_landing_ = nullptr;
    landing_.clear();
  }

  /// `bytes`: that one rank sends.
  [[nodiscard]] bool are_for(std::size_t bytes) const { return bytes <= most_bytes_; }

  void broadcast(stream_steps& steps, collective_places const& to, upcxx::intrank_t root,
                 engine::memory_place from, std::size_t bytes) const {
    if (root != over_->rank_me()) {
      from = {};  // whatever it is
    } else if (!reaches(from, bytes)) {
      engine::memory_place const own = to[static_cast<std::size_t>(root)];
      steps.copy(own, from, bytes);
      from = own;
    }
    start(steps, to, from, bytes, root, false, engine::exchange_part::all);
  }
  void exchange(stream_steps& steps, collective_places const& to, engine::memory_place from,
                std::size_t bytes, bool in_parts) const {
    using engine::exchange_part;
    auto const me = static_cast<std::size_t>(over_->rank_me());
    std::size_t const parts = in_parts ? to.of.size() : 1;
    if (reaches(from, parts * bytes)) return start(steps, to, from, bytes, -1, in_parts, exchange_part::all);
    if (!in_parts) {
      engine::memory_place const own = to[me].moved_by(static_cast<std::ptrdiff_t>(me * bytes));
      steps.copy(own, from, bytes);
      return start(steps, to, own, bytes, -1, false, exchange_part::all);
    }
    if (!landing_.empty() && engine::stream_exchange::is_little(bytes, over_->rank_n(), -1)) {
      engine::memory_place const staging =
          landing_[me].moved_by(static_cast<std::ptrdiff_t>(engine::stream_exchange::landing_bytes()));
      steps.copy(staging, from, parts * bytes);
      return start(steps, to, staging, bytes, -1, true, exchange_part::all);
    }
    start(steps, to, from, bytes, -1, true, exchange_part::begin);
    put_to_all(steps, to, *over_, from, bytes, true);
    start(steps, to, from, bytes, -1, true, exchange_part::end);
  }

 private:
  /// Of an all-to-all that is little, all that a rank sends.
  static constexpr std::size_t staging_bytes = std::size_t{64} << 10;

  /// Kernels that wait for others take turns with those of other ranks on their device, as long as a time slice each; whatever teams these
  /// are in. Where they are played it does not matter.
  [[nodiscard]] bool has_a_device_alone() const {
    std::uint64_t const own = words_[static_cast<std::size_t>(over_->rank_me())].owner;
    return engine::host_plays_kernels(device_.kind) || engine::ranks_on_device(own) == 1;
  }
  [[nodiscard]] bool reaches(engine::memory_place place, std::size_t bytes) const {
    return engine::can_exchange(device_.kind, device_.number, place, bytes);
  }
  void start(stream_steps& steps, collective_places const& to, engine::memory_place from, std::size_t bytes,
             std::int32_t root, bool in_parts, engine::exchange_part part) const {
    engine::stream_exchange const what{to.of.data(),
                                       words_.data(),
                                       landing_.empty() ? nullptr : landing_.data(),
                                       from,
                                       bytes,
                                       over_->rank_me(),
                                       over_->rank_n(),
                                       root,
                                       in_parts};
    steps.call([s = name_of(steps.on()), what, part] { engine::start_exchange(s, what, part); });
  }

  kept_team over_;
  std::size_t most_bytes_;
  device_name device_;
  std::vector<engine::memory_place> words_;    ///< by rank, the first of each
  std::vector<engine::memory_place> landing_;  ///< by rank; empty: there are none
  std::function<void()> drop_landing_;
  bool reach_each_other_ = true;
};

}  // namespace atl::inline UPCXX_MODE::detail
