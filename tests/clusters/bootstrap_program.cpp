// A program that talks to its bootstrap only, on several hosts.
//   bootstrap_program check FOLDER [ROUNDS]  ranks, hosts, exchanges, cards, descriptors; says where it is
//   bootstrap_program abort RANK STATUS     a rank ends the job, while others wait for it
//   bootstrap_program exit RANK STATUS      the same by leaving without the end of its job (RANK -1: all do); what it prints before stays in a buffer
//   bootstrap_program kill RANK [SECONDS]   so long after all have met; it leaves no word
//   bootstrap_program leave RANK            by _exit(0)
//   bootstrap_program crash RANK [THREADS]  so many of its threads at once; RANK -1: all
//   bootstrap_program wait -1               nobody does anything
//   bootstrap_program mistake HOST          that host and those behind it find out at once that the job cannot go on

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/os/memfd.hpp"
#include "bootstrap/bootstrap.hpp"

namespace {

using atl::bootstrap::attach;
using atl::bootstrap::channel;
using atl::bootstrap::host_ranks;
using atl::bootstrap::placement;

int faults = 0;

void expect(bool good, char const* what, int detail = 0) {
  if (good) return;
  ++faults;
  std::fprintf(stderr, "rank %d: wrong: %s (%d)\n", attach().where().rank, what, detail);
}

std::string name_of_system() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// Anything but text, of any length: what a rank says in a round.
std::string words_of(int rank, int round, std::size_t length) {
  std::string text = std::to_string(rank) + "/" + std::to_string(round) + "/";
  for (std::size_t i = text.size(); i < length; ++i)
    text += static_cast<char>(i * 37 + static_cast<unsigned>(rank * 11 + round));
  return text;
}

void check_exchange(channel& job, int round, std::size_t length) {
  host_ranks const here = job.where().ranks_of_host();
  auto const all = job.exchange(words_of(job.where().rank, round, length));
  expect(all.size() == here.count(), "number of blobs", static_cast<int>(all.size()));
  for (std::uint32_t local = 0; local < here.count(); ++local)
    expect(all[local] == words_of(here.world_rank(local), round, length), "blob", here.world_rank(local));
}

/// Every rank's card begins with the name of its system.
void check_cards(channel& job, int round) {
  placement const& where = job.where();
  std::size_t const length = round == 0 ? 1024 : static_cast<std::size_t>(round) * 100;
  job.publish((name_of_system() + "|" + words_of(where.rank, round, 1024)).substr(0, length));
  for (int step = 0; step < where.size; ++step) {
    int const peer = (where.rank + step) % where.size;  // all ask somebody else first
    std::string const card = job.published_by(peer);
    std::string const system = card.substr(0, card.find('|'));
    expect(card == (system + "|" + words_of(peer, round, 1024)).substr(0, length), "card", peer);
    // Where the test gives hosts itself, they are not systems.
    if (std::getenv("ATOLL_HOST") != nullptr) continue;
    expect((system == name_of_system()) == (where.host_of(peer) == where.host), "host of a rank", peer);
  }
}

void check_descriptor(channel& job) {
  placement const& where = job.where();
  atl::os::unique_fd own;
  std::string const text = "of host " + std::to_string(where.host);
  if (where.local_rank == 0) {
    own = atl::os::make_sealed_memfd("test", 4096);
    expect(::pwrite(own.get(), text.data(), text.size(), 0) > 0, "write");
  }
  int const shared = atl::bootstrap::share_descriptor(job, own.get());
  char found[64] = {};
  expect(::pread(shared, found, sizeof found - 1, 0) > 0, "read");
  expect(found == text, "memory of the host");
  job.exchange("");  // rank 0 keeps it so long
}

/// Words of all ranks come together by hosts, and the same on all.
void check_agreement(channel& job) {
  placement const& where = job.where();
  auto const word = [](std::int32_t host) { return std::to_string(host) + "."; };
  std::string expected;
  for (std::int32_t host = 0; host < where.hosts; ++host) {
    for (std::int32_t rank = 0; rank < where.size; ++rank)
      expected += where.host_of(rank) == host ? word(host) : "";
  }
  auto const join = [](std::string const& a, std::string const& b) { return a + b; };
  expect(job.agree(word(where.host), join) == expected, "agreement");
}

/// Nobody leaves before all are done, as after finalize; with the folder, since a bootstrap has no barrier over the job.
void await_all(channel& job, std::string const& folder) {
  auto const mark_of = [&](int rank) {
    return folder + "/" + std::string(job.job_id()) + "." + std::to_string(rank);
  };
  std::FILE* const mark = std::fopen(mark_of(job.where().rank).c_str(), "w");
  if (mark == nullptr) throw std::runtime_error("cannot write into " + folder);
  std::fclose(mark);
  for (int rank = 0; rank < job.where().size; ++rank) {
    while (::access(mark_of(rank).c_str(), F_OK) != 0) ::usleep(1000);
  }
}

int check(std::string const& folder, int rounds) {
  channel& job = attach();
  placement const& where = job.where();
  expect(where.local_size >= 1 && where.local_rank < where.local_size, "local rank", where.local_rank);
  expect(where.host >= 0 && where.host < where.hosts, "host", where.host);
  expect(job.machine().local_size == where.local_size, "ranks of the machine", job.machine().local_size);
  for (int round = 0; round < rounds; ++round) {
    job.mark(atl::rank_state::initialized);
    // Hosts make different numbers of exchanges.
    for (int i = 0; i <= where.host; ++i) check_exchange(job, round * 100 + i, i == 0 ? 1024 : 0);
    check_agreement(job);
    check_cards(job, round);
    check_descriptor(job);
    job.mark(atl::rank_state::finalized);
  }
  std::printf("rank %d of %d host %d of %d local %d of %d largest %d on %s by %.*s job %.*s: %s\n",
              where.rank, where.size, where.host, where.hosts, where.local_rank, where.local_size,
              where.largest_host, name_of_system().c_str(), static_cast<int>(job.name().size()),
              job.name().data(), static_cast<int>(job.job_id().size()), job.job_id().data(),
              faults == 0 ? "all well" : "WRONG");
  await_all(job, folder);
  return faults == 0 ? 0 : 1;
}

int volatile written = 0;

/// What backtraces must show.
[[gnu::noinline]] void function_that_crashes(int volatile* where) {
  *where = 42;
  written = 1;
}

/// As threads of a parallel loop do that all follow the same wrong pointer.
void crash(int threads) {
  std::barrier together(threads);
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back([&] {
      together.arrive_and_wait();
      function_that_crashes(nullptr);
    });
  }
  together.arrive_and_wait();
  function_that_crashes(nullptr);
}

