#pragma once

/// Graphs of the program that use memory of the library, which must outlive them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/program_streams.hpp"

namespace atl::engine {

/// Those of one segment: captures whose graph, or an executable one made of it, is there still or is being executed.
/// The driver holds an object for each; it is gone when they are.
class graph_uses {
 public:
  /// What is captured in the stream uses it. False if the driver does not tell when graphs are gone.
  bool add(memory::program_streams& streams, memory::stream_handle s, std::uint64_t capture);
  [[nodiscard]] bool any() {
    forget_gone();
    return !known_.empty();
  }
  /// Appends the captures' numbers.
  void name(std::vector<std::uint64_t>& captures) const;

 private:
  struct use {
    std::uint64_t capture;
    std::weak_ptr<void> alive;
  };
  void forget_gone() {
    if (!known_.empty()) [[unlikely]]
      std::erase_if(known_, [](use const& u) { return u.alive.expired(); });
  }

  std::vector<use> known_;
};

}  // namespace atl::engine
