#pragma once

/// Carries out what a plan gives to this rank, and compares what comes of it with the model.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "report.hpp"

namespace soak {

using words = std::vector<std::uint64_t>;
using word_pointer = upcxx::global_ptr<std::uint64_t>;

/// What this rank was told in calls without answer.
inline std::uint64_t told = 0;
inline std::uint64_t tales = 0;
inline void tell(std::uint64_t value) {
  told += value;
  ++tales;
}

/// This rank's words, by rank.
inline std::vector<word_pointer> memory;

/// Calls that go through several ranks.
inline upcxx::future<std::uint64_t> pass_on(std::uint64_t value, std::vector<int> const& path,
                                            std::size_t step) {
  if (step == path.size()) return upcxx::make_future(value);
  return upcxx::rpc(
             path[step],
             [](std::uint64_t v, std::vector<int> const& p, std::size_t s) {
               return pass_on(v + 1, p, s + 1);
             },
             value, path, step)
      .then([](std::uint64_t v) { return v * 3; });
}

class player {
 public:
  player(model& m, upcxx::dist_object<words>& object, upcxx::atomic_domain<std::uint64_t>& atomics)
      : model_(m),
        me_(upcxx::rank_me()),
        object_(object),
        atomics_(atomics),
        everyone_(static_cast<std::size_t>(m.ranks())) {
    std::iota(everyone_.begin(), everyone_.end(), 0);
  }

  /// The whole phase, by the thread that holds the master persona.
  void play(std::vector<operation> const& plan, splitting const& teams, std::uint64_t local_seed) {
    split_ = !teams.color.empty();
    make_team(teams);
    std::atomic<std::uint32_t> busy{settings.threads};
    std::vector<std::thread> helpers;
    for (std::uint32_t t = 1; t <= settings.threads; ++t) {
      helpers.emplace_back([this, &plan, &busy, t, local_seed] {
        player helper(model_, object_, atomics_);
        helper.start_share(plan, t, mixed(local_seed, t));
        helper.all_.wait();
        upcxx::discharge();
        --busy;
      });
    }
    start_share(plan, 0, local_seed);
    while (busy != 0) upcxx::progress();  // helpers wait for calls that only this thread runs
    for (std::thread& h : helpers) h.join();
    finish();
    drop_team();
  }

 private:
  /// The operations of thread `share`; thread 0 has the collective ones as well.
  void start_share(std::vector<operation> const& plan, std::uint32_t share, std::uint64_t local_seed) {
    random_numbers chance(local_seed);
    for (operation const& op : plan) {
      current = &op;
      if (op.what > kind::count_) {
        if (share == 0) start_collective(op);
      } else if (op.initiator == me_ && op.number % (settings.threads + 1) == share) {
        start(op);
      }
      switch (chance.below(40)) {
        case 0:
        case 1:
          upcxx::progress();
          break;
        case 2:
          upcxx::progress(upcxx::progress_level::internal);
          break;
        case 3:
          upcxx::discharge();
          break;
        case 4:
          all_.wait();
          break;
        case 5:
          ::usleep(static_cast<unsigned>(chance.below(300)));
          break;
        default:
          break;
      }
    }
    current = nullptr;
  }

  void track(upcxx::future<> f) { all_ = upcxx::when_all(all_, f); }

  word_pointer at(int rank, std::uint32_t index) const {
    return memory[static_cast<std::size_t>(rank)] + index;
  }

  std::shared_ptr<words> run_of(operation const& op) {
    auto run = std::make_shared<words>(op.count);
    for (std::uint32_t i = 0; i < op.count; ++i) (*run)[i] = nth(op.value, i);
    return run;
  }

  void expect_run(std::uint64_t const* got, operation const& op, char const* what) {
    for (std::uint32_t i = 0; i < op.count; ++i) {
      expect_equal(got[i], model_.word(op.target, op.from + i), op, what);
    }
  }

