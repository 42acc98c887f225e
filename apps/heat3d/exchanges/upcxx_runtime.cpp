// The one-sided variants, written against the public API only. Planes are in the shared heap, or in a segment
// of the rank's device: the same copy moves them.
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
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "exchanges/communicator.hpp"
#include "exchanges/upcxx_all_or_none.hpp"
#include "exchanges/upcxx_segment.hpp"

namespace heat3d {
namespace {

/// Planes in the shared heap.
struct host_planes {
  using pointer = upcxx::global_ptr<double>;
  pointer allocate(std::int64_t n) const { return upcxx::new_array<double>(static_cast<std::size_t>(n)); }
  void release(pointer p) const { upcxx::delete_array(p); }
  double* raw(pointer p) const { return p.local(); }
  pointer global(double const* p) const { return upcxx::to_global_ptr(const_cast<double*>(p)); }
};

/// Planes in a segment, which frees them.
struct device_planes {
  using pointer = upcxx::global_ptr<double, gpu::kind>;
  segment* memory;
  pointer allocate(std::int64_t n) const { return memory->global(memory->allocate(n)); }
  void release(pointer) const {}
  double* raw(pointer p) const { return upcxx::device_allocator<gpu>::local(p); }
  pointer global(double const* p) const { return memory->global(p); }
};

/// Arrivals of one step. Touched by RPCs and by the loop that waits, both on the master persona of its owner.
struct arrivals {
  int n = 0;
  std::array<int, face_n> per_face{};
};

/// Everything a neighbour must know to send to us.
template <class Pointer>
struct mailbox {
  std::array<std::array<Pointer, face_n>, 2> incoming;  ///< by parity and face, null where nothing arrives
  upcxx::global_ptr<arrivals> counters;                 ///< two, by parity
};

template <class Planes>
class one_sided_exchange final : public halo_exchange {
 public:
  one_sided_exchange(block const& own, Planes planes, one_sided how);
  ~one_sided_exchange() override;

  double* outgoing(face f) override { return outgoing_[parity_][f]; }
  void start(face f, double const* plane) override;
  bool arrived(face f) override;
  void wait() override;
  double const* incoming(face f) override { return incoming_[parity_][f]; }
  void next_step() override { parity_ ^= 1; }
  bool sends() const override { return how_ != one_sided::nothing; }

 private:
  using pointer = typename Planes::pointer;
  using mail = mailbox<pointer>;
  void allocate();
  void release();

