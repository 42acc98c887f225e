// Many steps of a device at once: no host between kernels, planes and halos, whose order is that of streams.
//
// There are two streams that compute, one for the inner cells and one for all cells at faces, that of the first face with
// a neighbour. What the steps t-1 have computed there is complete ("joined") before either goes on, as a sweep reads what
// the other one has written. Meanwhile the planes of t travel:
//
//   inner   joined(t) ── inner cells ───────────────────────────────────── joined(t+1) ─
//   faces   ── send planes ── await halos ── after joined(t): cells at faces ──┘
//
// So from one step to the next there is a copy, its signal, a wait and a kernel, which fills the planes of the next step
// by itself. Planes of several faces are sent in a stream each. Where kernels reach the neighbours' memory that kernel stores
// the planes there, and where steps are short it waits and signals by itself: then there are only the two kernels.
//
// Where streams can be captured this is done once for pieces of some steps, which are started again and again.

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "backends/device_block.hpp"
#include "backends/device_stretches.hpp"

namespace heat3d {
namespace {

constexpr int turn_n = stream_planes::turn_n;

/// Steps of a piece. Long ones are quick to start, and what is at their ends is rare; all but single steps begin with turn 0.
constexpr std::array<int, 3> piece_sizes = {20, turn_n, 1};

/// Inner cells. Where a step is long, blocks that wait from its beginning on cost more than what is between nodes (two H100: 100^3 takes
/// 8.3 instead of 11.8 us a step, 200^3 32.6 instead of 31.0).
constexpr std::int64_t most_with_words = 1'500'000;

class device_stretches final : public runner_on_device {
 public:
  device_stretches(device_block& block, stream_planes& planes) : runner_on_device(block), planes_(planes) {
    if (!block_.faces.empty()) edge_ = block_.faces.front();
  }

  void restart() override {
    planes_.restart();
    bool const is_told_by_kernels = words_of(0).used;
    for (face f : block_.faces) {
      device_.pack(f, plane_of(block_.field(), block_.extent, f), planes_.outgoing(f, 0));
      if (is_told_by_kernels) planes_.send(f, 0, device_.native(f));
    }
    device_.synchronize();
  }
  void prepare(std::int64_t step_n, std::span<coefficients const> constants) override;

 private:
  /// What was captured.
  struct piece {
    coefficients k;
    int turn;
    int step_n;
    std::unique_ptr<captured_work> work;
  };

  void run_steps(stretch const& next) override;
  captured_work* find(coefficients const& k, int turn, int step_n) const;
  bool capture(coefficients const& k, int turn, int step_n);
  void issue(coefficients const& k, int turn, int step_n);
  void issue_faces(sweep_work work, int turn, bool first);
  void move_planes(int turn, bool first);
  plane_words words_of(int turn) {
    return device_.uses_words() && block_.inner.cell_n() <= most_with_words ? planes_.words(turn)
                                                                            : plane_words{};
  }

  stream_planes& planes_;
  face edge_{};  ///< whose stream has all cells at faces
  std::vector<piece> pieces_;
};

captured_work* device_stretches::find(coefficients const& k, int turn, int step_n) const {
  auto const found = std::ranges::find_if(
      pieces_, [&](piece const& p) { return p.k.power == k.power && p.turn == turn && p.step_n == step_n; });
  return found == pieces_.end() ? nullptr : found->work.get();
}

bool device_stretches::capture(coefficients const& k, int turn, int step_n) {
  if (find(k, turn, step_n) != nullptr) return true;
  if (!device_.begin_capture()) return false;
  issue(k, turn, step_n);
  pieces_.push_back({k, turn, step_n, device_.end_capture()});
  return true;
}

void device_stretches::prepare(std::int64_t step_n, std::span<coefficients const> constants) {
  device_.time_steps(step_n);
  for (auto const& k : constants) {
    for (int const size : piece_sizes) {
      for (int turn = 0; turn < (size == 1 ? turn_n : 1); ++turn) {
        if (!capture(k, turn, size)) return;
      }
    }
  }
}

void device_stretches::run_steps(stretch const& next) {
  for (std::int64_t left = next.step_n; left > 0;) {
    auto const turn = static_cast<int>(block_.step % turn_n);
    int const size = turn != 0 ? 1 : *std::ranges::find_if(piece_sizes, [&](int n) { return n <= left; });
    if (auto* const captured = find(next.k, turn, size)) {
      captured->start();
    } else {
      issue(next.k, turn, size);
    }
    block_.step += size;
    left -= size;
  }
  device_.stamp(static_cast<int>(block_.step % 2));
}

/// The steps of a piece, after all that the stream of the inner cells has to do, which has the end of all.
void device_stretches::issue(coefficients const& k, int turn, int step_n) {
  for (int i = 0; i < step_n; ++i, turn = (turn + 1) % turn_n) {
    auto work = block_.work_on(block_.inner, turn % 2, k, {});
    device_.record(mark::joined, inner_stream);
    if (!block_.inner.is_empty()) device_.sweep_inner(work);
    if (block_.faces.empty()) continue;
    issue_faces(work, turn, i == 0);
    device_.wait(inner_stream, of_face(mark::surface, edge_));
  }
}

/// What follows in the stream of the edge finds the halos.
void device_stretches::move_planes(int turn, bool first) {
  for (face f : block_.faces) {
    // Within a piece planes are there as soon as cells at faces are; its first step has no earlier ones to wait for.
    device_.wait(f, first ? mark::joined : of_face(mark::surface, edge_));
    planes_.send(f, turn, device_.native(f));
    if (f != edge_) device_.record(of_face(mark::sent, f), f);
  }
  // A halo that has come shows that the plane of the step before has been sent; this is for streams to end together, and for
  // nobody to wait before all planes are under way.
  for (face f : block_.faces) {
    if (f != edge_) device_.wait(edge_, of_face(mark::sent, f));
  }
  for (face f : block_.faces) planes_.await(f, turn, device_.native(edge_));
}

void device_stretches::issue_faces(sweep_work work, int turn, bool first) {
  auto const words = words_of(turn);
  if (!words.used) move_planes(turn, first);
  auto boundary = boundary_;
  for (face f : block_.faces) {
    work.halos[f] = planes_.incoming(f, turn);
    boundary.planes[f] = planes_.outgoing(f, (turn + 1) % turn_n);
  }
  work.counts = block_.inner.is_empty();
  device_.wait(edge_, mark::joined);
  device_.sweep_boundary(edge_, work, boundary, words);
  device_.record(of_face(mark::surface, edge_), edge_);
}

}  // namespace

std::unique_ptr<stretch_runner> make_device_stretches(device_block& block, stream_planes& planes) {
  return std::make_unique<device_stretches>(block, planes);
}

}  // namespace heat3d
