#include "bootstrap/keeper/keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/os/own_namespace.hpp"
#include "base/os/processes.hpp"
#include "bootstrap/keeper/own_link.hpp"

namespace atl::keeping {
namespace {

constexpr std::int64_t greeting_ms = 5000;      ///< for proofs of who one is
constexpr std::int64_t late_meeting_ms = 2000;  ///< with who has not been met when all ranks have ended
constexpr std::int64_t answer_ms = 250;         ///< at least, for a call to be answered
constexpr std::int64_t between_calls_ms = 50;
constexpr std::int64_t last_news_ms = 200;  ///< for neighbours to take them
constexpr std::int64_t beats_missed = 3;    ///< when a neighbour is called anew
constexpr std::size_t most_callers = 8;
constexpr int most_refusals = 3;

/// Of an event: a lifeline has ended, no process yet.
constexpr std::uint32_t of_lifeline = 1U << 31;

/// By its number. A process that nobody has waited for yet has ended, too.
bool has_ended(::pid_t number) {
  auto const found = os::find_process(number);
  return !found || found->ended;
}

bool is_on_its_way_out(::pid_t number) {
  auto const found = os::find_process(number);
  return !found || found->ended || found->ending;
}

}  // namespace

std::string words_of(card const& of) { return format("%s (%s)", of.name.data(), of.ranks.data()); }

keeper::keeper(orders const& what, place* board, std::vector<os::unique_fd> listeners, bool pidfds,
               std::int64_t turn_ms)
    : orders_(what),
      secret_(std::as_bytes(std::span(orders_.secret))),
      board_(board),
      listeners_(std::move(listeners)),
      wards_(what.local_ranks),
      deaths_(::epoll_create1(EPOLL_CLOEXEC)),
      pidfds_(pidfds && deaths_),
      turn_ms_(turn_ms),
      previous_((what.host + what.hosts - 1) % what.hosts, words_of(what.previous)),
      next_((what.host + 1) % what.hosts, words_of(what.next)),
      calling_(next_.host(), next_.words()),
      patience_(what.patience_ms),
      started_(now_ms()),
      silence_(patience_ * 7 / 10),
      beat_(std::clamp<std::int64_t>(patience_ / 20, 20, 500)),
      ways_(orders_, secret_, next_, beat_) {
  if (orders_.hosts > 1) return;
  for (neighbour* const each : {&previous_, &next_}) each->finish(neighbour::state::over);
}

void keeper::run() {
  while (!all_ended() || has_news()) {
    look_at_board();
    look_whether_met();
    look_for_mistakes();
    call_next();
    wait_and_work();
    watch_neighbours();
    look_at_clock();
    words_.go_on();
  }
  // They are all at home, or fallen and told of.
  if (!ending_ && fell_ < 0) tell_all(news::bye, orders_.host, -1, "");
  std::int64_t const end = now_ms();
  while (((previous_.sending() || next_.sending()) && now_ms() < end + last_news_ms) ||
         (!words_.empty() && now_ms() < end + patience_)) {
    previous_.push();
    next_.push();
    words_.go_on();
    ::usleep(1000);
  }
}

/// Which somebody still has to hear. Ranks may end the job before keepers have met: who hears nothing takes the end of this
/// host for a loss.
bool keeper::has_news() {
  if (left_ == 0) left_ = now_ms();
  if (fell_ >= 0) empties(orders_.host, nullptr);
  if ((ending_ && !told_) || is_fall_being_told()) return true;
  auto const unmet = [](neighbour const& n) { return n.now() == neighbour::state::none; };
  return (ending_ || fell_ >= 0) && (unmet(previous_) || unmet(next_)) && now_ms() - left_ <= late_meeting_ms;
}

void keeper::print(std::string_view words) {
  std::string line =
      format("atoll: host %s: %.*s", orders_.mine.name.data(), static_cast<int>(words.size()), words.data());
  if (!line.ends_with('\n')) line += '\n';
  words_.add(line);
}

// ---- ranks of this host --------------------------------------------------------------------------

void keeper::look_at_board() {
  static std::uint64_t const mine = os::own_namespace("pid");
  for (std::size_t i = 0; i < wards_.size(); ++i) {
    ward& w = wards_[i];
    if (w.known) {
      if (!w.ended && !w.process && has_ended(w.number)) ended(w, board_[i]);
      continue;
    }
    bool const absent = board_[i].how.load(std::memory_order_acquire) == standing::absent;
    if (absent && now_ms() - started_ < patience_) continue;
    w.known = true;
    w.rank = board_[i].rank;
    if (absent || board_[i].pid_namespace != mine) {
      w.ended = w.unwatched = true;
      continue;
    }
    open_process(w, board_[i]);
  }
}

void keeper::open_process(ward& who, place const& where) {
  who.number = where.pid;
  if (pidfds_) {
    who.process.reset(static_cast<int>(::syscall(SYS_pidfd_open, who.number, 0)));
    epoll_event event{};
    // Once: the process that starts the keeper has the descriptor, too, until it ends, so closing this one may not be enough.
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.u32 = static_cast<std::uint32_t>(&who - wards_.data());
    if (who.process && ::epoll_ctl(deaths_.get(), EPOLL_CTL_ADD, who.process.get(), &event) == 0) {
      std::string const lifeline =
          format("/proc/%d/fd/%d", static_cast<int>(who.number), where.lifeline.load());
      event.data.u32 |= of_lifeline;
      who.lifeline.reset(::open(lifeline.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
      if (who.lifeline) ::epoll_ctl(deaths_.get(), EPOLL_CTL_ADD, who.lifeline.get(), &event);
      return;
    }
    who.process.reset();
    // Before Linux 5.3, and where they are forbidden.
    if (errno != ESRCH) pidfds_ = false;
  }
  if (pidfds_ || has_ended(who.number)) ended(who, where);
}

void keeper::ended(ward& who, place const& where) {
  who.ended = true;
  who.process.reset();
  standing const how = where.how.load(std::memory_order_acquire);
  if (how == standing::may_end) return;
  // A launcher may end others before the one that said why has ended.
  if (place const* const first = mistake(); first != nullptr) {
    end_job(orders_.host, format("rank %d has ended the job", static_cast<int>(first->rank)), true, nullptr);
    return;
  }
  // What comes behind the first one the launcher has done, mostly; a job of many ranks has no use for news of each.
  if (std::exchange(fell_here_, true)) return;
  std::int32_t const first = first_to_go(who).rank;
  fall(orders_.host, first,
       format("rank %d on host %s has ended without upcxx::finalize(), killed perhaps; the job ends",
              static_cast<int>(first), orders_.mine.name.data()),
       nullptr);
}

/// A process closes its files some time before it has ended. A launcher that sees the end of its output may have ended the others of
/// the host by then.
keeper::ward const& keeper::first_to_go(ward const& seen) const {
  ward const* first = &seen;
  for (std::size_t i = 0; i < wards_.size(); ++i) {
    ward const& w = wards_[i];
    // Programs may close what they do not know.
    if (w.going != 0 && w.going < first->going &&
        board_[i].how.load(std::memory_order_acquire) != standing::may_end && is_on_its_way_out(w.number))
      first = &w;
  }
  return *first;
}

bool keeper::has_survivors() const {
  for (std::size_t i = 0; i < wards_.size(); ++i) {
    if (!wards_[i].ended && board_[i].how.load(std::memory_order_acquire) != standing::may_end) return true;
  }
  return false;
}

bool keeper::all_ended() const {
  return std::all_of(wards_.begin(), wards_.end(), [](ward const& w) { return w.ended; });
}

void keeper::signal_survivors(int signal) {
  for (std::size_t i = 0; i < wards_.size(); ++i) {
    ward const& w = wards_[i];
    if (w.ended || w.number < 0 || board_[i].how.load(std::memory_order_acquire) == standing::may_end)
      continue;
    if (w.process) {
      ::syscall(SYS_pidfd_send_signal, w.process.get(), signal, nullptr, 0);
    } else {
      ::kill(w.number, signal);
    }
  }
}

// ---- news ----------------------------------------------------------------------------------------

void keeper::tell_all(news what, std::uint32_t host, std::int32_t rank, std::string_view words,
                      neighbour const* but) {
  for (neighbour* const each : {&previous_, &next_}) {
    if (each != but) each->say(what, host, rank, told_, words);
  }
  ways_.say(what, host, rank, told_, words, but);
}

void keeper::hear(neighbour& from, frame const& what) {
  switch (what.what) {
    case news::alive:
      break;
    case news::fallen:
      fall(what.host, what.rank, what.words.data(), &from);
      break;
    case news::ending:
      end_job(what.host, what.words.data(), what.said != 0, &from);
      break;
    case news::bye:
      from.finish(neighbour::state::over);
      break;
    case news::emptied:
      empties(what.host, &from);
      break;
    case news::explaining:
      explains(what.host, &from);
      break;
    case news::picture:
      draw(what.rank, &from);
      break;
  }
}

// ---- neighbours ----------------------------------------------------------------------------------

/// From one address of the next host to the other, until one answers; that one again when nothing comes from there. TCP waits
/// twice as long after each attempt to send: where a link has been out for five seconds it may be quiet for five more when it is mended,
/// each direction by itself. So a call that has begun goes on when the next one is heard again, which may not hear us yet.
void keeper::call_next() {
  bool const met = next_.now() == neighbour::state::up;
  std::int64_t const now = now_ms();
  if (calling_.now() == neighbour::state::greeting) {
    std::int64_t const longest = calling_.connecting() ? std::max(beat_, answer_ms) : greeting_ms;
    if (now - calling_.since() > longest) calling_.finish(neighbour::state::none);
    return;
  }
  if (!met && next_.now() != neighbour::state::none) return;
  was_silent_ |= met && now - next_.heard() > beats_missed * beat_;
  if (met && !was_silent_) return;
  if (called_ && now - calling_.since() < between_calls_ms) return;
  std::size_t const many = addresses_of_next();
  if (!met && (many == 0 || now - started_ > patience_)) {
    next_.finish(neighbour::state::over);
    unreached_why_ = many == 0 ? "it has no address" : calling_.why().empty() ? "no answer" : calling_.why();
    return;
  }
  if (!met && std::exchange(called_, true)) ++address_;
  calling_.call(orders_.next.addresses[address_ % many], secret_, orders_.host, patience_);
}

/// A connection that stands takes the place of the one before it, whose last words may be lost.
void keeper::take_next() {
  if (calling_.now() != neighbour::state::up) return;
  next_ = std::exchange(calling_, neighbour(next_.host(), next_.words()));
  was_silent_ = false;
  tell_again(next_);
}

/// Whoever has called and proved it is the previous one; others are strangers.
void keeper::take_previous() {
  for (std::size_t i = 0; i < callers_.size();) {
    neighbour& each = callers_[i];
    if (each.watches()) {
      ways_.take(std::move(each));
      callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (each.now() == neighbour::state::up) {
      previous_ = std::move(each);
      callers_.clear();
      tell_again(previous_);
      return;
    }
    bool const late = now_ms() - each.since() > greeting_ms;
    if (each.now() == neighbour::state::greeting && !late) {
      ++i;
      continue;
    }
    // The previous one itself may call over a link that breaks again.
    bool const halts = each.halts();
    bool const told = each.unfit() || halts || (late && previous_.now() == neighbour::state::none);
    if (told && ++refused_ <= most_refusals) {
      print(format("a stranger's connection was refused: %s", halts  ? stops_in_the_middle
                                                              : late ? "it says nothing"
                                                                     : each.why().c_str()));
    }
    callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void keeper::tell_again(neighbour& whom) {
  for (std::int32_t const rank : fallen_) whom.say(news::fallen, fall_host_, rank, told_, fall_words_);
  for (std::uint32_t const host : explaining_) whom.say(news::explaining, host, -1, false, "");
  for (std::uint32_t const host : emptied_) whom.say(news::emptied, host, -1, false, "");
  if (ending_) whom.say(news::ending, orders_.host, -1, told_, reason_);
}

void keeper::take_calls(int listener) {
  for (;;) {
    os::unique_fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (callers_.size() == most_callers) callers_.erase(callers_.begin());
    callers_.emplace_back(previous_.host(), previous_.words());
    callers_.back().accept(std::move(socket), secret_, orders_.host, patience_);
  }
}

void keeper::wait_and_work() {
  std::vector<pollfd> all;
  all.reserve(listeners_.size() + callers_.size() + 4);
  auto const add = [&](int descriptor, short events) { all.push_back({descriptor, events, 0}); };
  add(deaths_.get(), POLLIN);
  add(previous_.descriptor(), previous_.events());
  add(next_.descriptor(), next_.events());
  add(calling_.descriptor(), calling_.events());
  ways_.add_to(all);
  for (neighbour const& each : callers_) add(each.descriptor(), each.events());
  for (os::unique_fd const& each : listeners_) add(each.get(), POLLIN);
  // Who is to speak first has to be in time.
  std::int64_t const longest = ending_ ? 10 : 100;
  if (::poll(all.data(), all.size(), static_cast<int>(std::min(beat_, longest))) < 0) return;

  auto found = all.begin();
  // Bytes first: a launcher that ends all lets the words of one arrive with the death of another.
  bool const deaths = (found++)->revents != 0;
  previous_.work((found++)->revents, [this](frame const& f) { hear(previous_, f); });
  next_.work((found++)->revents, [this](frame const& f) { hear(next_, f); });
  calling_.work((found++)->revents, [this](frame const& f) { hear(calling_, f); });
  ways_.work(found, [this](neighbour& from, frame const& f) { hear(from, f); });
  for (neighbour& each : callers_) each.work((found++)->revents, [&](frame const& f) { hear(each, f); });
  if (deaths) take_deaths();
  for (; found != all.end(); ++found) {
    if (found->revents != 0) take_calls(found->fd);
  }
}

/// In the order of their ends, whoever was late to look: Hydra ends the others of a host right after one that was killed, which is the one
/// to tell of. Linux keeps what is ready in that order.
void keeper::take_deaths() {
  epoll_event event{};
  while (::epoll_wait(deaths_.get(), &event, 1, 0) == 1) {
    std::uint32_t const which = event.data.u32 & ~of_lifeline;
    if (which == event.data.u32) {
      ended(wards_[which], board_[which]);
    } else {
      wards_[which].going = ++gone_;
    }
  }
}

void keeper::watch_neighbours() {
  take_previous();
  take_next();
  watch_further_ways();
  std::int64_t const now = now_ms();
  for (neighbour* const each : {&previous_, &next_}) {
    if (each->now() == neighbour::state::up) {
      if (now - each->said() >= beat_) each->say(news::alive, orders_.host, -1, false, "");
      // Connections stay for the news: a host that stood still, and wakes up, does not tell of itself what others have told.
      if (now - each->heard() < silence_ || ending_) continue;
      alone_ = is_alone();
      std::uint32_t const interface = interface_of(own_end(each->descriptor()));
      end_job(orders_.host, words_of_silence(*each, interface, is_heard_further(*each)), false, nullptr);
    } else if (each->now() == neighbour::state::broken && now - each->since() > lost_keeper_ms) {
      if (fell_ >= 0) empties(each->host(), nullptr);  // it has nothing more to tell
      // Between two periods nobody is there to be ended; who comes to the next one is.
      if (!ending_ && !has_survivors()) continue;
      std::string const why = each->why();
      each->finish(neighbour::state::over);
      if (ending_ || fell_ >= 0) continue;
      end_job(orders_.host,
              format("host %s is lost: the process that watches over it is gone (%s); the job ends",
                     each->words().c_str(), why.c_str()),
              false, nullptr);
    }
  }
}

}  // namespace atl::keeping
