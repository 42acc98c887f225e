// The one-sided variants, written against the public API only.
//
// Per neighbour and step one copy from our outgoing buffer to the neighbour's incoming buffer, whose remote
// completion runs an RPC there that counts the arrival. There is no receive, no tag and no barrier. Where the
// neighbours' buffers are is asked once, through a distributed object.
//
// Nothing here synchronises the ranks, and a rank may run one step ahead of a neighbour. So there are two
// buffers per face and two counters, chosen by the parity of the step. Two are enough: a neighbour sends its
// halo of step t+2 only after it has our halo of t+1, which we send only after having used its halo of step t
// (so that buffer is free); and its halo of t+1 proves that it had ours of step t, which frees the outgoing
// buffer. The counter is decremented by the number of neighbours instead of set to zero, and checked builds
// count per face, because one number cannot tell a duplicate from a missing face.

#include <upcxx/upcxx.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <optional>

#include "communicator.hpp"

namespace heat3d {
namespace {

using plane_ptr = upcxx::global_ptr<double>;

/// Arrivals of one step. Touched by RPCs and by the loop that waits, both on the master persona of its owner.
struct arrivals {
  int n = 0;
  std::array<int, face_n> per_face{};
};

/// Everything a neighbour must know to send to us.
struct mailbox {
  std::array<std::array<plane_ptr, face_n>, 2> incoming;  ///< by parity and face, null where nothing arrives
  upcxx::global_ptr<arrivals> counters;                   ///< two, by parity
};

class one_sided_exchange final : public halo_exchange {
 public:
  one_sided_exchange(block const& own, bool signalling_put);
  ~one_sided_exchange() override;

  double* outgoing(face f) override { return outgoing_[parity_][f].local(); }
  void start(face f) override;
  void wait() override;
  double const* incoming(face f) override {
    return own_.has_neighbor(f) ? mine_.incoming[parity_][f].local() : nullptr;
  }
  void next_step() override { parity_ ^= 1; }

 private:
  void allocate();
  void release();

  block own_;
  bool signalling_put_;
  int parity_ = 0;
  mailbox mine_;
  std::array<mailbox, face_n> theirs_;  ///< of the neighbour at each face
  std::array<std::array<plane_ptr, face_n>, 2> outgoing_;
  std::optional<upcxx::dist_object<mailbox>> published_;
};

one_sided_exchange::one_sided_exchange(block const& own, bool signalling_put)
    : own_(own), signalling_put_(signalling_put) {
  // A rank without memory must not leave the others waiting for its pointers: agree first, then throw
  // together.
  int short_of_memory = 0;
  try {
    allocate();
  } catch (upcxx::bad_shared_alloc const&) {
    short_of_memory = 1;
  }
  if (upcxx::reduce_all(short_of_memory, upcxx::op_fast_max).wait() != 0) {
    release();
    std::int64_t cells = 0;
    for (int f = 0; f < face_n; ++f)
      cells += own.has_neighbor(face(f)) ? face_cells(own.extent(), face(f)) : 0;
    throw runtime_problem{"the halo buffers do not fit into the shared heap (this rank needs " +
                          std::to_string(cells * 32 / 1024 + 1) +
                          " KiB); set UPCXX_SHARED_HEAP_SIZE to more, for example 512MB"};
  }

  published_.emplace(mine_);
  upcxx::future<> all = upcxx::make_future();
  for (int f = 0; f < face_n; ++f) {
    if (!own.has_neighbor(face(f))) continue;
    all = upcxx::when_all(
        all, published_->fetch(own.neighbor[f]).then([this, f](mailbox const& m) { theirs_[f] = m; }));
  }
  all.wait();
  upcxx::barrier();  // nobody may fetch any more when a rank destroys its object
}

void one_sided_exchange::allocate() {
  mine_.counters = upcxx::new_array<arrivals>(2);
  for (int parity = 0; parity < 2; ++parity) {
    for (int f = 0; f < face_n; ++f) {
      if (!own_.has_neighbor(face(f))) continue;
      auto const n = static_cast<std::size_t>(face_cells(own_.extent(), face(f)));
      mine_.incoming[parity][f] = upcxx::new_array<double>(n);
      outgoing_[parity][f] = upcxx::new_array<double>(n);
    }
  }
}

void one_sided_exchange::release() {
  for (int parity = 0; parity < 2; ++parity) {
    for (int f = 0; f < face_n; ++f) {
      upcxx::delete_array(mine_.incoming[parity][f]);
      upcxx::delete_array(outgoing_[parity][f]);
    }
  }
  upcxx::delete_array(mine_.counters);
}

one_sided_exchange::~one_sided_exchange() {
  upcxx::barrier();  // everything that was sent has been waited for, here and at the neighbours
  published_.reset();
  release();
}

void one_sided_exchange::start(face f) {
  auto const there = opposite(f);
  auto const& target = theirs_[f];
  auto const n = static_cast<std::size_t>(face_cells(own_.extent(), f));
  auto arrived = upcxx::remote_cx::as_rpc(
      [](upcxx::global_ptr<arrivals> counters, int parity, int at) {
        auto& count = counters.local()[parity];
        ++count.n;
        ++count.per_face[at];
      },
      target.counters, parity_, static_cast<int>(there));
  upcxx::global_ptr<double const> const from = outgoing_[parity_][f];
  auto const to = target.incoming[parity_][there];
  if (signalling_put_) {
    upcxx::rput(from.local(), to, n, arrived);
  } else {
    upcxx::copy(from, to, n, arrived);
  }
}

void one_sided_exchange::wait() {
  auto& count = mine_.counters.local()[parity_];
  auto const expected = own_.neighbor_n();
  // At least once, also if everything is there: where ranks share cores, this is where others get theirs.
  do {
    upcxx::progress();
  } while (count.n < expected);
  count.n -= expected;
  for (int f = 0; f < face_n; ++f) {
    if (!own_.has_neighbor(face(f))) continue;
    assert(count.per_face[f] == 1 && "each neighbour sends one halo per step");
    --count.per_face[f];
  }
}

class upcxx_communicator final : public communicator {
 public:
  explicit upcxx_communicator(bool signalling_put) : signalling_put_(signalling_put) { upcxx::init(); }
  ~upcxx_communicator() override { upcxx::finalize(); }

