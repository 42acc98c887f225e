#include "transport/ofi/buffers.hpp"

#include <new>

#include <atoll/base/round_up.hpp>

namespace atl::transport::ofi {

block_pool::~block_pool() {
  close_memory();
  for (lot const& each : lots_) ::operator delete (each.memory, std::align_val_t{alignof(block)});
}

void block_pool::grow() {
  std::size_t const step = align_up(sizeof(block) + room_, alignof(block));
  lots_.reserve(lots_.size() + 1);
  auto* const memory = static_cast<std::byte*>(
      ::operator new (step* blocks_in_lot_, std::align_val_t{alignof(block)}, std::nothrow));
  if (memory == nullptr) return;
  fid_mr* entered = nullptr;
  if (of_.registers_local() &&
      of_.enter(memory, step * blocks_in_lot_, FI_SEND | FI_RECV | FI_WRITE | FI_READ, entered) != 0) {
    ::operator delete (memory, std::align_val_t{alignof(block)});
    return;
  }
  lots_.push_back({memory, entered});
  for (std::size_t i = 0; i < blocks_in_lot_; ++i) {
    auto* const made = new (memory + i * step) block{};
    made->is_block = true;
    made->room = room_;
    made->descriptor = entered != nullptr ? fi_mr_desc(entered) : nullptr;
    give(made);
  }
}

}  // namespace atl::transport::ofi