int run(std::vector<std::string> const& words) {
  auto const number = [&](std::size_t i) { return i < words.size() ? std::atoi(words[i].c_str()) : 0; };
  std::string const mode = words.empty() ? "" : words[0];
  if (mode == "check" && words.size() > 1) return check(words[1], words.size() > 2 ? number(2) : 1);
  channel& job = attach();
  if (mode == "read") {
    std::string all;
    for (std::string line; std::getline(std::cin, line);) all += line + ";";
    std::printf("rank %d has read '%s'\n", job.where().rank, all.c_str());
    job.exchange("");
    job.mark(atl::rank_state::finalized);
    return 0;
  }
  job.mark(atl::rank_state::initialized);
  job.publish("here");
  for (int rank = 0; rank < job.where().size; ++rank) job.published_by(rank);
  bool const all_exit = mode == "exit" && number(1) < 0;
  if (all_exit) {
    // Who of a host's ranks speaks the engine knows.
    atl::first_to_fail = [] { return attach().where().local_rank == 0 && attach().claim_failure(); };
  }
  if (mode == "crash" || all_exit) ::sleep(1);  // keepers meet
  if (mode == "crash" && (number(1) < 0 || job.where().rank == number(1))) crash(std::max(number(2), 1));
  if (mode == "kill" && job.where().rank == number(1)) {
    ::sleep(static_cast<unsigned>(number(2)));
    ::raise(SIGKILL);
  }
  if (mode != "mistake" && mode != "crash" && (all_exit || job.where().rank == number(1))) {
    std::fprintf(stderr, "rank %d on %s ends\n", job.where().rank, name_of_system().c_str());
    if (mode == "abort") job.abort(number(2));
    if (mode == "exit") {
      std::printf("this is why");
      std::exit(number(2));
    }
    if (mode == "leave") ::_exit(0);
  }
  // Who of a host's ranks speaks they know by themselves.
  if (mode == "mistake") ::sleep(1);  // keepers meet
  if (mode == "mistake" && job.where().host >= number(1) && job.where().local_rank == 0 &&
      job.claim_failure()) {
    std::fprintf(stderr, "host %d: a mistake\n", job.where().host);
    std::abort();
  }
  ::sleep(600);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run({words + 1, words + count});
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    if (channel* const job = atl::bootstrap::attached()) job->abort(3);
    return 3;
  }
}
