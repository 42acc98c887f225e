// Life of atomic domains, and what checked builds ask before an atomic operation.
//
// A domain is its team, its operations, and who does them: processors, that of the owner where this process does not address
// the cell, or the network. Its members choose one for all operations together when they construct it, so that a word is
// never changed by a processor and a network adapter in turn unless that is safe.

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <string>
#include <vector>

#include <atoll/engine/collectives.hpp>
#include <atoll/engine/period.hpp>
#include <upcxx/atomic.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/runtime.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/collectives/named.hpp"
#include "engine/collectives/run_to_end.hpp"
#include "engine/collectives/teams.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/waiting.hpp"
#include "engine/rma/network_atomics.hpp"
#include "upcxx/runtime_state.hpp"

namespace atl::rt {
namespace {

using upcxx::atomic_op;

constexpr char const* prefix = "atomic_domain::";
constexpr std::array<char const*, 23> names{
    "atomic_domain::load",          "atomic_domain::store",        "atomic_domain::compare_exchange",
    "atomic_domain::add",           "atomic_domain::fetch_add",    "atomic_domain::sub",
    "atomic_domain::fetch_sub",     "atomic_domain::mul",          "atomic_domain::fetch_mul",
    "atomic_domain::min",           "atomic_domain::fetch_min",    "atomic_domain::max",
    "atomic_domain::fetch_max",     "atomic_domain::bit_and",      "atomic_domain::fetch_bit_and",
    "atomic_domain::bit_or",        "atomic_domain::fetch_bit_or", "atomic_domain::bit_xor",
    "atomic_domain::fetch_bit_xor", "atomic_domain::inc",          "atomic_domain::fetch_inc",
    "atomic_domain::dec",           "atomic_domain::fetch_dec"};
static_assert(static_cast<std::size_t>(atomic_op::fetch_dec) + 1 == names.size());

constexpr std::uint32_t bit(atomic_op op) { return std::uint32_t{1} << static_cast<int>(op); }
constexpr std::uint32_t bitwise_operations = bit(atomic_op::bit_and) | bit(atomic_op::fetch_bit_and) |
                                             bit(atomic_op::bit_or) | bit(atomic_op::fetch_bit_or) |
                                             bit(atomic_op::bit_xor) | bit(atomic_op::fetch_bit_xor);

/// "load, fetch_add".
std::string list(std::uint32_t operations) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((operations >> i & 1U) == 0) continue;
    if (!text.empty()) text += ", ";
    text += names[i] + std::char_traits<char>::length(prefix);
  }
  return text;
}

std::string describe(atomic_cell cell) {
  if (cell.is_float) return cell.bytes == 4 ? "float" : "double";
  return format("%s integers of %d bits", cell.is_signed ? "signed" : "unsigned", cell.bytes * 8);
}

/// What must be the same on all members.
struct description {
  std::uint32_t operations;
  atomic_cell cell;
};

/// Ends the job where this rank's domain differs from that of the team's first rank.
void compare_with_first(engine::team_view& team, description const& mine) {
  description first = mine;
  engine::waiting_note const note(activity::wait);
  // In a callback too, where progress is internal.
  engine::run_to_end(&progress_user, [&](engine::on_done done) {
    engine::start_broadcast(team, sign(collective_kind::atomic_domain), &first, sizeof first, 0, done);
  });
  bool const same_cells = first.cell.bytes == mine.cell.bytes && first.cell.is_float == mine.cell.is_float &&
                          first.cell.is_signed == mine.cell.is_signed;
  if (first.operations == mine.operations && same_cells) return;
  check_failed(
      "atomic_domain: the ranks of a team construct different domains: {%s} on %s here, {%s} on %s on rank "
      "%d. All members give the same operations.",
      list(mine.operations).c_str(), describe(mine.cell).c_str(), list(first.operations).c_str(),
      describe(first.cell).c_str(), engine::team_to_world(team, 0));
}

/// As far as this rank knows.
engine::atomics_by choose_here(std::uint32_t operations, atomic_cell cell) {
  using upcxx::detail::cell_type;
  engine::atomic_request each{};
  each.bytes = static_cast<std::uint8_t>(cell.bytes);
  cell_type const narrow = cell.is_float    ? cell_type::float32
                           : cell.is_signed ? cell_type::int32
                                            : cell_type::uint32;
  cell_type const wide = cell.is_float    ? cell_type::float64
                         : cell.is_signed ? cell_type::int64
                                          : cell_type::uint64;
  each.type = static_cast<std::uint8_t>(cell.bytes == 4 ? narrow : wide);
  engine::guard const held;
  transport::network const& network = engine::progress_engine::here().network->transport();
  std::vector<transport::ability> abilities;
  for (std::size_t op = 0; op < names.size(); ++op) {
    if ((operations >> op & 1U) == 0) continue;
    each.operation = static_cast<std::uint8_t>(op);
    engine::network_form const form = engine::network_form_of(each);
    abilities.push_back(network.atomic_support(form.op, form.type));
  }
  return engine::choose_atomics(network.abilities(), abilities, settings::network_atomics());
}

