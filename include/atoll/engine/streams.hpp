#pragma once

/// Work in streams of the program (cudaStream_t and the like): ordered there, without the host in between.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <atoll/base/config.hpp>
#include <atoll/engine/memory_copy.hpp>
#include <atoll/engine/strided.hpp>

namespace atl::engine {

/// A stream of a device of this process.
struct stream_name {
  unsigned kind = 0;  ///< a value of upcxx::memory_kind
  void* handle = nullptr;
  std::uint32_t life = 0;  ///< of the library that made it, if that did
};

/// A new stream, for programs without one of their own. Ends the job if there is no such device.
ATOLL_EXPORT stream_name make_stream(unsigned kind, int device);
/// Ends one that make_stream made; nothing is left to be done there. Nothing if finalize has.
ATOLL_EXPORT void drop_stream(stream_name s);

/// Number of its device in this process, among those of its kind.
ATOLL_EXPORT int stream_device(stream_name s);

/// Whether so many operations more may be put into the stream without the driver having the caller wait for what is there; looks where the
/// stream is, if not.
ATOLL_EXPORT bool has_room(stream_name s, std::size_t operations);

/// Whether calls go into a graph instead.
ATOLL_EXPORT bool is_captured(stream_name s);

/// An executable graph, made of what was captured of a stream.
struct graph_name {
  unsigned kind = 0;
  int device = -1;
  void* handle = nullptr;
  std::uint32_t life = 0;
};
/// Has what is started in the stream go into a graph, until end_capture() by the same thread. Ends the job if streams of that kind
/// are not captured, or this one is already.
ATOLL_EXPORT void begin_capture(stream_name s);
ATOLL_EXPORT graph_name end_capture(stream_name s);
/// Ends it, too, and leaves no graph, also where what was captured makes none.
ATOLL_EXPORT void abandon_capture(stream_name s);
/// Executes it once, behind what is in the stream. Ends the job if that is another device's, or captured.
ATOLL_EXPORT void launch_graph(graph_name g, stream_name s);
/// What has been launched goes on. Nothing if the library that made it has ended, and the graph with it.
ATOLL_EXPORT void drop_graph(graph_name g);

/// Where the host plays kernels: calls `turn` when the stream gets there, in progress of any level and under the engine's lock, again and
/// again until it returns true. In a graph, with each execution a copy of it.
ATOLL_EXPORT void play_in_stream(stream_name s, std::function<bool()> turn);

/// Starts a copy at the stream's end; the places stay until the stream has come by. False, and nothing was done, if the stream's device cannot
/// do it alone: an end is another kind's, another host's, in memory that only its owner reaches, or in private memory that is not pinned; both
/// are in memory of this host, unless the stream is captured; or one is, and the other in memory of a device that the stream's does not reach.
ATOLL_EXPORT bool stream_copy(stream_name s, memory_place to, memory_place from, std::size_t bytes);
/// Whether that would do it.
ATOLL_EXPORT bool stream_can_copy(stream_name s, memory_place to, memory_place from, std::size_t bytes);
/// The same for the runs of a box, whose ends, at index 0, are those given here, as one thing that the device does. False, and nothing was
/// done, if the device cannot; or not by one thing.
ATOLL_EXPORT bool stream_copy_box(stream_name s, memory_place to, memory_place from, prepared_box const& box);
/// One call of a collective that moves data: what this rank does in it by a kernel of the library, which stores into the memory of the others.
struct stream_exchange {
  static constexpr std::size_t most_ranks = 16;
  /// Words of 8 bytes that each rank has for all calls, one after the other; 0 at first.
  ATOLL_EXPORT static std::size_t words_for(std::size_t ranks) noexcept;

  /// Bytes of a landing, in which each rank may get what is little, sooner than without; 0 at first.
  ATOLL_EXPORT static std::size_t landing_bytes() noexcept;
  /// Whether such calls use landings. `root`: as below.
  ATOLL_EXPORT static bool is_little(std::size_t bytes, std::int32_t ranks, std::int32_t root) noexcept;

