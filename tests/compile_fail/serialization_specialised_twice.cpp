// expect: may specialise upcxx::serialization or is_trivially_serializable
#include <upcxx/serialization.hpp>

struct both {
  int v;
};
namespace upcxx {
#ifndef CONTROL
template <>
struct is_trivially_serializable<both> : std::true_type {};
#endif
template <>
struct serialization<both> {
  template <typename Writer>
  static void serialize(Writer& w, both const& o) {
    w.write(o.v);
  }
  template <typename Reader, typename Storage>
  static both* deserialize(Reader& r, Storage storage) {
    return storage.construct(both{r.template read<int>()});
  }
};
}  // namespace upcxx

void test(upcxx::detail::writer& w, both const& o) { w.write(o); }
