// expect: lists a member whose type deserializes to another type
#include <upcxx/serialization.hpp>

struct as_double {
  int v = 0;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, as_double const& o) {
      w.write(o.v);
    }
    template <typename Reader, typename Storage>
    static double* deserialize(Reader& r, Storage storage) {
      return storage.construct(r.template read<int>());
    }
  };
};
struct holder {
  as_double a;
#ifndef CONTROL
  UPCXX_SERIALIZED_FIELDS(a)
#else
  holder() = default;
  explicit holder(double) {}
  UPCXX_SERIALIZED_VALUES(a)
#endif
};

void test(upcxx::detail::writer& w, holder const& o) { w.write(o); }
