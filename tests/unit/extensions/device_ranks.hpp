#pragma once

/// Ranks of a device_team inside one process, over plain arrays: threads play the blocks of their kernels, and another one the hosts.
/// Nothing of the library runs, so ThreadSanitizer sees all that is between one kernel and another.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include <atoll/device.cuh>

namespace device_ranks {

namespace on = atl::device;
using atl::engine::kernel_call;
using atl::engine::kernel_command;
using atl::engine::kernel_mailbox;
using atl::engine::kernel_request;
using atl::engine::word_operation;
inline constexpr auto kind = upcxx::memory_kind::cuda_device;
template <class T>
using gpu_ptr = upcxx::global_ptr<T, kind>;
using words_ptr = gpu_ptr<std::uint64_t>;
using access = upcxx::detail::global_ptr_access;

/// Whether ranks' devices reach each other.
enum class reach { all, own };

class ranks {
 public:
  static constexpr std::size_t words_each = 4096;

  ranks(int n, reach how, std::uint64_t patience_ns = 0) : how_(how) {
    for (int r = 0; r < n; ++r) each_.push_back(std::make_unique<rank>());
    for (int r = 0; r < n; ++r) set_up(r, patience_ns);
    if (how == reach::own) host_ = std::thread([this] { serve(); });
  }
  ranks(ranks const&) = delete;
  ranks& operator=(ranks const&) = delete;
  ~ranks() { stop_hosts(); }
  /// What kernels ask for is not done any more.
  void stop_hosts() {
    end_.store(true, std::memory_order_relaxed);
    if (host_.joinable()) host_.join();
  }

  [[nodiscard]] int size() const { return static_cast<int>(each_.size()); }
  /// Word i of a rank's segment.
  [[nodiscard]] words_ptr word(int r, std::size_t i) const {
    return access::make<std::uint64_t, kind>(owner(r), reinterpret_cast<std::uint64_t>(&at(r)->words[i]));
  }
  [[nodiscard]] std::uint64_t* here(int r, std::size_t i) const { return &at(r)->words[i]; }
  [[nodiscard]] kernel_mailbox& box(int r) const { return at(r)->box; }
  /// The host of a rank has kernels give up.
  void end_waits(int r) { std::atomic_ref(at(r)->end).store(1, std::memory_order_release); }

  /// Every rank's kernel, of so many blocks each: `kernel(team, rank)`.
  template <class Kernel>
  void run(unsigned blocks, Kernel kernel) {
    std::vector<std::thread> threads;
    std::deque<on::played_grid> grids(each_.size());
    for (int r = 0; r < size(); ++r) {
      grids[static_cast<std::size_t>(r)].blocks = blocks;
      for (unsigned b = 0; b < blocks; ++b) {
        threads.emplace_back([this, r, b, kernel, grid = &grids[static_cast<std::size_t>(r)]] {
          on::played() = {b, grid};
          kernel(atl::device_team(&at(r)->state), r);
        });
      }
    }
    for (std::thread& t : threads) t.join();
  }

 private:
  struct rank {
    alignas(64) on::team_words team{};
    alignas(64) std::array<std::uint64_t, words_each> words{};
    kernel_mailbox box{};
    std::uint64_t end = 0;
    std::vector<on::range> ranges;
    std::array<on::partner, 2 * on::most_rounds> partners{};
    on::team_state state;
    std::uint64_t taken = 0;
  };

  [[nodiscard]] rank* at(int r) const { return each_[static_cast<std::size_t>(r)].get(); }
  static std::uint64_t owner(int r) { return access::pack(static_cast<std::uint32_t>(r), 1, kind); }
  [[nodiscard]] bool reaches(int r, int other) const { return how_ == reach::all || r == other; }

