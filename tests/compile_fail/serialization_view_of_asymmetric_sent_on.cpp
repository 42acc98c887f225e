// expect: a received view whose elements deserialize to another type cannot be sent on
#include <upcxx/view.hpp>

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

void test(upcxx::detail::writer& w, upcxx::view<std::string> const& fine,
          [[maybe_unused]] upcxx::view<as_double> const& v) {
  w.write(fine);
#ifndef CONTROL
  w.write(v);
#endif
}
