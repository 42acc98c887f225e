#include "transport/sim/options.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "transport/shm/ring.hpp"

namespace atl::transport::sim {
namespace {

constexpr char const* setting = "ATOLL_SIM_NETWORK";

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string const& wanted) {
  throw startup_error(format("%s: %.*s=%.*s: %s", setting, static_cast<int>(name.size()), name.data(),
                             static_cast<int>(value.size()), value.data(), wanted.c_str()));
}

struct unit {
  std::string_view name;
  double factor;
};

/// A number and one of the units; none if it is neither.
template <std::size_t N>
std::optional<double> with_unit(std::string_view value, std::array<unit, N> const& units) {
  double number = 0;
  auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || !(number >= 0)) return std::nullopt;
  std::string_view const rest(end, static_cast<std::size_t>(value.data() + value.size() - end));
  for (unit const& u : units) {
    if (rest == u.name) return number * u.factor;
  }
  return std::nullopt;
}

constexpr std::array times{unit{"ns", 1}, unit{"us", 1e3}, unit{"ms", 1e6}, unit{"s", 1e9}};
constexpr std::array rates{unit{"MB/s", 1e-3}, unit{"GB/s", 1}};
constexpr std::array sizes{unit{"", 1}, unit{"B", 1}, unit{"KB", 1024}, unit{"MB", 1048576}};

template <class T>
struct named {
  std::string_view name;
  T value;
};
template <class T>
named(std::string_view, T) -> named<T>;  // Clang 16 does not know it by itself
constexpr std::array atomics_choices{named{"yes", atomics_offered::yes}, named{"no", atomics_offered::no},
                                     named{"integers", atomics_offered::integers}};
constexpr std::array stale_choices{named{"misses", stale_key::misses}, named{"breaks", stale_key::breaks}};
constexpr std::array loss_choices{named{"always", loss_notice::always},
                                  named{"traffic", loss_notice::by_traffic},
                                  named{"none", loss_notice::none}};

/// One name=value on its way into options.
class reader {
 public:
  reader(std::string_view name, std::string_view value) : name_(name), value_(value) {}

  template <class T>
  bool number(std::string_view name, T& into, std::uint64_t least, std::uint64_t most) {
    if (name != name_) return false;
    std::uint64_t result = 0;
    auto const* const end = value_.data() + value_.size();
    auto const [at, error] = std::from_chars(value_.data(), end, result);
    if (error != std::errc{} || at != end || result < least || result > most) {
      refuse(name_, value_,
             format("expected a number from %llu to %llu", static_cast<unsigned long long>(least),
                    static_cast<unsigned long long>(most)));
    }
    into = static_cast<T>(result);
    return true;
  }
  bool percent(std::string_view name, unsigned& into) { return number(name, into, 0, 90); }
  bool size(std::string_view name, std::size_t& into, std::size_t least, std::size_t most) {
    if (name != name_) return false;
    std::optional<double> const result = with_unit(value_, sizes);
    if (!result || *result < static_cast<double>(least) || *result > static_cast<double>(most)) {
      refuse(name_, value_, format("expected a size from %zu to %zu bytes, such as 4KB", least, most));
    }
    into = static_cast<std::size_t>(*result);
    return true;
  }
  bool flag(std::string_view name, bool& into) {
    if (name != name_) return false;
    if (value_ != "yes" && value_ != "no") refuse(name_, value_, "expected yes or no");
    into = value_ == "yes";
    return true;
  }
  bool time(std::string_view name, std::uint64_t& into) {
    if (name != name_) return false;
    std::optional<double> const result = value_ == "0" ? 0 : with_unit(value_, times);
    if (!result || *result > 1e10) refuse(name_, value_, "expected a time of at most 10s, such as 20us");
    into = static_cast<std::uint64_t>(*result);
    return true;
  }
  bool rate(std::string_view name, double& into) {
    if (name != name_) return false;
    std::optional<double> const result = with_unit(value_, rates);
    if (!result || *result == 0) refuse(name_, value_, "expected a rate, such as 10GB/s or 500MB/s");
    into = *result;
    return true;
  }
  template <class T, std::size_t N>
  bool choice(std::string_view name, T& into, std::array<named<T>, N> const& known) {
    if (name != name_) return false;
    std::string all;
    for (named<T> const& each : known) {
      if (value_ == each.name) {
        into = each.value;
        return true;
      }
      all.append(all.empty() ? "" : ", ").append(each.name);
    }
    refuse(name_, value_, "expected one of " + all);
  }

 private:
  std::string_view name_, value_;
};

/// Everything bad that a program may not notice. Errors are not among it.
void misbehave(options& o) {
  o.ring = shm::fewest_cells;
  o.packet = 1024;
  o.packets = 3;
  o.eager = 3000;
  o.window = 8;
  o.pieces = 3;
  o.reorder = 40;
  o.completions = 40;
  o.refuse = 25;
  o.connects = 40;
  o.misses = 10;
  o.stale = stale_key::breaks;
}

