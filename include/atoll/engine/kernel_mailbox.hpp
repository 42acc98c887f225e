#pragma once

/// What kernels that communicate share with the process that has launched them: a ring of commands for what
/// their device does not reach, in host memory that it does. Who writes is said at each word; what belongs to
/// a command is the kernel's until its number is there, and the host's until it is completed.

#include <cstddef>
#include <cstdint>

namespace atl::engine {

/// What a kernel asks its host for.
enum class kernel_call : std::uint32_t {
  put = 1,    ///< copies `bytes` from `from` to `to`, then does to `word` what `operation` says
  put_value,  ///< the same where the bytes, at most 8, are in `from`
  signal,     ///< the latter alone
  get,        ///< copies `bytes` from `from` to `to`
  get_value,  ///< gives back `bytes` of `from`, at most 8
  atomic,     ///< does to `word` what `operation` says, and gives back what was there
  notify,     ///< tells world rank `to_owner` of `operand`, under the number `to`
};

/// What becomes of a word of 8 bytes; x is what was there.
enum class word_operation : std::uint32_t {
  none,
  set,               ///< operand
  add,               ///< x + operand
  exchange_if_equal  ///< x == compare ? operand : x
};

struct kernel_request {
  kernel_call call;
  word_operation operation;
  std::uint64_t to_owner;  ///< places as in global pointers
  std::uint64_t to;
  std::uint64_t from_owner;
  std::uint64_t from;
  std::uint64_t bytes;
  std::uint64_t word_owner;
  std::uint64_t word;
  std::uint64_t operand;
  std::uint64_t compare;
};

/// One command.
struct alignas(128) kernel_command {
  kernel_request asked;
  std::uint64_t number;    ///< from 1 up; written last, by the kernel (release, system)
  std::uint64_t answer;    ///< what is given back; written by the host
  std::uint64_t answered;  ///< `number`, when that is so (release); the kernel has read it when it sets 0
};
static_assert(sizeof(kernel_command) == 128);

/// The first thing that went wrong in kernels.
struct kernel_trouble {
  enum class sort : std::uint64_t { none, timed_out, not_nameable };
  std::uint64_t what;  ///< a sort; written last, by the kernel (release, system)
  std::uint64_t call;  ///< of device::call
  std::uint64_t block;
  std::uint64_t address;   ///< of the word, or of the memory
  std::uint64_t expected;  ///< value that was waited for; or bytes
  std::uint64_t found;
  std::uint64_t waited_ns;
};

struct kernel_mailbox {
  static constexpr std::uint64_t capacity = 512;

  /// So many commands, all before them too; written by the host (release).
  alignas(128) std::uint64_t completed;
  alignas(128) kernel_trouble trouble;
  kernel_command commands[capacity];  ///< number n lies at (n - 1) % capacity
};

}  // namespace atl::engine
