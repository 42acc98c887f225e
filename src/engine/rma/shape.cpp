#include "engine/rma/shape.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <atoll/engine/strided.hpp>

#include "base/copy_watched.hpp"

namespace atl::engine::remote {
namespace {

/// Descriptions stay small beside the data, unless runs are short.
constexpr std::size_t most_runs = 1024;
/// As many as a call of copy_strided takes in one go, so that strides stand on the stack. Boxes with more that
/// cannot be merged are cut at the dimensions behind.
constexpr std::size_t most_dimensions = 16;

std::byte* address(std::uint64_t at) noexcept {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(at));
}

/// Calls use(at, bytes) for the runs of a piece.
template <class Use>
void each_run(std::vector<transfer_run> const& runs, std::uint64_t index, std::uint64_t within,
              std::uint64_t bytes, Use const& use) {
  while (bytes != 0) {
    transfer_run const& run = runs[index++];
    std::uint64_t const some = std::min(run.bytes - within, bytes);
    use(run.at + within, some);
    bytes -= some;
    within = 0;
  }
}

std::uint64_t total(std::vector<transfer_run> const& runs) noexcept {
  std::uint64_t bytes = 0;
  for (transfer_run const& run : runs) bytes += run.bytes;
  return bytes;
}

/// Goes on by as many bytes as a piece may have; no more than so many runs.
std::uint64_t reach(std::vector<transfer_run> const& runs, std::uint64_t index, std::uint64_t within,
                    std::uint64_t most) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t count = 0; count < most_runs && index < runs.size() && bytes < most; ++count) {
    bytes += runs[index++].bytes - within;
    within = 0;
  }
  return std::min(bytes, most);
}

void go_on(std::vector<transfer_run> const& runs, std::uint64_t& index, std::uint64_t& within,
           std::uint64_t bytes) noexcept {
  within += bytes;
  while (index < runs.size() && within >= runs[index].bytes) within -= runs[index++].bytes;
}

}  // namespace

shape shape::contiguous(transfer_end to, transfer_end from, std::size_t bytes) {
  shape result(form::contiguous, to, from);
  result.left_ = bytes;
  return result;
}

shape shape::of_runs(transfer_end to, std::vector<transfer_run> to_runs, transfer_end from,
                     std::vector<transfer_run> from_runs) {
  shape result(form::runs, to, from);
  result.to_runs_ = std::move(to_runs);
  result.from_runs_ = std::move(from_runs);
  result.left_ = std::min(total(result.to_runs_), total(result.from_runs_));
  return result;
}

shape shape::of_box(transfer_end to, std::ptrdiff_t const* to_strides, transfer_end from,
                    std::ptrdiff_t const* from_strides, std::size_t const* extents, std::size_t dimensions,
                    std::size_t element_bytes) {
  shape result(form::box, to, from);
  result.run_ = element_bytes;
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (extents[d] != 1) result.dimensions_.push_back({from_strides[d], to_strides[d], extents[d]});
  }
  result.normalise();
  return result;
}

/// Sorts and merges dimensions, and finds the one that is cut.
void shape::normalise() {
  std::vector<dimension>& all = dimensions_;
  auto const reach = [&](dimension const& d) {
    std::ptrdiff_t const stride = to_.is_here() ? d.from : d.to;  // an end that is elsewhere
    return stride < 0 ? -stride : stride;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](dimension const& a, dimension const& b) { return reach(a) < reach(b); });
  std::size_t kept = 0;
  for (dimension const& d : all) {
    auto const run = static_cast<std::ptrdiff_t>(run_);
    if (kept == 0 && d.to == run && d.from == run) {
      run_ *= d.extent;
      continue;
    }
    if (kept != 0) {
      dimension& inner = all[kept - 1];
      auto const extent = static_cast<std::ptrdiff_t>(inner.extent);
      if (d.to == inner.to * extent && d.from == inner.from * extent) {
        inner.extent *= d.extent;
        continue;
      }
    }
    all[kept++] = d;
  }
  all.resize(kept);
  // A run that is too long for a piece is a dimension of bytes.
  if (run_ > remote_piece_bytes) {
    all.insert(all.begin(), {1, 1, run_});
    run_ = 1;
  }
  std::size_t bytes = run_;
  cut_ = 0;
  while (cut_ < all.size() && cut_ < most_dimensions && bytes * all[cut_].extent <= remote_piece_bytes) {
    bytes *= all[cut_++].extent;
  }
  if (cut_ == most_dimensions && cut_ < all.size()) {
    bytes /= all[--cut_].extent;
    chunk_ = all[cut_].extent;
  } else {
    chunk_ = std::max<std::size_t>(remote_piece_bytes / bytes, 1);
  }
  left_ = 1;
  for (std::size_t d = cut_; d < all.size(); ++d) {
    left_ *= d == cut_ ? (all[d].extent + chunk_ - 1) / chunk_ : all[d].extent;
  }
}

