// Work in streams of the program: which kind's they are, and whether their devices reach what is named.

#include <atomic>
#include <tuple>

#include <atoll/base/check.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>
#include <atoll/engine/streams.hpp>

#include "base/settings.hpp"
#include "engine/copies/copies.hpp"
#include "engine/progress/guard.hpp"
#include "memory/program_streams.hpp"

namespace atl::engine {

using memory::kind_id;

/// Whose streams these are.
memory::kind& device_copies::kind_of_stream(stream_name s) {
  auto const id = static_cast<kind_id>(s.kind);
  if (s.kind == stream_name().kind)
    check_failed(
        "stream: the stream is none: it was never made (atl::make_stream makes one), or moved from: use the object that it was moved to");
  if (s.life != 0 && s.life != life_)
    check_failed(
        "stream: the stream has ended with the library that made it: atl::make_stream makes another one");
  memory::kind* const kind = segments_.find_kind(id);
  if (kind == nullptr) {
    check_failed("stream: this process has no device whose streams could be used: %s; see `atoll info`",
                 memory::why_absent(id).c_str());
  }
  if (kind->streams() == nullptr)
    check_failed("stream: streams of %s devices cannot be used yet", to_string(id));
  streams_used_ = true;
  return *kind;
}

void device_copies::note_operation(memory::kind& kind, stream_name s) {
  backlog_.note(*kind.streams(), s.handle);
  watch_streams();
}

bool device_copies::has_room(stream_name s, std::size_t operations) {
  memory::program_streams& streams = *kind_of_stream(s).streams();
  if (backlog_.has_room(streams, s.handle, operations)) [[likely]]
    return true;
  segments_.poll();
  return backlog_.has_room(streams, s.handle, operations);
}

void device_copies::watch_streams() {
  bool const now = segments_.streams_need_polls();
  if (now != streams_need_polls_) count(now ? 1 : -1);
  streams_need_polls_ = now;
}

/// Whether the devices of a kind reach host memory, of whomever, by themselves.
bool device_copies::is_pinned(memory::kind& kind, copy_place const& end, std::size_t bytes) {
  std::int32_t owner = end.name.owner != 0 ? end.owner() : -1;
  for (std::uint32_t local = 0; owner < 0 && local < engine_.host.count(); ++local) {
    auto const region = reinterpret_cast<std::uintptr_t>(engine_.host.at(local, 0));
    if (end.address - region < hosts.heap_end) owner = engine_.host.world_rank(local);
  }
  if (owner >= 0) segments_.prepare_host(kind, owner);
  return kind.streams()->is_pinned(end.on_host(), bytes, owner >= 0);
}

/// Whether a stream copies between the two, if its device reaches both.
bool device_copies::are_for_streams(memory::kind& kind, stream_name s, copy_place const& target,
                                    copy_place const& source, std::size_t bytes) {
  if (!is_for_streams(kind, target, bytes) || !is_for_streams(kind, source, bytes)) return false;
  // Between two places of the host drivers wait for the stream within the call, pinned or not. In graphs they do not.
  bool const on_host = target.device == nullptr && source.device == nullptr;
  return !on_host || kind.streams()->is_captured(s.handle);
}

/// False if the devices of a kind cannot copy to or from it in a stream, as no driver can, or would wait for the stream in the call.
bool device_copies::is_for_streams(memory::kind& kind, copy_place const& end, std::size_t bytes) {
  if (end.out_of_reach()) return false;
  return end.device == nullptr ? is_pinned(kind, end, bytes) : end.device->kind == &kind;
}

std::uint64_t device_copies::known_as(memory::kind& kind, memory::stream_handle s) {
  if (memory::differs_by_thread(s)) return 0;
  memory::program_streams& streams = *kind.streams();
  // Neither numbers of the driver's nor addresses reach so far.
  std::uint64_t const of_kind = (static_cast<std::uint64_t>(kind.id()) + 1) << 60;
  if (!memory::is_common(s)) [[likely]] {
    std::uint64_t const number = streams.number_of(s);
    // A handle comes again: another stream's end would be taken for this one's.
    return number == reinterpret_cast<std::uintptr_t>(s) ? 0 : of_kind | number;
  }
  return of_kind | std::uint64_t{1} << 59 | static_cast<std::uint64_t>(streams.device_of(s));
}

void device_copies::note_uses(memory::kind& kind, stream_name s, std::span<copy_place const* const> ends) {
  memory::program_streams& streams = *kind.streams();
  std::uint64_t const capture = streams.capture_of(s.handle);
  std::optional<std::uint64_t> known;  // asks the driver
  for (copy_place const* const end : ends) {
    if (capture != 0 && segments_.note_graph(end->device, streams, s.handle, capture)) continue;
    if (end->device == nullptr) continue;
    bool const peers = end->device->known.name.rank != job.rank_me && capture == 0;
    if (peers && !known) known = known_as(kind, s.handle);
    segments_.note_use(*end->device, peers ? *known : 0);
  }
}

bool device_copies::copy_in(stream_name s, memory_place to, memory_place from, std::size_t bytes) {
  memory::kind& kind = kind_of_stream(s);
  copy_place const target = segments_.resolve(to, bytes);
  copy_place const source = segments_.resolve(from, bytes);
  if (!are_for_streams(kind, s, target, source, bytes) ||
      !kind.streams()->copy(s.handle, target.end(), source.end(), bytes, is_gathering())) {
    return false;
  }
  note_uses(kind, s, {&target, &source});
  note_operation(kind, s);
  return true;
}

bool device_copies::can_copy_in(stream_name s, memory_place to, memory_place from, std::size_t bytes) {
  memory::kind& kind = kind_of_stream(s);
  copy_place const target = segments_.resolve(to, bytes);
  copy_place const source = segments_.resolve(from, bytes);
  return are_for_streams(kind, s, target, source, bytes) &&
         kind.streams()->can_copy(s.handle, target.end(), source.end());
}

copy_place device_copies::resolve_box(memory_place place, prepared_box const& box,
                                      std::ptrdiff_t prepared_box::dimension::*stride) {
  std::size_t below = 0;  // bytes that the box reaches before index 0
  std::size_t bytes = box.run;
  for (prepared_box::dimension const& d : box.dimensions) {
    std::ptrdiff_t const reach = static_cast<std::ptrdiff_t>(d.extent - 1) * d.*stride;
    if (reach < 0) below -= static_cast<std::size_t>(reach);
    bytes += static_cast<std::size_t>(reach < 0 ? -reach : reach);
  }
  return segments_.resolve({place.owner, place.address - below}, bytes).moved_by(below);
}

namespace {

memory::box_shape shape_of(prepared_box const& box) {
  memory::box_shape shape{box.run, {}};
  static_assert(prepared_box::most_dimensions == std::tuple_size_v<decltype(shape.dimensions)>);
  for (std::size_t d = 0; d < shape.dimensions.size(); ++d) {
    shape.dimensions[d] = {box.dimensions[d].dest, box.dimensions[d].source, box.dimensions[d].extent};
  }
  return shape;
}

}  // namespace

bool device_copies::box_in(stream_name s, memory_place to, memory_place from, prepared_box const& box) {
  memory::kind& kind = kind_of_stream(s);
  copy_place const target = resolve_box(to, box, &prepared_box::dimension::dest);
  copy_place const source = resolve_box(from, box, &prepared_box::dimension::source);
  if (target.device == nullptr || source.device == nullptr || !is_for_streams(kind, target, box.run) ||
      !is_for_streams(kind, source, box.run) ||
      !kind.streams()->copy_box(s.handle, target.end(), source.end(), shape_of(box))) {
    return false;
  }
  note_uses(kind, s, {&target, &source});
  note_operation(kind, s);
  return true;
}

bool device_copies::start_box(memory_place to, memory_place from, prepared_box const& box,
                              copy_completion* completion) {
  copy_place const target = resolve_box(to, box, &prepared_box::dimension::dest);
  copy_place const source = resolve_box(from, box, &prepared_box::dimension::source);
  if (target.device == nullptr || source.device == nullptr || target.out_of_reach() ||
      source.out_of_reach() || target.device->kind != source.device->kind ||
      source.device->kind->streams() == nullptr) {
    return false;
  }
  // Who has both ends pushes: devices store into each other's memory faster than they load from it.
  segment* const by = source.owner() == job.rank_me   ? source.device
                      : target.owner() == job.rank_me ? target.device
                                                      : nullptr;
  if (by == nullptr) return false;
  memory::program_streams& streams = *by->kind->streams();
  memory::stream_handle const on = helping_stream(*by->kind, by->known.device, help::boxes);
  if (!streams.copy_box(on, target.end(), source.end(), shape_of(box))) return false;
  streams.report(on, begin(completion, target.device, source.device));
  watch_streams();
  return true;
}

bool device_copies::write_in(stream_name s, memory_place word, std::uint64_t value) {
  memory::kind& kind = kind_of_stream(s);
  copy_place const place = segments_.resolve(word, sizeof value, "signal");
  if (!is_for_streams(kind, place, sizeof value) || !kind.streams()->write(s.handle, place.end(), value))
    return false;
  note_uses(kind, s, {&place});
  note_operation(kind, s);
  return true;
}

void device_copies::wait_in(stream_name s, memory_place word, std::uint64_t value, bool equal,
                            std::optional<std::uint64_t> then) {
  memory::kind& kind = kind_of_stream(s);
  copy_place const place = segments_.resolve(word, sizeof value, "signal");
  if (place.owner() != job.rank_me) {
    check_failed(
        "stream: a stream can only wait for a signal in memory of its own rank; this one is rank %d's: let a stream of that rank wait, and signal a word of this one's",
        place.owner());
  }
  auto const how = equal ? memory::comparison::equal : memory::comparison::at_least;
  memory::program_streams& streams = *kind.streams();
  if (!is_for_streams(kind, place, sizeof value) ||
      !(then ? streams.wait_and_write(s.handle, place.end(), value, how, *then)
             : streams.wait(s.handle, place.end(), value, how))) {
    check_failed(
        "stream: %s device %d cannot wait for the signal at 0x%llx: it needs waits and writes in streams, and a word in memory that it reaches: its "
        "own, that of a device of its kind which it reaches, or the shared heap if the driver registers that",
        to_string(kind.id()), streams.device_of(s.handle), static_cast<unsigned long long>(place.address));
  }
  note_uses(kind, s, {&place});
  note_operation(kind, s);
}

bool device_copies::add_in(stream_name s, memory_place word, std::uint64_t value) {
  memory::kind& kind = kind_of_stream(s);
  memory::program_streams& streams = *kind.streams();
  copy_place const place = segments_.resolve(word, sizeof value, "signal");
  if (is_for_streams(kind, place, sizeof value) && streams.add(s.handle, place.end(), value)) {
    note_uses(kind, s, {&place});
    note_operation(kind, s);
    return true;
  }
  if (streams.is_captured(s.handle)) {
    check_failed(
        "stream: %s device %d cannot add in a graph to the signal at 0x%llx of rank %d: its atomic operations must reach the word by themselves, which "
        "they do in its own memory, in that of devices that this process sees and that are linked with atomics (as by NVLink), and in the "
        "shared heaps of this host where the link to the host has them; and the driver must take the library's kernels. Set signals there, one "
        "for each rank",
        to_string(kind.id()), streams.device_of(s.handle), static_cast<unsigned long long>(place.address),
        place.owner());
  }
  return false;
}

bool device_copies::can_change(stream_name s, memory_place word, bool adds) {
  memory::kind& kind = kind_of_stream(s);
  copy_place const place = segments_.resolve(word, sizeof(std::uint64_t), "signal");
  if (!is_for_streams(kind, place, sizeof(std::uint64_t))) return false;
  memory::program_streams& streams = *kind.streams();
  return adds ? streams.can_add(s.handle, place.end()) : streams.can_write(s.handle, place.end());
}

memory::stream_handle device_copies::helping_stream(memory::kind& kind, int device, help with) {
  for (helping const& each : helping_) {
    if (each.kind == &kind && each.device == device && each.with == with) return each.stream;
  }
  helping_.push_back({&kind, device, with, kind.streams()->make(device)});
  return helping_.back().stream;
}

void device_copies::add_on_device(memory_place word, std::uint64_t value, copy_completion* done) {
  copy_place const place = segments_.resolve(word, sizeof value, "signal");
  memory::kind& kind = *place.device->kind;
  int const device = place.device->known.device;
  memory::program_streams* const streams = kind.streams();
  memory::stream_handle const on =
      streams == nullptr ? nullptr : helping_stream(kind, device, help::additions);
  if (streams == nullptr || !streams->add_at_home(on, place.end(), value)) {
    check_failed(
        "stream: %s device %d cannot add to the signal at 0x%llx in its memory for other ranks: %s. Set signals there, "
        "one for each rank",
        to_string(kind.id()), device, static_cast<unsigned long long>(place.address),
        streams == nullptr ? "streams of such devices cannot be used yet"
                           : "its driver does not take the library's kernels, or does not write in streams");
  }
  streams->report(on, begin_report(done, known_as(kind, on)));
  watch_streams();
}

void device_copies::refuse_capture(stream_name s, needs_host what) {
  if (!kind_of_stream(s).streams()->is_captured(s.handle)) return;
  if (what == needs_host::future) {
    check_failed(
        "stream: a stream that is captured into a graph cannot wait for a future, which this rank's progress makes ready once, and the graph may run "
        "often: have what makes it ready give a signal, and wait for that");
  }
  check_failed(
      "stream: what is captured into a graph must be reached by the stream's device alone: not memory of another host, nor what only its owner "
      "copies, nor private memory of the host that is not pinned (atl::pin, cudaMallocHost, cudaHostRegister, the shared heap); nor can it "
      "copy between memory of the host and of a device that it does not reach");
}

void device_copies::report_in(stream_name s, copy_completion* done) {
  memory::kind& kind = kind_of_stream(s);
  memory::program_streams& streams = *kind.streams();
  streams.device_of(s.handle);  // says so if it is none
  if (streams.is_captured(s.handle)) {
    check_failed(
        "stream: a stream that is captured into a graph never comes anywhere by itself: ask where it is (when, wait, operation_cx) after the "
        "capture's end, and after the graph's launch");
  }
  streams.report(s.handle, begin_report(done, known_as(kind, s.handle)));
  backlog_.note_report(streams, s.handle);
  watch_streams();
}

stream_name make_stream(unsigned kind, int device) {
  device_copies& all = device_copies::for_call("make_stream");
  guard const held;
  stream_name made{kind, nullptr, all.life()};
  memory::kind& found = all.kind_of_stream(made);
  if (device < 0)
    check_failed("make_stream: the allocator is not active: no device, or destroyed, or moved from");
  if (device >= found.device_n()) {
    check_failed("stream: there is no %s device %d for a stream: this process has %d", to_string(found.id()),
                 device, found.device_n());
  }
  made.handle = found.streams()->make(device);
  return made;
}

void drop_stream(stream_name s) {
  // It may outlive the library, which has ended it then.
  if (!device_copies::exists() || s.life != device_copies::here().life()) return;
  guard const held;
  device_copies::here().kind_of_stream(s).streams()->drop(s.handle);
}

int stream_device(stream_name s) {
  device_copies& all = device_copies::for_call("stream::device_id");
  guard const held;
  return all.kind_of_stream(s).streams()->device_of(s.handle);
}

bool has_room(stream_name s, std::size_t operations) {
  device_copies& all = device_copies::for_call("stream");
  guard const held;
  return all.has_room(s, operations);
}

bool is_captured(stream_name s) {
  device_copies& all = device_copies::for_call("stream::is_captured");
  guard const held;
  return all.kind_of_stream(s).streams()->is_captured(s.handle);
}

bool stream_copy(stream_name s, memory_place to, memory_place from, std::size_t bytes) {
  guard const held;
  return device_copies::here().copy_in(s, to, from, bytes);
}

bool stream_can_copy(stream_name s, memory_place to, memory_place from, std::size_t bytes) {
  guard const held;
  return device_copies::here().can_copy_in(s, to, from, bytes);
}

bool stream_copy_box(stream_name s, memory_place to, memory_place from, prepared_box const& box) {
  guard const held;
  return device_copies::here().box_in(s, to, from, box);
}

bool start_box_copy(memory_place to, memory_place from, prepared_box const& box,
                    copy_completion* completion) {
  guard const held;
  return device_copies::here().start_box(to, from, box, completion);
}

void refuse_capture(stream_name s, needs_host what) {
  guard const held;
  device_copies::here().refuse_capture(s, what);
}

bool stream_write(stream_name s, memory_place word, std::uint64_t value) {
  guard const held;
  return device_copies::here().write_in(s, word, value);
}

void stream_wait(stream_name s, memory_place word, std::uint64_t value, bool equal) {
  guard const held;
  device_copies::here().wait_in(s, word, value, equal, std::nullopt);
}

void stream_wait_and_write(stream_name s, memory_place word, std::uint64_t value, bool equal,
                           std::uint64_t then) {
  guard const held;
  device_copies::here().wait_in(s, word, value, equal, then);
}

bool stream_add(stream_name s, memory_place word, std::uint64_t value) {
  guard const held;
  return device_copies::here().add_in(s, word, value);
}

bool stream_can_change(stream_name s, memory_place word, bool adds) {
  guard const held;
  return device_copies::here().can_change(s, word, adds);
}

bool add_on_host(memory_place word, std::uint64_t value) {
  if (kind_of(word.owner) != kind_id::host) return false;
  std::byte* const at = hosts.find_address(static_cast<std::uint32_t>(rank_of(word.owner)), word.address);
  if (at == nullptr) return false;
  // Whoever acquires the sum sees what the stream has done, which has come here.
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at))
      .fetch_add(value, std::memory_order_acq_rel);
  return true;
}

void add_on_device(memory_place word, std::uint64_t value, copy_completion* done) {
  guard const held;
  device_copies::here().add_on_device(word, value, done);
}

void stream_reached(stream_name s, copy_completion* done) {
  guard const held;
  device_copies::here().report_in(s, done);
}

std::uint64_t patience_with_streams() {
  static std::uint64_t const seconds = settings::stream_patience();
  return seconds;
}

std::string where_stream_stands(stream_name s) {
  guard const held;
  return device_copies::here().kind_of_stream(s).streams()->where(s.handle);
}

}  // namespace atl::engine
