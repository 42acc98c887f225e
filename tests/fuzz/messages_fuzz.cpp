// Random traffic between the ranks of a transport: sizes around every limit, buffers that are cancelled, cut
// short or grown, messages that are kept and released in any order, ranks that stall, rings and arenas that
// are full most of the time. Every message must arrive once, unharmed, and all memory must come home.
//
// A case is played in one of three ways: by one thread, which moves the ranks in a random order (a seed then
// decides everything); by a thread for each rank; by a process for each rank.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <sched.h>

#include "driver.hpp"
#include "transport/fabric.hpp"

namespace fuzz {
namespace {

using namespace atl::transport;

constexpr std::uint32_t most_ranks = 5;

/// What the ranks of a case share beside the transport.
struct scoreboard {
  std::atomic<std::uint64_t> sent[most_ranks];  ///< to each rank, by all
  std::atomic<std::uint32_t> quiet{0};          ///< ranks that will send nothing more
  std::atomic<std::uint32_t> through{0};        ///< ranks that have received everything
};

/// A token tells the sender, the number and the payload's size.
constexpr std::uint64_t token_of(std::uint32_t source, std::uint64_t number, std::size_t bytes) {
  return std::uint64_t{source} << 56 | number << 28 | bytes;
}

class player {
 public:
  player(fabric& ranks, scoreboard& board, std::uint32_t me, std::uint32_t count, std::uint64_t seed,
         std::uint64_t to_send)
      : mine_(ranks.rank(me)),
        ranks_(ranks),
        board_(board),
        me_(me),
        count_(count),
        c_(seed),
        to_send_(to_send) {}

  /// One random action. False when all is done, here and elsewhere.
  bool step() {
    if (!quiet_ && number_ == to_send_ && open_.empty()) {
      quiet_ = true;
      board_.quiet.fetch_add(1);
    }
    if (stalled_ != 0) {
      --stalled_;
      return true;
    }
    switch (quiet_ ? 4 + c_.below(5) : c_.below(9)) {
      case 0:
      case 1:
        start();
        break;
      case 2:
      case 3:
        finish_one();
        break;
      case 4:
        if (c_.one_in(4)) stalled_ = c_.below(40);
        break;
      case 5:
        static_cast<void>(mine_.flush());
        break;
      case 6:
        give_back_one();
        break;
      default:
        take();
    }
    if (!through_ && board_.quiet.load() == count_ && arrived_ == board_.sent[me_].load() && held_.empty() &&
        mine_.busy() == 0) {
      through_ = true;
      board_.through.fetch_add(1);
    }
    return board_.through.load() != count_;
  }

  void check_empty() {
    expect(ranks_.private_bytes(me_) == 0,
           "private memory of rank " + std::to_string(me_) + " did not come home");
    expect(mine_.receive(in_place) == nullptr, "a message more than was sent");
  }

 private:
  struct buffer {
    outgoing out;
    std::size_t wanted;  ///< payload
    std::size_t alignment;
  };