  void start(operation const& op) {
    using upcxx::operation_cx;
    using upcxx::remote_cx;
    using upcxx::source_cx;
    word_pointer const to = at(op.target, op.to);
    switch (op.what) {
      case kind::put:
        track(upcxx::rput(op.value, to));
        break;
      case kind::put_many: {
        auto run = run_of(op);
        if (op.value % 2 == 0) {
          upcxx::promise<> done;
          upcxx::rput(run->data(), to, run->size(),
                      operation_cx::as_promise(done) | source_cx::as_buffered());
          track(done.finalize());
        } else {
          auto [source, all] = upcxx::rput(run->data(), to, run->size(),
                                           source_cx::as_defer_future() | operation_cx::as_defer_future());
          track(source.then([run] { run->assign(run->size(), 0); }));
          track(all);
        }
        break;
      }
      case kind::put_and_tell: {
        auto run = run_of(op);
        upcxx::rput(
            run->data(), to, run->size(),
            source_cx::as_blocking() | remote_cx::as_rpc(
                                           [](word_pointer p, std::uint64_t value, std::uint32_t count) {
                                             for (std::uint32_t i = 0; i < count; ++i) {
                                               if (p.local()[i] != nth(value, i))
                                                 fail("a call came before its data", nullptr);
                                             }
                                             tell(value);
                                           },
                                           to, op.value, op.count));
        break;
      }
      case kind::get:
        track(upcxx::rget(at(op.target, op.from)).then([this, &op](std::uint64_t got) {
          expect_run(&got, op, "rget");
        }));
        break;
      case kind::get_many: {
        auto into = std::make_shared<words>(op.count);
        track(upcxx::rget(at(op.target, op.from), into->data(), op.count).then([this, into, &op] {
          expect_run(into->data(), op, "rget of a run");
        }));
        break;
      }
      case kind::copy_between:
        track(upcxx::copy(at(op.other, op.from), to, op.count));
        break;
      case kind::copy_and_tell:
        track(upcxx::copy(at(op.other, op.from), to, op.count,
                          operation_cx::as_future() | remote_cx::as_rpc(&tell, op.value)));
        break;
      case kind::call: {
        auto run = run_of(op);
        if (op.value % 5 == 0)
          run->resize(run->size() * 100, 1);  // larger than a ring's message, or than an arena
        if (op.value % 25 == 0) run->resize(run->size() * 10, 2);
        std::uint64_t const sum = std::accumulate(run->begin(), run->end(), op.value);
        track(upcxx::rpc(
                  op.target,
                  [](words&& v, std::string const& text) {
                    v.push_back(std::accumulate(v.begin(), v.end(), std::uint64_t{0}) + std::stoull(text));
                    return v;
                  },
                  *run, std::to_string(op.value))
                  .then([run, sum, &op](words const& answer) {
                    expect_equal(answer.size(), run->size() + 1, op, "size of an answer");
                    expect_equal(answer.back(), sum, op, "sum in an answer");
                    if (std::memcmp(answer.data(), run->data(), run->size() * 8) != 0)
                      fail("values of an answer", &op);
                  }));
        break;
      }
      case kind::tell:
        upcxx::rpc_ff(op.target, &tell, op.value);
        break;
      case kind::pass_on: {
        std::vector<int> path;
        std::uint64_t expected = op.value;
        for (std::uint64_t i = 0; i < op.value % 5; ++i) path.push_back(i % 2 == 0 ? op.target : op.other);
        expected += path.size();
        for (std::size_t i = 0; i < path.size(); ++i) expected *= 3;
        track(pass_on(op.value, path, 0).then([expected, &op](std::uint64_t got) {
          expect_equal(got, expected, op, "value that was passed on");
        }));
        break;
      }
      case kind::relay:
        upcxx::rpc_ff(
            op.target,
            [](int other, int initiator, std::uint64_t value) {
              tell(value);
              upcxx::rpc_ff(
                  other,
                  [](int last, std::uint64_t v) {
                    tell(v);
                    upcxx::rpc_ff(last, &tell, v + 1);
                  },
                  initiator, value + 1);
            },
            op.other, op.initiator, op.value);
        break;
      case kind::fetch:
        track(object_.fetch(op.target).then([&op](words const& got) {
          expect_equal(got.at(0), static_cast<std::uint64_t>(op.target), op, "distributed object");
        }));
        track(upcxx::rpc(
                  op.target,
                  [](upcxx::dist_object<words>& o, std::uint64_t value) { return o->at(0) + value; }, object_,
                  op.value)
                  .then([&op](std::uint64_t got) {
                    expect_equal(got, static_cast<std::uint64_t>(op.target) + op.value, op,
                                 "distributed argument");
                  }));
        break;
      case kind::view: {
        std::deque<std::string> texts;
        std::size_t bytes = 0;
        for (std::uint32_t i = 0; i < op.count; ++i) {
          texts.emplace_back(i * 7 % 50, static_cast<char>('a' + i % 26));
          bytes += texts.back().size();
        }
        track(upcxx::rpc(
                  op.target,
                  [](upcxx::view<std::string> v, std::uint64_t first) {
                    for (auto const& s : v) first += s.size();
                    return first;
                  },
                  upcxx::make_view(texts), op.value)
                  .then([bytes, &op](std::uint64_t got) {
                    expect_equal(got, op.value + bytes, op, "view of strings");
                  }));
        break;
      }
      case kind::call_later:
        track(upcxx::rpc(
                  op.target,
                  [](upcxx::view<std::uint64_t> v, word_pointer from) {
                    return upcxx::rget(from).then([v](std::uint64_t got) { return got + v[v.size() - 1]; });
                  },
                  upcxx::make_view(*run_of(op)), at(op.target, op.from))
                  .then([this, &op](std::uint64_t got) {
                    expect_equal(got, model_.word(op.target, op.from) + nth(op.value, op.count - 1), op,
                                 "value of a get at the target");
                  }));
        break;
      case kind::local_call:
        track(upcxx::current_persona()
                  .lpc([value = op.value] { return value + 1; })
                  .then([&op](std::uint64_t got) { expect_equal(got, op.value + 1, op, "lpc"); }));
        break;
      case kind::lend: {
        word_pointer const lent = upcxx::new_array<std::uint64_t>(op.count);
        track(upcxx::rpc(
                  op.target,
                  [](word_pointer p, word_pointer mine, std::uint64_t value, std::uint32_t count) {
                    auto run = std::make_shared<words>(count);
                    for (std::uint32_t i = 0; i < count; ++i) (*run)[i] = nth(value, i);
                    return upcxx::rput(run->data(), p, count).then([=] {
                      static_cast<void>(run);
                      return upcxx::copy(p, mine, count);
                    });
                  },
                  lent, to, op.value, op.count)
                  .then([lent] { upcxx::delete_array(lent); }));
        break;
      }
      case kind::put_strided: {
        // Out of rows that lie further apart than at the target.
        std::size_t const rows = 5;
        std::size_t const width = op.count / rows;
        std::size_t const apart = width + op.value % 4;
        auto rectangle = std::make_shared<words>(rows * apart);
        for (std::uint32_t i = 0; i < op.count; ++i)
          (*rectangle)[i / width * apart + i % width] = nth(op.value, i);
        auto const bytes = [](std::size_t n) {
          return static_cast<std::ptrdiff_t>(n * sizeof(std::uint64_t));
        };
        track(upcxx::rput_strided<2>(rectangle->data(), {bytes(1), bytes(apart)}, to,
                                     {bytes(1), bytes(width)}, {width, rows})
                  .then([rectangle] {}));
        break;
      }
      case kind::get_irregular: {
        auto into = std::make_shared<words>(op.count);
        std::size_t const half = op.count / 2;
        word_pointer const from = at(op.target, op.from);
        std::pair<word_pointer, std::size_t> const sources[] = {{from, half}, {from + half, op.count - half}};
        std::pair<std::uint64_t*, std::size_t> const destinations[] = {{into->data(), op.count}};
        track(upcxx::rget_irregular(std::begin(sources), std::end(sources), std::begin(destinations),
                                    std::end(destinations))
                  .then([this, into, &op] { expect_run(into->data(), op, "rget_irregular"); }));
        break;
      }
      case kind::atomic_add:
        if (op.value % 2 == 0) {
          track(atomics_.add(to, op.value, std::memory_order_relaxed));
        } else {
          track(atomics_.fetch_add(to, op.value, std::memory_order_acq_rel).then([](std::uint64_t) {}));
        }
        break;
      case kind::atomic_load:
        track(atomics_.load(at(op.target, op.from), std::memory_order_acquire)
                  .then([this, &op](std::uint64_t got) { expect_run(&got, op, "atomic load"); }));
        break;
      default:
        break;
    }
  }

