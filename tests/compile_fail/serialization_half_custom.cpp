// expect: needs public static templates
#include <upcxx/serialization.hpp>

struct half {
  int v;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, half const& o) {
      w.write(o.v);
    }
#ifdef CONTROL
    template <typename Reader, typename Storage>
    static half* deserialize(Reader& r, Storage storage) {
      return storage.construct(r.template read<int>());
    }
#endif
  };
};

void test(upcxx::detail::writer& w, half const& o) { w.write(o); }
