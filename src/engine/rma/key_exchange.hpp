#pragma once

/// Keys of blocks of heaps (keys.hpp), asked for and answered by engine messages.

#include <functional>
#include <memory>
#include <string>

#include <atoll/engine/am.hpp>

#include "engine/network/keys.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

/// In jobs with a network only. Under the engine's lock. As work that progress looks after counts keys that have arrived and
/// could not be imported for want of room.
class key_exchange final : public work_source {
 public:
  explicit key_exchange(progress_engine& engine);
  ~key_exchange() override;

  [[nodiscard]] peer_keys& peers() noexcept { return peers_; }
  /// Called when something has become known: who waits for a key looks again.
  std::function<void()> on_news;

  // See remote_memory.
  void drop_keys() { peers_.end_of_heaps(); }
  void end_of_heap() { own().end_of_heap(); }
  /// See own_blocks.
  [[nodiscard]] std::string const& refusal() { return own().refusal(); }

  // Called by messages.
  void serve(message* question);
  void answered(message* answer);

 private:
  bool advance() override;
  void ask(std::int32_t rank, key_question const& what);
  own_blocks& own();
  void set_open();

  progress_engine& engine_;
  std::unique_ptr<own_blocks> own_;  ///< made when they are first wanted: this object is older than the heap
  peer_keys peers_;
};

}  // namespace atl::engine
