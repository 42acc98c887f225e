#pragma once

/// Global pointers out of an owner's address, and back: for libraries that keep addresses of peers in tables of their
/// own, or in memory that was laid out before.

#include <cstdint>
#include <type_traits>

#include <upcxx/global_ptr.hpp>

namespace atl::rt {
/// Address of the region of `rank` in that rank's own process. A rank of another host is asked once a period.
/// Ends the job over a rank that it does not have.
ATOLL_EXPORT std::uint64_t owners_address(std::uint32_t rank, char const* call);
/// Offset of an owner's address in its region. Ends the job if it lies outside of the shared heap.
ATOLL_EXPORT std::uint64_t offset_in_heap(std::uint32_t rank, std::uint64_t address);
}  // namespace atl::rt

namespace atl::inline UPCXX_MODE {

/// The global pointer to host memory of `rank` that its owner has at `address`.
///
/// Processes map shared memory at different addresses, so an address is of use only together with its owner: on any
/// rank, `global_ptr_of(p.where(), owner_address(p)) == p`, and on the owner `p.local()` is that address.
/// An address of a peer's memory in *this* process is what upcxx::to_global_ptr takes.
///
/// @param rank     world rank of the owner.
/// @param address  in the owner's shared heap as the owner sees it, one past its end included; null gives null.
/// An address outside of that heap ends the job. Does not look at the memory.
/// @progress       none for ranks of this host, from any thread. A rank of another host is asked where its memory
///                 is, once a period: internal progress until it answers, which needs its own (of any level), from
///                 threads that may communicate.
template <typename T>
[[nodiscard]] upcxx::global_ptr<T> global_ptr_of(upcxx::intrank_t rank, T* address) {
  if (address == nullptr) return nullptr;
  auto const owner = static_cast<std::uint32_t>(rank);
  return upcxx::detail::global_ptr_access::make_host<T>(
      owner, rt::offset_in_heap(owner, reinterpret_cast<std::uintptr_t>(address)));
}

/// The address that the memory behind `pointer` has in its owner's process: an address to hand on, not to use here
/// (use `local()`, unless this rank is the owner). Device memory has its device address. Null gives null.
///
/// @progress  none for device memory and ranks of this host, from any thread; else as global_ptr_of().
template <typename T, upcxx::memory_kind Kind>
[[nodiscard]] T* owner_address(upcxx::global_ptr<T, Kind> pointer) {
  using access = upcxx::detail::global_ptr_access;
  if (pointer.is_null()) return nullptr;
  std::uint64_t address = access::address(pointer);
  if (pointer.dynamic_kind() == upcxx::memory_kind::host) {
    address += rt::owners_address(access::rank(pointer), "atl::owner_address");
  }
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

}  // namespace atl::inline UPCXX_MODE

#ifndef DOXYGEN
namespace upcxx::inline UPCXX_MODE {

// The names that published libraries use for the two.
template <typename T, memory_kind Kind>
global_ptr<T const, Kind>::global_ptr(detail::internal_only, intrank_t rank, T const* address)
    : global_ptr(atl::global_ptr_of(rank, address)) {}
template <typename T, memory_kind Kind>
T const* global_ptr<T const, Kind>::raw_internal(detail::internal_only) const {
  return atl::owner_address(*this);
}
template <typename T, memory_kind Kind>
global_ptr<T, Kind>::global_ptr(detail::internal_only, intrank_t rank, T* address)
    : global_ptr(atl::global_ptr_of(rank, address)) {}
template <typename T, memory_kind Kind>
T* global_ptr<T, Kind>::raw_internal(detail::internal_only) const {
  return atl::owner_address(*this);
}

}  // namespace upcxx::inline UPCXX_MODE
#endif
