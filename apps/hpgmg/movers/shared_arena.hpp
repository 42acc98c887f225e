#pragma once

/// Memory in the shared heaps, whose addresses all ranks can ask for.

#include <algorithm>
#include <upcxx/upcxx.hpp>

#include "grid/plan.hpp"

namespace hpgmg {

class shared_arena final : public arena {
 public:
  /// Collective over the world. Takes the memory over.
  shared_arena(upcxx::global_ptr<double> memory, std::ptrdiff_t doubles)
      : memory_(memory), published_(memory) {
    local = memory.local();
    std::fill_n(local, doubles, 0.0);
  }
  ~shared_arena() override { upcxx::deallocate(memory_); }
  [[nodiscard]] upcxx::global_ptr<double> mine() const { return memory_; }
  /// A peer's. Not for ranks that may have destroyed theirs.
  [[nodiscard]] upcxx::global_ptr<double> of(int rank) const { return published_.fetch(rank).wait(); }

 private:
  upcxx::global_ptr<double> memory_;
  upcxx::dist_object<upcxx::global_ptr<double>> published_;
};

inline shared_arena const& shared(arena const* a) { return static_cast<shared_arena const&>(*a); }

}  // namespace hpgmg
