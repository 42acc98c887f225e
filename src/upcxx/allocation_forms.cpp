// Which function each live allocation came from: checked programs must free by its counterpart. The allocator
// knows only sizes, and two forms may have the same.

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include <atoll/base/check.hpp>
#include <atoll/engine/host_map.hpp>
#include <upcxx/allocate.hpp>

#include "upcxx/leaks.hpp"

namespace atl::rt {
namespace {

struct forms {
  std::mutex lock;
  /// By the offset of what the program has, not of a count before it.
  std::unordered_map<std::uint64_t, heap_form> by_offset;
};

/// Never destroyed: destructors of statics may still free memory.
forms& known_forms() {
  static auto* const all = new forms;
  return *all;
}

struct names {
  char const* allocates;
  char const* frees;
};

names names_of(heap_form form) noexcept {
  switch (form) {
    case heap_form::object:
      return {"new_", "delete_"};
    case heap_form::array:
      return {"new_array", "delete_array"};
    case heap_form::bytes:
      return {"allocate(size)", "deallocate(void*)"};
    case heap_form::elements:
      break;
  }
  return {"allocate<T>(n)", "deallocate(global_ptr<T>)"};
}

}  // namespace

void heap_note(std::uint64_t offset, heap_form form) noexcept {
  forms& all = known_forms();
  std::lock_guard const held(all.lock);
  all.by_offset[offset] = form;
}

void heap_expect(std::uint32_t rank, std::uint64_t offset, heap_form form) noexcept {
  if (rank != engine::hosts.own_rank()) return;  // refused by who frees it
  forms& all = known_forms();
  std::lock_guard const held(all.lock);
  auto const found = all.by_offset.find(offset);
  if (found == all.by_offset.end()) return;
  if (heap_form const was = found->second; was != form) {
    check_failed("%s: the memory at offset 0x%llx was allocated by %s, which %s gives back",
                 names_of(form).frees, static_cast<unsigned long long>(offset), names_of(was).allocates,
                 names_of(was).frees);
  }
  all.by_offset.erase(found);
}

void heap_expect(void const* address, heap_form form) noexcept {
  if (auto const place = engine::hosts.from_address(address)) heap_expect(place->rank, place->offset, form);
}

void forget_forms() noexcept {
  forms& all = known_forms();
  std::lock_guard const held(all.lock);
  all.by_offset.clear();
}

}  // namespace atl::rt