/// Bytes of a box that lie together at both ends, and how many dimensions that takes.
std::size_t shape::box_run(std::size_t& dimensions_within) const noexcept {
  dimensions_within = 0;
  std::size_t run = run_;
  // Only a dimension of bytes is left so by normalise().
  if (!dimensions_.empty() && dimensions_[0].from == 1 && dimensions_[0].to == 1 && run_ == 1) {
    run = dimensions_[0].extent;
    dimensions_within = 1;
  }
  return run;
}

shape::volume shape::size() const noexcept {
  if (form_ == form::contiguous) return {left_, 1};
  if (form_ == form::runs) return {left_, std::max(from_runs_.size(), to_runs_.size())};
  std::size_t within = 0;
  std::size_t const run = box_run(within);
  std::uint64_t count = 1;
  for (std::size_t d = within; d < dimensions_.size(); ++d) count *= dimensions_[d].extent;
  return {count * run, count};
}

std::vector<transfer_run> shape::list(side which) const {
  transfer_end const& end = which == side::from ? from_ : to_;
  if (form_ == form::contiguous) return {{end.at, left_}};
  if (form_ == form::runs) return runs(which);
  std::size_t within = 0;
  std::size_t const run = box_run(within);
  std::vector<transfer_run> all{{end.at, run}};
  // Each dimension repeats what those inside make.
  for (std::size_t d = within; d < dimensions_.size(); ++d) {
    dimension const& each = dimensions_[d];
    std::size_t const inner = all.size();
    auto const stride = static_cast<std::uint64_t>(which == side::from ? each.from : each.to);
    all.reserve(inner * each.extent);
    for (std::uint64_t i = 1; i < each.extent; ++i) {
      for (std::size_t k = 0; k < inner; ++k) all.push_back({all[k].at + i * stride, run});
    }
  }
  return all;
}

position shape::cut() noexcept {
  position const at = next_;
  position piece = at;
  switch (form_) {
    case form::contiguous:
      piece.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(left_, remote_piece_bytes));
      next_.from += piece.bytes;
      next_.to = next_.from;
      left_ -= piece.bytes;
      break;
    case form::runs: {
      std::uint64_t most = std::min<std::uint64_t>(left_, remote_piece_bytes);
      most = reach(from_runs_, at.from, at.from_within, most);
      most = reach(to_runs_, at.to, at.to_within, most);
      piece.bytes = static_cast<std::uint32_t>(most);
      go_on(from_runs_, next_.from, next_.from_within, most);
      go_on(to_runs_, next_.to, next_.to_within, most);
      left_ -= most;
      break;
    }
    case form::box: {
      part const p = part_of(at);
      std::size_t bytes = run_;
      for (std::size_t d = 0; d < p.dimensions; ++d) {
        bytes *= d + 1 == p.dimensions ? p.last_extent : dimensions_[d].extent;
      }
      piece.bytes = static_cast<std::uint32_t>(bytes);
      ++next_.from;
      next_.to = next_.from;
      --left_;
      break;
    }
  }
  return piece;
}

shape::part shape::part_of(position const& at) const noexcept {
  part result;
  std::uint64_t number = at.from;
  result.dimensions = cut_;
  if (cut_ != 0) result.last_extent = dimensions_[cut_ - 1].extent;
  for (std::size_t d = cut_; d < dimensions_.size(); ++d) {
    dimension const& each = dimensions_[d];
    std::uint64_t const count = d == cut_ ? (each.extent + chunk_ - 1) / chunk_ : each.extent;
    std::uint64_t index = number % count;
    number /= count;
    if (d == cut_) {
      index *= chunk_;
      result.dimensions = cut_ + 1;
      result.last_extent = std::min<std::size_t>(chunk_, each.extent - index);
    }
    result.from += static_cast<std::ptrdiff_t>(index) * each.from;
    result.to += static_cast<std::ptrdiff_t>(index) * each.to;
  }
  return result;
}

