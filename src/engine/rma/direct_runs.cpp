#include "engine/rma/direct_runs.hpp"

#include <algorithm>

#include "engine/network/keys.hpp"

namespace atl::engine::remote {
namespace {

constexpr std::uint64_t left_of_block(std::uint64_t at) noexcept {
  return key_block_bytes - (at & (key_block_bytes - 1));
}

/// Does what lies at `at` follow the last run, and so need none of its own?
bool follows(std::span<transfer_run const> runs, std::uint64_t at) noexcept {
  return !runs.empty() && runs.back().at + runs.back().bytes == at;
}

void add(std::array<transfer_run, direct_cut::most_runs>& runs, std::size_t& count, bool to_last,
         transfer_run const& more) noexcept {
  if (to_last) {
    runs[count - 1].bytes += more.bytes;
  } else {
    runs[count++] = more;
  }
}

}  // namespace

void direct_runs::side::go_on(std::uint64_t bytes) noexcept {
  within += bytes;
  while (index < runs.size() && within >= runs[index].bytes) within -= runs[index++].bytes;
}

direct_cut direct_runs::cut(std::size_t most_bytes, std::size_t most_runs) noexcept {
  direct_cut result;
  while (!ended() && result.bytes < most_bytes) {
    std::uint64_t const at = there_.at();
    bool const grows_here = follows(result.here(), here_.at());
    // In a block of its own it has a key of its own.
    bool const grows_there = follows(result.there(), at) && left_of_block(at) != key_block_bytes;
    if ((!grows_here && result.here_count == most_runs) ||
        (!grows_there && result.there_count == most_runs)) {
      break;
    }
    std::uint64_t const bytes =
        std::min({here_.left(), there_.left(), left_of_block(at), most_bytes - result.bytes});
    add(result.here_runs, result.here_count, grows_here, {here_.at(), bytes});
    add(result.there_runs, result.there_count, grows_there, {at, bytes});
    result.bytes += bytes;
    here_.go_on(bytes);
    there_.go_on(bytes);
  }
  return result;
}

}  // namespace atl::engine::remote
