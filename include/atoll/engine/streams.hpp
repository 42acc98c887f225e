#pragma once

/// Work in streams of the program (cudaStream_t and the like): ordered there, without the host in between.

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>
#include <atoll/engine/memory_copy.hpp>

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

/// Whether calls go into a graph instead.
ATOLL_EXPORT bool is_captured(stream_name s);

/// Starts a copy at the stream's end; the places stay until the stream has come by. False, and nothing was done, if the stream's device cannot
/// do it alone: an end is another kind's, another host's, in memory that only its owner reaches, or in private memory that is not pinned.
ATOLL_EXPORT bool stream_copy(stream_name s, memory_place to, memory_place from, std::size_t bytes);
/// Ends the job if the stream is captured: the host is about to help.
ATOLL_EXPORT void refuse_capture(stream_name s);
/// Writes a word once all that is before it in the stream is in place and visible. False as above.
ATOLL_EXPORT bool stream_write(stream_name s, memory_place word, std::uint64_t value);
/// The stream goes on when the word, which is in memory of this rank, equals the value or, by default, is at least that: the
/// signed difference counts.
ATOLL_EXPORT void stream_wait(stream_name s, memory_place word, std::uint64_t value, bool equal);
/// `done` hears when the stream has come here. Not while it is captured.
ATOLL_EXPORT void stream_reached(stream_name s, copy_completion* done);

}  // namespace atl::engine
