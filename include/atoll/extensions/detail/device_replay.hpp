#pragma once

/// Copies between devices of ranks that have been planned, and the flags that keep them in order: what a transfer is at run time where the
/// arrays are on devices. Nothing is allocated or looked up here.
///
/// The owner of a source has the engine copy straight into the destinations, all boxes of a run together, those of many pieces by a kernel.
/// When the engine says that all boxes for a peer are in place the peer's flag is raised: one for all of them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <atoll/copy_batch.hpp>
#include <atoll/engine/flags.hpp>
#include <atoll/engine/memory_copy.hpp>
#include <atoll/extensions/detail/box_runs.hpp>
#include <atoll/extensions/detail/device_box.hpp>
#include <atoll/extensions/detail/flag_links.hpp>
#include <atoll/extensions/detail/moved.hpp>
#include <atoll/extensions/detail/replay.hpp>
#include <atoll/extensions/detail/transfer_plan.hpp>
#include <atoll/extensions/stream/stream_steps.hpp>
#include <atoll/stream.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Moves, also while a run is under way, and leaves one without boxes behind.
class device_replay {
 public:
  using range = replay::range;
  /// What goes to a peer and comes from it; the last one, without a peer, is between own arrays.
  struct link {
    range straight;            ///< in `boxes`
    range packed;              ///< none ever
    std::size_t copies = 0;    ///< runs of all of them
    std::size_t elements = 0;  ///< sent by a run
    bool sends = false;
    bool receives = false;
  };

  device_replay() = default;
  /// Collective over `over`; user-level progress. No array is empty.
  template <int N>
  static device_replay make(std::vector<plain_array<N>> const& sources,
                            std::vector<plain_array<N>> const& destinations, std::size_t element_bytes,
                            bool always_ready, upcxx::team const& over) {
    using plan = transfer_plan<N>;
    typename plan::agreement const agreed = plan::agree(sources, destinations, over, [](auto const&) {});
    device_replay made;
    made.always_ready_ = always_ready;
    std::vector<upcxx::intrank_t> peers;
    link own;
    for (typename plan::request const& r : agreed.requests) {
      link l;
      l.sends = true;
      l.straight.first = made.boxes_.size();
      for (auto const& t : r.tasks) {
        detail::append_boxes(made.boxes_, t, element_bytes);
        l.elements += t.elements();
      }
      l.straight.count = made.boxes_.size() - l.straight.first;
      for (std::size_t b = l.straight.first; b < made.boxes_.size(); ++b) l.copies += made.boxes_[b].runs();
      if (r.from == over.rank_me()) {
        own = l;
        continue;
      }
      peers.push_back(r.from);
      made.links_.push_back(l);
    }
    for (auto const& [sender, tasks] : agreed.inbound) {
      if (sender == over.rank_me()) continue;
      detail::link_with(sender, peers, made.links_).receives = true;
    }
    made.own_.value = own;
    made.flags_ = flag_links(std::move(peers), flags_of_transfer, over, "atl::transfer");
    made.make_records();
    return made;
  }

  std::vector<link> const& links() const { return links_; }
  std::size_t local_boxes() const { return own_.value.straight.count; }
  std::size_t copies() const {
    std::size_t all = own_.value.copies;
    for (link const& l : links_) all += l.copies;
    return all;
  }
  bool under_way() const { return under_way_.value; }