/// What all members choose; processors, if they differ. Meets them, too: nobody knows before all have come.
engine::atomics_by choose_together(engine::team_view& team, std::uint32_t operations, atomic_cell cell) {
  engine::atomics_by by = choose_here(operations, cell);
  constexpr auto common = [](void* a, void const* b, std::size_t, void const*) {
    auto& mine = *static_cast<engine::atomics_by*>(a);
    if (mine != *static_cast<engine::atomics_by const*>(b)) mine = engine::atomics_by::processors;
  };
  engine::waiting_note const note(activity::wait);
  engine::run_to_end(&progress_user, [&](engine::on_done done) {
    engine::start_reduce(team, sign(collective_kind::atomic_domain),
                         {&by, &by, 1, sizeof by, common, nullptr, -1}, done);
  });
  return by;
}

bool spans_hosts(engine::team_view const& team) {
  return static_cast<engine::team_data const&>(team).hosts != nullptr;
}

constexpr char const* order_name(int order) {
  switch (static_cast<std::memory_order>(order)) {
    case std::memory_order_relaxed:
      return "memory_order_relaxed";
    case std::memory_order_consume:
      return "memory_order_consume";
    case std::memory_order_acquire:
      return "memory_order_acquire";
    case std::memory_order_release:
      return "memory_order_release";
    case std::memory_order_acq_rel:
      return "memory_order_acq_rel";
    case std::memory_order_seq_cst:
      return "memory_order_seq_cst";
  }
  return "an unknown memory order";
}

/// The orders that the specification allows, in words; empty if `order` is one of them.
char const* allowed_instead(atomic_op operation, int order) {
  bool const relaxed = order == static_cast<int>(std::memory_order_relaxed);
  bool const acquire = order == static_cast<int>(std::memory_order_acquire);
  bool const release = order == static_cast<int>(std::memory_order_release);
  bool const both = order == static_cast<int>(std::memory_order_acq_rel);
  switch (operation) {
    case atomic_op::load:
      return relaxed || acquire ? "" : "memory_order_relaxed and memory_order_acquire";
    case atomic_op::store:
      return relaxed || release ? "" : "memory_order_relaxed and memory_order_release";
    default:
      return relaxed || acquire || release || both ? ""
                                                   : "memory_order_relaxed, memory_order_acquire, "
                                                     "memory_order_release and memory_order_acq_rel";
  }
}

}  // namespace

atomic_domain_state open_atomic_domain(engine::team_view& team, std::uint32_t operations, atomic_cell cell,
                                       bool compare) {
  check_collective("atomic_domain");
  if (operations == 0) {
    check_failed("atomic_domain: constructed without operations; list those that will be used");
  }
  if (cell.is_float && (operations & bitwise_operations) != 0) {
    check_failed("atomic_domain: floating-point numbers have no bitwise operations, but {%s} was asked for",
                 list(operations & bitwise_operations).c_str());
  }
  if (compare) compare_with_first(team, {operations, cell});
  atomic_domain_state domain{team.id, operations, engine::atomics_by::processors, engine::hosts.whole(),
                             engine::periods_ended()};
  if (spans_hosts(team)) {
    domain.by = choose_together(team, operations, cell);
    if (domain.by == engine::atomics_by::network_alone) domain.here = {};
  } else {
    engine::wait_barrier(team, &progress_user);
  }
  return domain;
}

void close_atomic_domain(atomic_domain_state& domain, bool (*progress)()) {
  if (past_the_end("atomic_domain::destroy")) {
    domain = {};
    return;
  }
  check_collective("atomic_domain::destroy");
  if (!domain.is_active()) {
    check_failed(
        "atomic_domain::destroy: the domain is inactive: default-constructed, moved from, "
        "destroyed already, or from before finalize");
  }
  engine::team_view* const team = engine::find_team(domain.team);
  if (team == nullptr) {
    check_failed(
        "atomic_domain::destroy: the domain's team was destroyed before it; destroy the domain first");
  }
  // Calls that come meanwhile may use it still.
  if (progress != nullptr) engine::wait_barrier(*team, progress);
  domain = {};
}

void abandon_atomic_domain() noexcept {
  // While an exception goes by, that is what is to be heard of.
  if (!initialized() || std::uncaught_exceptions() != 0) return;
  check_failed(
      "atomic_domain: an active domain goes out of scope or is assigned to; call its destroy() first, "
      "on all members of its team, before finalize");
}

char const* atomic_call_name(int operation) noexcept { return names[static_cast<std::size_t>(operation)]; }

void check_atomic(atomic_domain_state const& domain, int operation, std::uint64_t owner,
                  std::uint64_t address, std::size_t bytes, int order) noexcept {
  char const* const call = atomic_call_name(operation);
  check_injection(call);
  if (!domain.is_active()) {
    check_failed(
        "%s: the domain is inactive: default-constructed, moved from, destroyed, or from before finalize",
        call);
  }
  if ((domain.operations >> operation & 1U) == 0) {
    check_failed("%s: the domain was constructed for {%s} only; add atomic_op::%s to its operations", call,
                 list(domain.operations).c_str(), call + std::char_traits<char>::length(prefix));
  }
  char const* const allowed = allowed_instead(static_cast<atomic_op>(operation), order);
  if (*allowed != 0) check_failed("%s: %s is not allowed; %s are", call, order_name(order), allowed);
  check_range({owner, address, 1, bytes, bytes}, call, "target");
  engine::team_view* const team = engine::find_team(domain.team);
  if (team == nullptr) check_failed("%s: the domain's team was destroyed", call);
  auto const rank = static_cast<std::int32_t>(owner);
  if (engine::team_from_world(*team, rank, -1) < 0) {
    check_failed("%s: rank %d, which has the target, is no member of the domain's team", call, rank);
  }
}

}  // namespace atl::rt
