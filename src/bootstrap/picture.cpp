#include "bootstrap/picture.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/collective_signature.hpp"
#include "base/error.hpp"
#include "base/os/process_state.hpp"

namespace atl::bootstrap {
namespace {

constexpr std::size_t most_lines = 64;  ///< beyond that nobody reads it

std::string duration(double seconds) {
  if (seconds < 0.001) return format("%.0f us", seconds * 1e6);
  if (seconds < 1) return format("%.0f ms", seconds * 1e3);
  if (seconds < 600) return format("%.1f s", seconds);
  return format("%.0f min", seconds / 60);
}

/// Every process is in the kernel for a moment now and then.
char settled_state(int process) {
  char const seen = os::process_state(process);
  if (seen != 'D') return seen;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return os::process_state(process);
}

/// What the system says of a process first: a rank that it lets do nothing shows of itself what it was doing before.
char const* state_name(seen_rank const& rank, rank_state state) {
  if (!rank.running) return "ended";
  char const seen = rank.process != 0 ? settled_state(rank.process) : 'R';
  if (seen == 'T' || seen == 't') return "stopped";  // 't': by a debugger
  if (seen == 'D') return "in the kernel";
  switch (state) {
    case rank_state::absent:
      return "not attached";
    case rank_state::attached:
      return "starting";
    case rank_state::initialized:
      return "running";
    case rank_state::finalized:
      return "finalized";
  }
  return "unknown";
}

/// "in wait for 1.2 s; last call rpc (rank 3)".
std::string doing(rank_diagnostics const& d, std::uint64_t now_ns) {
  auto const named = [](activity call, std::int32_t peer) {
    return peer >= 0 ? format("%s (rank %d)", to_string(call), peer) : std::string(to_string(call));
  };
  activity const last = d.last_call.load(std::memory_order_relaxed);
  std::int32_t const peer = d.peer.load(std::memory_order_relaxed);
  std::string const called = last == activity::none ? "" : "last call " + named(last, peer);
  activity const wait = d.waits_in.load(std::memory_order_relaxed);
  if (wait == activity::none) return called.empty() ? "no communication yet" : called;
  // Of calls that wait for long.
  std::uint64_t const entered = d.entered_ns.load(std::memory_order_relaxed);
  bool const known = entered != 0 && entered <= now_ns;
  std::int32_t const waits_for = d.waits_for.load(std::memory_order_relaxed);
  std::string text = "in " + named(wait, waits_for);
  if (known) text += " for " + duration(static_cast<double>(now_ns - entered) / 1e9);
  // Mostly what is waited for. Of calls that wait themselves it is the same.
  bool const says_more = last != wait || peer != waits_for;
  return called.empty() || !says_more ? text : text + "; " + called;
}

std::string outstanding(rank_diagnostics const& d) {
  std::string text;
  auto const add = [&](std::atomic<std::uint64_t> const& counter, char const* one, char const* many) {
    auto const value = counter.load(std::memory_order_relaxed);
    if (value == 0) return;
    text += format("%s%llu %s", text.empty() ? "" : ", ", static_cast<unsigned long long>(value),
                   value == 1 ? one : many);
  };
  add(d.replies_awaited, "reply awaited", "replies awaited");
  add(d.operations_owed, "put, get, atomic or copy awaited", "puts, gets, atomics or copies awaited");
  add(d.messages_parked, "message parked", "messages parked");
  add(d.collectives_open, "collective open", "collectives open");
  add(d.streams_awaited, "end of a stream awaited", "ends of streams awaited");
  if (text.empty()) text = "nothing";
  // Ranks that wait for each other in different collectives show it here.
  // It is noted by waits that get long: later ones may have come and gone.
  auto const signature = d.collective_signature.load(std::memory_order_relaxed);
  bool const waits = d.waits_in.load(std::memory_order_relaxed) != activity::none ||
                     d.collectives_open.load(std::memory_order_relaxed) != 0;
  if (signature != 0 && waits) {
    text += format("; last collective: %s, no. %u on %s", describe(signature).c_str(),
                   d.collective_number.load(std::memory_order_relaxed) + 1,
                   describe_team(d.collective_team.load(std::memory_order_relaxed)).c_str());
  }
  return text;
}

}  // namespace

std::string picture_of(std::span<seen_rank const> ranks) {
  if (ranks.empty()) return {};
  struct row {
    std::array<std::string, 5> cells;
  };
  std::vector<row> rows{{{"rank", "pid", "state", "doing", "outstanding"}}};
  auto const now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  for (seen_rank const& each : ranks.first(std::min(ranks.size(), most_lines))) {
    rank_diagnostics const& d = *each.record;
    auto const state = d.state.load(std::memory_order_acquire);
    int const pid = d.pid.load(std::memory_order_relaxed);
    row line{{std::to_string(each.rank), std::to_string(pid != 0 ? pid : each.pid), state_name(each, state),
              "", ""}};
    if (state == rank_state::initialized && each.running) {
      line.cells[3] = doing(d, now);
      line.cells[4] = outstanding(d);
    }
    rows.push_back(line);
  }
  std::array<std::size_t, 5> widths{};
  for (auto const& line : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], line.cells[i].size());
  }
  std::string text;
  for (auto const& line : rows) {
    std::string out = "   ";
    for (std::size_t i = 0; i < widths.size(); ++i) {
      std::string const& cell = line.cells[i];
      std::string const padding(widths[i] - cell.size(), ' ');
      bool const is_number = i < 2;
      out += is_number ? " " : "  ";
      out += is_number ? padding : cell;
      out += is_number ? cell : padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  }
  if (ranks.size() > most_lines) text += format("    and %zu more\n", ranks.size() - most_lines);
  return text;
}

}  // namespace atl::bootstrap
