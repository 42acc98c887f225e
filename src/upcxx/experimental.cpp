// Compiled parts of include/upcxx/experimental: variables of the environment, lines of output,
// the heap's end.

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>

#include <atoll/base/check.hpp>
#include <atoll/engine/collectives.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>
#include <upcxx/experimental/heap.hpp>
#include <upcxx/experimental/os_env.hpp>
#include <upcxx/experimental/say.hpp>
#include <upcxx/init.hpp>

#include "base/error.hpp"
#include "base/real_number.hpp"
#include "base/settings.hpp"
#include "engine/copies/copies.hpp"
#include "engine/period.hpp"
#include "engine/progress/guard.hpp"
#include "engine/rma/remote_memory.hpp"
#include "engine/world.hpp"
#include "memory/host/host_heap.hpp"
#include "upcxx/leaks.hpp"

namespace atl::rt {

char const* environment(char const* name) noexcept {
  return engine::world != nullptr ? getenv_console(name) : std::getenv(name);
}

void environment_refused(char const* name, char const* text) {
  check_failed("os_env: %s=%s: not a value of the type that the program asks for", name, text);
}

namespace {

struct integer_form {
  bool negative;
  int base;  ///< 16 after 0x, else 10: nobody who writes 010 or 08 means octal
};
integer_form form_of(char const* text) {
  while (std::isspace(static_cast<unsigned char>(*text)) != 0) ++text;
  bool const negative = *text == '-';
  if (negative || *text == '+') ++text;
  return {negative, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10};
}

}  // namespace

std::int64_t environment_integer(char const* name, char const* text) {
  char* rest = nullptr;
  errno = 0;
  std::int64_t const value = std::strtoll(text, &rest, form_of(text).base);
  if (errno != 0 || rest == text || *rest != '\0') environment_refused(name, text);
  return value;
}

std::uint64_t environment_unsigned(char const* name, char const* text) {
  auto const [negative, base] = form_of(text);
  char* rest = nullptr;
  errno = 0;
  std::uint64_t const value = std::strtoull(text, &rest, base);
  if (errno != 0 || rest == text || *rest != '\0') environment_refused(name, text);
  if (negative && value != 0) environment_refused(name, text);  // strtoull wraps
  return value;
}

double environment_real(char const* name, char const* text) {
  char* rest = nullptr;
  double const value = read_real(text, &rest);
  if (rest == text || *rest != '\0') environment_refused(name, text);
  return value;
}

bool environment_boolean(char const* name, char const* text) {
  try {
    return settings::parse_boolean(text, name);
  } catch (startup_error const& error) {
    check_failed("os_env: %s", error.what());
  }
}

std::int64_t environment_size(char const* name, char const* text, std::size_t unit) {
  try {
    settings::size_value const size = settings::parse_size(text, name, unit);
    if (size.percent >= 0) environment_refused(name, text);
    return static_cast<std::int64_t>(size.bytes);
  } catch (startup_error const& error) {
    check_failed("os_env: %s", error.what());
  }
}

void say_line(std::ostream* output, char const* prefix, text_output& text) {
  std::string line(prefix);
  if (auto const at = line.find("%d"); at != std::string::npos) {
    line.replace(at, 2, std::to_string(engine::job.rank_me));
  }
  line += text.text();
  if (!line.ends_with('\n')) line += '\n';
  std::ostream& to = output != nullptr ? *output : std::cout;
  to << line << std::flush;
}

namespace {

void meet() { engine::wait_barrier(engine::world_team(), &progress_user); }

std::size_t open_device_teams() {
  engine::guard const held;
  return engine::device_copies::here().kernels().open_mailboxes().size();
}

}  // namespace

void destroy_heap() {
  check_collective("destroy_heap");
  if (!memory::host_heap().ready()) check_failed("destroy_heap: the heap was destroyed already");
  if (std::size_t const open = open_device_teams(); open != 0) {
    check_failed(
        "destroy_heap: device teams are open (%zu on this rank), whose kernels talk to their host through the heap: destroy() them before",
        open);
  }
  // Before a heap ends nothing may be on its way to it, and nobody may have a key of it: networks need not notice either.
  engine::remote_memory::here().settle(&progress_user);
  meet();
  engine::calls_at_end::here().run();
  engine::segment_table::here().forget_heaps();
  engine::remote_memory::here().drop_keys();
  meet();  // nobody takes back what a peer's device or network still holds
  engine::remote_memory::here().end_of_heap();
  memory::host_heap().reset();
  forget_allocations();
  forget_forms();
  engine::world->host.own_page().heap_complete.store(0, std::memory_order_relaxed);  // barriers on both sides
  engine::host_map const& hosts = engine::hosts;
  engine::world->region.release(hosts.heap_begin, hosts.heap_end - hosts.heap_begin);
  meet();
}

void restore_heap() {
  check_collective("restore_heap");
  if (memory::host_heap().ready()) check_failed("restore_heap: there is a heap; destroy_heap comes first");
  engine::open_heap();
  engine::segment_table::here().know_heap();
  meet();
}

}  // namespace atl::rt
