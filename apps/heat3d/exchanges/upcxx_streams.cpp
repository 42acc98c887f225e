// `--exchange graph`: planes that travel in streams of the device, between its kernels. See stream_planes for when
// buffers and signals may be used again.

#include <array>
#include <atoll/device.cuh>
#include <atoll/stream.hpp>
#include <optional>
#include <upcxx/upcxx.hpp>

#include "backends/stream_planes.hpp"
#include "exchanges/communicator.hpp"
#include "exchanges/upcxx_neighbors.hpp"
#include "exchanges/upcxx_segment.hpp"

namespace heat3d {
namespace {

using plane_pointer = upcxx::global_ptr<double, gpu::kind>;
using signal_pointer = upcxx::global_ptr<std::uint64_t, gpu::kind>;

/// What a neighbour must know to send to us: by parity and face, null where nothing arrives.
struct stream_mailbox {
  std::array<std::array<plane_pointer, face_n>, 2> incoming;
  signal_pointer signals;

  signal_pointer signal(face f, int turn) const { return signals + (turn % 2 * face_n + f); }
};

atl::stream stream_of(void* native) { return atl::stream(static_cast<CUstream_st*>(native)); }

class planes_in_streams final : public stream_planes {
 public:
  planes_in_streams(block const& own, segment& memory);
  ~planes_in_streams() override {
    // Nobody is told of ours any more, and what was sent to us has come.
    upcxx::barrier();
    published_.reset();
  }

  double* outgoing(face f, int turn) override { return there_[turn % 2][f]; }
  double const* incoming(face f, int turn) override { return raw(mine_.incoming[turn % 2][f]); }
  void send(face f, int turn, void* stream) override {
    auto const there = opposite(f);
    auto const& target = theirs_[f];
    if (outgoing_[turn % 2][f].is_null()) {  // kernels have written it there
      atl::signal(stream_of(stream), target.signal(there, turn), signal_of(turn));
      return;
    }
    upcxx::copy(outgoing_[turn % 2][f], target.incoming[turn % 2][there],
                static_cast<std::size_t>(face_cells(own_.extent(), f)),
                atl::on_stream(stream_of(stream)) |
                    atl::remote_cx::as_signal(target.signal(there, turn), signal_of(turn)));
  }
  void await(face f, int turn, void* stream) override {
    atl::wait(stream_of(stream), mine_.signal(f, turn), signal_of(turn), atl::signal_cmp::equal);
  }
  plane_words words(int turn) override;
  void restart() override {
    upcxx::barrier();  // kernels send planes for a step after their last one, which nobody awaits
    std::array<std::uint64_t, signal_n> const none{};
    upcxx::copy(none.data(), mine_.signals, none.size()).wait();
    upcxx::barrier();  // nobody signals before all are reset
  }

 private:
  static constexpr std::size_t signal_n = 2 * face_n;

  template <class T>
  static T* raw(upcxx::global_ptr<T, gpu::kind> p) {
    return upcxx::device_allocator<gpu>::local(p);
  }
  void allocate_incoming(segment& memory);
  void choose_outgoing(segment& memory);
  void reach_signals();

  block own_;
  stream_mailbox mine_;
  std::array<stream_mailbox, face_n> theirs_;                  ///< of the neighbour at each face
  std::array<std::array<plane_pointer, face_n>, 2> outgoing_;  ///< null where kernels reach the neighbour's
  std::array<std::array<double*, face_n>, 2> there_{};         ///< where kernels write the plane
  std::array<std::array<std::uint64_t*, face_n>, 2>
      told_{};  ///< the neighbours' signals, as kernels reach them
  bool has_words_ = false;
  std::optional<owned_team> kernels_;
  std::optional<upcxx::dist_object<stream_mailbox>> published_;
};

planes_in_streams::planes_in_streams(block const& own, segment& memory) : own_(own) {
  require_one_host(own, "graph");
  all_or_none([&] { allocate_incoming(memory); });
  published_.emplace(mine_);
  for (int f = 0; f < face_n; ++f) {
    if (own.has_neighbor(face(f))) theirs_[f] = published_->fetch(own.neighbor[f]).wait();
  }
  kernels_.emplace(atl::make_device_team(memory.allocator()));
  all_or_none([&] { choose_outgoing(memory); });
  reach_signals();
  upcxx::barrier();  // nobody may ask any more when a rank ends
}

void planes_in_streams::allocate_incoming(segment& memory) {
  mine_.signals = upcxx::reinterpret_pointer_cast<std::uint64_t>(memory.global(memory.allocate(signal_n)));
  for (int parity = 0; parity < 2; ++parity) {
    for (int f = 0; f < face_n; ++f) {
      if (!own_.has_neighbor(face(f))) continue;
      mine_.incoming[parity][f] = memory.global(memory.allocate(face_cells(own_.extent(), face(f))));
    }
  }
}

/// Kernels write planes where they are wanted if they reach that, else into a buffer that is copied.
void planes_in_streams::choose_outgoing(segment& memory) {
  for (int parity = 0; parity < 2; ++parity) {
    for (int f = 0; f < face_n; ++f) {
      if (!own_.has_neighbor(face(f))) continue;
      auto const n = static_cast<std::size_t>(face_cells(own_.extent(), face(f)));
      auto& there = there_[parity][f];
      // Threads that play kernels have no access to memory of other ranks' devices.
      if (!kernels_->is_played()) there = kernels_->local(theirs_[f].incoming[parity][opposite(face(f))], n);
      if (there != nullptr) continue;
      outgoing_[parity][f] = memory.global(memory.allocate(static_cast<std::int64_t>(n)));
      there = raw(outgoing_[parity][f]);
    }
  }
}

/// Kernels that wait keep other ranks' from a device that they share.
void planes_in_streams::reach_signals() {
  has_words_ = !kernels_->is_played() && kernels_->sharers() == 1;
  for (int parity = 0; parity < 2; ++parity) {
    for (int f = 0; f < face_n; ++f) {
      if (!own_.has_neighbor(face(f))) continue;
      told_[parity][f] = kernels_->local(theirs_[f].signal(opposite(face(f)), parity), 1);
      has_words_ = has_words_ && told_[parity][f] != nullptr && outgoing_[parity][f].is_null();
    }
  }
}

plane_words planes_in_streams::words(int turn) {
  if (!has_words_) return {};
  plane_words w{true};
  int const next = (turn + 1) % turn_n;
  w.heard_value = signal_of(turn);
  w.told_value = signal_of(next);
  for (int f = 0; f < face_n; ++f) {
    if (own_.has_neighbor(face(f))) w.heard[f] = raw(mine_.signal(face(f), turn));
    w.told[f] = told_[next % 2][f];
  }
  return w;
}

}  // namespace

std::unique_ptr<stream_planes> make_upcxx_planes(block const& own, device_memory& memory) {
  return std::make_unique<planes_in_streams>(own, static_cast<segment&>(memory));
}

}  // namespace heat3d
