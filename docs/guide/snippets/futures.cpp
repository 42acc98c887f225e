// Snippets of the page on futures.
#include <string>
#include <tuple>

#include <upcxx/upcxx.hpp>

int square(int x) { return x * x; }

int main() {
  upcxx::init();
  int const right = (upcxx::rank_me() + 1) % upcxx::rank_n();

  // [then]
  upcxx::future<int> squared = upcxx::rpc(right, square, 7);
  upcxx::future<std::string> text =
      squared.then([](int value) { return std::to_string(value); });
  UPCXX_ASSERT_ALWAYS(text.wait() == "49");
  // [/then]

  // [chain]
  upcxx::future<int> fourth = upcxx::rpc(right, square, 3).then([right](int value) {
    return upcxx::rpc(right, square, value);  // a future: the chain waits for it
  });
  UPCXX_ASSERT_ALWAYS(fourth.wait() == 81);
  // [/chain]

  // [all]
  upcxx::future<int, double> both =
      upcxx::when_all(upcxx::rpc(right, square, 2), 0.5);
  UPCXX_ASSERT_ALWAYS(both.then([](int a, double b) { return a * b; }).wait() ==
                      2.0);
  // [/all]

  // [loop]
  static int sum = 0;
  upcxx::future<> done = upcxx::make_future();
  for (int i = 0; i < 100; ++i) {
    done = upcxx::when_all(
        done, upcxx::rpc(right, square, i).then([](int value) { sum += value; }));
  }
  done.wait();
  UPCXX_ASSERT_ALWAYS(sum == 328350);
  // [/loop]

  // [promise]
  upcxx::promise<int> answer;
  upcxx::future<int> later = answer.get_future();
  UPCXX_ASSERT_ALWAYS(!later.is_ready());
  answer.fulfill_result(42);
  UPCXX_ASSERT_ALWAYS(later.is_ready() && later.result() == 42);
  // [/promise]

  // [counting]
  upcxx::promise<> finished;
  for (int i = 0; i < 10; ++i) {
    finished.require_anonymous(1);  // one more thing to wait for
    upcxx::rpc(right, square, i).then([finished](int) {
      finished.fulfill_anonymous(1);
    });
  }
  finished.finalize().wait();  // no more will be added
  // [/counting]
  upcxx::barrier();
  upcxx::finalize();
}
