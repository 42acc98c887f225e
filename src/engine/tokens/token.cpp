#include "engine/tokens/token.hpp"

#include <cstddef>
#include <string>

#include <atoll/base/check.hpp>
#include <atoll/engine/host_map.hpp>

#include "base/error.hpp"
#include "engine/host/page.hpp"
#include "engine/tokens/modules.hpp"

namespace atl::engine {
namespace {

/// Module that resolved last; nearly every message comes from the same one.
thread_local constinit struct {
  module_table const* modules = nullptr;
  std::uint32_t hash = 0;
  std::uintptr_t begin = 0;
} last_resolved;

/// The module that `find` finds in a table, or null. At its first use, others may lie in the places of the table; from then on it stays.
template <class Find>
loaded_module const* find_module(Find find) {
  module_table const* const modules = known_modules();
  loaded_module const* const known = modules != nullptr ? find(*modules) : nullptr;
  if (known != nullptr && known->stays) [[likely]]
    return known;
  loaded_module const* const found = find(look_for_modules());
  return found == nullptr || found->stays ? found : find(keep_loaded(*found));
}

}  // namespace

function_token token_of(void const* function) {
  auto const address = reinterpret_cast<std::uintptr_t>(function);
  loaded_module const* const m =
      find_module([=](module_table const& modules) { return find_address(modules, address); });
  if (m == nullptr)
    check_failed("rpc: the function at %p belongs to no loaded module; it cannot be called remotely",
                 function);
  return (std::uint64_t{m->hash} << 32) | (address - m->begin);
}

namespace {

/// What the sender calls the module, or nothing if it cannot be known.
std::string name_at(std::int32_t source, std::uint32_t hash) {
  if (source < 0 || !hosts.is_local(static_cast<std::uint32_t>(source))) return {};
  auto const& names = *reinterpret_cast<module_names const*>(
      hosts.to_address(static_cast<std::uint32_t>(source), offsetof(rank_page, modules)));
  std::uint32_t const count = names.count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (names.entries[i].hash == hash) return names.entries[i].name;
  }
  return {};
}

}  // namespace

std::uint32_t last_resolved_module() noexcept { return last_resolved.hash; }

void* resolve(function_token token) { return resolve_from(token, -1); }

namespace {

/// resolve_from() for another module than last time. Apart, so that the usual case saves no registers.
[[gnu::noinline]] void* resolve_anew(function_token token, std::int32_t source) {
  auto const hash = static_cast<std::uint32_t>(token >> 32);
  auto const offset = static_cast<std::uint32_t>(token);
  loaded_module const* const m =
      find_module([=](module_table const& modules) { return find_hash(modules, hash); });
  if (m == nullptr) {
    std::string loaded;
    for (loaded_module const& known : *known_modules()) {
      loaded += format(" %s=%08x", known.name.empty() ? "(program)" : known.name.c_str(), known.hash);
    }
    std::string const name = name_at(source, hash);
    std::string const who = source >= 0 ? format("rank %d", source) : std::string("a peer");
    bool const elsewhere = source >= 0 && !hosts.is_local(static_cast<std::uint32_t>(source));
    fatal("rpc",
          "%s called a function at offset 0x%x of %s (hash %08x), which is not loaded here. "
          "%sLoad the same shared libraries on every rank before calling into them. Loaded:%s",
          who.c_str(), offset, name.empty() ? "a module" : name.c_str(), hash,
          elsewhere ? "Has its host another build of the program, or of a library? All hosts need the same. "
                    : "",
          loaded.c_str());
  }
  last_resolved.modules = known_modules();
  last_resolved.hash = hash;
  last_resolved.begin = m->begin;
  return reinterpret_cast<void*>(m->begin + offset);
}

}  // namespace

void* resolve_from(function_token token, std::int32_t source) {
  bool const same = static_cast<std::uint32_t>(token >> 32) == last_resolved.hash &&
                    known_modules() == last_resolved.modules;
  if (!same) [[unlikely]]
    return resolve_anew(token, source);
  return reinterpret_cast<void*>(last_resolved.begin + static_cast<std::uint32_t>(token));
}

}  // namespace atl::engine
