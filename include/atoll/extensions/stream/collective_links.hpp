#pragma once

/// How collectives in streams travel: which rank signals and copies to which, in which order.
///
/// Rank r has links to ranks r + 1, r + 2, r + 4, ...: enough for a barrier (dissemination), for a binomial
/// tree from any root, and for a chain (the first link alone). Each link has four words at its further end,
/// or its nearer one, that always the same rank sets and always the same one uses up: so they hold constants,
/// as nodes of graphs must, and what is captured and what is not may take turns.
///
/// Where all devices reach each other, a kernel of the library on each of them does up to so many bytes; see collective_kernels.hpp.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/streams.hpp>
#include <atoll/extensions/detail/kept_team.hpp>
#include <atoll/extensions/stream/collective_kernels.hpp>
#include <atoll/extensions/stream/matching_calls.hpp>
#include <atoll/extensions/stream/stream_marks.hpp>
#include <atoll/extensions/stream/stream_steps.hpp>
#include <atoll/stream.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// How a broadcast goes: all pieces along a chain, or one down a tree.
struct broadcast_way {
  bool chain;
  std::size_t piece;  ///< bytes
};

/// A copy of b bytes takes 1 + b / step_bytes steps. A tree takes as many of the whole as it is deep; a chain
/// one for each piece, and one for each rank that the last piece still has to pass.
inline broadcast_way choose_way(std::size_t bytes, upcxx::intrank_t ranks, std::size_t step_bytes) {
  constexpr std::size_t line = 256;  // pieces begin where engines copy fastest
  double const load = static_cast<double>(bytes) / static_cast<double>(step_bytes);
  double const passed = std::max(ranks - 2, 0);
  double const pieces = std::max(1.0, std::floor(std::sqrt(passed * load)));
  double const depth = std::bit_width(static_cast<unsigned>(ranks - 1));
  if (depth * (1 + load) <= (pieces + passed) * (1 + load / pieces)) return {false, bytes};
  auto const n = static_cast<std::size_t>(pieces);
  return {true, ((bytes + n - 1) / n + line - 1) / line * line};
}

/// A rank's end of the links, without types.
class collective_links {
 public:
  static std::size_t count(upcxx::team const& over) {
    return std::bit_width(static_cast<unsigned>(over.rank_n() - 1));
  }
  static std::size_t words(upcxx::team const& over) { return kinds_of_words * count(over); }

  /// `signals`: words() of each rank, then those of kernels, then those of marks. Collective over the team.
  template <class Signals>
  collective_links(Signals const& signals, upcxx::team const& over, std::size_t step_bytes,
                   std::size_t kernels_to, device_name device)
      : over_(over),
        links_(count(over)),
        step_bytes_(step_bytes),
        device_(device.number),
        calls_(std::make_unique<matching_calls>("stream_collectives", over)) {
    check_same("atl::stream_collectives", "bytes for a step", step_bytes, over);
    check_same("atl::stream_collectives", "bytes up to which kernels do it", kernels_to, over);
    if (collective_kernels::words(over, kernels_to) != 0)
      kernels_ = std::make_unique<collective_kernels>(signals, words(over), over, kernels_to, device);
    if (stream_marks::are_wanted()) {
      bool const count = kernels_ != nullptr && kernels_->do_some();
      marks_ = std::make_unique<stream_marks>("stream_collectives", signals,
                                              words(over) + collective_kernels::words(over, kernels_to),
                                              count ? std::optional(words(over)) : std::nullopt, over);
    }
    upcxx::intrank_t const me = over.rank_me();
    upcxx::intrank_t const ranks = over.rank_n();
    own_ = signals.mine();
    for (upcxx::intrank_t reach = 1; reach < ranks; reach *= 2) {
      ahead_.push_back(signals.at((me + reach) % ranks));
      behind_.push_back(signals.at((me - reach + ranks) % ranks));
    }
  }

  [[nodiscard]] upcxx::team const& over() const { return *over_; }
  [[nodiscard]] bool is_open() const noexcept { return !own_.is_null(); }
  /// On which the allocator is.
  [[nodiscard]] int device() const noexcept { return device_; }
  /// Collective over the team.
  void close() {
    if (is_open()) calls_->close();
    if (kernels_ != nullptr) kernels_->drop_landing();
    calls_.reset();
    marks_.reset();
    own_ = pointer();
  }

