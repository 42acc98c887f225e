// What checked builds ask of strided transfers, beyond their base pointers.

#include <upcxx/detail/check_range.hpp>
#include <upcxx/vis.hpp>

namespace atl::rt {

void check_strided(char const* call, char const* role, std::uint64_t owner, std::uint64_t address,
                   std::ptrdiff_t const* shared_strides, std::ptrdiff_t const* dest_strides,
                   std::size_t const* extents, std::size_t dimensions, std::size_t element_bytes) noexcept {
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (extents[d] == 0) return;
  }
  // Distances of the box's ends from its base; an overflow is certainly outside.
  auto const element = static_cast<std::int64_t>(element_bytes);
  std::int64_t lowest = 0;
  std::int64_t highest = element;
  bool overflow = false;
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (extents[d] == 1) continue;
    std::ptrdiff_t const step = dest_strides[d];
    if (step < element && step > -element) {
      check_failed(
          "%s: elements of the destination overlap: they have %zu bytes, but dimension %zu has %zu of them "
          "at a stride of %td; strides are bytes, extents are elements",
          call, element_bytes, d, extents[d], step);
    }
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(extents[d] - 1, shared_strides[d], &reach);
    overflow |= __builtin_add_overflow(reach < 0 ? lowest : highest, reach, reach < 0 ? &lowest : &highest);
  }
  auto const length = static_cast<std::size_t>(highest) - static_cast<std::size_t>(lowest);
  auto const at = [&](std::int64_t distance) { return address + static_cast<std::uint64_t>(distance); };
  check_range({owner, at(lowest), overflow ? ~std::size_t{0} : length, 1, 1, overflow}, call, role);
  if (overflow) return;  // it has ended, but where another host's owner will refuse
  // The arrays of a structure of arrays may be allocations of their own.
  for (std::int64_t const end : {lowest, highest - element})
    check_range({owner, at(end), 1, element_bytes, 1}, call, role);
}

}  // namespace atl::rt
