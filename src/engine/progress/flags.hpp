#pragma once

/// Flags that somebody watches (<atoll/engine/flags.hpp>), as work that progress looks after.

#include <cstdint>
#include <vector>

#include <atoll/engine/flags.hpp>

#include "base/single.hpp"
#include "engine/progress/work.hpp"

namespace atl::engine {

/// What the flag_line at `offset` in the heap of a rank of this host waits for has come, in a message to this one. Of one flag all come to
/// one rank, since nobody else may write there meanwhile. Under the engine's lock.
void raise_flag_here(std::uint32_t local_rank, std::uint64_t offset, std::uint64_t by);

class watched_flags final : public single<watched_flags>, public work_source {
 public:
  explicit watched_flags(open_work& all) : single(this), work_source(all, ending::rings) {}

  /// See watch(). Under the engine's lock.
  void add(bool (*look)(void*), void* context, on_done done);

 private:
  struct watched {
    bool (*look)(void*);
    void* context;
    on_done done;
  };
  bool advance() override;

  std::vector<watched> flags_;
};

}  // namespace atl::engine