  // ---- collectives

  void make_team(splitting const& s) {
    if (s.color.empty()) return;
    int const color = s.color[static_cast<std::size_t>(me_)];
    team_ = upcxx::world().split(color < 0 ? upcxx::team::color_none : color,
                                 s.key[static_cast<std::size_t>(me_)]);
    if (color < 0) return;
    members_ = s.members_with(me_);
    for (int r = 0; r < team_.rank_n(); ++r) {
      if (team_[r] != members_.at(static_cast<std::size_t>(r)))
        fail("the new team is not ordered by its keys");
    }
  }
  void drop_team() {
    if (team_.is_active()) team_.destroy();
    members_.clear();
  }

  void start_collective(operation const& op) {
    bool const sub = op.subteam && split_;
    if (sub && !team_.is_active()) return;
    upcxx::team& members = sub ? team_ : upcxx::world();
    std::vector<int> const& ranks = sub ? members_ : everyone_;
    auto const n = static_cast<int>(ranks.size());
    int const root = static_cast<int>(op.value % static_cast<std::uint64_t>(n));
    auto const given_by = [&op](int rank) { return mixed(op.value, static_cast<std::uint64_t>(rank)); };
    switch (op.what) {
      case kind::barrier_now:
        upcxx::barrier(members);
        break;
      case kind::barrier_later:
        track(upcxx::barrier_async(members));
        break;
      case kind::broadcast_word:
        track(upcxx::broadcast(given_by(me_), root, members)
                  .then([&op, expected = given_by(ranks[static_cast<std::size_t>(root)])](std::uint64_t got) {
                    expect_equal(got, expected, op, "broadcast");
                  }));
        break;
      case kind::broadcast_many: {
        auto run = std::make_shared<words>(op.count + 1);
        if (members.rank_me() == root) {
          for (std::uint32_t i = 0; i <= op.count; ++i) (*run)[i] = nth(op.value, i);
        }
        track(upcxx::broadcast(run->data(), run->size(), root, members).then([run, &op] {
          for (std::uint32_t i = 0; i <= op.count; ++i) {
            expect_equal((*run)[i], nth(op.value, i), op, "broadcast of a run");
          }
        }));
        break;
      }
      case kind::reduce_to_all: {
        std::uint64_t sum = 0;
        for (int const r : ranks) sum += given_by(r);
        track(
            upcxx::reduce_all(given_by(me_), upcxx::op_fast_add, members).then([sum, &op](std::uint64_t got) {
              expect_equal(got, sum, op, "reduce_all");
            }));
        break;
      }
      case kind::reduce_to_one: {
        auto mine = std::make_shared<words>(op.count + 1);
        auto into = std::make_shared<words>(op.count + 1);
        words expected(op.count + 1);
        for (std::uint32_t i = 0; i <= op.count; ++i) {
          (*mine)[i] = nth(given_by(me_), i);
          for (int const r : ranks) expected[i] = std::max(expected[i], nth(given_by(r), i));
        }
        bool const receives = members.rank_me() == root;
        track(upcxx::reduce_one(mine->data(), into->data(), mine->size(), upcxx::op_fast_max, root, members)
                  .then([mine, into, receives, expected = std::move(expected), &op] {
                    for (std::uint32_t i = 0; receives && i <= op.count; ++i) {
                      expect_equal((*into)[i], expected[i], op, "reduce_one");
                    }
                  }));
        break;
      }
      default:
        break;
    }
  }