  std::size_t random_size() {
    std::size_t const limits[] = {64, 2048, 2048, 20'000, 70'000, 300'000};
    std::size_t const limit = limits[c_.below(std::size(limits))];
    std::size_t const size = c_.one_in(3) ? limit + c_.below(33) : c_.size(limit) + 16;
    return size - 16;  // around the limits with the header, too
  }

  bool begin(buffer& b, std::uint32_t target, spill allowed) {
    b.out.target = static_cast<std::int32_t>(target);
    status const s = mine_.begin(b.out, header_bytes + b.wanted, b.alignment, allowed);
    if (s != status::ok) return false;
    expect(b.out.capacity >= header_bytes + b.wanted, "less room than asked for");
    expect(reinterpret_cast<std::uintptr_t>(b.out.begin) % b.alignment == 0, "buffer not aligned");
    return true;
  }

  void start() {
    if (number_ == to_send_ || open_.size() >= 3) return;
    buffer b{{}, random_size(), c_.one_in(8) ? std::size_t{64} << c_.below(6) : buffer_alignment};
    b.out.way = c_.one_in(2) ? lane::request : lane::control;
    spill const kinds[] = {spill::never, spill::never, spill::bounded, spill::limited};
    if (!begin(b, static_cast<std::uint32_t>(c_.below(count_)), kinds[c_.below(4)])) return;
    std::memset(b.out.begin + header_bytes, 0xee, b.wanted);  // all of it is ours
    open_.push_back(b);
    ++number_;
  }

  void finish_one() {
    if (open_.empty()) return;
    std::size_t const which = c_.below(open_.size());
    buffer b = open_[which];
    std::uint64_t const how = c_.below(8);
    if (how == 0) {
      mine_.cancel(b.out);
    } else if (how == 1 && b.wanted < 100'000) {
      // Grown as the engine does it. The ring's cells must go first: they hold up what others send.
      buffer larger{{}, 2 * b.wanted + 10, b.alignment};
      larger.out.way = b.out.way;
      bool const in_ring = b.out.where == storage::ring;
      if (in_ring) mine_.cancel(b.out);
      bool const grown = begin(larger, static_cast<std::uint32_t>(b.out.target), spill::limited);
      if (!in_ring) {
        if (!grown) return;
        mine_.cancel(b.out);
      }
      if (grown) {
        open_[which] = larger;
        return;
      }
    } else {
      std::size_t const bytes = c_.one_in(4) ? c_.below(b.wanted + 1) : b.wanted;
      board_.sent[b.out.target].fetch_add(1);
      message_kind const kind = b.out.way == lane::request ? message_kind::request : message_kind::reply;
      fill_and_commit(mine_, b.out, kind, token_of(me_, ++committed_, bytes), bytes);
    }
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void take() {
    message* const m = mine_.receive(
        {.requests = !c_.one_in(4), .requests_in_place = c_.one_in(2), .control_in_place = c_.one_in(2)});
    if (m == nullptr) return;
    ++arrived_;
    auto const source = static_cast<std::uint32_t>(m->token >> 56);
    expect(source < count_ && m->source == static_cast<std::int32_t>(source), "from the wrong rank");
    std::uint64_t const number = m->token << 8 >> 36;
    auto& seen = seen_[source];
    if (seen.size() <= number) seen.resize(number + 1);
    expect(!seen[number], "message " + std::to_string(number) + " came twice");
    seen[number] = true;
    check(*m);
    if (held_.size() < 20 && !c_.one_in(3)) {
      held_.push_back(m);
    } else {
      mine_.release(m);
    }
  }

  void check(message const& m) {
    std::string const wrong = difference(m, m.token & ((std::uint64_t{1} << 28) - 1));
    expect(wrong.empty(), "to rank " + std::to_string(me_) + ": " + wrong);
  }

  void give_back_one() {
    if (held_.empty()) return;
    auto const at = held_.begin() + static_cast<std::ptrdiff_t>(c_.below(held_.size()));
    check(**at);  // still as it was
    mine_.release(*at);
    held_.erase(at);
  }

  atl::shm::endpoint& mine_;
  fabric& ranks_;
  scoreboard& board_;
  std::uint32_t me_;
  std::uint32_t count_;
  choices c_;
  std::uint64_t to_send_;
  std::uint64_t number_ = 0;  ///< buffers asked for
  std::uint64_t committed_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t stalled_ = 0;
  bool quiet_ = false;
  bool through_ = false;
  std::vector<buffer> open_;
  std::vector<message*> held_;
  std::vector<bool> seen_[most_ranks];
};

/// Steps until all is done. A hang is found by the time limit of the test.
void play_alone(player& p) {
  while (p.step()) sched_yield();
  p.check_empty();
}

void play_in_turn(std::vector<std::unique_ptr<player>>& players, choices& c) {
  for (std::uint64_t fruitless = 0; fruitless < 20'000'000; ++fruitless) {
    if (!players[c.below(players.size())]->step()) {
      for (auto& p : players) p->check_empty();
      return;
    }
    if (c.exhausted()) c = choices(fruitless);
  }
  fail("the ranks do not come to an end");
}

void play_in_processes(std::vector<std::unique_ptr<player>>& players) {
  std::vector<pid_t> children;
  for (auto& p : players) {
    pid_t const child = ::fork();
    if (child == 0) {
      play_alone(*p);
      ::_exit(0);
    }
    children.push_back(child);
  }
  bool good = true;
  for (pid_t const child : children) {
    int status = 0;
    // Who fails leaves the others waiting.
    ::waitpid(-1, &status, 0);
    if (status != 0 && good) {
      good = false;
      for (pid_t const other : children) ::kill(other, SIGKILL);
    }
    static_cast<void>(child);
  }
  expect(good, "a rank's process failed");
}

}  // namespace

void run_case(choices& c) {
  auto const kinds = fabric_kinds();
  fabric_kind const& kind = kinds[c.below(kinds.size())];
  if (!kind.obstacle().empty()) return;
  std::uint64_t const way = c.below(20);  // most cases are played by one thread
  bool const in_processes = way == 1 && std::strcmp(kind.name, "shm_fragments") == 0;
  fabric_shape shape;
  shape.ranks = static_cast<std::uint32_t>(c.between(1, most_ranks));
  shape.arena_bytes = std::size_t{64} << 10 << c.below(3);
  shape.private_limit = std::size_t{1} << 20 << c.below(6);
  shape.between_processes = in_processes;
  auto const ranks = kind.open(shape);

  void* const memory =
      ::mmap(nullptr, sizeof(scoreboard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  expect(memory != MAP_FAILED, "mmap failed");
  auto* const board = ::new (memory) scoreboard{};
  std::vector<std::unique_ptr<player>> players;
  for (std::uint32_t r = 0; r < shape.ranks; ++r) {
    players.push_back(std::make_unique<player>(*ranks, *board, r, shape.ranks, c.bits(), c.below(200)));
  }
  if (in_processes) {
    play_in_processes(players);
  } else if (way == 0) {
    std::vector<std::thread> threads;
    for (auto& p : players) threads.emplace_back([&p] { play_alone(*p); });
    for (std::thread& t : threads) t.join();
  } else {
    play_in_turn(players, c);
  }
  ::munmap(memory, sizeof(scoreboard));
}

}  // namespace fuzz