  /// As make_team() does. The segment is the words of the team and those behind them.
  void set_up(int r, std::uint64_t patience_ns) {
    rank& own = *at(r);
    on::team_view& v = own.state.view;
    for (int other = 0; other < size(); ++other) {
      rank& theirs = *at(other);
      auto const begin = reinterpret_cast<std::uint64_t>(&theirs.team);
      auto const bytes = reinterpret_cast<std::uint64_t>(theirs.words.data() + words_each) - begin;
      own.ranges.push_back({owner(other), begin, bytes, reaches(r, other) ? begin : 0});
      own.ranges.push_back({});
    }
    v.local_n = static_cast<std::uint32_t>(size());
    v.own_index = static_cast<std::uint32_t>(r);
    v.rank_me = r;
    v.rank_n = size();
    v.patience_ns = patience_ns;
    v.atomic_devices = how_ == reach::all;
    on::find_partners(v, own.partners.data(), [&](int other) {
      auto const words = reinterpret_cast<std::uint64_t>(&at(other)->team);
      return on::partner{reaches(r, other) ? words : 0, {owner(other), words}};
    });
    if (v.local_n <= on::team_view::most_near) std::copy(own.ranges.begin(), own.ranges.end(), v.near);
    v.ranges = own.ranges.data();
    v.ahead = own.partners.data();
    v.across = v.ahead + on::most_rounds;
    v.own = &own.team;
    v.box = &own.box;
    v.end = &own.end;
    own.state.view_of_host = v;
    own.state.by_host = true;
  }

  // The hosts, all in one thread: what kernel_service does, by the same words.

  void serve() {
    while (!end_.load(std::memory_order_relaxed)) {
      for (auto const& r : each_) take(*r);
      atl::words::between_looks();
    }
  }
  /// Takes all that is there, and ends with what it was asked first: as copies do, which end in any order.
  static void take(rank& r) {
    std::vector<kernel_command*> under_way;
    for (;; ++r.taken) {
      kernel_command& c = r.box.commands[r.taken % kernel_mailbox::capacity];
      if (std::atomic_ref(c.number).load(std::memory_order_acquire) != r.taken + 1) break;
      under_way.push_back(&c);
    }
    for (; !under_way.empty(); under_way.pop_back()) carry_out(*under_way.back());
    std::atomic_ref(r.box.completed).store(r.taken, std::memory_order_release);
  }
  static void carry_out(kernel_command& c) {
    kernel_request const& asked = c.asked;
    auto* const to = reinterpret_cast<char*>(asked.to);
    if (asked.call == kernel_call::put_value) {
      write(to, reinterpret_cast<char const*>(&asked.from), asked.bytes);
    } else if (asked.call == kernel_call::put || asked.call == kernel_call::get) {
      write(to, reinterpret_cast<char const*>(asked.from), asked.bytes);
    }
    std::uint64_t const before = change(asked);
    if (asked.call != kernel_call::atomic) return;
    std::atomic_ref(c.answer).store(before, std::memory_order_relaxed);
    std::atomic_ref(c.answered).store(c.number, std::memory_order_release);
    // The place may be used again when the kernel has read it.
    while (std::atomic_ref(c.answered).load(std::memory_order_acquire) != 0) atl::words::between_looks();
  }
  /// A device writes 8 bytes at once; stamped values are looked at meanwhile.
  static void write(char* to, char const* from, std::size_t bytes) {
    if (bytes != 8) {
      std::memcpy(to, from, bytes);
      return;
    }
    std::uint64_t x = 0;
    std::memcpy(&x, from, 8);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to)).store(x, std::memory_order_relaxed);
  }
  static std::uint64_t change(kernel_request const& asked) {
    if (asked.operation == word_operation::none) return 0;
    auto* const word = reinterpret_cast<std::uint64_t*>(asked.word);
    switch (asked.operation) {
      case word_operation::set:
        return atl::words::exchange(word, asked.operand);
      case word_operation::add:
        return atl::words::fetch_add(word, asked.operand);
      default:
        return atl::words::compare_exchange(word, asked.compare, asked.operand);
    }
  }

  reach how_;
  std::vector<std::unique_ptr<rank>> each_;
  std::thread host_;
  std::atomic<bool> end_{false};
};

}  // namespace device_ranks
