#pragma once

namespace atl::engine {

/// Who hears that something is complete: called once, during progress of any level. It must only hand the news
/// on (to a persona's queue).
struct on_done {
  void (*call)(void* context);
  void* context;
};

}  // namespace atl::engine