  /// Offsets in bytes.
  void start(std::ptrdiff_t source, std::ptrdiff_t dest) {
    bool const handshake = runs_.begin(dest) || always_ready_ || in_graphs_;
    if (handshake) ++handshakes_;
    source_ = source;
    dest_ = dest;
    under_way_.value = true;
    next_ = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      link const& l = links_[i];
      if (l.receives && (!l.sends || handshake)) flags_.raise(i, ready_number(l), ready_flag);
    }
    atl::copy_batch const together;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      link const& l = links_[i];
      if (!l.sends) continue;
      sent& s = sent_[i];
      s.ready_for = l.receives && !handshake ? 0 : ready_number(l);
      s.now = sent::state::waits;
      if (may_leave(i)) send(i);
    }
    if (own_.value.sends) copy(own_.value, sent_[links_.size()]);
  }

  /// Goes on as far as possible without waiting; true once all is sent and has come.
  bool advance() {
    bool all = true;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      sent& s = sent_[i];
      if (s.now == sent::state::waits && may_leave(i)) {
        atl::copy_batch const together;
        send(i);
      }
      if (s.now == sent::state::leaves && s.left.load(std::memory_order_acquire) == 0) {
        s.now = sent::state::idle;
        flags_.raise(i, runs_.of_its_kind(), runs_.data_flag());
      }
      all = all && s.now == sent::state::idle;
    }
    for (; next_ < links_.size(); ++next_) {
      if (links_[next_].receives && flags_.value(next_, runs_.data_flag()) < runs_.of_its_kind())
        return false;
    }
    // A default-constructed one has nothing to send.
    bool const own_left = sent_ != nullptr && sent_[links_.size()].left.load(std::memory_order_acquire) != 0;
    if (!all || own_left) return false;
    under_way_.value = false;
    return true;
  }

  void finish() {
    atl::engine::wait_for([](void* self) { return static_cast<device_replay*>(self)->advance(); }, this);
  }

  void forget_runs() { runs_.forget(); }

  /// A whole run at the end of a stream, or nothing if it throws. Signals are 0 and 1, and each is awaited by who resets it, so that graphs
  /// may have them: a peer sets one again only after it has seen a signal that this rank's stream gives after the reset.
  template <class Links>
  void run_in(stream const& s, Links const& signals, std::ptrdiff_t source, std::ptrdiff_t dest) {
    stream_steps steps(s);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (links_[i].receives) steps.signal(signals.there(i, ready_signal), 1);
    }
    if (own_.value.sends) steps.copy_boxes(boxes_of(own_.value), dest, source);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (!links_[i].sends) continue;
      steps.use_up(signals.here(i, ready_signal), 1);
      steps.copy_boxes(boxes_of(links_[i]), dest, source);
      steps.signal(signals.there(i, data_signal), 1);
    }
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (links_[i].receives) steps.use_up(signals.here(i, data_signal), 1);
    }
    steps.start();
    // Runs by the host that follow take nothing of this one for granted, nor, if it is captured, of any launch.
    runs_.forget();
    in_graphs_ |= s.is_captured();
  }
  static constexpr std::size_t signals_of_peer = 2;
  std::vector<upcxx::intrank_t> const& peers() const { return flags_.peers(); }

 private:
  static constexpr std::size_t ready_signal = 0;  ///< its data may come
  static constexpr std::size_t data_signal = 1;   ///< its data is in place

  /// What goes to a peer in a run.
  struct sent {
    enum class state : int { idle, waits, leaves };
    state now = state::idle;
    std::uint64_t ready_for = 0;       ///< how often the peer must have been ready
    std::size_t first_record = 0;      ///< in `records`
    std::atomic<std::size_t> left{0};  ///< copies that are not in place
  };
  /// The engine's, for each copy.
  struct record : atl::engine::copy_completion {
    std::atomic<std::size_t>* left = nullptr;

    record() : copy_completion{&arrived} {}
    static bool arrived(atl::engine::copy_completion* completion) noexcept {
      // Who sees 0 (acquire) may raise the flag and use the records again.
      static_cast<record*>(completion)->left->fetch_sub(1, std::memory_order_acq_rel);
      return true;
    }
  };

  void make_records() {
    sent_ = std::make_unique<sent[]>(links_.size() + 1);
    records_ = std::make_unique<record[]>(copies());
    std::size_t next = 0;
    for (std::size_t i = 0; i <= links_.size(); ++i) {
      sent_[i].first_record = next;
      for (std::size_t const end = next + (i < links_.size() ? links_[i] : own_.value).copies; next < end;
           ++next)
        records_[next].left = &sent_[i].left;
    }
  }
  /// How often a receiver has been ready for its sender: flags are counted where they travel as messages.
  std::uint64_t ready_number(link const& l) const {
    return l.sends && l.receives ? handshakes_ : runs_.now();
  }
  bool may_leave(std::size_t i) const { return flags_.value(i, ready_flag) >= sent_[i].ready_for; }
  void send(std::size_t i) {
    sent_[i].now = sent::state::leaves;
    copy(links_[i], sent_[i]);
  }
  void copy(link const& l, sent& s) {
    s.left.store(l.copies, std::memory_order_relaxed);
    record* next = records_.get() + s.first_record;
    for (device_box const& box : boxes_of(l)) {
      std::size_t const runs = box.runs();
      if (runs >= kernel_from &&
          atl::engine::start_box_copy(box.target(dest_), box.source(source_), box.shape, next)) {
        next += runs;
        s.left.fetch_sub(runs - 1, std::memory_order_acq_rel);
        continue;
      }
      box.for_each_run(dest_, source_, [&next](auto const& to, auto const& from, std::size_t bytes) {
        atl::engine::start_copy(to, from, bytes, next++);
      });
    }
  }
  std::span<device_box const> boxes_of(link const& l) const {
    return std::span(boxes_).subspan(l.straight.first, l.straight.count);
  }

  flag_links flags_;
  std::vector<link> links_;
  moved<link> own_;  ///< between own arrays
  std::vector<device_box> boxes_;
  std::unique_ptr<sent[]> sent_;  ///< [link], and for own arrays; records point into it
  std::unique_ptr<record[]> records_;
  std::size_t next_ = 0;  ///< links before this one have received
  run_numbers runs_;
  std::uint64_t handshakes_ = 0;  ///< runs that began with one
  std::ptrdiff_t source_ = 0;
  std::ptrdiff_t dest_ = 0;
  bool always_ready_ = false;
  moved<bool> under_way_;
  bool in_graphs_ = false;  ///< the same on all ranks, as all capture
};

}  // namespace atl::inline UPCXX_MODE::detail