  // ---- the end of a phase

  void finish() {
    auto const begin = std::chrono::steady_clock::now();
    auto const wait_for = [&](auto&& done, char const* what) {
      while (!done()) {
        upcxx::progress();
        if (std::chrono::steady_clock::now() - begin > std::chrono::minutes(4)) fail(what);
      }
    };
    wait_for([this] { return all_.is_ready(); }, "operations of this rank do not complete");
    wait_for([this] { return tales >= model_.tales(me_); }, "calls to this rank do not arrive");
    upcxx::future<> const met = upcxx::barrier_async();
    wait_for([&] { return met.is_ready(); }, "the ranks do not meet");
    if (tales != model_.tales(me_) || told != model_.told(me_))
      fail("calls to this rank came twice or changed");
    std::uint64_t const* const mine = memory[static_cast<std::size_t>(me_)].local();
    for (std::uint32_t i = 0; i < 2 * half_words; ++i) {
      if (mine[i] != model_.word(me_, i)) fail("word " + std::to_string(i) + " of the shared memory differs");
    }
    upcxx::barrier();  // nobody writes before all have looked
    all_ = upcxx::make_future();
  }

  model& model_;
  int me_;
  upcxx::dist_object<words>& object_;
  upcxx::atomic_domain<std::uint64_t>& atomics_;
  bool split_ = false;
  upcxx::team team_;          ///< of this phase; inactive on ranks that are in none
  std::vector<int> members_;  ///< world ranks, by rank in `team_`
  std::vector<int> everyone_;
  upcxx::future<> all_ = upcxx::make_future();
};

}  // namespace soak
