#include "plan.hpp"

#include <algorithm>

namespace soak {
namespace {

/// Rectangles of put_strided.
constexpr std::uint32_t rectangle_rows = 5;

void apply(model& m, operation const& op) {
  switch (op.what) {
    case kind::put_and_tell:
      m.tell(op.target, op.value);
      [[fallthrough]];
    case kind::put:
    case kind::put_many:
    case kind::put_strided:
    case kind::lend:
      for (std::uint32_t i = 0; i < op.count; ++i) m.word(op.target, op.to + i) = nth(op.value, i);
      break;
    case kind::copy_and_tell:
      m.tell(op.target, op.value);
      [[fallthrough]];
    case kind::copy_between:
      for (std::uint32_t i = 0; i < op.count; ++i)
        m.word(op.target, op.to + i) = m.word(op.other, op.from + i);
      break;
    case kind::tell:
      m.tell(op.target, op.value);
      break;
    case kind::atomic_add:
      m.word(op.target, op.to) += op.value;
      break;
    case kind::relay:
      m.tell(op.target, op.value);
      m.tell(op.other, op.value + 1);
      m.tell(op.initiator, op.value + 2);
      break;
    default:
      break;
  }
}

}  // namespace

std::vector<int> splitting::members_with(int rank) const {
  auto const at = [](std::vector<int> const& v, int r) { return v[static_cast<std::size_t>(r)]; };
  std::vector<int> members;
  for (int r = 0; r < static_cast<int>(color.size()); ++r) {
    if (at(color, r) == at(color, rank)) members.push_back(r);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) { return at(key, a) < at(key, b); });
  return members;
}

splitting draw_teams(random_numbers& r, int ranks) {
  splitting s;
  if (r.below(2) == 0) return s;
  std::uint64_t const colors = 1 + r.below(4);
  for (int i = 0; i < ranks; ++i) {
    s.color.push_back(r.below(8) == 0 ? -1 : static_cast<int>(r.below(colors)));
    s.key.push_back(static_cast<int>(r.below(5)) - 2);
  }
  return s;
}

std::vector<operation> draw(random_numbers& r, model& m, std::uint32_t at_phase, std::uint32_t operations) {
  std::uint32_t const written = at_phase % 2 * half_words;
  std::uint32_t const read = half_words - written;
  std::vector<std::uint32_t> next(static_cast<std::size_t>(m.ranks()), written);
  std::vector<operation> plan;
  std::uint32_t const collectives_in = static_cast<std::uint32_t>(r.below(3)) * 8;  // one in so many; or none
  while (plan.size() < operations) {
    operation op;
    op.number = static_cast<std::uint32_t>(plan.size());
    op.initiator = r.rank(m.ranks());
    op.target = r.rank(m.ranks());
    op.other = r.rank(m.ranks());
    op.value = r.bits();
    if (collectives_in != 0 && r.below(collectives_in) == 0) {
      op.what = static_cast<kind>(static_cast<int>(kind::barrier_now) + r.rank(collective_kinds));
      op.subteam = r.below(2) == 0;
      op.count = static_cast<std::uint32_t>(r.below(r.below(4) == 0 ? 3000 : 40));
      plan.push_back(op);
      continue;
    }
    op.what = static_cast<kind>(r.below(point_to_point_kinds));
    op.count = op.what == kind::put || op.what == kind::get
                   ? 1
                   : static_cast<std::uint32_t>(1 + r.below(r.below(8) == 0 ? longest_run : 20));
    if (op.what == kind::put_strided) op.count = op.count / rectangle_rows * rectangle_rows + rectangle_rows;
    op.from = read + static_cast<std::uint32_t>(r.below(plain_words - op.count));
    if (op.what == kind::atomic_add || op.what == kind::atomic_load) {
      auto const word = plain_words + static_cast<std::uint32_t>(r.below(atomic_words));
      op.from = read + word;
      op.to = written + word;
      op.count = 1;
      apply(m, op);
      plan.push_back(op);
      continue;
    }
    std::uint32_t& free = next[static_cast<std::size_t>(op.target)];
    if (free + op.count > written + plain_words) {
      op.what = kind::tell;  // the target's memory is full
    } else {
      op.to = free;
      free += op.count;
    }
    apply(m, op);
    plan.push_back(op);
  }
  return plan;
}

}  // namespace soak
