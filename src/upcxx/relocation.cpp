// The tables behind experimental::relocation.

#include <unistd.h>

#include <atomic>
#include <iostream>
#include <string>

#include <atoll/engine/job.hpp>
#include <atoll/engine/token.hpp>
#include <upcxx/experimental/relocation.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/tokens/modules.hpp"
#include "engine/tokens/token.hpp"

namespace atl::rt {
namespace {

std::atomic<bool> enforced{false};

std::string name_of(engine::loaded_module const& m) { return m.name.empty() ? "(program)" : m.name; }

/// One write, so that the tables of several ranks do not mix.
void write(std::ostream* output, std::string const& title, std::string const& text) {
  std::ostream& to = output != nullptr ? *output : std::cerr;
  bool const terminal = output == nullptr && ::isatty(STDERR_FILENO) != 0;
  bool const colour = settings::colorize_debug().value_or(terminal);
  std::string const heading = format("rank %d: %s", engine::job.rank_me, title.c_str());
  to << (colour ? "\033[1m" + heading + "\033[0m\n" : heading + "\n") + text << std::flush;
}

std::string line_of(engine::loaded_module const& m) {
  return format("  %#014zx-%#014zx %08x %-30s %s\n", m.begin, m.end, m.hash,
                m.modes.empty() ? "-" : m.modes.c_str(), name_of(m).c_str());
}

}  // namespace

bool enforce_verification(bool enforce) noexcept { return enforced.exchange(enforce); }
bool verification_enforced() noexcept { return enforced.load(); }

void refresh_modules() { engine::look_for_modules(); }

void write_pointer(void const* function, std::ostream* output) {
  auto const address = reinterpret_cast<std::uintptr_t>(function);
  for (engine::loaded_module const& m : engine::look_for_modules()) {
    if (address < m.begin || address >= m.end) continue;
    write(output, format("function %p", function),
          format("  token %016llx: offset %#zx in %s\n",
                 static_cast<unsigned long long>(engine::token_of(function)), address - m.begin,
                 name_of(m).c_str()));
    return;
  }
  write(output, format("function %p", function), "  in no loaded module\n");
}

void write_modules(std::ostream* output) {
  std::string text;
  for (engine::loaded_module const& m : engine::look_for_modules()) text += line_of(m);
  write(output, "modules: addresses, hash, modes, file", text);
}

void write_token_cache(std::ostream* output) {
  std::uint32_t const hash = engine::last_resolved_module();
  for (engine::loaded_module const& m : engine::look_for_modules()) {
    if (m.hash != hash) continue;
    write(output, "module of the last call", line_of(m));
    return;
  }
  write(output, "module of the last call", "  none yet\n");
}

}  // namespace atl::rt
