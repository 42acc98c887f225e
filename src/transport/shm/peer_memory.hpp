#pragma once

/// Reading the private memory of another rank of this host: how large messages are fetched.
///
/// A process is named by a number there, and a number may mean another process: in a process namespace of its
/// own every rank may be number 1, and numbers are used again. So each process keeps a random word in its
/// private memory and tells the others its address and value; every read fetches that word too, in the same
/// system call. What another process answers is never taken for the peer's.

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace atl::shm {

/// How a peer's private memory is found and known to be the peer's.
struct peer_process {
  std::int64_t pid = 0;        ///< in its own process namespace
  std::uint64_t mark_address;  ///< of a word in its private memory
  std::uint64_t mark;          ///< that word's value: random, and another one in each period
};

/// This process, for its peers. Writes a fresh mark. Throws startup_error.
peer_process introduce_process();

/// Copies `bytes` from address `from` of a peer to `to`. Null, or why that failed, in words
/// that live until the calling thread's next call.
char const* read_peer(peer_process const& peer, void* to, std::uint64_t from, std::size_t bytes);

}  // namespace atl::shm
