#pragma once

#include <cstddef>
#include <vector>

#include <upcxx/global_ptr.hpp>

namespace multirank {

/// Memory in each rank's shared heap that every rank can address. Made and destroyed by all ranks together.
/// Compiled once, not with every test: how ranks exchange pointers takes long to instantiate.
class shared_memory {
 public:
  shared_memory(std::size_t bytes, std::size_t alignment);
  ~shared_memory();
  shared_memory(shared_memory const&) = delete;
  shared_memory& operator=(shared_memory const&) = delete;

  upcxx::global_ptr<std::byte> at(int rank) const { return pointers_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<upcxx::global_ptr<std::byte>> pointers_;
};

}  // namespace multirank
