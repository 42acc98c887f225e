#include "memory/gpu/private_staging.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include <atoll/base/round_up.hpp>

#include "base/streaming_copy_cold.hpp"

namespace atl::memory::gpu {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::align_val_t page{page_bytes};

std::byte const* pointer_to(address at) noexcept { return reinterpret_cast<std::byte const*>(at); }

}  // namespace

void private_staging::deleter::operator()(std::byte* memory) const noexcept {
  ::operator delete(memory, page);
}

private_staging::~private_staging() {
  for (buffer& each : all_) {
    if (each.read != nullptr) driver_.drop_event(each.device, each.read);
  }
  if (memory_ != nullptr) driver_.unregister_host(memory_.get());
}

void private_staging::prepare() {
  if (std::exchange(tried_, true)) return;
  auto* const made = static_cast<std::byte*>(::operator new(buffers* buffer_bytes, page, std::nothrow));
  std::string why_not;
  if (made == nullptr || driver_.register_host(made, buffers * buffer_bytes, why_not) != host_access::ours) {
    ::operator delete(made, page);
    return;
  }
  memory_.reset(made);
}

void private_staging::copy(int device, stream s, address to, address from, std::size_t bytes,
                           pinned_ranges& pinned) {
  pinned.for_each_part(from, bytes, [&](pinned_ranges::part p, std::size_t offset) {
    bool const ours = p.in == nullptr && pays(p.bytes) && !driver_.is_pinned(pointer_to(from + offset)) &&
                      !driver_.is_pinned(pointer_to(from + offset + p.bytes - 1));
    if (ours) {
      copy_part(device, s, to + offset, from + offset, p.bytes);
    } else {
      driver_.copy(device, s, to + offset, from + offset, p.bytes);
    }
  });
}

std::size_t private_staging::next_piece(std::size_t left) noexcept {
  if (left <= last_piece_bytes) return left;
  return std::min(buffer_bytes, std::max(last_piece_bytes, round_up(left / 2, page_bytes)));
}

void private_staging::copy_part(int device, stream s, address to, address from, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    std::size_t const piece = next_piece(bytes - done);
    std::byte* const place = memory_.get() + next_ * buffer_bytes;
    buffer& one = all_[next_];
    next_ = (next_ + 1) % buffers;
    wait_for(one);
    one = {events_.take(device), device, s};
    streaming_copy_cold(place, pointer_to(from + done), piece);
    driver_.copy(device, s, to + done, reinterpret_cast<address>(place), piece);
    driver_.record(device, one.read, s);
    done += piece;
  }
}

void private_staging::wait_for(buffer& which) {
  if (which.read == nullptr) return;
  while (!driver_.happened(which.read, which.device, which.in)) {
  }
  events_.give_back(which.device, which.read);
  which.read = nullptr;
}

}  // namespace atl::memory::gpu
