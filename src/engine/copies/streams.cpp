// Work in streams of the program: which kind's they are, and whether their devices reach what is named.

#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>
#include <atoll/engine/streams.hpp>

#include "base/error.hpp"
#include "engine/copies/copies.hpp"
#include "engine/progress/guard.hpp"
#include "memory/program_streams.hpp"

namespace atl::engine {

using memory::kind_id;

memory::program_streams& device_copies::streams_of(stream_name& s) {
  for (kind_id const id : {kind_id::cuda, kind_id::hip, kind_id::ze}) {
    if (s.kind != 0 && s.kind != static_cast<unsigned>(id)) continue;
    memory::kind* const kind = segments_.find_kind(id);
    if (kind == nullptr) continue;
    s.kind = static_cast<unsigned>(id);
    if (memory::program_streams* const found = kind->streams()) return *found;
    fatal("stream", "streams of %s devices cannot be used yet", to_string(id));
  }
  fatal("stream", "this process has no device whose streams could be used: %s; see `atoll info`",
        memory::why_absent(s.kind == 0 ? kind_id::cuda : static_cast<kind_id>(s.kind)).c_str());
}

void device_copies::watch_streams() {
  bool const now = segments_.streams_need_polls();
  if (now != streams_need_polls_) count(now ? 1 : -1);
  streams_need_polls_ = now;
}

/// Ends the job over private memory of the host that would make the driver wait for the stream, here, under the engine's lock.
void device_copies::check_host_end(memory::program_streams& streams, copy_place const& end,
                                   std::size_t bytes) const {
  if (end.name.owner != 0) return;
  auto const region = reinterpret_cast<std::uintptr_t>(engine_.host.at(engine_.host.me(), 0));
  if (end.address - region < hosts.heap_end || bytes == 0 || streams.is_pinned(end.on_host())) return;
  fatal(
      "stream",
      "%zu bytes of private host memory at %p, which is not pinned, cannot be copied in the order of a stream: the driver would wait for "
      "the stream first. Use the shared heap (upcxx::new_array) or what cudaMallocHost or cudaHostRegister gives",
      bytes, static_cast<void*>(end.on_host()));
}

bool device_copies::copy_in(stream_name s, memory_place to, memory_place from, std::size_t bytes,
                            copy_completion* done) {
  memory::program_streams& streams = streams_of(s);
  copy_place const target = segments_.resolve(to, bytes);
  copy_place const source = segments_.resolve(from, bytes);
  memory::kind& kind = *segments_.find_kind(static_cast<kind_id>(s.kind));
  for (copy_place const* end : {&target, &source}) {
    if (end->out_of_reach() || (end->device != nullptr && end->device->kind != &kind)) return false;
    if (end->device == nullptr && end->name.owner != 0) segments_.prepare_host(kind, end->owner());
    if (end->device == nullptr) check_host_end(streams, *end, bytes);
  }
  streams.copy(s.handle, target.end(), source.end(), bytes, is_gathering());
  if (done != nullptr) streams.report(s.handle, begin(done, target.device, source.device));
  watch_streams();
  return true;
}

bool device_copies::write_in(stream_name s, memory_place word, std::uint64_t value) {
  memory::program_streams& streams = streams_of(s);
  copy_place const place = segments_.resolve(word, sizeof value);
  memory::kind& kind = *segments_.find_kind(static_cast<kind_id>(s.kind));
  if (place.out_of_reach() || (place.device != nullptr && place.device->kind != &kind)) return false;
  if (place.device == nullptr && place.name.owner != 0) segments_.prepare_host(kind, place.owner());
  streams.write(s.handle, place.end(), value);
  watch_streams();
  return true;
}

void device_copies::wait_in(stream_name s, memory_place word, std::uint64_t value, bool equal) {
  memory::program_streams& streams = streams_of(s);
  copy_place const place = segments_.resolve(word, sizeof value);
  memory::kind& kind = *segments_.find_kind(static_cast<kind_id>(s.kind));
  if (place.owner() != job.rank_me || (place.device != nullptr && place.device->kind != &kind)) {
    fatal("stream",
          "a stream can only wait for a signal in memory of its own rank and kind; this one is rank %d's",
          place.owner());
  }
  if (place.device == nullptr && place.name.owner != 0) segments_.prepare_host(kind, place.owner());
  streams.wait(s.handle, place.end(), value,
               equal ? memory::comparison::equal : memory::comparison::at_least);
  watch_streams();
}

void device_copies::report_in(stream_name s, copy_completion* done) {
  memory::program_streams& streams = streams_of(s);
  streams.device_of(s.handle);  // says so if it is none
  if (streams.is_captured(s.handle)) {
    fatal(
        "stream",
        "a stream that is captured into a graph never comes anywhere by itself: ask where it is (when, wait, operation_cx) after the "
        "capture's end, and after the graph's launch");
  }
  streams.report(s.handle, begin(done, nullptr, nullptr));
  watch_streams();
}

stream_name make_stream(unsigned kind, int device) {
  guard const held;
  stream_name made{kind, nullptr};
  memory::program_streams& streams = device_copies::here().streams_of(made);
  int const count =
      device_copies::here().segments().find_kind(static_cast<memory::kind_id>(made.kind))->device_n();
  if (device < 0 || device >= count) {
    fatal("stream", "there is no %s device %d for a stream: this process has %d",
          to_string(static_cast<memory::kind_id>(made.kind)), device, count);
  }
  made.handle = streams.make(device);
  return made;
}

void drop_stream(stream_name s) {
  // It may outlive the library, which has ended it then.
  if (!device_copies::exists()) return;
  guard const held;
  device_copies::here().streams_of(s).drop(s.handle);
}

bool is_captured(stream_name s) {
  guard const held;
  return device_copies::here().streams_of(s).is_captured(s.handle);
}

bool stream_copy(stream_name s, memory_place to, memory_place from, std::size_t bytes,
                 copy_completion* done) {
  guard const held;
  return device_copies::here().copy_in(s, to, from, bytes, done);
}

bool stream_write(stream_name s, memory_place word, std::uint64_t value) {
  guard const held;
  return device_copies::here().write_in(s, word, value);
}

void stream_wait(stream_name s, memory_place word, std::uint64_t value, bool equal) {
  guard const held;
  device_copies::here().wait_in(s, word, value, equal);
}

void stream_reached(stream_name s, copy_completion* done) {
  guard const held;
  device_copies::here().report_in(s, done);
}

}  // namespace atl::engine