  /// Takes memory for little calls of kernels, if all ranks have some. Collective over the team, and ends with close().
  template <class Device>
  void make_landing(upcxx::device_allocator<Device>& gpu) {
    if (kernels_ != nullptr) kernels_->make_landing(gpu);
  }

  /// Compares a call with those of the other ranks. Its digest is the same on all ranks, and no other call's.
  void note(stream const& s, call_run const& call) const {
    calls_->note(call, s.is_captured());
    if (marks_ != nullptr && call.first.count != 0) [[unlikely]]
      marks_->note(s, call);
  }

  /// Where all ranks receive: `mine` of this one. Ends the job if sizes differ. Collective over the team.
  [[nodiscard]] collective_places gather_places(engine::memory_place mine, std::size_t count,
                                                std::size_t element, char const* call) const {
    struct told {
      std::uint64_t owner, address, count, element;
    };
    auto const ranks = static_cast<std::size_t>(over_->rank_n());
    std::vector<told> own(ranks, told{});
    std::vector<told> all(ranks);
    own[static_cast<std::size_t>(over_->rank_me())] = {mine.owner, mine.address, count, element};
    upcxx::reduce_all(
        own.data(), all.data(), ranks,
        [](told const& a, told const& b) {
          return told{a.owner | b.owner, a.address | b.address, a.count | b.count, a.element | b.element};
        },
        *over_)
        .wait();
    collective_places found;
    for (told const& each : all) {
      if (each.count != count || each.element != element) {
        check_failed(
            "%s: rank %d gives %zu elements of %zu bytes, and rank %d gives %llu of %llu: all destinations must "
            "have one size",
            call, static_cast<int>((*over_)[over_->rank_me()]), count, element,
            static_cast<int>(static_cast<std::uint32_t>(each.owner)),
            static_cast<unsigned long long>(each.count), static_cast<unsigned long long>(each.element));
      }
      found.of.push_back({each.owner, each.address});
    }
    found.by_kernels = kernels_ != nullptr && kernels_->reach(found.of, count * element, *over_);
    return found;
  }

