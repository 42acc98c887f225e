#include "movers/natural_movers.hpp"

#include <algorithm>
#include <atoll/neighbors.hpp>
#include <upcxx/upcxx.hpp>

#include "movers/shared_arena.hpp"

namespace hpgmg {
namespace {

struct target {
  int peer;
  upcxx::global_ptr<double> base;  ///< of its destination arena
  double* local;                   ///< the same here, null if it cannot be reached
  std::vector<region> regions;
};

// How one region gets to its peer. `done` counts what is not complete on return.

struct row_messages {
  static void send(target const& t, region const& r, double const* from, std::ptrdiff_t at,
                   upcxx::promise<>& done) {
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
  static void send(target const& t, region const& r, double const* from, std::ptrdiff_t at,
                   upcxx::promise<>& done) {
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
  static void send(target const& t, region const& r, double const* from, std::ptrdiff_t at,
                   upcxx::promise<>& done) {
    if (t.local != nullptr) {
      copy_cells(t.local + at, from, r);
    } else {
      row_puts::send(t, r, from, at, done);
    }
  }
};

struct strided_puts {
  static void send(target const& t, region const& r, double const* from, std::ptrdiff_t at,
                   upcxx::promise<>& done) {
    if (t.local != nullptr) {
      copy_cells(t.local + at, from, r);
      return;
    }
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

// When peers may be written to (enter, clear), and when everything has come (sent, finish).

/// Everybody waits for everybody.
class barriers {
 public:
  barriers(plan const&, group* members) : members_(members) {}
  void enter(std::ptrdiff_t /*destination_offset*/, bool /*disturbed*/) { entered_ = false; }
  void clear(int /*peer*/) {
    if (!entered_) members_->barrier();
    entered_ = true;
  }
  void sent(int /*peer*/, upcxx::promise<>& /*under_way*/) {}
  void finish(upcxx::promise<>& under_way) {
    clear(0);
    under_way.finalize().wait();
    members_->barrier();
  }

 private:
  group* members_;
  bool entered_ = false;
};

/// Ranks of which one has something for the other wait for each other; before that is sent only where it is
/// needed (see mover::run).
class neighbors_only {
 public:
  neighbors_only(plan const& moves, group*) : ready_(peers_of(moves)), full_(peers_of(moves)) {
    for (int i = 0; i < full_.size(); ++i) {
      if (std::ranges::count(moves.receives, full_.rank(i), &region::peer) > 0) from_.push_back(i);
    }
  }
  void enter(std::ptrdiff_t destination_offset, bool disturbed) {
    needed_ = disturbed || destination_offset == last_;
    last_ = destination_offset;
    if (!needed_) return;
    for (int const i : from_) ready_.signal(i);
  }
  void clear(int peer) {
    if (needed_) ready_.wait(ready_.index_of(peer));
  }
  void sent(int peer, upcxx::promise<>& under_way) {
    under_way.finalize().wait();
    under_way = {};
    full_.signal(full_.index_of(peer));
  }
  void finish(upcxx::promise<>& /*under_way*/) {
    for (int const i : from_) full_.wait(i);
  }

 private:
  atl::neighbors ready_;   ///< the peer has entered the run
  atl::neighbors full_;    ///< the peer's data is here
  std::vector<int> from_;  ///< those that send something
  std::ptrdiff_t last_ = -1;
  bool needed_ = false;
};

template <class Rows, class Synchronization>
class natural_mover final : public mover {
 public:
  natural_mover(plan const& moves, group* members)
      : source_(moves.source), destination_(moves.destination), locals_(moves.locals), sync_(moves, members) {
    for (region const& r : moves.sends) {
      if (targets_.empty() || targets_.back().peer != r.peer) {
        targets_.push_back({r.peer, shared(destination_).of(r.peer), nullptr, {}});
        target& to = targets_.back();
        if (to.base.is_local()) to.local = to.base.local();
      }
      targets_.back().regions.push_back(r);
    }
    upcxx::barrier();
  }

  void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool disturbed,
           move_times& times) override {
    double const* const source = source_->local + source_offset;
    lap_timer lap;
    sync_.enter(destination_offset, disturbed);
    for (region const& r : locals_) {
      copy_cells(destination_->local + destination_offset + r.destination, source + r.source, r);
    }
    lap.add_to(times.local);
    upcxx::promise<> under_way;
    for (target const& to : targets_) {
      sync_.clear(to.peer);
      lap.add_to(times.wait);
      for (region const& r : to.regions) {
        Rows::send(to, r, source + r.source, destination_offset + r.destination, under_way);
      }
      sync_.sent(to.peer, under_way);
      lap.add_to(times.send);
    }
    sync_.finish(under_way);
    lap.add_to(times.wait);
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
