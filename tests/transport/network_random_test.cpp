// Random traffic between ranks, in turn in one thread or each in a thread of its own: nothing is lost, nothing comes
// twice, every byte is checked. `network_random_test --seeds FIRST COUNT` runs others.

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "network_walker.hpp"
#include "support/sanitized.hpp"

namespace atl::transport {
namespace {

constexpr std::uint64_t usual_seeds = atoll_test::sanitized ? 4 : 12;
constexpr std::uint64_t repeated_seeds = atoll_test::sanitized ? 1 : 3;
std::uint64_t first_seed = 1, seeds = usual_seeds;

/// One seed: what it means is drawn from it. Returns what all were told, as one number.
std::uint64_t run(network_kind const& kind, std::uint64_t seed, bool threads) {
  std::string options = kind.options + (kind.options.empty() ? "" : ",") + "seed=" + std::to_string(seed);
  SCOPED_TRACE(options);
  world all;
  all.ranks = 2 + static_cast<std::int32_t>(seed % 3);
  std::unique_ptr<network_job> const job = kind.make(all.ranks, options);
  std::vector<std::unique_ptr<network>> nets;
  std::vector<registration*> entered;
  all.memory.resize(static_cast<std::size_t>(all.ranks));
  for (std::int32_t rank = 0; rank < all.ranks; ++rank) {
    nets.push_back(job->open(rank));
    bytes& memory = all.memory[static_cast<std::size_t>(rank)];
    memory.resize(world::place(all.ranks, 0));
    registered const r =
        nets.back()->register_memory(memory.data(), memory.size(), static_cast<memory::kind_id>(1), -1);
    EXPECT_NE(r.memory, nullptr);
    bytes key(nets.back()->limits().key_bytes);
    key.resize(nets.back()->export_key(r.memory, key));
    all.keys.push_back(key);
    auto const address = nets.back()->address();
    all.addresses.emplace_back(address.begin(), address.end());
  }
  std::vector<std::unique_ptr<walker>> walkers;
  for (std::int32_t rank = 0; rank < all.ranks; ++rank) {
    walkers.push_back(std::make_unique<walker>(all, *nets[static_cast<std::size_t>(rank)], rank, seed));
  }
  auto const end = std::chrono::steady_clock::now() + too_long;
  std::atomic<bool> late{false};
  auto const walk = [&](walker& one) {
    bool done = false;
    one.first_poll();  // in step from here on, if so asked for
    for (unsigned n = 0; all.done.load(std::memory_order_acquire) < all.ranks && !late; ++n) {
      if (!one.step() && !done) {
        done = true;
        all.done.fetch_add(1, std::memory_order_acq_rel);
      }
      if (n % 256 == 0 && std::chrono::steady_clock::now() > end) late = true;
      if (threads && n % 16 == 0) std::this_thread::yield();
    }
  };
  bool const adds = static_cast<bool>(nets[0]->atomic_support(atomic_op::add, atomic_type::uint64));
  if (threads) {
    std::vector<std::thread> team;
    for (std::size_t i = 0; i < walkers.size(); ++i) {
      team.emplace_back([&walk, &nets, &walkers, i] {
        walk(*walkers[i]);
        nets[i].reset();
      });
    }
    for (auto& thread : team) thread.join();
  } else {
    std::vector<bool> done(walkers.size());
    std::mt19937_64 order(seed);
    for (unsigned n = 0; all.done < all.ranks && !late; ++n) {
      std::size_t const who = order() % walkers.size();
      if (!walkers[who]->step() && !done[who]) {
        done[who] = true;
        ++all.done;
      }
      if (n % 256 == 0 && std::chrono::steady_clock::now() > end) late = true;
    }
  }
  if (late) {
    for (auto const& one : walkers) ADD_FAILURE() << "does not come to an end: " << one->where();
    return 0;
  }
  int notes_sent = 0;
  std::size_t notes = 0;
  for (auto const& one : walkers) {
    EXPECT_EQ(one->messages(), static_cast<std::size_t>(messages_each * (all.ranks - 1)));
    notes_sent += one->notes_sent();
    notes += one->self.notes.size();
  }
  EXPECT_EQ(notes, static_cast<std::size_t>(notes_sent));
  if (adds) {
    for (bytes const& memory : all.memory) {
      std::uint64_t sum = 0;
      std::memcpy(&sum, memory.data(), 8);
      EXPECT_EQ(sum, static_cast<std::uint64_t>(adds_each * (all.ranks - 1)));
    }
  }
  std::uint64_t trace = 0;
  for (auto const& one : walkers) trace = trace * 31 + one->trace();
  return trace;
}

class network_random : public testing::TestWithParam<network_kind> {};

TEST_P(network_random, InTurn) {
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds && !HasFailure(); ++seed)
    (void)run(GetParam(), seed, false);
}

TEST_P(network_random, InThreads) {
  for (std::uint64_t seed = first_seed; seed < first_seed + (seeds + 2) / 3 && !HasFailure(); ++seed)
    (void)run(GetParam(), seed, true);
}

TEST_P(network_random, InLockstepItRepeats) {
  network_kind kind = GetParam();
  if (!kind.name.starts_with("sim") || kind.options.find("latency") != std::string::npos) {
    GTEST_SKIP() << "depends on time";
  }
  kind.options += kind.options.empty() ? "" : ",";
  kind.options += "lockstep=yes,turn=10s";  // no rank loses it on a crowded machine
  std::set<std::uint64_t> different;
  for (std::uint64_t seed = first_seed; seed < first_seed + repeated_seeds && !HasFailure(); ++seed) {
    std::uint64_t const once = run(kind, seed, true);
    EXPECT_EQ(run(kind, seed, true), once) << "seed " << seed;
    different.insert(once);
  }
  EXPECT_EQ(different.size(), repeated_seeds);
}

INSTANTIATE_TEST_SUITE_P(Random, network_random, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace

void read_arguments(int argc, char** argv) {
  for (int i = 1; i + 2 < argc; ++i) {
    if (std::string_view(argv[i]) != "--seeds") continue;
    first_seed = std::strtoull(argv[i + 1], nullptr, 10);
    seeds = std::strtoull(argv[i + 2], nullptr, 10);
  }
}

}  // namespace atl::transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  atl::transport::read_arguments(argc, argv);
  if (std::string const why = atl::transport::why_no_network(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
