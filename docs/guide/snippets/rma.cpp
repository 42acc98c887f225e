// Snippets of the page on one-sided communication.
#include <numeric>
#include <vector>

#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  int const right = (me + 1) % ranks;
  upcxx::dist_object<upcxx::global_ptr<int>> inboxes(upcxx::new_array<int>(1000));
  upcxx::global_ptr<int> const mine = *inboxes;
  upcxx::global_ptr<int> const inbox = inboxes.fetch(right).wait();

  // [value]
  upcxx::future<> stored = upcxx::rput(42, inbox);
  stored.wait();
  int const read = upcxx::rget(inbox).wait();
  UPCXX_ASSERT_ALWAYS(read == 42);
  // [/value]

  // [array]
  std::vector<int> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), me);
  upcxx::rput(numbers.data(), inbox, numbers.size()).wait();
  upcxx::barrier();  // everybody's put is done

  std::vector<int> copy(1000);
  upcxx::rget(mine, copy.data(), copy.size()).wait();
  UPCXX_ASSERT_ALWAYS(copy[7] == (me + ranks - 1) % ranks + 7);
  // [/array]

  upcxx::barrier();
  // [overlap]
  upcxx::promise<> all;
  for (int i = 0; i < 1000; ++i) {
    upcxx::rput(i * i, inbox + i, upcxx::operation_cx::as_promise(all));
  }
  // ... compute something meanwhile ...
  all.finalize().wait();  // all thousand are done
  // [/overlap]

  upcxx::barrier();
  UPCXX_ASSERT_ALWAYS(mine.local()[30] == 900);
  upcxx::barrier();

  // [notify]
  static int messages = 0;
  upcxx::rput(numbers.data(), inbox, 100,
              upcxx::remote_cx::as_rpc([](int from) { messages += from + 1; }, me));
  while (messages == 0)
    upcxx::progress();  // the left neighbour's data are in place now
  // [/notify]
  UPCXX_ASSERT_ALWAYS(mine.local()[99] == (me + ranks - 1) % ranks + 99);

  upcxx::barrier();
  // [copy]
  upcxx::global_ptr<int> scratch = upcxx::new_array<int>(10);
  upcxx::copy(inbox, scratch, 10)
      .wait();  // any two places, here one of another rank and an own one
  // [/copy]
  UPCXX_ASSERT_ALWAYS(scratch.local()[3] == me + 3);
  upcxx::barrier();
  upcxx::delete_array(scratch);
  upcxx::delete_array(mine);
  upcxx::finalize();
}
