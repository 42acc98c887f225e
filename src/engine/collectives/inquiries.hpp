#pragma once

/// What ranks of different hosts ask each other when something seems wrong, since they cannot look into each
/// other's pages: which collectives were started, and where in the program a rank is. A rank that waits answers.
///
/// Who has waited for long sends what it has started last to some members of the team in which it waits, others
/// each time. Who finds a difference answers with its own call and place, and the asker ends the job. Who already
/// knows of a mistake asks for the place only.

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include <atoll/transport/message.hpp>

#include "base/single.hpp"
#include "engine/collectives/matching.hpp"
#include "engine/collectives/teams.hpp"
#include "engine/progress/work.hpp"

namespace atl::engine {

/// What a rank of another host says.
struct told {
  difference first;   ///< that it has found, if any
  std::string list;   ///< that it gave to team::create there, or in the call that is suspect
  std::string place;  ///< where it is; empty if it did not answer
};

class inquiries final : public single<inquiries>, public work_source {
 public:
  inquiries(open_work& all, host_domain const& host)
      : single(this), work_source(all, ending::silent), host_(host) {}

  /// Under the engine's lock, by a thread that has waited for long.
  void look();
  /// Nothing can be wrong any more, and peers will soon be gone: no further questions. Under the lock, too.
  void stop() noexcept { stopped_ = true; }
  /// Asks where `other` is. `end`, which does not return, gets the answer, or none after 1.5 s; what this rank takes
  /// in meanwhile does not count any more. Only the first one of a job is asked.
  /// `suspect`: a call of `team` that may have been given another list.
  void ask(std::int32_t other, std::uint64_t team, std::uint32_t suspect,
           std::function<void(told const&)> end);

  /// Under the lock: what a peer asks, and what it answers.
  void take_in(transport::message* m);
  void take_in_answer(transport::message* m);

 private:
  struct question;
  struct answer;

  bool advance() override;
  void send(std::int32_t other, question& q) const;
  void look(team_data const& team, collective const& waits_in);
  void ask_some_of(team_data const& team);

  /// A question is something that arrives, and so the end of a wait of who is asked. Who waits in the same collective
  /// still asks seldom enough that others come to ask, too.
  struct last_look {
    std::uint32_t number;
    std::uint64_t next_ns;
    std::uint64_t gap_ns;
  };

  host_domain const& host_;
  bool stopped_ = false;
  std::unordered_map<std::uint64_t, last_look> looks_;  ///< by team
  std::uint32_t asked_ = 0;                             ///< members, by look()
  std::int32_t other_ = -1;                             ///< whose place is waited for
  std::uint64_t until_ns_ = 0;
  std::function<void(told const&)> end_;
};

}  // namespace atl::engine
