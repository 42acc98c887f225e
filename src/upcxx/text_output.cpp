#include <upcxx/detail/text_output.hpp>

#include <sstream>
#include <string>

namespace atl::rt {

struct text_output::buffer {
  std::ostringstream out;
  std::string text;
};

text_output::text_output() noexcept : buffer_(new buffer) {  // NOLINT(bugprone-unhandled-exception-at-new)
  buffer_->out << std::boolalpha;
}

text_output::~text_output() { delete buffer_; }

std::ostream& text_output::stream() noexcept { return buffer_->out; }

std::string_view text_output::text() {
  buffer_->text = buffer_->out.str();
  return buffer_->text;
}

text_output& text_output::operator<<(char const* value) {
  buffer_->out << (value != nullptr ? value : "(null)");
  return *this;
}

text_output& text_output::operator<<(signed char const* value) {
  return *this << reinterpret_cast<char const*>(value);
}
text_output& text_output::operator<<(unsigned char const* value) {
  return *this << reinterpret_cast<char const*>(value);
}

#define ATOLL_DEFINE_OUTPUT(type)                    \
  text_output& text_output::operator<<(type value) { \
    buffer_->out << value;                           \
    return *this;                                    \
  }
ATOLL_DEFINE_OUTPUT(std::string_view)
ATOLL_DEFINE_OUTPUT(char)
ATOLL_DEFINE_OUTPUT(signed char)
ATOLL_DEFINE_OUTPUT(unsigned char)
ATOLL_DEFINE_OUTPUT(bool)
ATOLL_DEFINE_OUTPUT(short)
ATOLL_DEFINE_OUTPUT(unsigned short)
ATOLL_DEFINE_OUTPUT(int)
ATOLL_DEFINE_OUTPUT(unsigned)
ATOLL_DEFINE_OUTPUT(long)
ATOLL_DEFINE_OUTPUT(unsigned long)
ATOLL_DEFINE_OUTPUT(long long)
ATOLL_DEFINE_OUTPUT(unsigned long long)
ATOLL_DEFINE_OUTPUT(float)
ATOLL_DEFINE_OUTPUT(double)
ATOLL_DEFINE_OUTPUT(long double)
ATOLL_DEFINE_OUTPUT(void const*)
#undef ATOLL_DEFINE_OUTPUT

text_output& text_output::operator<<(std::ostream& (*manipulator)(std::ostream&)) {
  buffer_->out << manipulator;
  return *this;
}
text_output& text_output::operator<<(std::ios_base& (*manipulator)(std::ios_base&)) {
  buffer_->out << manipulator;
  return *this;
}

}  // namespace atl::rt
