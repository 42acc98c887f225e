#pragma once

/// Last words of a rank where no launcher reads its crash report: a program beside the library puts them into words while the rank
/// waits, on the rank's own standard error.

#include <array>
#include <cstdint>

#include "bootstrap/board.hpp"
#include "bootstrap/keeper/orders.hpp"

namespace atl::bootstrap {

inline constexpr char const* teller_name = "atoll-last-words";

/// What the program gets through a pipe. Both are of one installation; `version` says that they are.
struct told_words {
  std::uint32_t version = 0;
  std::array<char, 192> who{};  ///< "rank 3 of 4 on h2 (pid 4711)"
  crash_report report;

  static constexpr std::uint32_t current = 1;
};

/// Descriptors of the program: where the words come from, and where it writes a byte when they are told.
enum teller_descriptor : int { words_descriptor = 3, told_descriptor = 4 };

/// Its longest time. Debug information of large programs takes a second or two.
inline constexpr unsigned teller_seconds = 4;

/// Who shares a failure with this rank, for one of them to tell.
struct last_words_place {
  keeping::place* first = nullptr;  ///< of the host's board; null: no keeper, and each rank speaks for itself
  keeping::place* mine = nullptr;
  std::int32_t host = 0;
  std::uint32_t patience_ms = 0;  ///< of keepers
};

/// Has crashes of this process told. Handlers of others are left alone.
void install_last_words(std::int32_t rank, std::int32_t size, last_words_place const& where);

/// The library has told why it is about to abort.
void nothing_to_add_to_last_words() noexcept;

}  // namespace atl::bootstrap
