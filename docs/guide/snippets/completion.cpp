// Snippets of the page on completion.
#include <tuple>
#include <vector>

#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  upcxx::dist_object<upcxx::global_ptr<int>> boxes(upcxx::new_array<int>(100));
  upcxx::global_ptr<int> const dest = boxes.fetch((me + 1) % ranks).wait();
  std::vector<int> data(100, me);

  // [several]
  static int arrivals = 0;
  std::tuple<upcxx::future<>, upcxx::future<>> both = upcxx::rput(
      data.data(), dest, data.size(),
      upcxx::source_cx::as_future()                       // first future
          | upcxx::remote_cx::as_rpc([] { ++arrivals; })  // at the target
          | upcxx::operation_cx::as_future());            // second future
  std::get<0>(both).wait();
  data.assign(100, -1);  // the buffer may be reused
  std::get<1>(both).wait();
  // [/several]
  while (arrivals == 0) upcxx::progress();
  UPCXX_ASSERT_ALWAYS(boxes->local()[50] == (me + ranks - 1) % ranks);
  upcxx::barrier();

  // [lpc]
  int seen = -1;
  upcxx::rget(dest,
              upcxx::operation_cx::as_lpc(upcxx::current_persona(),
                                          [&seen](int value) { seen = value; }));
  while (seen == -1) upcxx::progress();
  // [/lpc]
  UPCXX_ASSERT_ALWAYS(seen == me);

  // [eager]
  // May be ready now, since the memory is on this host.
  upcxx::future<> eager = upcxx::rput(1, dest);
  upcxx::future<> later =
      upcxx::rput(2, dest + 1, upcxx::operation_cx::as_defer_future());
  UPCXX_ASSERT_ALWAYS(!later.is_ready());  // never before the next progress
  upcxx::when_all(eager, later).wait();
  // [/eager]
  upcxx::barrier();
  upcxx::delete_array(*boxes);
  upcxx::finalize();
}
