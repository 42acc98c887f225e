// Mistakes that code mode opt names, too, as they would be crashes or silent hangs; the argument chooses.

#include <string_view>
#include <upcxx/upcxx.hpp>

int main(int argc, char** argv) {
  std::string_view const which = argc > 1 ? argv[1] : "";
  upcxx::init();
  int const n = upcxx::rank_n();
  if (which == "root_outside_team") static_cast<void>(upcxx::broadcast(1, n).wait());
  if (which == "blocking_barrier_in_callback" && upcxx::rank_me() == 0)
    upcxx::current_persona().lpc([] { upcxx::barrier(); }).wait();
  if (which == "blocking_barrier_in_callback") upcxx::rpc(0, [] {}).wait();
  if (which == "split_in_callback")
    upcxx::current_persona().lpc([] { upcxx::world().split(0, 0).destroy(); }).wait();
  if (which == "object_in_callback")
    upcxx::current_persona().lpc([] { upcxx::dist_object<int> const object(1); }).wait();
  upcxx::finalize();
  if (which == "collective_after_finalize") upcxx::barrier();
  return 1;
}
