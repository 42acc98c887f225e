// expect: a std::shared_ptr or std::weak_ptr cannot be sent, since its owners stay in their process
#include <map>
#include <memory>
#include <string>

#include <upcxx/upcxx.hpp>

void test(upcxx::detail::writer& w, [[maybe_unused]] std::map<std::string, std::shared_ptr<int>> const& m) {
  w.write(std::make_unique<int>(1));
#ifndef CONTROL
  w.write(m);
#endif
}
