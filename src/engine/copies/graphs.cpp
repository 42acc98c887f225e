// Graphs that the library captures for programs, and kernels that the host plays.

#include <atoll/base/check.hpp>
#include <atoll/engine/streams.hpp>

#include <utility>

#include "engine/copies/copies.hpp"
#include "engine/progress/guard.hpp"

namespace atl::engine {

namespace {

/// The end of the library waits for threads of the host that play kernels, as for whoever has asked where a stream is.
void await_at_end(device_copies& all, stream_name s) {
  auto* const heard = new copy_completion{[](copy_completion* self) noexcept {
    delete self;
    return true;
  }};
  all.report_in(s, heard);
}

}  // namespace

void begin_capture(stream_name s) {
  device_copies& all = device_copies::for_call("capture");
  guard const held;
  memory::kind& kind = all.kind_of_stream(s);
  int const device = kind.streams()->device_of(s.handle);
  if (kind.streams()->is_captured(s.handle)) check_failed("capture: the stream is being captured already");
  if (!kind.streams()->begin_capture(s.handle)) {
    check_failed(
        "capture: streams of %s device %d are not captured into graphs, as those of CUDA's devices are",
        to_string(kind.id()), device);
  }
}

graph_name end_capture(stream_name s) {
  guard const held;
  device_copies& all = device_copies::here();
  memory::program_streams& streams = *all.kind_of_stream(s).streams();
  int const device = streams.device_of(s.handle);
  return {s.kind, device, streams.end_capture(s.handle), all.life()};
}

void abandon_capture(stream_name s) {
  guard const held;
  device_copies::here().kind_of_stream(s).streams()->abandon_capture(s.handle);
}

void launch_graph(graph_name g, stream_name s) {
  device_copies& all = device_copies::for_call("graph::launch");
  guard const held;
  if (g.handle == nullptr || g.life != all.life()) {
    check_failed("graph::launch: %s", g.handle == nullptr
                                          ? "the graph is none: default-constructed, or moved from"
                                          : "the graph has ended with the library that made it");
  }
  memory::kind& kind = all.kind_of_stream(s);
  int const device = kind.streams()->device_of(s.handle);
  if (s.kind != g.kind || device != g.device) {
    check_failed(
        "graph::launch: the stream is of %s device %d, and the graph was captured of a stream of %s device %d",
        to_string(kind.id()), device, to_string(all.kind_of_stream({g.kind, nullptr, 0}).id()), g.device);
  }
  if (kind.streams()->is_captured(s.handle))
    check_failed(
        "graph::launch: the stream is being captured: launch graphs in others, or when the capture has ended");
  kind.streams()->launch(g.handle, s.handle);
  if (kind.host_plays_kernels()) await_at_end(all, s);
  all.note_operation(kind, s);
}

void drop_graph(graph_name g) {
  if (!device_copies::exists() || g.life != device_copies::here().life()) return;
  guard const held;
  device_copies::here().kind_of_stream({g.kind, nullptr, g.life}).streams()->drop_graph(g.handle);
}

void play_in_stream(stream_name s, std::function<bool()> turn) {
  guard const held;
  device_copies& all = device_copies::here();
  memory::program_streams& streams = *all.kind_of_stream(s).streams();
  streams.play(s.handle, std::move(turn));
  if (!streams.is_captured(s.handle)) await_at_end(all, s);
}

}  // namespace atl::engine
