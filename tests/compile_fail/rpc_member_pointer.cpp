// expect: rpc: a pointer to a member cannot be the function
#include <upcxx/rpc.hpp>

struct counter {
  int value;
  int next() const { return value + 1; }
};

void send(counter const& c) {
#ifdef CONTROL
  upcxx::rpc_ff(
      0, [](counter const& arrived) { return arrived.next(); }, c);
#else
  upcxx::rpc_ff(0, &counter::next, c);
#endif
}
