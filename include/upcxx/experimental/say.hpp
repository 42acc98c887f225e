#pragma once

/// experimental::say: lines of output that are not torn apart.

#include <iosfwd>

#include <upcxx/detail/config.hpp>
#include <upcxx/detail/text_output.hpp>

namespace atl::rt {
/// Writes the prefix, in which %d is the rank, and the text, as one line. `output` null: std::cout.
ATOLL_EXPORT void say_line(std::ostream* output, char const* prefix, text_output& text);
}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::experimental {

/// Puts one line together and prints it at the end of the statement, behind the rank:
///   say() << "x is " << x;      [3] x is 7
class say {
 public:
  /// `prefix` is printed before the line, with %d replaced by the rank; it must outlive the object.
  say(std::ostream& output, char const* prefix = "[%d] ") : output_(&output), prefix_(prefix) {}
  say(char const* prefix = "[%d] ") : prefix_(prefix) {}
  say(say const&) = delete;
  say& operator=(say const&) = delete;
  ~say() { atl::rt::say_line(output_, prefix_, text_); }

  template <typename T>
  say& operator<<(T const& that) {
    text_ << that;
    return *this;
  }

 private:
  std::ostream* output_ = nullptr;
  char const* prefix_;
  atl::rt::text_output text_;
};

}  // namespace upcxx::inline UPCXX_MODE::experimental
