#pragma once

/// How ranks agree that each has its memory.

#include <new>
#include <upcxx/upcxx.hpp>

namespace heat3d {

/// Others ask for what this rank has, so all ranks go on, or none does: then each throws std::bad_alloc. Collective.
template <class Allocate>
void all_or_none(Allocate&& allocate) {
  bool failed = false;
  try {
    allocate();
  } catch (std::bad_alloc const&) {
    failed = true;
  }
  if (upcxx::reduce_all(failed ? 1 : 0, upcxx::op_fast_max).wait() != 0) throw std::bad_alloc();
}

}  // namespace heat3d
