// A translation unit that asks for deferred notification by default (communication digest, 10.3).

#define UPCXX_DEFER_COMPLETION 1

#include "common.hpp"

using defer_completion_test = multirank::fixture;

TEST_F(defer_completion_test, plain_futures_are_not_ready_before_user_progress) {
  multirank::shared_array<int> cells(4);
  *cells.local() = me;
  upcxx::barrier();
  int source[2] = {1, 2};
  upcxx::future<> put = upcxx::rput(5, cells.at(right) + 1);
  upcxx::future<> bulk = upcxx::rput(source, cells.at(right) + 2, 2);
  upcxx::future<int> get = upcxx::rget(cells.at(right));
  upcxx::global_ptr<int> mine = upcxx::new_<int>(0);
  upcxx::future<> own = upcxx::rput(9, mine);
  EXPECT_FALSE(put.ready());
  EXPECT_FALSE(bulk.ready());
  EXPECT_FALSE(get.ready());
  EXPECT_FALSE(own.ready());
  upcxx::progress(upcxx::progress_level::internal);
  EXPECT_FALSE(put.ready());
  EXPECT_EQ(upcxx::when_all(put, bulk, get, own).wait(), right);
  EXPECT_EQ(*mine.local(), 9);
  upcxx::delete_(mine);
  upcxx::barrier();
  EXPECT_EQ(cells.local()[1] + cells.local()[2] + cells.local()[3], 8);
}

TEST_F(defer_completion_test, plain_promises_are_not_fulfilled_before_user_progress) {
  multirank::shared_array<int> cells(1);
  upcxx::promise<> p;
  upcxx::rput(5, cells.at(right), upcxx::operation_cx::as_promise(p));
  upcxx::future<> f = p.finalize();
  EXPECT_FALSE(f.ready());
  f.wait();
}

TEST_F(defer_completion_test, callbacks_run_inside_progress) {
  multirank::shared_array<int> cells(1);
  bool ran = false;
  bool inside = false;
  upcxx::future<> f = upcxx::rput(5, cells.at(right)).then([&] {
    ran = true;
    inside = upcxx::in_progress();
  });
  EXPECT_FALSE(ran);
  f.wait();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(inside);
}

TEST_F(defer_completion_test, eager_forms_stay_available) {
  multirank::shared_array<int> cells(1);
  upcxx::rput(5, cells.at(right), upcxx::operation_cx::as_eager_future()).wait();
  upcxx::promise<> p;
  upcxx::rput(6, cells.at(right), upcxx::operation_cx::as_eager_promise(p));
  p.finalize().wait();
  upcxx::barrier();
  EXPECT_EQ(*cells.local(), 6);
}
