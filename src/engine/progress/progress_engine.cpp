#include "engine/progress/progress_engine.hpp"

#include "engine/progress/messages.hpp"
#include "engine/progress/waiting.hpp"

namespace atl::engine {

namespace {
rank_diagnostics unseen_diagnostics;
}  // namespace

rank_diagnostics* diagnostics = &unseen_diagnostics;
void (*message_sink)(message*) = nullptr;
bool (*runs_calls)() noexcept = []() noexcept { return true; };

progress_engine::progress_engine(shm::endpoint& transport, network_messages* other_hosts, host_domain& ranks,
                                 waiting_policy policy, bool several_threads)
    : single(this),
      shm(transport),
      network(other_hosts),
      host(ranks),
      open(diagnostics->operations_owed, diagnostics->streams_awaited),
      held_back(transport, other_hosts, open),
      threaded(several_threads),
      waiting(policy) {
  if (network != nullptr) open.keep_open();
  polls_before_yielding = policy.spare_cores ? polls_with_spare_cores : 1;
}

progress_engine::~progress_engine() { polls_before_yielding = polls_with_spare_cores; }

}  // namespace atl::engine