  block own_;
  Planes planes_;
  one_sided how_;
  int parity_ = 0;
  mail mine_;
  std::array<mail, face_n> theirs_;  ///< of the neighbour at each face
  std::array<std::array<pointer, face_n>, 2> sent_;
  std::array<std::array<double*, face_n>, 2>
      outgoing_{};  ///< the same, and those of `mine_`, as addresses here
  std::array<std::array<double*, face_n>, 2> incoming_{};
  std::optional<upcxx::dist_object<mail>> published_;
};

template <class Planes>
one_sided_exchange<Planes>::one_sided_exchange(block const& own, Planes planes, one_sided how)
    : own_(own), planes_(planes), how_(how) {
  try {
    all_or_none([this] { allocate(); });
  } catch (std::bad_alloc const&) {
    release();
    std::int64_t cells = 0;
    for (int f = 0; f < face_n; ++f)
      cells += own.has_neighbor(face(f)) ? face_cells(own.extent(), face(f)) : 0;
    throw failure{"the halo buffers do not fit into the shared heap (this rank needs " +
                  std::to_string(cells * 32 / 1024 + 1) +
                  " KiB); set UPCXX_SHARED_HEAP_SIZE to more, for example 512MB"};
  }

  published_.emplace(mine_);
  for (int f = 0; f < face_n; ++f) {
    if (own.has_neighbor(face(f))) theirs_[f] = published_->fetch(own.neighbor[f]).wait();
  }
  upcxx::barrier();  // nobody may fetch any more when a rank destroys its object
}

template <class Planes>
void one_sided_exchange<Planes>::allocate() {
  mine_.counters = upcxx::new_array<arrivals>(2);
  for (int parity = 0; parity < 2; ++parity) {
    for (int f = 0; f < face_n; ++f) {
      if (!own_.has_neighbor(face(f))) continue;
      auto const n = face_cells(own_.extent(), face(f));
      mine_.incoming[parity][f] = planes_.allocate(n);
      incoming_[parity][f] = planes_.raw(mine_.incoming[parity][f]);
      sent_[parity][f] = planes_.allocate(n);
      outgoing_[parity][f] = planes_.raw(sent_[parity][f]);
    }
  }
}

template <class Planes>
void one_sided_exchange<Planes>::release() {
  for (int parity = 0; parity < 2; ++parity) {
    for (int f = 0; f < face_n; ++f) {
      planes_.release(mine_.incoming[parity][f]);
      planes_.release(sent_[parity][f]);
    }
  }
  upcxx::delete_array(mine_.counters);
}

template <class Planes>
one_sided_exchange<Planes>::~one_sided_exchange() {
  upcxx::barrier();  // everything that was sent has been waited for, here and at the neighbours
  published_.reset();
  release();
}

template <class Planes>
void one_sided_exchange<Planes>::start(face f, double const* plane) {
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
  auto const to = target.incoming[parity_][there];
  if constexpr (std::is_same_v<Planes, host_planes>) {
    if (how_ == one_sided::signalling_put) {
      upcxx::rput(plane, to, n, arrived);
      return;
    }
  }
  auto const from = plane == outgoing_[parity_][f] ? sent_[parity_][f] : planes_.global(plane);
  upcxx::copy(from, to, n, arrived);
}

template <class Planes>
bool one_sided_exchange<Planes>::arrived(face f) {
  if (!sends()) return true;
  auto const& count = mine_.counters.local()[parity_];
  if (count.per_face[f] == 0) upcxx::progress();
  return count.per_face[f] != 0;
}

template <class Planes>
void one_sided_exchange<Planes>::wait() {
  if (!sends()) return;
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
  explicit upcxx_communicator(one_sided how) : how_(how) { upcxx::init(); }
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
  void progress() override { upcxx::progress(); }
  std::vector<std::vector<double>> gather(std::span<double const> mine) override;
  std::unique_ptr<device_memory> open_device(std::uint64_t bytes) override {
    return std::make_unique<segment>(bytes);
  }
  std::unique_ptr<halo_exchange> make_exchange(block const& own, device_memory* device) override {
    if (device == nullptr) return std::make_unique<one_sided_exchange<host_planes>>(own, host_planes{}, how_);
    return std::make_unique<one_sided_exchange<device_planes>>(
        own, device_planes{static_cast<segment*>(device)}, how_);
  }
  std::unique_ptr<stream_planes> make_stream_planes(block const& own, device_memory& device) override {
    return make_upcxx_planes(own, device);
  }
  std::unique_ptr<kernel_exchange> make_kernel_exchange(block const& own, device_memory& device) override {
    return make_upcxx_kernel_exchange(own, device);
  }

 private:
  one_sided how_;
  upcxx::future<> sum_ = upcxx::make_future();
};

std::vector<std::vector<double>> upcxx_communicator::gather(std::span<double const> mine) {
  // Each rank shows a window of its data in shared memory, rank 0 gets them all, then the window moves on:
  // the shared heap may be much smaller than the field.
  constexpr std::size_t window = 1 << 16;
  struct shelf {
    upcxx::global_ptr<double> window;
    std::uint64_t size;
  };
  auto const longest = upcxx::reduce_all(static_cast<std::uint64_t>(mine.size()), upcxx::op_fast_max).wait();
  upcxx::global_ptr<double> shown;
  try {
    all_or_none([&] { shown = upcxx::new_array<double>(std::min<std::size_t>(window, longest)); });
  } catch (std::bad_alloc const&) {
    upcxx::delete_array(shown);
    throw failure{
        "a rank's shared heap has no room for the field on its way to rank 0; set UPCXX_SHARED_HEAP_SIZE to more, for example 512MB"};
  }
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

std::unique_ptr<communicator> make_upcxx_communicator(one_sided how) {
  return std::make_unique<upcxx_communicator>(how);
}

}  // namespace heat3d
