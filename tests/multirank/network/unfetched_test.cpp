// Long messages for which a rank has no memory, and which it does not take yet: they hold up nothing else between two ranks.

#include <chrono>
#include <cstddef>
#include <vector>

#include "../common.hpp"

namespace {

constexpr std::size_t bytes = 10'000;
constexpr std::size_t put_bytes = std::size_t{2} << 20;

int taken = 0;

/// Without taking what has come for the program.
void internal_progress_for(std::chrono::milliseconds time) {
  auto const end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) upcxx::progress(upcxx::progress_level::internal);
}

class unfetched_test : public multirank::fixture {
 protected:
  upcxx::global_ptr<char> place_of(int rank) { return places_.fetch(rank).wait(); }
  /// Its blocking source waits with internal progress alone.
  static void put(upcxx::global_ptr<char> to, std::size_t count) {
    std::vector<char> const from(count, 'x');
    upcxx::promise<> all;
    upcxx::rput(from.data(), to, count,
                upcxx::source_cx::as_blocking() | upcxx::operation_cx::as_promise(all));
    all.finalize().wait();
  }

  upcxx::global_ptr<char> memory_ = upcxx::new_array<char>(put_bytes);
  upcxx::dist_object<upcxx::global_ptr<char>> places_{memory_};
};

TEST_F(unfetched_test, answers_hold_up_no_put) {
  constexpr int answers = 600;
  upcxx::global_ptr<char> const there = place_of(1);
  upcxx::barrier();
  if (me == 0) {
    std::vector<upcxx::future<std::vector<char>>> all;
    all.reserve(answers);
    for (int i = 0; i < answers; ++i)
      all.push_back(upcxx::rpc(1, [] { return std::vector<char>(bytes, 'y'); }));
    internal_progress_for(std::chrono::milliseconds(300));
    put(there, put_bytes);
    for (auto& each : all) EXPECT_EQ(each.wait(), std::vector<char>(bytes, 'y'));
  }
  upcxx::barrier();
}

TEST_F(unfetched_test, requests_hold_up_no_put_and_no_other_connection) {
  constexpr int requests = 400;
  upcxx::global_ptr<char> const to_1 = place_of(1);
  upcxx::global_ptr<char> const to_2 = place_of(2);
  taken = 0;
  upcxx::barrier();
  if (me == 1) {
    std::vector<char> const what(bytes, 'z');
    for (int i = 0; i < requests;) {
      try {
        upcxx::rpc_ff(
            0, [](upcxx::view<char> v) { taken += v.size() == bytes; },
            upcxx::make_view(what.begin(), what.end()));
        ++i;
      } catch (upcxx::bad_shared_alloc const&) {
        upcxx::progress();
      }
    }
  }
  if (me == 0) {
    internal_progress_for(std::chrono::milliseconds(300));
    std::vector<char> const from(100, 'x');
    upcxx::promise<> all;
    upcxx::rput(from.data(), to_2, from.size(),
                upcxx::source_cx::as_blocking() | upcxx::operation_cx::as_promise(all));
    internal_progress_for(std::chrono::milliseconds(100));
    put(to_1, put_bytes);
    all.finalize().wait();
    while (taken < requests) upcxx::progress();
  }
  upcxx::barrier();
}

}  // namespace
