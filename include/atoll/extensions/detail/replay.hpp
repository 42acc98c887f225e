#pragma once

/// Copies between ranks that have been planned, and the flags that keep them in order: what a transfer is at
/// run time. Nothing is allocated, locked or looked up.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/flags.hpp>
#include <atoll/engine/strided.hpp>
#include <atoll/extensions/detail/flag_links.hpp>
#include <atoll/extensions/detail/heap_array.hpp>
#include <atoll/extensions/detail/joint_links.hpp>
#include <atoll/extensions/detail/moved.hpp>
#include <atoll/extensions/detail/remote_inbox.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Three flags for each pair of ranks and direction. Those of data count runs, odd and even ones apart: the messages of two runs may
/// be on their way between hosts, and overtake each other. Those of three are not, since a run begins when the peer has begun the one before.
inline constexpr std::size_t data_flags = 0;  ///< two: the data of this run is in place
inline constexpr std::size_t ready_flag = 2;  ///< the data of this run may come
inline constexpr std::size_t flags_of_transfer = 3;

/// Numbers the runs of a transfer, which are the same on all ranks, and knows which begin with a handshake.
class run_numbers {
 public:
  /// The next run, to `dest`; true if it begins with a handshake. None is needed where runs alternate between two destinations: a peer that
  /// both sends and receives has entered the previous run, since its data of that has come. So what it does with data of the run before that
  /// is over, also with that in its inbox for such runs.
  bool begin(std::ptrdiff_t dest) {
    ++run_;
    bool const alternates = known_ == 2 && dest == last_but_one_ && dest != last_;
    last_but_one_ = last_;
    last_ = dest;
    if (known_ < 2) ++known_;
    return !alternates;
  }
  std::uint64_t now() const { return run_; }
  bool is_odd() const { return (run_ & 1U) != 0; }
  std::size_t data_flag() const { return data_flags + (run_ & 1U); }
  /// Odd runs up to this one, or even ones.
  std::uint64_t of_its_kind() const { return (run_ + 1) / 2; }
  /// Takes nothing of earlier runs for granted in those that follow.
  void forget() { known_ = 0; }

 private:
  std::uint64_t run_ = 0;
  std::ptrdiff_t last_ = 0;  ///< destination of the previous run
  std::ptrdiff_t last_but_one_ = 0;
  int known_ = 0;  ///< how many of these two are known
};

struct alignas(64) inbox_line {
  std::byte bytes[64];
};

/// Moves, also while a run is under way, and leaves one without boxes behind.
class replay {
 public:
  /// Boxes one behind the other in a list.
  struct range {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// What goes to a peer and comes from it. Boxes go straight to their destination, or, where that would
  /// write small pieces into many lines of the peer, packed into its inbox, from which it copies them on. All go
  /// packed to and from peers whose memory is not addressed here, in one transfer.
  struct link {
    range straight;             ///< in `boxes`
    range packed;               ///< in `boxes`: into the peer's inbox
    range unpacked;             ///< in `boxes`: out of this rank's
    std::size_t inbox_out = 0;  ///< bytes of the peer's inbox; each has two, for odd and even runs
    std::size_t inbox_in = 0;
    std::size_t elements = 0;        ///< sent by a run
    bool sends = false;              ///< this rank writes to the peer
    bool receives = false;           ///< the peer writes to this rank
    bool receives_straight = false;  ///< and some of it into destinations
    bool joint = false;              ///< one of those that share a message
    remote_inbox remote;             ///< of a peer whose memory is not addressed here, if it is sent to
    std::uint64_t raises = 1;        ///< by how much the flag of data rises with a run
  };

  replay() = default;
  /// Boxes `local` are between own arrays; link i is to `flags.peer(i)`.
  replay(flag_links&& flags, std::vector<link>&& links, std::vector<joint_links>&& joint,
         std::vector<atl::engine::prepared_box>&& boxes, range local, heap_array<inbox_line>&& inbox,
         bool always_ready)
      : flags_(std::move(flags)),
        links_(std::move(links)),
        joint_(std::move(joint)),
        boxes_(std::move(boxes)),
        inbox_(std::move(inbox)),
        local_(local),
        always_ready_(always_ready) {
    unsent_.reserve(links_.size());
    unread_.reserve(links_.size());
  }

  std::vector<link> const& links() const { return links_; }
  std::size_t local_boxes() const { return local_.value.count; }
  bool under_way() const { return under_way_.value; }

