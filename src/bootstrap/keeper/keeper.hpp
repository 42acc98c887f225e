#pragma once

/// A process beside the ranks of a host, which notices what ranks cannot: that a host is gone, or that a rank has been killed. Then
/// it ends the ranks of its host, and says why, once in the job. Ranks that compute make no progress, and a link that is cut says nothing,
/// so somebody has to ask.
///
/// The keepers of a job form a ring; each asks both neighbours whether they live. News go around both ways.

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/unique_fd.hpp"
#include "bootstrap/keeper/further_ways.hpp"
#include "bootstrap/keeper/neighbour.hpp"
#include "bootstrap/keeper/orders.hpp"
#include "bootstrap/keeper/unhurried_text.hpp"

namespace atl::keeping {

/// After a neighbour has fallen: most launchers end the job then.
inline constexpr std::int64_t lost_keeper_ms = 1000;

/// Between the hosts' turns to say why the job ends: the first that is left has told the others by then.
inline constexpr std::int64_t usual_turn_ms = 50;

/// Has the keeper of this process, and so all of the job, say what ranks are doing. Handles a signal.
void ask_for_picture(int signal) noexcept;

/// "h2 (ranks 2 to 3)"
std::string words_of(card const& of);

/// "h2 (ranks 2 to 3) at 198.18.0.2"
std::string words_with_addresses(card const& of);

class keeper {
 public:
  /// `pidfds`: ranks are watched by these where the system has them, and else by their numbers.
  keeper(orders const& what, place* board, std::vector<os::unique_fd> listeners, bool pidfds = true,
         std::int64_t turn_ms = usual_turn_ms);
  /// Opens the processes of ranks that have registered; those that could not, and those of other process namespaces, cannot be
  /// watched.
  void look_at_board();

  /// Until all ranks of the host have ended.
  void run();

 private:
  struct ward {
    os::unique_fd process;   ///< a pidfd; none on systems without
    os::unique_fd lifeline;  ///< see orders.hpp
    ::pid_t number = -1;
    std::int32_t rank = -1;
    std::uint32_t going = 0;  ///< its lifeline has ended, as the how manieth
    bool known = false;
    bool ended = false;      ///< or counts as if it had
    bool unwatched = false;  ///< it is in another process namespace, or has no place
  };

  void open_process(ward& who, place const& where);
  void wait_and_work();
  void take_deaths();
  ward const& first_to_go(ward const& seen) const;
  void take_calls(int listener);
  void call_next();
  void tell_of_unreached();
  void take_next();
  void take_previous();
  void tell_again(neighbour& whom);
  void watch_neighbours();
  void watch_further_ways();
  [[nodiscard]] bool is_used(std::uint32_t interface) const;
  [[nodiscard]] bool is_heard_further(neighbour const& whom) const;
  [[nodiscard]] std::string words_of_silence(neighbour const& whom, std::uint32_t interface,
                                             bool heard_by_another) const;
  [[nodiscard]] std::size_t addresses_of_next() const;
  void hear(neighbour& from, frame const& what);
  void tell_all(news what, std::uint32_t host, std::int32_t rank, std::string_view words,
                neighbour const* but = nullptr);
  void ended(ward& who, place const& where);
  /// Of a rank of this host that ends the job; null if there is none.
  [[nodiscard]] place const* mistake() const;
  void look_for_mistakes();
  void look_whether_met();
  void explains(std::uint32_t host, neighbour const* from);
  void draw(std::int32_t number, neighbour const* from);
  void look_for_pictures();
  void print_picture();
  void fall(std::uint32_t host, std::int32_t rank, std::string_view words, neighbour const* from);
  void empties(std::uint32_t host, neighbour const* from);
  void end_job(std::uint32_t host, std::string_view words, bool said, neighbour const* from);
  void look_at_clock();
  void speak();
  [[nodiscard]] std::int64_t turn_to_speak() const;
  [[nodiscard]] bool is_fall_being_told() const;
  [[nodiscard]] bool is_alone() const;
  void signal_survivors(int signal);
  [[nodiscard]] bool has_survivors() const;
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] bool has_news();
  void print(std::string_view words);

  orders orders_;
  std::span<std::byte const> secret_;
  place* board_;
  std::vector<os::unique_fd> listeners_;
  std::vector<ward> wards_;
  os::unique_fd
      deaths_;  ///< an epoll instance: it has the ranks' processes in the order in which they have ended
  unhurried_text words_{STDERR_FILENO};
  bool pidfds_;
  std::int64_t turn_ms_;
  neighbour previous_;
  neighbour next_;
  neighbour calling_;               ///< the next one, until it has answered and proved who it is
  std::vector<neighbour> callers_;  ///< who have not proved who they are
  std::int64_t patience_;
  std::int64_t started_;
  std::int64_t silence_;  ///< after which a neighbour is lost
  std::int64_t beat_;
  further_ways ways_;
  std::int64_t looked_at_ways_ = 0;
  std::size_t address_ = 0;    ///< of the next one: that which is tried, or has answered
  bool called_ = false;        ///< that address
  std::string unreached_why_;  ///< the next one could not be, which has not been told yet
  bool was_silent_ = false;    ///< the next one, and is called anew
  int refused_ = 0;            ///< calls of strangers that were told of

  std::vector<std::uint32_t> explaining_;  ///< hosts
  bool met_ = false;                       ///< ranks of this host have heard that news come from both sides
  bool explained_ = false;                 ///< ranks of this host have heard that they need not
  std::int32_t pictures_ = 0;              ///< that somebody has asked for
  std::int64_t picture_asked_ = 0;         ///< when the last one was
  std::int64_t picture_at_ = 0;            ///< when the last one is to be printed; 0: it has been

  bool fell_here_ = false;  ///< a rank of this host
  std::uint32_t gone_ = 0;  ///< lifelines that have ended
  std::int64_t left_ = 0;   ///< when all ranks of this host had ended
  std::int64_t fell_ = -1;  ///< when a rank fell
  std::string fall_words_;
  std::uint32_t fall_host_ = 0;
  std::vector<std::int32_t> fallen_;
  std::set<std::uint32_t> emptied_;  ///< hosts
  bool ending_ = false;
  bool by_rank_ = false;  ///< the launcher has been told, too
  bool told_ = false;     ///< the user knows why
  bool alone_ = false;    ///< when a neighbour was lost
  std::string reason_;
  std::int64_t ending_since_ = 0;
  std::int64_t told_at_ = 0;
  bool terminated_ = false;  ///< survivors have got SIGTERM
  std::int64_t kill_at_ = 0;
};

}  // namespace atl::keeping
