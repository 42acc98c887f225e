#include "support/shared_memory.hpp"

#include <gtest/gtest.h>

#include <upcxx/upcxx.hpp>

namespace multirank {

shared_memory::shared_memory(std::size_t bytes, std::size_t alignment) {
  auto const mine = upcxx::allocate<std::byte>(bytes, alignment);
  EXPECT_TRUE(mine) << "shared heap too small for " << bytes << " bytes";
  upcxx::dist_object<upcxx::global_ptr<std::byte>> const all(mine);
  for (int r = 0; r < upcxx::rank_n(); ++r) {
    pointers_.push_back(all.fetch(r).wait());
  }
  upcxx::barrier();  // nobody asks for this rank's pointer any more
}

shared_memory::~shared_memory() {
  upcxx::barrier();
  upcxx::deallocate(at(upcxx::rank_me()));
}

}  // namespace multirank
