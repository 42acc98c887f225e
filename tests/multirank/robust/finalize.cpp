// A program that waits for nothing: every call that it sent before finalize runs, and every reply arrives.
// Several periods of the library, more data than queues and transit memory hold. And a program that ends the
// library although callbacks have not finished.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <unistd.h>

#include <upcxx/upcxx.hpp>

namespace {
long arrived = 0;

std::vector<upcxx::promise<>> held;
int finished_well = 0;

/// A call that keeps its argument until its promise is fulfilled.
upcxx::future<int> keep(upcxx::view<char> bytes, char expected) {
  held.emplace_back();
  return held.back().get_future().then([=] {
    finished_well +=
        std::count(bytes.begin(), bytes.end(), expected) == static_cast<long>(bytes.size()) ? 1 : 0;
    return 1;
  });
}

/// What finalize writes to standard error.
std::string finalize_and_listen() {
  int ends[2];
  if (pipe(ends) != 0) return {};
  int const before = dup(2);
  dup2(ends[1], 2);
  upcxx::finalize();
  dup2(before, 2);
  close(ends[1]);
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends[0], text.data(), text.size()))));
  close(ends[0]);
  close(before);
  return text;
}

void send_all(char fill, std::vector<upcxx::future<int>>& answers) {
  upcxx::intrank_t const next = (upcxx::rank_me() + 1) % upcxx::rank_n();
  // In every way that messages take.
  for (std::size_t const bytes : {20UL, 1'000UL, 30'000UL, 500'000UL, 10'000'000UL}) {
    std::vector<char> const payload(bytes, fill);
    answers.push_back(upcxx::rpc(next, keep, upcxx::make_view(payload.data(), payload.data() + bytes), fill));
  }
}

/// Callbacks that finish after the library has ended, and in its next period. They read what they were sent, and
/// touch nothing of that period.
int calls_held_over_the_end() {
  std::vector<upcxx::future<int>> answers;
  upcxx::init();
  send_all('x', answers);
  std::string const report = finalize_and_listen();
  if (held.size() != 5 || report.find("5 calls of other ranks are not finished") == std::string::npos) {
    std::fprintf(stderr, "%zu calls are held; finalize said: %s\n", held.size(), report.c_str());
    return 1;
  }
  std::vector<upcxx::promise<>> const old = held;
  for (std::size_t const i : {0UL, 2UL, 4UL}) old[i].fulfill_anonymous(1);
  upcxx::init();
  // The same memory again, for others' calls.
  send_all('y', answers);
  while (held.size() != 10) upcxx::progress();
  for (std::size_t const i : {1UL, 3UL}) old[i].fulfill_anonymous(1);
  for (std::size_t i = 5; i < 10; ++i) held[i].fulfill_anonymous(1);
  for (std::size_t i = 5; i < 10; ++i) answers[i].wait();
  std::string const second = finalize_and_listen();
  bool answered = false;
  for (std::size_t i = 0; i < 5; ++i) answered = answered || answers[i].is_ready();
  if (finished_well == 10 && !answered && second.empty()) return 0;
  std::fprintf(stderr, "%d of 10 calls found their bytes; old ones were %sanswered; finalize said: %s\n",
               finished_well, answered ? "" : "not ", second.c_str());
  return 1;
}

// ---- chains of calls, each of which is sent by the one before, from host to host ----

int visits = 0;
std::vector<upcxx::global_ptr<int>> cells;

int next_rank() { return (upcxx::rank_me() + 1) % upcxx::rank_n(); }
void hop_alone(int more) {
  ++visits;
  if (more > 1) upcxx::rpc_ff(next_rank(), hop_alone, more - 1);
}
void hop_with_data(int more) {
  ++visits;
  if (more > 1) {
    upcxx::rput(more, cells[static_cast<std::size_t>(next_rank())],
                upcxx::remote_cx::as_rpc(hop_with_data, more - 1));
  }
}

/// All of a chain runs, however long it is when the library begins to end.
int chains_over_the_end(void (*hop)(int)) {
  upcxx::init();
  int const ranks = upcxx::rank_n();
  if (upcxx::local_team().rank_n() == 1 && ranks > 1) {
    visits = 0;
    upcxx::global_ptr<int> const own = upcxx::new_<int>(0);
    cells.clear();
    for (int rank = 0; rank < ranks; ++rank) cells.push_back(upcxx::broadcast(own, rank).wait());
    // One chain for each rank, which come to each of them as often.
    constexpr int rounds = 50;
    hop(rounds * ranks + 1);
    upcxx::finalize();
    if (visits == rounds * ranks + 1) return 0;
    std::fprintf(stderr, "%d of %d calls of chains ran\n", visits, rounds * ranks + 1);
    return 1;
  }
  upcxx::finalize();
  return 0;
}

// ---- a chain without an end, which finalize gives up ----

bool chain_goes_on = false;
void hop_for_ever() {
  ++visits;
  if (!chain_goes_on) return;
  upcxx::rpc_ff(upcxx::rank_me(), hop_for_ever);
  upcxx::progress(upcxx::progress_level::internal);  // so that it waits in the queue of the master persona
}

/// What is left of it does not run in the next period: what it refers to may have gone with the library.
int chain_beyond_the_end() {
  upcxx::init();
  visits = 0;
  chain_goes_on = true;
  hop_for_ever();
  upcxx::finalize();
  chain_goes_on = false;
  int const before = visits;
  upcxx::init();
  upcxx::barrier();
  for (int i = 0; i < 100; ++i) upcxx::progress();
  upcxx::finalize();
  if (visits == before) return 0;
  std::fprintf(stderr, "%d calls of an ended period ran in the next one\n", visits - before);
  return 1;
}
}  // namespace

int main() {
  if (calls_held_over_the_end() != 0) return 1;
  if (chains_over_the_end(hop_alone) != 0 || chains_over_the_end(hop_with_data) != 0) return 1;
  if (chain_beyond_the_end() != 0) return 1;
  constexpr int calls = 500;
  for (int period = 0; period < 3; ++period) {
    arrived = 0;
    upcxx::init();
    upcxx::intrank_t const next = (upcxx::rank_me() + 1) % upcxx::rank_n();
    std::vector<char> const payload(30'000, 1);
    for (int i = 0; i < calls; ++i) {
      upcxx::rpc_ff(
          next, [](upcxx::view<char> v) { arrived += *v.begin(); },
          upcxx::make_view(payload.begin(), payload.end()));
    }
    upcxx::future<int> const answer = upcxx::rpc(next, [] { return 42; });
    upcxx::finalize();
    if (arrived != calls || !answer.is_ready()) {
      std::fprintf(stderr, "period %d: %ld of %d calls ran; the reply %s\n", period, arrived, calls,
                   answer.is_ready() ? "arrived" : "is missing");
      return 1;
    }
  }
  return 0;
}
