// expect: a std::unique_ptr can be sent if it owns one object, Serializable and without virtual functions
#include <memory>

#include <upcxx/upcxx.hpp>

void test(upcxx::detail::writer& w, std::unique_ptr<int> const& one,
          [[maybe_unused]] std::unique_ptr<int[]> const& many) {
  w.write(one);
#ifndef CONTROL
  w.write(many);
#endif
}