void shape::describe(side which, position const& at, piece_head& head) const noexcept {
  transfer_end const& end = which == side::from ? from_ : to_;
  head.bytes = at.bytes;
  head.shape = form_;
  head.count = 0;
  switch (form_) {
    case form::contiguous:
      head.offset = end.at + at.from;
      break;
    case form::runs: {
      std::vector<transfer_run> const& all = runs(which);
      std::uint64_t const index = index_of(which, at);
      std::uint64_t const first = all[index].at + within(which, at);
      head.offset = first;
      each_run(all, index, within(which, at), at.bytes, [&](std::uint64_t, std::uint64_t) { ++head.count; });
      if (head.count == 1) {
        head.shape = form::contiguous;
        head.count = 0;
      }
      break;
    }
    case form::box: {
      part const p = part_of(at);
      head.offset = end.at + static_cast<std::uint64_t>(which == side::from ? p.from : p.to);
      head.count = static_cast<std::uint16_t>(p.dimensions);
      if (p.dimensions == 0) head.shape = form::contiguous;
      break;
    }
  }
}

void shape::write_description(side which, position const& at, piece_head const& head,
                              std::byte* out) const noexcept {
  if (head.shape == form::runs) {
    each_run(runs(which), index_of(which, at), within(which, at), at.bytes,
             [&](std::uint64_t place, std::uint64_t bytes) {
               write_at(out, transfer_run{place, bytes});
               out += sizeof(transfer_run);
             });
  } else if (head.shape == form::box) {
    part const p = part_of(at);
    write_at(out, static_cast<std::uint64_t>(run_));
    out += sizeof(std::uint64_t);
    for (std::size_t d = 0; d < p.dimensions; ++d) {
      dimension const& each = dimensions_[d];
      write_at(out, box_dimension{which == side::from ? each.from : each.to,
                                  d + 1 == p.dimensions ? p.last_extent : each.extent});
      out += sizeof(box_dimension);
    }
  }
}

/// Between a piece of a box at the end that is here and its packed form.
void shape::copy_part(position const& at, std::byte* packed, bool in) const noexcept {
  part const p = part_of(at);
  std::array<std::ptrdiff_t, most_dimensions> mine{};
  std::array<std::ptrdiff_t, most_dimensions> beside{};
  std::array<std::size_t, most_dimensions> extents{};
  auto next = static_cast<std::ptrdiff_t>(run_);
  for (std::size_t d = 0; d < p.dimensions; ++d) {
    mine[d] = in ? dimensions_[d].to : dimensions_[d].from;
    beside[d] = next;
    extents[d] = d + 1 == p.dimensions ? p.last_extent : dimensions_[d].extent;
    next *= static_cast<std::ptrdiff_t>(extents[d]);
  }
  if (in) {
    copy_strided(address(to_.at) + p.to, mine.data(), packed, beside.data(), extents.data(), p.dimensions,
                 run_);
  } else {
    copy_strided(packed, beside.data(), address(from_.at) + p.from, mine.data(), extents.data(), p.dimensions,
                 run_);
  }
}

void shape::gather(position const& at, std::byte* out) const noexcept {
  switch (form_) {
    case form::contiguous:
      std::memcpy(out, address(from_.at + at.from), at.bytes);
      break;
    case form::runs:
      each_run(from_runs_, at.from, at.from_within, at.bytes, [&](std::uint64_t place, std::uint64_t bytes) {
        std::memcpy(out, address(place), bytes);
        out += bytes;
      });
      break;
    case form::box:
      copy_part(at, out, false);
      break;
  }
}

void shape::scatter(position const& at, std::byte const* in) const noexcept {
  switch (form_) {
    case form::contiguous:
      copy_watched(address(to_.at + at.from), in, at.bytes);
      break;
    case form::runs:
      each_run(to_runs_, at.to, at.to_within, at.bytes, [&](std::uint64_t place, std::uint64_t bytes) {
        copy_watched(address(place), in, bytes);
        in += bytes;
      });
      break;
    case form::box:
      copy_part(at, const_cast<std::byte*>(in), true);
      break;
  }
}

}  // namespace atl::engine::remote
