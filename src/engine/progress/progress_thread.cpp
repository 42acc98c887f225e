// Polls, and sleeps on the network's descriptor where that finds nothing. Neighbours of the host do not ring for it: it looks for
// what they have sent when it wakes up for another reason, once a millisecond at least, which also bounds how long
// something waits that the program has left behind before it went on computing.

#include "engine/progress/progress_thread.hpp"

#include <pthread.h>

#include <csignal>

#include "base/doorbell.hpp"
#include "base/os/event.hpp"
#include "base/os/signals_are_for_others.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/messages.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

progress_thread::progress_thread(progress_engine& engine) : engine_(engine) {
  os::signals_are_for_others const masked;
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "atoll-progress");
}

progress_thread::~progress_thread() {
  ending_.store(true, std::memory_order_relaxed);  // nothing is handed over with it
  thread_.join();
}

void progress_thread::run() {
  for (unsigned fruitless = 0; !ending_.load(std::memory_order_relaxed);) {
    fruitless = poll() ? 0 : fruitless + 1;
    if (fruitless != 0) rest(fruitless);
  }
}

void progress_thread::rest(unsigned fruitless) const {
  bool wakes = false;
  {
    try_guard const held;
    wakes = held && engine_.open.silent() == 0 && engine_.network->may_sleep();
  }
  if (wakes) {
    int const descriptor = engine_.network->descriptor();
    os::wait_for(descriptor, descriptor < 0 ? brief_sleep_ns : longest_unsure_sleep_ns);
  } else if (fruitless > 1) {
    os::wait_for(-1,
                 brief_sleep_ns);  // another thread makes progress, or something waits for which nobody rings
  }
}

}  // namespace atl::engine