  memory_place const* to;       ///< by rank: where it receives
  memory_place const* words;    ///< by rank: its words
  memory_place const* landing;  ///< by rank; null: there are none
  memory_place from;  ///< what this rank sends; as places of exchanges must be, unless the host copies
  std::size_t bytes;  ///< to one rank
  std::int32_t me;
  std::int32_t ranks;
  std::int32_t root;  ///< the one that sends; negative: all do
  bool in_parts;      ///< each rank is sent a part of its own
};
/// Whether kernels of the library on a device can do exchanges, and reach what lies here; or whether they are played.
ATOLL_EXPORT bool can_exchange(unsigned kind, int device, memory_place place, std::size_t bytes);
/// The whole of it; or the beginning, up to where all may be written to, and the end, which tells the others.
enum class exchange_part : std::uint8_t { all, begin, end };
ATOLL_EXPORT void start_exchange(stream_name s, stream_exchange const& what, exchange_part part);
/// A reduction of arrays of this rank in memory of one device, element by element, by a kernel of the library.
struct stream_reduction_call {
  enum class operation : std::uint32_t { plus, least, greatest };
  enum class element : std::uint32_t { float32, float64, int32, int64 };
  memory_place to;
  memory_place from;   ///< the first array
  std::size_t stride;  ///< bytes to the next one
  std::size_t count;   ///< elements of each, at least 1
  std::uint32_t arrays;
  operation what;
  element of;
};
/// Whether the library has that kernel on a device.
ATOLL_EXPORT bool can_reduce_in_stream(unsigned kind, int device);
ATOLL_EXPORT void start_reduction(stream_name s, stream_reduction_call const& what);
/// What takes the host's help, so that no graph can hold it.
enum class needs_host : std::uint8_t { memory, future };
/// Ends the job if the stream is captured: the host is about to help.
ATOLL_EXPORT void refuse_capture(stream_name s, needs_host what);
/// Writes a word once all that is before it in the stream is in place and visible. False as above.
ATOLL_EXPORT bool stream_write(stream_name s, memory_place word, std::uint64_t value);
/// The stream goes on when the word, which is in memory of this rank, equals the value or, by default, is at least that: the
/// signed difference counts.
ATOLL_EXPORT void stream_wait(stream_name s, memory_place word, std::uint64_t value, bool equal);
/// The same, and then the word gets another value.
ATOLL_EXPORT void stream_wait_and_write(stream_name s, memory_place word, std::uint64_t value, bool equal,
                                        std::uint64_t then);
/// Adds to a word as stream_write writes it, in one step for all who add. False, and nothing was done, if the stream's device cannot
/// do that alone: an owner does it for it (add_on_host, add_on_device). Ends the job then if the stream is captured.
ATOLL_EXPORT bool stream_add(stream_name s, memory_place word, std::uint64_t value);
/// Whether stream_add, or stream_write, would do it.
ATOLL_EXPORT bool stream_can_change(stream_name s, memory_place word, bool adds);
/// By this processor, if it addresses the word, which is host memory then; else false.
ATOLL_EXPORT bool add_on_host(memory_place word, std::uint64_t value);
/// By this rank's device in whose memory the word is; `done` hears when it has happened.
ATOLL_EXPORT void add_on_device(memory_place word, std::uint64_t value, copy_completion* done);
/// `done` hears when the stream has come here. Not while it is captured.
ATOLL_EXPORT void stream_reached(stream_name s, copy_completion* done);

/// ATOLL_STREAM_PATIENCE in seconds; 0: who waits for a stream waits for ever.
ATOLL_EXPORT std::uint64_t patience_with_streams();
/// What the stream has come to and does not get past, in words; empty if the library does not see that.
ATOLL_EXPORT std::string where_stream_stands(stream_name s);

}  // namespace atl::engine
