// Puts that are announced ahead of their data have tags. A target that computes keeps those of its puts in use while others pass,
// more than there are tags.

#include <vector>

#include "../common.hpp"
#include "elsewhere.hpp"

namespace {

int called = 0;

class tags_test : public multirank::fixture {
 protected:
  static constexpr std::size_t bytes = 4096;

  void put(upcxx::global_ptr<char> to, upcxx::promise<>& done) const {
    upcxx::rput(data_.data(), to, bytes,
                upcxx::operation_cx::as_promise(done) | upcxx::remote_cx::as_rpc([] { ++called; }));
  }
  void put_and_wait(upcxx::global_ptr<char> to, int count) const {
    for (int begun = 0; begun < count;) {
      upcxx::promise<> some;
      for (int i = 0; i < 16 && begun < count; ++i, ++begun) put(to, some);
      some.finalize().wait();
    }
  }

  std::vector<char> data_ = std::vector<char>(bytes, 1);
};

TEST_F(tags_test, those_in_use_are_not_taken_again) {
  constexpr int few = 40;
  constexpr int most = 1 << 16;
  elsewhere outside;
  auto const mine = upcxx::new_array<char>(2 * bytes);
  upcxx::dist_object<upcxx::global_ptr<char>> const all(mine);
  auto const busy = all.fetch(1 % n).wait();
  auto const other = all.fetch(2 % n).wait();
  if (me == 0) {
    for (auto const to : {busy, other}) put_and_wait(to, few);  // with keys, from now on
  }
  while (me != 0 && called < few) upcxx::progress();
  called = 0;
  upcxx::barrier();
  upcxx::promise<> done;
  if (me == 0) {
    // Messages, so that no announcement leaves before they have been read.
    for (int i = 0; i < 100; ++i)
      upcxx::rput(data_.data(), busy + bytes, 1024, upcxx::operation_cx::as_promise(done));
    for (int i = 0; i < few; ++i) put(busy, done);
    put_and_wait(other, most - few);
    for (int i = 0; i < few; ++i) put(busy, done);
  }
  while (me == 2 && called < most - few) upcxx::progress();
  outside.meet();
  done.finalize().wait();
  while (me == 1 && called < 2 * few) upcxx::progress();
  upcxx::barrier();
  if (me == 1) {
    EXPECT_EQ(called, 2 * few);
  }
  upcxx::delete_array(mine);
}

}  // namespace
