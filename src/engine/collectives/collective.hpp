#pragma once

/// One collective in this process, as all algorithms see it. Two families:
///
/// flat         teams whose members are all on this host and that have a channel (flat.hpp): by lines and
///              blocks of shared memory that everybody reads.
/// by messages  any team, any size: dissemination and trees (by_messages.hpp). They send in steps, keep what
///              cannot leave yet, and go on in a later advance().

#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/engine/collectives.hpp>
#include <atoll/transport/message.hpp>

#include "base/collective_signature.hpp"
#include "engine/collectives/teams.hpp"

namespace atl::engine {

/// One call as its team counts it.
struct noted_call {
  collective_signature signature = 0;
  std::uint32_t number = 0;   ///< order among those of the team
  std::uint32_t history = 0;  ///< hash of all that was called up to this one
};

/// One collective in this process.
struct collective {
  team_data* team = nullptr;   ///< who takes part
  team_data* route = nullptr;  ///< whose number it has and through which its messages are found: `team`, but
                               ///< while a team is created, its parent
  on_done done{};
  noted_call call;
  std::vector<transport::message*> arrived;  ///< by messages: not yet consumed
  bool asleep = false;  ///< by messages: only what arrives for it, or wake(), lets it go on
  bool polled = false;  ///< by messages: polls advance it

  virtual ~collective() = default;
  /// First sends or publication, as far as there is room.
  virtual void begin() = 0;
  /// Goes on as far as possible; true when complete. Where it is not, it may fall asleep: then polls leave it out.
  virtual bool advance() = 0;
};

/// Makes a collective of type `Collective` on `team`.
template <class Collective, class... Args>
Collective* make(team_view& team, collective_signature signature, on_done done, Args const&... args) {
  auto* const c = new Collective(args...);
  c->team = c->route = static_cast<team_data*>(&team);
  c->call.signature = signature;
  c->done = done;
  return c;
}

/// Tells by a flag.
inline on_done sets(bool& flag) noexcept {
  return {[](void* f) { *static_cast<bool*>(f) = true; }, &flag};
}

/// What is reduced, and how.
struct reduction {
  void const* source;
  void* target;  ///< may be the source; null where nobody wants the result
  std::size_t count;
  std::size_t element_bytes;
  combine_function combine;
  void const* operation;
  std::int32_t root;  ///< negative: all

  std::size_t bytes() const { return count * element_bytes; }
  std::byte const* from() const { return static_cast<std::byte const*>(source); }
  std::byte* to() const { return static_cast<std::byte*>(target); }
  /// Its elements from `begin` on.
  reduction rest(std::size_t begin) const {
    reduction r = *this;
    r.source = from() + begin * element_bytes;
    if (target != nullptr) r.target = to() + begin * element_bytes;
    r.count -= begin;
    return r;
  }
};

/// Private memory for partial results, aligned for elements of any type of this size.
class scratch {
 public:
  scratch() = default;
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() { drop(); }
  /// The same memory until drop(), so no later call may want more. Ends the job if there is none: the others could never go on.
  std::byte* get(std::size_t count, std::size_t element_bytes);
  void drop() noexcept;

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t alignment_ = 0;
};

}  // namespace atl::engine