  /// What a rank does in a call: that it is noted, and then `bytes` from `from`, of the root, to all.
  void broadcast(stream_steps& steps, collective_places const& to, upcxx::intrank_t root,
                 engine::memory_place from, std::size_t bytes, call_run const& call) const {
    note_in(steps, call);
    std::uint64_t const name = value_of(call);
    upcxx::intrank_t const ranks = over_->rank_n();
    upcxx::intrank_t const me = over_->rank_me();
    if (to.by_kernels && kernels_->are_for(bytes)) {
#if ATOLL_CHECKED
      agree_down(steps, root, name);
#endif
      return kernels_->broadcast(steps, to, root, from, bytes);
    }
    std::size_t const turn = turn_from(root);
    auto const& own = to[static_cast<std::size_t>(me)];
    broadcast_way const way = choose_way(bytes, ranks, step_bytes_);
    std::size_t const pieces = (bytes + way.piece - 1) / way.piece;
    // In a tree over the link of the turn's highest bit; whoever has it earlier has more to pass it on to.
    std::size_t const bits = std::bit_width(turn);
    std::size_t const in = way.chain || bits == 0 ? 0 : bits - 1;
    std::size_t const first = way.chain ? 0 : bits;
    std::size_t const last = way.chain ? std::min<std::size_t>(links_, 1) : links_;
    if (turn != 0) {
      from = own;
      steps.signal(behind_[in] + word(free_there, in), name);
    }
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      std::size_t const begin = piece * way.piece;
      std::size_t const size = std::min(way.piece, bytes - begin);
      auto const offset = static_cast<std::ptrdiff_t>(begin);
      if (turn != 0) receive(steps, in, piece + 1, pieces);
      for (std::size_t link = first; link < last; ++link) {
        if (!leads_on(turn, link)) break;
        upcxx::intrank_t const next = (me + (upcxx::intrank_t{1} << link)) % ranks;
        if (piece == 0) use_up(steps, word(free_there, link), name);
        steps.copy(to[static_cast<std::size_t>(next)].moved_by(offset), from.moved_by(offset), size);
        steps.signal(ahead_[link] + word(news, link), piece + 1);
      }
    }
    if (turn == 0 && !same(own, from)) steps.copy(own, from, bytes);
  }

  /// The same: to each rank, at the place of this one, `bytes` from `from`; or, if each has a part of its own, from the
  /// part that is meant for it.
  void exchange(stream_steps& steps, collective_places const& to, engine::memory_place from,
                std::size_t bytes, bool in_parts, call_run const& call) const {
    note_in(steps, call);
    std::uint64_t const name = value_of(call);
    auto const ranks = static_cast<std::size_t>(over_->rank_n());
    if (to.by_kernels && kernels_->are_for((ranks - 1) * bytes)) {
#if ATOLL_CHECKED
      agree(steps, name);
#endif
      return kernels_->exchange(steps, to, from, bytes, in_parts);
    }
    pass(steps, coming, name);
    put_to_all(steps, to, *over_, from, bytes, in_parts);
    pass(steps, leaving, name);
  }

 private:
  using pointer = upcxx::global_ptr<std::uint64_t, upcxx::memory_kind::any>;

  /// What a link has words for. Who sets one has heard, over others, that it was used up.
  enum kind_of_word : std::size_t {
    coming,      ///< at the far end: all up to here have come to an exchange
    leaving,     ///< at the far end: ... and have put all that they had to put
    free_there,  ///< at the near end: the far one's destination may be written
    news,        ///< at the far end: pieces that have come
    kinds_of_words
  };

  [[nodiscard]] std::ptrdiff_t word(kind_of_word kind, std::size_t link) const {
    return static_cast<std::ptrdiff_t>(kind * links_ + link);
  }
  /// Of this rank in a broadcast; the root's is 0.
  [[nodiscard]] std::size_t turn_from(upcxx::intrank_t root) const {
    upcxx::intrank_t const ranks = over_->rank_n();
    return static_cast<std::size_t>((over_->rank_me() - root + ranks) % ranks);
  }
  /// Whether a link leads from that turn to a later one.
  [[nodiscard]] bool leads_on(std::size_t turn, std::size_t link) const {
    return turn + (std::size_t{1} << link) < static_cast<std::size_t>(over_->rank_n());
  }
  static std::uint64_t value_of(call_run const& call) {
    return call.digest | 1;  // signals are 0 when nobody calls
  }
  void note_in(stream_steps& steps, call_run const& call) const {
    steps.call([this, s = steps.on(), call] { note(s, call); });
  }
  void use_up(stream_steps& steps, std::ptrdiff_t which, std::uint64_t value) const {
    steps.use_up(own_ + which, value);
  }
  void receive(stream_steps& steps, std::size_t link, std::uint64_t piece, std::uint64_t pieces) const {
    std::ptrdiff_t const which = word(news, link);
    piece == pieces ? use_up(steps, which, pieces) : steps.wait(own_ + which, piece);
  }
  /// A barrier. Words of one are set again only by who has been in the other since, to which all had come
  /// when they had left this one. Of the call of that name: a stream stands still where others have come to another one.
  void pass(stream_steps& steps, kind_of_word kind, std::uint64_t name) const {
    for (std::size_t link = 0; link < links_; ++link) {
      steps.signal(ahead_[link] + word(kind, link), name);
      use_up(steps, word(kind, link), name);
    }
  }
  /// Kernels count calls, and do not know which one another rank is in. Hosts compare what is called, but not when graphs are launched among
  /// other graphs and calls, so in checked programs streams meet before a kernel: here all of them, as in the exchange itself.
  void agree(stream_steps& steps, std::uint64_t name) const {
    pass(steps, coming, name);
    pass(steps, leaving, name);
  }
  /// Before a broadcast: each with those that it would receive from and pass on to by copies, as others need not wait.
  void agree_down(stream_steps& steps, upcxx::intrank_t root, std::uint64_t name) const {
    std::size_t const turn = turn_from(root);
    std::size_t const first = std::bit_width(turn);
    if (turn != 0) {
      steps.signal(behind_[first - 1] + word(free_there, first - 1), name);
      use_up(steps, word(news, first - 1), name);
    }
    for (std::size_t link = first; leads_on(turn, link); ++link) {
      use_up(steps, word(free_there, link), name);
      steps.signal(ahead_[link] + word(news, link), name);
    }
  }

  kept_team over_;
  std::size_t links_;
  std::size_t step_bytes_;
  int device_;
  std::unique_ptr<matching_calls> calls_;
  std::unique_ptr<stream_marks> marks_;          ///< null: patience has no end
  std::unique_ptr<collective_kernels> kernels_;  ///< null: copies do all
  pointer own_;                                  ///< the first word; null: destroyed
  std::vector<pointer> ahead_;                   ///< by link, of the rank so far on
  std::vector<pointer> behind_;                  ///< of the rank so far back
};

}  // namespace atl::inline UPCXX_MODE::detail
