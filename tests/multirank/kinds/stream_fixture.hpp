#pragma once

/// What tests of communication in streams have in common.

#include <algorithm>
#include <cstddef>
#include <vector>

#include <atoll/stream.hpp>
#include <upcxx/upcxx.hpp>

#include "multirank/kinds/fake_driver.hpp"
#include "multirank/kinds/on_devices.hpp"

inline constexpr auto gpu_kind = upcxx::gpu_default_device::kind;
template <class T>
using gpu_ptr = upcxx::global_ptr<T, gpu_kind>;

/// Memory of the host that devices reach.
template <class T>
class pinned {
 public:
  pinned(std::size_t count, T value) : memory_(upcxx::new_array<T>(count)), count_(count) {
    std::fill(data(), data() + count, value);
  }
  ~pinned() { upcxx::delete_array(memory_); }
  pinned(pinned const&) = delete;
  pinned& operator=(pinned const&) = delete;
  [[nodiscard]] T* data() const { return memory_.local(); }
  T& operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] std::vector<T> values() const { return {data(), data() + count_}; }

 private:
  upcxx::global_ptr<T> memory_;
  std::size_t count_;
};

class stream_fixture : public on_devices<upcxx::gpu_default_device> {
 protected:
  template <class T>
  gpu_ptr<T> filled(std::size_t count, T value) {
    auto const p = gpu_.allocate<T>(count);
    std::vector<T> const values(count, value);
    upcxx::copy(values.data(), p, count).wait();
    return p;
  }
  template <class T>
  static std::vector<T> content(gpu_ptr<T> p, std::size_t count) {
    std::vector<T> values(count);
    upcxx::copy(p, values.data(), count).wait();
    return values;
  }

  [[nodiscard]] std::size_t right_index() const { return static_cast<std::size_t>(right); }
};
