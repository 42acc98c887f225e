#pragma once

/// Cuts a transfer into what single operations of a network move.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <atoll/engine/rma.hpp>

namespace atl::engine::remote {

/// One operation: equally many bytes in lists of runs, here by address, there by offset. None of the latter goes beyond the end of
/// a block (keys.hpp).
struct direct_cut {
  /// Networks that take more are given no more: of long lists this is most of the gain.
  static constexpr std::size_t most_runs = 16;

  std::array<transfer_run, most_runs> here_runs;
  std::array<transfer_run, most_runs> there_runs;
  std::size_t here_count = 0;
  std::size_t there_count = 0;
  std::size_t bytes = 0;

  [[nodiscard]] std::span<transfer_run const> here() const noexcept { return {here_runs.data(), here_count}; }
  [[nodiscard]] std::span<transfer_run const> there() const noexcept {
    return {there_runs.data(), there_count};
  }
  [[nodiscard]] bool is_contiguous() const noexcept { return here_count == 1 && there_count == 1; }
};

/// Both lists of a transfer, and how far it has been cut. The lists have the same sum of bytes.
class direct_runs {
 public:
  direct_runs(std::vector<transfer_run> here, std::vector<transfer_run> there)
      : here_{std::move(here)}, there_{std::move(there)} {}

  /// Goes on by as many bytes as there are, at most `most_bytes` in at most `most_runs` runs on each side. Requires !ended().
  direct_cut cut(std::size_t most_bytes, std::size_t most_runs) noexcept;
  [[nodiscard]] bool ended() const noexcept { return there_.ended(); }
  /// What comes next there: requires !ended().
  [[nodiscard]] std::uint64_t next_there() const noexcept { return there_.at(); }
  [[nodiscard]] std::vector<transfer_run> const& here() const noexcept { return here_.runs; }
  [[nodiscard]] std::vector<transfer_run> const& there() const noexcept { return there_.runs; }
  /// Calls look(run) for the next `most` runs there that have not been cut, the first maybe in part.
  template <class Look>
  void next_runs(std::size_t most, Look const& look) const {
    std::size_t const end = std::min(there_.index + most, there_.runs.size());
    std::uint64_t cut = there_.within;
    for (std::size_t i = there_.index; i < end; ++i) {
      look(transfer_run{there_.runs[i].at + cut, there_.runs[i].bytes - cut});
      cut = 0;
    }
  }

 private:
  struct side {
    std::vector<transfer_run> runs;
    std::size_t index = 0;
    std::uint64_t within = 0;

    [[nodiscard]] bool ended() const noexcept { return index == runs.size(); }
    [[nodiscard]] std::uint64_t at() const noexcept { return runs[index].at + within; }
    [[nodiscard]] std::uint64_t left() const noexcept { return runs[index].bytes - within; }
    void go_on(std::uint64_t bytes) noexcept;
  };

  side here_;
  side there_;
};

}  // namespace atl::engine::remote
