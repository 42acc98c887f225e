// expect: redefinition of .*upcxx_serialization
#include <upcxx/serialization.hpp>

struct both {
  int v;
  UPCXX_SERIALIZED_FIELDS(v)
#ifndef CONTROL
  UPCXX_SERIALIZED_VALUES(v)
#endif
};
