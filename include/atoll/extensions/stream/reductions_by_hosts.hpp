#pragma once

/// Reductions of arrays in streams by hosts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/extensions/device/operations.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/future.hpp>
#include <upcxx/persona.hpp>
#include <upcxx/promise.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>
#include <upcxx/view.hpp>

namespace atl::inline UPCXX_MODE::device {

/// What hosts do where devices do not reach each other: rank 0 of the team combines it all, piece by piece. Of the master persona,
/// whose rpcs change it, so there is no lock.
struct host_reductions {
  using bytes = std::vector<char>;
  /// Of the ranks' pieces, which are equally long.
  using combination = std::function<bytes(std::vector<bytes> const&)>;
  struct piece {
    std::vector<bytes> parts;
    std::vector<std::size_t> sizes;  ///< of the ranks' whole arrays
    std::vector<upcxx::promise<bytes>> answers;
    std::size_t come = 0;
  };
  struct reduction {
    piece now;  ///< taken away before the first answer to it leaves, and who has that gives the next
    combination combine;     ///< rank 0 sets it, and then gives its own piece
    std::int32_t root = -1;  ///< negative: all want the result
  };

  explicit host_reductions(std::int32_t of) : ranks(static_cast<std::size_t>(of)) {}
  std::size_t ranks;
  std::map<std::uint64_t, reduction> open;  ///< by number, at rank 0
};
using shared_reductions = upcxx::dist_object<host_reductions>;

inline void check_sizes(shared_reductions const& all, std::vector<std::size_t> const& sizes) {
  for (std::size_t r = 1; r < sizes.size(); ++r) {
    if (sizes[r] == sizes[0]) continue;
    check_failed(
        "stream_reduction::reduce_all: rank %d gives %zu bytes, and rank %d gives %zu: all arrays must have one "
        "size",
        static_cast<int>(all.team()[0]), sizes[0],
        static_cast<int>(all.team()[static_cast<upcxx::intrank_t>(r)]), sizes[r]);
  }
}

/// At rank 0: combines the piece once all ranks have given it.
inline void combine_piece(shared_reductions& all, host_reductions::reduction& r) {
  if (r.now.come != all->ranks) return;
  host_reductions::piece const given = std::exchange(r.now, {});
  check_sizes(all, given.sizes);
  host_reductions::bytes const result = r.combine(given.parts);
  std::int32_t const root = r.root;
  for (std::size_t rank = 0; rank < all->ranks; ++rank) {
    bool const wanted = has_result(static_cast<std::int32_t>(rank), root);
    given.answers[rank].fulfill_result(wanted ? result : host_reductions::bytes());
  }
}

/// A rank's array on its way through rank 0: a piece at a time, so that little room is asked for at once.
class host_reduction {
 public:
  host_reduction(shared_reductions& all, std::uint64_t number, std::shared_ptr<std::vector<char>> values)
      : all_(all), number_(number), values_(std::move(values)) {}

  /// By the master persona. What finds no room is tried again by its next progress.
  static void go_on(std::shared_ptr<host_reduction> const& self) {
    try {
      self->give_piece().then([self](host_reductions::bytes const& result) {
        std::copy(result.begin(), result.end(), self->values_->data() + self->begin_);
        self->begin_ += self->length();
        if (self->begin_ < self->values_->size()) return go_on(self);
        // At rank 0 its own answer is the last one of the last piece, or others still wait for theirs; all have been sent.
        if (self->all_.team().rank_me() == 0) self->all_->open.erase(self->number_);
        self->done_.fulfill_result();
      });
    } catch (upcxx::bad_shared_alloc const&) {
      upcxx::master_persona().lpc_ff([self] { go_on(self); });
    }
  }
  [[nodiscard]] upcxx::future<> done() const { return done_.get_future(); }

 private:
  /// A multiple of all elements' sizes, which are 4 or 8 bytes.
  static constexpr std::size_t piece_bytes = std::size_t{64} << 10;

  [[nodiscard]] std::size_t length() const { return std::min(piece_bytes, values_->size() - begin_); }
  upcxx::future<host_reductions::bytes> give_piece() {
    char const* const from = values_->data() + begin_;
    return upcxx::rpc(
        all_.team(), 0,
        [](shared_reductions& here, std::uint64_t number, std::size_t size, upcxx::intrank_t rank,
           upcxx::view<char> part) {
          host_reductions::reduction& all = here->open[number];
          host_reductions::piece& p = all.now;
          p.parts.resize(here->ranks);
          p.sizes.resize(here->ranks);
          p.answers.resize(here->ranks);
          auto const r = static_cast<std::size_t>(rank);
          p.parts[r].assign(part.begin(), part.end());
          p.sizes[r] = size;
          ++p.come;
          auto answer = p.answers[r].get_future();
          combine_piece(here, all);
          return answer;
        },
        all_, number_, values_->size(), all_.team().rank_me(), upcxx::make_view(from, from + length()));
  }

  shared_reductions& all_;
  std::uint64_t number_;
  std::shared_ptr<std::vector<char>> values_;
  std::size_t begin_ = 0;
  upcxx::promise<> done_;
};

/// Puts the result, where it is wanted, in place of the values. By the master persona.
inline upcxx::future<> reduce_by_hosts(shared_reductions& all, std::uint64_t number, std::int32_t root,
                                       std::shared_ptr<std::vector<char>> values,
                                       host_reductions::combination combine) {
  if (all.team().rank_me() == 0) {
    host_reductions::reduction& own = all->open[number];
    own.root = root;
    own.combine = std::move(combine);
  }
  auto const run = std::make_shared<host_reduction>(all, number, std::move(values));
  upcxx::future<> const done = run->done();
  host_reduction::go_on(run);
  return done;
}

}  // namespace atl::inline UPCXX_MODE::device
