#pragma once

/// Private memory of the program that devices reach directly while it is pinned (atl::pin).

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "memory/kind.hpp"

namespace atl::engine {

/// Under the engine's lock. Kinds are told of ranges of whole pages without a common one, whatever pins overlap.
class host_pins {
 public:
  using number = std::uint64_t;

  number add(memory::memory_range wanted);
  /// False while copies of what nobody else has pinned are under way: to be called again after progress.
  bool remove(number pin);
  [[nodiscard]] bool is_pinned(number pin) const;
  /// Devices of the kind are used from now on.
  void use(memory::kind& kind);

 private:
  /// Whole pages that were pinned for this part of a pin.
  struct range {
    memory::memory_range pages;
    memory::memory_range wanted;
    bool let_go = false;  ///< by a kind at least, while the end of a pin waits for others
  };
  void pin_rest(memory::memory_range wanted);
  void tell(memory::kind& kind, range const& pinned);
  void warn_of_refusal(memory::kind const& kind, range const& refused, char const* why);
  [[nodiscard]] bool is_wanted(memory::memory_range pages, number but) const;

  std::vector<memory::kind*> kinds_;  ///< in use
  std::map<number, memory::memory_range> pins_;
  std::vector<range> ranges_;
  number last_ = 0;
  bool warned_ = false;
};

}  // namespace atl::engine
