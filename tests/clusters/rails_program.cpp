// Long transfers between two hosts that have several network interfaces.
//   rails_program ROUNDS [BYTES]
//
// In each round both ranks put to each other, with a call that has to find the data there, and rank 0 gets back what it has put. At the end rank 0 says
// what each interface of its host has sent meanwhile, and how fast rank 0 alone puts and gets.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <upcxx/upcxx.hpp>
#include <vector>

namespace {

using words = std::vector<std::uint32_t>;

words pattern(std::size_t length, int round, int rank) {
  words all(length);
  for (std::size_t i = 0; i < length; ++i) {
    all[i] = static_cast<std::uint32_t>(i * 2654435761U) + static_cast<std::uint32_t>(round * 2 + rank);
  }
  return all;
}

std::map<std::string, std::uint64_t> sent_by_interface() {
  std::map<std::string, std::uint64_t> all;
  for (auto const& each : std::filesystem::directory_iterator("/sys/class/net")) {
    std::ifstream(each.path() / "statistics/tx_bytes") >> all[each.path().filename()];
  }
  return all;
}

template <class Transfer>
double megabytes_a_second(std::size_t bytes, Transfer transfer) {
  auto const begin = std::chrono::steady_clock::now();
  auto const times = std::max<std::size_t>(3, (std::size_t{8} << 20) / bytes);
  for (std::size_t i = 0; i < times; ++i) transfer();
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(times * bytes) / took.count() / 1e6;
}

bool here_is(upcxx::global_ptr<std::uint32_t> memory, words const& expected) {
  return std::equal(expected.begin(), expected.end(), memory.local());
}

int arrived = 0;
bool good = true;

}  // namespace

int main(int count, char** arguments) {
  upcxx::init();
  int const rounds = count > 1 ? std::atoi(arguments[1]) : 1;
  std::size_t const length =
      (count > 2 ? static_cast<std::size_t>(std::atol(arguments[2])) : 1 << 20) / sizeof(std::uint32_t);
  int const me = upcxx::rank_me();
  int const other = 1 - me;
  upcxx::dist_object<upcxx::global_ptr<std::uint32_t>> slots(upcxx::new_array<std::uint32_t>(length));
  auto const there = slots.fetch(other).wait();
  auto const before = sent_by_interface();
  words back(length);
  for (int round = 0; round < rounds; ++round) {
    words const mine = pattern(length, round, me);
    auto const check = [](upcxx::global_ptr<std::uint32_t> memory, std::size_t n, int of, int from) {
      good = good && here_is(memory, pattern(n, of, from));
      ++arrived;
    };
    upcxx::rput(mine.data(), there, length,
                upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc(check, there, length, round, me))
        .wait();
    while (arrived == round) upcxx::progress();
    upcxx::rget(there, back.data(), length).wait();
    good = good && back == mine;
    upcxx::barrier();
  }
  if (me == 0) {
    for (auto const& [name, bytes] : sent_by_interface())
      std::printf("%s sent %llu\n", name.c_str(), static_cast<unsigned long long>(bytes - before.at(name)));
    double const put = megabytes_a_second(length * sizeof(std::uint32_t),
                                          [&] { upcxx::rput(back.data(), there, length).wait(); });
    double const get = megabytes_a_second(length * sizeof(std::uint32_t),
                                          [&] { upcxx::rget(there, back.data(), length).wait(); });
    std::printf("rput %.1f MB/s, rget %.1f MB/s\n", put, get);
  }
  if (!good) std::fprintf(stderr, "rank %d: wrong data\n", me);
  upcxx::barrier();
  upcxx::delete_array(*slots);
  upcxx::finalize();
  return good ? 0 : 1;
}
