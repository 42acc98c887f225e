#include "natural_movers.hpp"

#include <algorithm>
#include <atoll/neighbors.hpp>
#include <map>
#include <upcxx/upcxx.hpp>

#include "shared_arena.hpp"

namespace hpgmg {
namespace {

struct target {
  region what;
  upcxx::global_ptr<double> base;  ///< of the peer's destination arena
  double* local;                   ///< the same here, null if it cannot be reached
};

// How one region gets to its peer. `done` counts what is not complete on return.

struct row_messages {
  static void send(target const& t, double const* from, std::ptrdiff_t at, upcxx::promise<>& done) {
    region const& r = t.what;
    for (int k = 0; k < r.extent[2]; ++k) {
      for (int j = 0; j < r.extent[1]; ++j) {
        double const* const row = from + r.source_step[0] * j + r.source_step[1] * k;
        upcxx::rpc(
            r.peer, upcxx::operation_cx::as_promise(done),
            [](upcxx::global_ptr<double> to, upcxx::view<double> cells) {
              std::copy(cells.begin(), cells.end(), to.local());
            },
            t.base + at + r.destination_step[0] * j + r.destination_step[1] * k,
            upcxx::make_view(row, row + r.extent[0]));
      }
    }
  }
};

struct row_puts {
  static void send(target const& t, double const* from, std::ptrdiff_t at, upcxx::promise<>& done) {
    region const& r = t.what;
    for (int k = 0; k < r.extent[2]; ++k) {
      for (int j = 0; j < r.extent[1]; ++j) {
        upcxx::rput(from + r.source_step[0] * j + r.source_step[1] * k,
                    t.base + at + r.destination_step[0] * j + r.destination_step[1] * k,
                    static_cast<std::size_t>(r.extent[0]), upcxx::operation_cx::as_promise(done));
      }
    }
  }
};

struct own_loops {
  static void send(target const& t, double const* from, std::ptrdiff_t at, upcxx::promise<>& done) {
    if (t.local != nullptr) {
      copy_cells(t.local + at, from, t.what);
    } else {
      row_puts::send(t, from, at, done);
    }
  }
};

struct strided_puts {
  static void send(target const& t, double const* from, std::ptrdiff_t at, upcxx::promise<>& done) {
    if (t.local != nullptr) {
      copy_cells(t.local + at, from, t.what);
      return;
    }
    region const& r = t.what;
    constexpr std::ptrdiff_t cell = sizeof(double);
    std::ptrdiff_t const source[3] = {cell, r.source_step[0] * cell, r.source_step[1] * cell};
    std::ptrdiff_t const destination[3] = {cell, r.destination_step[0] * cell, r.destination_step[1] * cell};
    std::size_t const extent[3] = {static_cast<std::size_t>(r.extent[0]),
                                   static_cast<std::size_t>(r.extent[1]),
                                   static_cast<std::size_t>(r.extent[2])};
    upcxx::rput_strided<3>(from, source, t.base + at, destination, extent,
                           upcxx::operation_cx::as_promise(done));
  }
};

/// Everybody waits for everybody.
class barriers {
 public:
  barriers(plan const&, group* members) : members_(members) {}
  void before(std::ptrdiff_t /*destination_offset*/, bool /*disturbed*/) { members_->barrier(); }
  void after() { members_->barrier(); }

 private:
  group* members_;
};

/// Ranks that exchange something wait for each other; before a run only where that is needed (see mover::run).
class neighbors_only {
 public:
  neighbors_only(plan const& moves, group*) : around_(peers_of(moves)) {}
  void before(std::ptrdiff_t destination_offset, bool disturbed) {
    if (disturbed || destination_offset == last_) around_.sync();
    last_ = destination_offset;
  }
  void after() { around_.sync(); }

 private:
  atl::neighbors around_;
  std::ptrdiff_t last_ = -1;
};

template <class Rows, class Synchronization>
class natural_mover final : public mover {
 public:
  natural_mover(plan const& moves, group* members)
      : source_(moves.source), destination_(moves.destination), locals_(moves.locals), sync_(moves, members) {
    std::map<int, upcxx::global_ptr<double>> bases;
    for (region const& r : moves.sends) {
      if (!bases.contains(r.peer)) bases[r.peer] = shared(destination_).of(r.peer);
      auto const base = bases[r.peer];
      targets_.push_back({r, base, base.is_local() ? base.local() : nullptr});
    }
    upcxx::barrier();
  }

  void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool disturbed,
           move_times& times) override {
    double const t0 = now();
    sync_.before(destination_offset, disturbed);
    double const t1 = now();
    upcxx::promise<> done;
    for (target const& t : targets_) {
      Rows::send(t, source_->local + source_offset + t.what.source, destination_offset + t.what.destination,
                 done);
    }
    double const t2 = now();
    for (region const& r : locals_) {
      copy_cells(destination_->local + destination_offset + r.destination,
                 source_->local + source_offset + r.source, r);
    }
    double const t3 = now();
    done.finalize().wait();
    sync_.after();
    times.wait += t1 - t0 + now() - t3;
    times.send += t2 - t1;
    times.local += t3 - t2;
  }

 private:
  arena* source_;
  arena* destination_;
  std::vector<target> targets_;
  std::vector<region> locals_;
  Synchronization sync_;
};

}  // namespace

std::unique_ptr<mover> make_natural_mover(std::string_view name, plan const& moves, group* members) {
  if (name == "baseline") return std::make_unique<natural_mover<row_messages, barriers>>(moves, members);
  if (name == "+shm") return std::make_unique<natural_mover<row_puts, barriers>>(moves, members);
  if (name == "+local") return std::make_unique<natural_mover<own_loops, barriers>>(moves, members);
  if (name == "+vis") return std::make_unique<natural_mover<strided_puts, barriers>>(moves, members);
  if (name == "+group") return std::make_unique<natural_mover<strided_puts, neighbors_only>>(moves, members);
  return nullptr;
}

}  // namespace hpgmg
