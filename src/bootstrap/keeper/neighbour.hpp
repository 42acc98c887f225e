#pragma once

/// The connection of a keeper to that of the next or the previous host in the ring.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/os/unique_fd.hpp"
#include "bootstrap/keeper/conversation.hpp"

namespace atl::keeping {

/// Milliseconds of a clock that only goes forward, by a fifth of a second at most from one call to the next: it leaves out the time in which
/// this process was stopped. Batch systems stop jobs as a whole, and who was stopped has not waited for others in vain.
std::int64_t now_ms() noexcept;

inline constexpr char const* stops_in_the_middle = "it stops in the middle of its first words";

class neighbour {
 public:
  enum class state : std::uint8_t {
    none,      ///< nobody has called, or no address was tried yet
    greeting,  ///< connecting, or proving who they are
    up,
    broken,  ///< it has ended, or the connection has
    over,    ///< one of the two has said bye, or they cannot meet
  };

  /// One that is waited for. `words`: of its host, if they are known.
  neighbour(std::uint32_t host, std::string words) : host_(host), words_(std::move(words)) {}

  /// Calls an address; a refusal may come later. `as`: caller or watcher.
  void call(address const& where, std::span<std::byte const> secret, std::uint32_t me,
            std::int64_t patience_ms, role as = role::caller);
  /// Takes over a socket that has called.
  void accept(os::unique_fd socket, std::span<std::byte const> secret, std::uint32_t me,
              std::int64_t patience_ms);

  /// For poll(): -1 if there is nothing to wait for.
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  [[nodiscard]] short events() const noexcept;
  /// After poll(): reads, and tells of frames.
  void work(short found, std::function<void(frame const&)> const& tell);
  /// Sends what it can of what is to be sent.
  void push();

  void say(news what, std::uint32_t host, std::int32_t rank, bool said, std::string_view words);
  /// Ends it.
  void finish(state how);

  [[nodiscard]] state now() const noexcept { return state_; }
  [[nodiscard]] bool connecting() const noexcept { return connecting_; }
  /// It has said what no keeper of this job says.
  [[nodiscard]] bool unfit() const noexcept { return unfit_; }
  /// It has begun to say who it is, and has not gone on. Keepers send that at once.
  [[nodiscard]] bool halts() const noexcept {
    return state_ == state::greeting && !connecting_ && talk_->is_in_the_middle();
  }
  /// It has called for a further way.
  [[nodiscard]] bool watches() const noexcept {
    return state_ == state::up && talk_->of_caller() == role::watcher;
  }
  [[nodiscard]] bool sending() const noexcept { return state_ == state::up && !talk_->leaving().empty(); }
  [[nodiscard]] std::uint32_t host() const noexcept { return host_; }
  [[nodiscard]] std::string const& words() const noexcept { return words_; }
  [[nodiscard]] std::string const& why() const noexcept { return why_; }
  [[nodiscard]] std::int64_t since() const noexcept { return since_; }  ///< it is in this state
  [[nodiscard]] std::int64_t heard() const noexcept { return heard_; }  ///< last time
  [[nodiscard]] std::int64_t said() const noexcept { return said_; }    ///< last time

 private:
  void set(state now);
  void break_off(std::string why);

  std::uint32_t host_;
  std::string words_;
  os::unique_fd socket_;
  std::unique_ptr<conversation> talk_;
  std::unique_ptr<conversation> ended_talk_;  ///< until the next work()
  state state_ = state::none;
  bool connecting_ = false;
  bool unfit_ = false;
  std::string why_;
  std::int64_t since_ = now_ms();
  std::int64_t heard_ = 0;
  std::int64_t said_ = 0;
};

}  // namespace atl::keeping
