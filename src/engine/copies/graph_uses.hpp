#pragma once

/// Graphs of the program that use memory of the library, which must outlive them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/program_streams.hpp"

namespace atl::engine {

/// Captures whose graph, or an executable one made of it, is there still or is being executed: for each the driver holds one
/// object, whatever the number of segments (each costs every launch about a microsecond), which is gone when they are.
class live_captures {
 public:
  /// The object of what is being captured in the stream. Null if the driver does not tell when graphs are gone.
  std::shared_ptr<void> find(memory::program_streams& streams, memory::stream_handle s,
                             std::uint64_t capture);

 private:
  struct known {
    memory::program_streams* of;
    std::uint64_t capture;
    std::weak_ptr<void> alive;
  };
  std::vector<known> known_;
};

/// Those that use one segment.
class graph_uses {
 public:
  void add(std::uint64_t capture, std::shared_ptr<void> const& alive);
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
