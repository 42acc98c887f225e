// expect: upcxx_memberof_general: the member is of a virtual base, whose place only the object knows
#include <string>

#include <upcxx/upcxx.hpp>

struct shared {
  std::string text;
};
struct owner : virtual shared {
  int own = 0;
  virtual ~owner() = default;
};

auto test(upcxx::global_ptr<owner, upcxx::memory_kind::cuda_device> p) {
#ifdef CONTROL
  return upcxx_memberof_general(p, own);
#else
  return upcxx_memberof_general(p, text);
#endif
}
