// expect: is not MoveConstructible and so cannot be returned by value
#include <upcxx/serialization.hpp>

struct pinned {
  explicit pinned(int) {}
  pinned(pinned const&) = delete;
  UPCXX_SERIALIZED_VALUES(1)
};

void test(upcxx::detail::reader& r, [[maybe_unused]] void* raw) {
#ifndef CONTROL
  (void)r.read<pinned>();
#else
  r.read_into<pinned>(raw);
#endif
}
