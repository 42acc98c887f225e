#pragma once

/// Ranks that wait for each other in a ring, each in another call, so that none of their waits will ever end.
///
/// Who has waited for long in the creation of a team asks those whom it waits for. Who is asked and has started
/// what the asker waits in, compares the lists; who has not, and itself waits in a call that cannot end without
/// others, hands the question on to these. A question that comes back to its asker has gone round a ring. (All
/// that are waited for are needed, so a ring is certain proof.) Who waits for a future may go on by himself: he
/// tells the asker, which warns after some seconds. Nothing is sent, and nothing written down but two words in
/// the call, before half a second has passed.

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <atoll/transport/message.hpp>

#include "base/single.hpp"
#include "engine/collectives/collective.hpp"

namespace atl::engine {

/// Marks a call of the calling thread that returns only after all ranks of `team` have started the collective
/// `call` of `route` (mostly the same team).
class blocking_call {
 public:
  blocking_call(team_data const& team, team_data const& route, noted_call const& call) noexcept;
  ~blocking_call() {
    innermost.store(outer_, std::memory_order_relaxed);
    if (known_) [[unlikely]]
      forget();
  }
  blocking_call(blocking_call const&) = delete;
  blocking_call& operator=(blocking_call const&) = delete;

 private:
  friend class rings;
  void forget() const noexcept;

  // Written and read by the thread that is in the call; another one that waits sees that it is not meant by the
  // second and leaves the first alone. Relaxed: no other thread uses what it points to before it is known.
  static constinit std::atomic<blocking_call*> innermost;
  static constinit std::atomic<pthread_t> in_it;

  team_data const& team_;  ///< all of them must start it
  team_data const& route_;
  collective_signature signature_;
  std::uint32_t number_;
  blocking_call* outer_;
  bool known_ = false;  ///< to `rings`
};

/// What ranks that form teams ask each other.
class rings final : public single<rings> {
 public:
  explicit rings(host_domain const& host) : single(this), host_(host) {}

  /// Under the engine's lock, by a thread that has waited for so long.
  void look(std::uint64_t waited_ns);
  /// Under the lock: this rank has given a list to team::create.
  void remember(std::uint64_t parent, noted_call const& call);
  /// Under the lock: what a peer asks.
  void take_in(transport::message* m);
  /// Under the lock: what a peer that was asked does instead.
  void take_in_answer(transport::message* m);

  /// A collective was started inside a callback: such a rank may yet start anything in a wait.
  static void distrust() noexcept { distrusted.store(true, std::memory_order_relaxed); }

 private:
  friend class blocking_call;
  struct creation {
    std::uint64_t parent;
    noted_call call;
  };
  struct question;
  struct answer;

  /// Is the calling thread in a blocking call?
  bool find_wait(std::uint64_t waited_ns);
  void ask();
  void hand_on(question const& q);
  void tell(question const& q) const;
  /// Ends the job, at once or as mismatch() does.
  void report(question const& q) const;
  creation const* find(std::uint64_t parent, std::uint32_t number) const noexcept;

  static constinit std::atomic<bool> distrusted;
  static constexpr std::size_t remembered = 64;

  host_domain const& host_;
  blocking_call* waits_in_ = nullptr;  ///< has lasted for long
  std::uint64_t since_ns_ = 0;
  std::uint64_t next_ask_ns_ = 0;
  std::uint32_t asked_ = 0;                                    ///< questions of this rank, ever
  blocking_call const* asked_in_ = nullptr;                    ///< the last one was asked in this call
  blocking_call const* warned_in_ = nullptr;                   ///< so was the last warning made
  std::unordered_map<std::int32_t, std::uint32_t> handed_on_;  ///< last question of each asker
  std::vector<creation> creations_;                            ///< the last ones, used in turn
  std::size_t created_ = 0;
};

}  // namespace atl::engine