  /// Offsets in bytes.
  void start(std::ptrdiff_t source, std::ptrdiff_t dest) {
    bool const handshake = runs_.begin(dest) || always_ready_;
    source_ = source;
    dest_ = dest;
    under_way_.value = true;
    begun_ = 0;
    unread_.clear();
    for (std::size_t i = 0; i < links_.size(); ++i) {
      link const& l = links_[i];
      if (l.receives) unread_.push_back(i);
      if (l.receives && (!l.sends || (handshake && l.receives_straight)))
        flags_.raise(i, runs_.now(), ready_flag);
    }
    // These need not be looked at: nothing goes straight, and this rank has finished the last run, which their peers have begun then.
    for (joint_links const& all : joint_) send(all);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      link const& l = links_[i];
      if (!l.sends || l.joint) continue;
      // Of a peer's two inboxes the one of this run was that of the run before the last, which is over when the peer has begun the last.
      bool const straight = l.straight.count != 0;
      unsent const one{i, l.receives && !(handshake && straight) ? 0
                          : straight                             ? runs_.now()
                                                                 : runs_.now() - 1};
      if (may_leave(one)) {
        send(i);
      } else {
        unsent_.push_back(one);
      }
    }
    copy(local_.value, dest_, source_);
  }

  /// Goes on as far as possible without waiting; true once all is sent and has come.
  bool advance() {
    for (std::size_t at = 0; at < unsent_.size();) {
      if (may_leave(unsent_[at])) {
        send(unsent_[at].link);
        unsent_[at] = unsent_.back();
        unsent_.pop_back();
      } else {
        ++at;
      }
    }
    for (std::size_t at = 0; at < unread_.size();) {
      link const& l = links_[unread_[at]];
      if (flags_.value(unread_[at], runs_.data_flag()) < runs_.of_its_kind() * l.raises) {
        ++at;
        continue;
      }
      copy(l.unpacked, dest_, inbox_of_run(l.inbox_in));
      unread_[at] = unread_.back();
      unread_.pop_back();
    }
    if (!unsent_.empty() || !unread_.empty()) return false;
    // Whoever only receives has said that it has begun this run: nothing is on its way to the flags, whose memory may now be freed.
    for (; begun_ < links_.size(); ++begun_) {
      link const& l = links_[begun_];
      if (!l.receives && flags_.value(begun_, ready_flag) < runs_.now()) return false;
    }
    under_way_.value = false;
    return true;
  }

  void finish() {
    atl::engine::wait_for([](void* self) { return static_cast<replay*>(self)->advance(); }, this);
  }

  /// Takes nothing of earlier runs for granted in those that follow.
  void forget_runs() { runs_.forget(); }

 private:
  /// A link whose data have not left.
  struct unsent {
    std::size_t link;
    std::uint64_t ready_for;  ///< the run that the peer must have begun
  };

  bool may_leave(unsent const& one) const {
    if (flags_.value(one.link, ready_flag) < one.ready_for) return false;
    // What an earlier run has packed is still on its way.
    remote_inbox const& remote = links_[one.link].remote;
    return !remote || !remote.under_way();
  }
  void send(std::size_t i) {
    link const& l = links_[i];
    if (l.remote) {
      l.remote.send(inbox_of_run(l.inbox_out), flags_.place(i, runs_.data_flag()),
                    [&](std::ptrdiff_t moved) { copy(l.packed, moved, source_); });
      return;
    }
    copy(l.straight, dest_, source_);
    copy(l.packed, inbox_of_run(l.inbox_out), source_);
    flags_.raise(i, runs_.of_its_kind(), runs_.data_flag());
  }
  void send(joint_links const& all) {
    atl::engine::flagged_puts puts(all.rank, all.links.size(), all.room);
    for (std::size_t const i : all.links) {
      link const& l = links_[i];
      std::byte* const data = puts.add(l.remote.place(inbox_of_run(l.inbox_out)), l.inbox_out,
                                       flags_.place(i, runs_.data_flag()));
      copy(l.packed, data - l.remote.base(), source_);
    }
    puts.send();
  }
  void copy(range const& r, std::ptrdiff_t dest, std::ptrdiff_t source) const {
    atl::engine::copy_prepared(boxes_.data() + r.first, r.count, dest, source);
  }
  std::ptrdiff_t inbox_of_run(std::size_t bytes) const {
    return runs_.is_odd() ? static_cast<std::ptrdiff_t>(bytes) : 0;
  }

  flag_links flags_;
  std::vector<link> links_;
  std::vector<joint_links> joint_;
  std::vector<atl::engine::prepared_box> boxes_;
  std::vector<unsent> unsent_;
  std::vector<std::size_t> unread_;  ///< links whose data have not come, or are not where they belong
  heap_array<inbox_line> inbox_;
  moved<range> local_;
  std::size_t begun_ = 0;  ///< the peers of links before this one have begun the run, where they only receive
  run_numbers runs_;
  std::ptrdiff_t source_ = 0;
  std::ptrdiff_t dest_ = 0;
  bool always_ready_ = false;
  moved<bool> under_way_;
};

}  // namespace atl::inline UPCXX_MODE::detail
