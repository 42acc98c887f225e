#pragma once

/// Planes that travel in the order of streams, without the host: what an exchange offers to back ends on devices.

#include <cstdint>

#include "problem/stencil.hpp"

namespace heat3d {

/// What a signal is set to in a step: another value than in the step with that signal before, so that nobody resets it. The
/// first one is not zero.
inline constexpr std::uint64_t signal_of(int turn) { return turn < 2 ? 1 : 0; }

/// Steps are told apart by their turn, a number that goes round: what the calls of a step put into streams is the same in
/// each step of that turn, so that it can be captured. The program's steps have turns 0, 1, 2, 3, 0, ... from restart() on.
///
/// A step sends all its planes, then awaits those of the neighbours, then computes the cells at faces, which fills the planes
/// of the next step. In this order planes need neither a barrier nor a credit:
///
/// - A plane of step t+2 is sent when its sender has the receiver's of t+1, which was sent when the receiver had computed with
///   that of t. So two buffers are enough, and two signals, each of which is seen before it is set again.
/// - Nobody waits before its own planes are on their way, so ranks do not wait for each other in a circle, whatever a device
///   does one after the other that could be done at once.
class stream_planes {
 public:
  static constexpr int turn_n = 4;

  virtual ~stream_planes() = default;
  stream_planes(stream_planes const&) = delete;
  stream_planes& operator=(stream_planes const&) = delete;

  /// The plane of this face that is sent in steps of that turn, and the neighbour's that has come then; in memory of the
  /// device, null where there is no neighbour.
  virtual double* outgoing(face f, int turn) = 0;
  virtual double const* incoming(face f, int turn) = 0;

  /// Sends the plane when all that is before in the stream is done; what follows may change the plane.
  virtual void send(face f, int turn, void* stream) = 0;
  /// What follows in the stream happens when the neighbour's plane is there.
  virtual void await(face f, int turn, void* stream) = 0;

  /// In place of both, in the kernel that computes the cells at faces in a step of that turn: what it has to await, and to say when the
  /// planes of the next step are where the neighbours read them. The planes of the first step are sent as others. Not used: kernels do not reach the neighbours' memory, or would keep others from a
  /// device that ranks share.
  virtual plane_words words(int /*turn*/) { return {}; }

  /// The next step has turn 0. Collective; what was sent on any rank was awaited but for the planes of a step that is not run, and no stream has anything to do.
  virtual void restart() = 0;

 protected:
  stream_planes() = default;
};

}  // namespace heat3d