void read_one(options& o, std::string_view name, std::string_view value) {
  if (name == "bad") {
    bool bad = false;
    (void)reader(name, value).flag("bad", bad);
    if (bad) misbehave(o);
    return;
  }
  reader r(name, value);
  bool const known =
      r.number("seed", o.seed, 0, UINT64_MAX) || r.time("latency", o.latency_ns) ||
      r.rate("bandwidth", o.bytes_per_ns) || r.number("ring", o.ring, shm::fewest_cells, 1U << 16) ||
      r.size("packet", o.packet, 64, std::size_t{1} << 20) || r.number("packets", o.packets, 2, 64) ||
      r.size("eager", o.eager, 64, std::size_t{1} << 23) || r.number("window", o.window, 1, 1U << 20) ||
      r.number("pieces", o.pieces, 1, 1024) || r.size("longest", o.longest, 64, std::size_t{1} << 40) ||
      r.number("delay", o.delay, 1, 1U << 20) || r.percent("reorder", o.reorder) ||
      r.percent("completions", o.completions) || r.percent("refuse", o.refuse) ||
      r.percent("connects", o.connects) || r.percent("misses", o.misses) ||
      r.number("errors", o.errors, 0, 100) || r.flag("lockstep", o.lockstep) ||
      r.flag("passive", o.passive) || r.flag("ordered", o.ordered) || r.flag("adapter", o.adapter) ||
      r.flag("registers", o.registers) || r.flag("put", o.put) || r.flag("get", o.get) ||
      r.flag("late", o.late) || r.flag("notified", o.notified) || r.flag("vectors", o.vectors) ||
      r.flag("gpu", o.gpu) || r.choice("atomics", o.atomics, atomics_choices) ||
      r.flag("coherent", o.coherent) || r.flag("loopback", o.loopback) ||
      r.choice("stale", o.stale, stale_choices) || r.choice("losses", o.losses, loss_choices) ||
      r.number("connections", o.connections, 0, 1U << 20) || r.time("idle", o.idle_ns) ||
      r.time("message", o.message_ns) || r.time("turn", o.turn_ns);
  if (!known) {
    refuse(
        name, value,
        "no such name; there are bad, seed, latency, bandwidth, ring, packet, packets, eager, window, pieces, "
        "longest, delay, reorder, completions, refuse, connects, misses, errors, lockstep, passive, ordered, adapter, "
        "registers, put, get, late, notified, "
        "vectors, gpu, atomics, coherent, loopback, stale, losses, connections, idle, message, turn");
  }
  if (!std::has_single_bit(o.ring)) refuse(name, value, "expected a power of two");
}

}  // namespace

options parse_options(std::string_view text, std::uint64_t seed) {
  options result;
  result.seed = seed;
  while (!text.empty()) {
    std::size_t const comma = text.find(',');
    std::string_view const one = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    if (one.empty()) continue;
    std::size_t const equals = one.find('=');
    if (equals == std::string_view::npos) refuse(one, "", "expected name=value");
    read_one(result, one.substr(0, equals), one.substr(equals + 1));
  }
  // Parts of a message may overtake each other and other messages.
  if (result.eager == 0 || (result.ordered && result.eager > result.packet)) result.eager = result.packet;
  return result;
}

std::string to_text(options const& o) {
  options const rest;
  std::string text;
  auto const add = [&](char const* name, auto value, auto at_rest, char const* suffix = "") {
    if (value == at_rest) return;
    text +=
        format("%s%s=%llu%s", text.empty() ? "" : ",", name, static_cast<unsigned long long>(value), suffix);
  };
  auto const flag = [&](char const* name, bool value, bool at_rest) {
    if (value != at_rest) text += format("%s%s=%s", text.empty() ? "" : ",", name, value ? "yes" : "no");
  };
  add("seed", o.seed, rest.seed);
  add("latency", o.latency_ns, rest.latency_ns, "ns");
  add("bandwidth", static_cast<std::uint64_t>(o.bytes_per_ns * 1e3), 0U, "MB/s");
  add("ring", o.ring, rest.ring);
  add("packet", o.packet, rest.packet);
  add("packets", o.packets, rest.packets);
  add("eager", o.eager, o.packet);
  add("window", o.window, rest.window);
  add("pieces", o.pieces, rest.pieces);
  add("longest", o.longest, rest.longest);
  add("delay", o.delay, rest.delay);
  add("reorder", o.reorder, 0U);
  add("completions", o.completions, 0U);
  add("refuse", o.refuse, 0U);
  add("connects", o.connects, 0U);
  add("misses", o.misses, 0U);
  add("errors", o.errors, 0U);
  flag("lockstep", o.lockstep, rest.lockstep);
  flag("passive", o.passive, rest.passive);
  flag("ordered", o.ordered, rest.ordered);
  flag("adapter", o.adapter, rest.adapter);
  flag("registers", o.registers, rest.registers);
  flag("put", o.put, rest.put);
  flag("get", o.get, rest.get);
  flag("late", o.late, rest.late);
  flag("notified", o.notified, rest.notified);
  flag("vectors", o.vectors, rest.vectors);
  flag("gpu", o.gpu, rest.gpu);
  auto const choice = [&](char const* name, auto value, auto at_rest, auto const& known) {
    if (value == at_rest) return;
    for (auto const& each : known) {
      if (each.value == value)
        text.append(text.empty() ? "" : ",").append(name).append("=").append(each.name);
    }
  };
  choice("atomics", o.atomics, rest.atomics, atomics_choices);
  flag("coherent", o.coherent, rest.coherent);
  flag("loopback", o.loopback, rest.loopback);
  choice("stale", o.stale, rest.stale, stale_choices);
  choice("losses", o.losses, rest.losses, loss_choices);
  add("connections", o.connections, rest.connections);
  add("idle", o.idle_ns, rest.idle_ns, "ns");
  add("message", o.message_ns, rest.message_ns, "ns");
  add("turn", o.turn_ns, rest.turn_ns, "ns");
  return text;
}

}  // namespace atl::transport::sim
