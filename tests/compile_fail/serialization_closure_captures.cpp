// expect: captures are not trivially copyable
#include <upcxx/serialization.hpp>

void test(upcxx::detail::writer& w, std::string const& text) {
  w.write([size = text.size()] { return size; });
#ifndef CONTROL
  w.write([text] { return text.size(); });
#endif
}