  int rank() const override { return upcxx::rank_me(); }
  int size() const override { return upcxx::rank_n(); }
  void start_sum(std::span<double> values) override {
    sum_ = upcxx::reduce_all(values.data(), values.data(), values.size(), upcxx::op_fast_add);
  }
  bool sum_done() override {
    if (!sum_.is_ready()) upcxx::progress();
    return sum_.is_ready();
  }
  void finish_sum() override { sum_.wait(); }
  void max(std::span<double> values) override {
    upcxx::reduce_all(values.data(), values.data(), values.size(), upcxx::op_fast_max).wait();
  }
  void barrier() override { upcxx::barrier(); }
  std::vector<std::vector<double>> gather(std::span<double const> mine) override;
  std::unique_ptr<halo_exchange> make_exchange(block const& own) override {
    return std::make_unique<one_sided_exchange>(own, signalling_put_);
  }

 private:
  bool signalling_put_;
  upcxx::future<> sum_ = upcxx::make_future();
};

std::vector<std::vector<double>> upcxx_communicator::gather(std::span<double const> mine) {
  // Each rank shows a window of its data in shared memory, rank 0 gets them all, then the window moves on:
  // the shared heap may be much smaller than the field.
  constexpr std::size_t window = 1 << 16;
  struct shelf {
    plane_ptr window;
    std::uint64_t size;
  };
  auto const longest = upcxx::reduce_all(static_cast<std::uint64_t>(mine.size()), upcxx::op_fast_max).wait();
  auto const shown = upcxx::new_array<double>(std::min<std::size_t>(window, longest));
  upcxx::dist_object<shelf> shelves({shown, mine.size()});
  std::vector<shelf> theirs;
  std::vector<std::vector<double>> all;
  if (rank() == 0) {
    for (int r = 0; r < size(); ++r) {
      theirs.push_back(shelves.fetch(r).wait());
      all.emplace_back(theirs.back().size);
    }
  }
  for (std::size_t from = 0; from < longest; from += window) {
    if (from < mine.size())
      std::copy_n(mine.data() + from, std::min(window, mine.size() - from), shown.local());
    upcxx::barrier();
    for (int r = 0; r < static_cast<int>(all.size()); ++r) {
      if (from >= all[r].size()) continue;
      upcxx::rget(theirs[r].window, all[r].data() + from, std::min(window, all[r].size() - from)).wait();
    }
    upcxx::barrier();
  }
  upcxx::barrier();
  upcxx::delete_array(shown);
  return all;
}

}  // namespace

std::unique_ptr<communicator> make_upcxx_communicator(bool signalling_put) {
  return std::make_unique<upcxx_communicator>(signalling_put);
}

}  // namespace heat3d
