#pragma once

/// Memory of every kind on all ranks, whose content anybody can tell, for tests of copies from any to any.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include <upcxx/upcxx.hpp>

#include "multirank/kinds/stream_fixture.hpp"

class any_memory_fixture : public stream_fixture {
 protected:
  using any_ptr = upcxx::global_ptr<std::int16_t, upcxx::memory_kind::any>;
  static constexpr std::size_t words = 4096;  ///< in each place
  /// In the heap, on the device, and on one of another kind if there is any.
  static constexpr std::size_t most_places = 3;

  void SetUp() override {
    stream_fixture::SetUp();
    if (IsSkipped()) return;
    heap_ = upcxx::new_array<std::int16_t>(words);
    std::array<any_ptr, most_places> mine{heap_, gpu_.allocate<std::int16_t>(words)};
    int const others = upcxx::reduce_all(other_device::device_n(), upcxx::op_fast_min).wait();
    if (others != 0) {
      other_ = upcxx::make_gpu_allocator<other_device>(mib);
      mine[2] = other_.allocate<std::int16_t>(words);
      places = 3;
    }
    memory_ = of_all(mine);
  }
  void TearDown() override {
    if (heap_) {
      upcxx::barrier();
      upcxx::delete_array(heap_);
      if (other_.is_active()) other_.destroy();
    }
    stream_fixture::TearDown();
  }

  [[nodiscard]] any_ptr memory(int rank, std::size_t place) const {
    return memory_[static_cast<std::size_t>(rank)][place];
  }
  /// What a word of a place is once all have been filled. Ranks may be in different rounds.
  static std::int16_t word(int rank, std::size_t place, std::size_t i, int round) {
    return static_cast<std::int16_t>(static_cast<std::size_t>(rank) * 7919 + place * 1777 + i * 13 +
                                     static_cast<std::size_t>(round));
  }
  static std::vector<std::int16_t> words_of(int rank, std::size_t place, int round) {
    std::vector<std::int16_t> all(words);
    for (std::size_t i = 0; i < words; ++i) all[i] = word(rank, place, i, round);
    return all;
  }
  void fill(int round) const {
    for (std::size_t p = 0; p < places; ++p)
      upcxx::copy(words_of(me, p, round).data(), memory(me, p), words).wait();
  }
  [[nodiscard]] std::vector<std::int16_t> read(std::size_t place) const {
    std::vector<std::int16_t> all(words);
    upcxx::copy(memory(me, place), all.data(), words).wait();
    return all;
  }

  /// The fake driver, where on all ranks devices reach each other through it; else null on all. Collective.
  [[nodiscard]] fake_cuda::control* counting_driver() const {
    fake_cuda::control* const fake = fake_driver();
    bool const reached = fake != nullptr && upcxx::local_team_contains(right) &&
                         std::getenv("ATOLL_GPU_SHARING") == nullptr && std::getenv("FAKE_CUDA") == nullptr;
    return upcxx::reduce_all(reached, upcxx::op_fast_bit_and).wait() ? fake : nullptr;
  }

  std::size_t places = 2;

 private:
  using other_device =
      std::conditional_t<gpu_kind == upcxx::memory_kind::hip_device, upcxx::cuda_device, upcxx::hip_device>;
  upcxx::global_ptr<std::int16_t> heap_;
  upcxx::device_allocator<other_device> other_;
  std::vector<std::array<any_ptr, most_places>> memory_;
};
