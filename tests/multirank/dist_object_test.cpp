// dist_object: construction, identity, fetch, early arrivals, moving (parallel digest, chapter 5).

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "common.hpp"

namespace {

using upcxx::dist_id;
using upcxx::dist_object;

struct point {
  int x, y;
  point(int a, int b) : x(a), y(b) {}
  point(point const&) = delete;
  point(point&&) = default;
};

struct immovable {
  int value;
  explicit immovable(int v) : value(v) {}
  immovable(immovable const&) = delete;
};

int signals;

}  // namespace

// Objects move if their values do.
static_assert(std::is_move_constructible_v<dist_object<point>> &&
              std::is_move_assignable_v<dist_object<point>>);
static_assert(!std::is_move_constructible_v<dist_object<immovable>>);
static_assert(!std::is_move_assignable_v<dist_object<immovable>>);
static_assert(!std::is_copy_constructible_v<dist_object<int>> &&
              !std::is_copy_assignable_v<dist_object<int>>);

using dist_object_test = multirank::fixture;

TEST_F(dist_object_test, every_constructor_builds_the_local_value) {
  dist_object<int> by_value(10 + me);
  dist_object<int> by_value_and_team(20 + me, upcxx::world());
  dist_object<int> forwarded(upcxx::world(), 30 + me);
  dist_object<int> value_initialised(upcxx::world());
  dist_object<std::vector<int>> repeated(upcxx::world(), 5, 7);
  dist_object<point> two_arguments(upcxx::world(), me, 2);
  dist_object<immovable> in_place(upcxx::world(), me);
  dist_object<std::unique_ptr<int>> moved_in(std::make_unique<int>(me));
  dist_object<std::string> on_local_team(std::string("local"), upcxx::local_team());
  dist_object<std::map<int, int>> nothing(upcxx::local_team());
  EXPECT_EQ(*by_value, 10 + me);
  EXPECT_EQ(*by_value_and_team, 20 + me);
  EXPECT_EQ(*forwarded, 30 + me);
  EXPECT_EQ(*value_initialised, 0);
  EXPECT_EQ(*repeated, (std::vector<int>{7, 7, 7, 7, 7}));
  EXPECT_EQ(two_arguments->x, me);
  EXPECT_EQ(in_place->value, me);
  EXPECT_EQ(**moved_in, me);
  EXPECT_EQ(on_local_team->size(), 5u);
  EXPECT_TRUE(nothing->empty());
  upcxx::barrier();
}

TEST_F(dist_object_test, empty_braces_in_braces_are_an_empty_value) {
  dist_object<std::map<int, int>> map{{}};
  EXPECT_TRUE(map.is_active() && map->empty());
  dist_object<std::vector<int>> list{{}, upcxx::world()};
  EXPECT_TRUE(list.is_active() && list->empty());
  upcxx::barrier();
}

TEST_F(dist_object_test, ids_are_written_alike_on_all_ranks) {
  dist_object<int> a(1), b(2);
  auto const text = [](auto const& id) {
    std::ostringstream out;
    out << id;
    return out.str();
  };
  std::string const mine = text(a.id()) + text(b.id()) + text(upcxx::world().id());
  EXPECT_EQ(upcxx::experimental::broadcast_nontrivial(mine, 0).wait(), mine);
  EXPECT_NE(text(a.id()), text(b.id()));
  EXPECT_NE(text(upcxx::world().id()), text(upcxx::local_team().id()));
}

TEST_F(dist_object_test, access_through_a_const_object_is_not_const) {
  dist_object<std::string> const d(std::string("x"));
  static_assert(std::is_same_v<decltype(*d), std::string&>);
  static_assert(std::is_same_v<decltype(d.operator->()), std::string*>);
  *d += "y";
  d->append("z");
  EXPECT_EQ(*d, "xyz");
  EXPECT_EQ(&*d, d.operator->());
  static_assert(std::is_same_v<decltype(d.team()), upcxx::team const&>);
  upcxx::barrier();
}

TEST_F(dist_object_test, construction_does_not_wait_for_other_ranks) {
  signals = 0;
  upcxx::barrier();
  if (me == n - 1) {
    // The last rank constructs only after all others are through.
    multirank::spin_until([this] { return signals == n - 1; });
  }
  dist_object<int> d(me);
  if (me != n - 1) {
    upcxx::rpc_ff(n - 1, [] { ++signals; });
  }
  EXPECT_EQ(d.fetch(right).wait(), right);
  upcxx::barrier();
}

TEST_F(dist_object_test, team_is_the_one_of_construction) {
  dist_object<int> w(1);
  dist_object<int> l(1, upcxx::local_team());
  EXPECT_EQ(&w.team(), &upcxx::world());
  EXPECT_EQ(&l.team(), &upcxx::local_team());
  static_assert(std::is_same_v<decltype(w.team()), upcxx::team&>);
  upcxx::barrier();
}

TEST_F(dist_object_test, fetch_returns_the_value_of_every_rank_of_the_team) {
  dist_object<std::vector<std::string>> d({std::to_string(me), "of", std::to_string(n)});
  dist_object<int> l(upcxx::local_team(), 100 * upcxx::local_team().rank_me());
  dist_object<std::string const> c(std::to_string(me));
  for (int r = 0; r < n; ++r) {
    static_assert(std::is_same_v<decltype(d.fetch(r)), upcxx::future<std::vector<std::string>>>);
    EXPECT_EQ(d.fetch(r).wait(), (std::vector<std::string>{std::to_string(r), "of", std::to_string(n)}));
    EXPECT_EQ(c.fetch(r).wait(), std::to_string(r));
  }
  for (int r = 0; r < upcxx::local_team().rank_n(); ++r) {
    EXPECT_EQ(l.fetch(r).wait(), 100 * r);
  }
  upcxx::barrier();
}

TEST_F(dist_object_test, fetch_sees_the_value_of_the_moment) {
  dist_object<int> d(me);
  upcxx::barrier();
  *d = me + 50;
  upcxx::barrier();
  EXPECT_EQ(d.fetch(right).wait(), right + 50);
  upcxx::barrier();
}

TEST_F(dist_object_test, a_fetch_that_is_too_early_waits_for_the_construction) {
  signals = 0;
  upcxx::barrier();
  if (me == 0) {
    dist_object<std::string> d(std::string("from 0"));
    std::vector<upcxx::future<std::string>> early;
    for (int r = 1; r < n; ++r) {
      early.push_back(d.fetch(r));
      upcxx::rpc(r, [] { ++signals; }).wait();
    }
    for (auto const& f : early) {
      multirank::poll(5);
      EXPECT_FALSE(f.ready());
    }
    for (int r = 1; r < n; ++r) {
      upcxx::rpc_ff(r, [] { ++signals; });
    }
    for (int r = 1; r < n; ++r) {
      EXPECT_EQ(early[static_cast<std::size_t>(r - 1)].wait(), "from " + std::to_string(r));
    }
    upcxx::barrier();
  } else {
    multirank::spin_until([] { return signals == 2; });
    multirank::poll();
    dist_object<std::string> d("from " + std::to_string(me));
    upcxx::barrier();
  }
}

TEST_F(dist_object_test, a_call_with_several_ids_is_held_until_the_last_one_exists) {
  static int ran;
  signals = ran = 0;
  upcxx::barrier();
  auto body = [](dist_object<int>& a, int x, dist_object<std::string> const& b, upcxx::team& t,
                 dist_object<int>& c, std::string const& text, dist_object<int>& again) {
    ++ran;
    EXPECT_EQ(*a, 1000 + upcxx::rank_me());
    EXPECT_EQ(x, 7);
    EXPECT_EQ(*b, "b of " + std::to_string(upcxx::rank_me()));
    EXPECT_EQ(&t, &upcxx::world());
    EXPECT_EQ(*c, 3000 + upcxx::rank_me());
    EXPECT_EQ(text, std::string(100, 't'));
    EXPECT_EQ(&a, &again);
  };
  if (me != 0) {
    multirank::spin_until([] { return signals == 1; });
  }
  dist_object<int> a(1000 + me);
  if (me != 0) {
    multirank::poll();
    EXPECT_EQ(ran, 0);
  }
  dist_object<std::string> b("b of " + std::to_string(me));
  if (me != 0) {
    multirank::poll();
    EXPECT_EQ(ran, 0);
  }
  dist_object<int> c(3000 + me);
  EXPECT_EQ(ran, 0);  // nothing runs inside a constructor
  if (me == 0) {
    std::vector<upcxx::future<>> calls;
    for (int r = 1; r < n; ++r) {
      calls.push_back(upcxx::rpc(r, body, a, 7, b, upcxx::world(), c, std::string(100, 't'), a));
      upcxx::rpc_ff(r, body, a, 7, b, upcxx::world(), c, std::string(100, 't'), a);
      upcxx::rpc_ff(r, [] { ++signals; });
    }
    for (auto const& f : calls) {
      f.wait();
    }
  } else {
    multirank::spin_until([] { return ran == 2; });
  }
  upcxx::barrier();
}

TEST_F(dist_object_test, a_const_object_arrives_as_the_targets_mutable_instance) {
  dist_object<int> const d(me);
  upcxx::rpc(
      right, [](dist_object<int>& mine, int from) { *mine += 100 * (from + 1); }, d, me)
      .wait();
  upcxx::barrier();
  EXPECT_EQ(*d, me + 100 * (left + 1));
  int const seen = upcxx::rpc(
                       right, [](dist_object<int> const& c) { return *c; }, d)
                       .wait();
  EXPECT_EQ(seen, right + 100 * (me + 1));
  upcxx::barrier();
}

TEST_F(dist_object_test, ids_are_equal_on_all_ranks_unique_and_hashable) {
  std::vector<dist_object<int>> objects;
  std::unordered_set<dist_id<int>> hashed;
  std::vector<dist_id<int>> ids;
  objects.reserve(20);
  for (int i = 0; i < 20; ++i) {
    objects.emplace_back(i + 100 * me);
    ids.push_back(objects.back().id());
    hashed.insert(ids.back());
  }
  EXPECT_EQ(hashed.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 20; ++j) {
      auto const k = static_cast<std::size_t>(i);
      auto const l = static_cast<std::size_t>(j);
      EXPECT_EQ(ids[k] == ids[l], i == j);
      EXPECT_EQ((ids[k] < ids[l]) + (ids[l] < ids[k]), i == j ? 0 : 1);
    }
  }
  static_assert(std::is_trivially_copyable_v<dist_id<int>> && std::is_standard_layout_v<dist_id<int>>);
  static_assert(upcxx::is_trivially_serializable<dist_id<int>>::value);
  dist_id<int> const mine = objects[13].id();
  EXPECT_TRUE(upcxx::broadcast(mine, n - 1).wait() == mine);
  upcxx::barrier();
  // A plain id finds the same object elsewhere.
  EXPECT_EQ(upcxx::rpc(
                right, [](dist_id<int> id) { return *id.here(); }, mine)
                .wait(),
            13 + 100 * right);
  upcxx::barrier();
}

TEST_F(dist_object_test, here_and_when_here_find_the_local_object) {
  dist_object<int> d(me);
  EXPECT_EQ(&d.id().here(), &d);
  upcxx::future<dist_object<int>&> f = d.id().when_here();
  EXPECT_EQ(&f.wait(), &d);
  upcxx::barrier();
}

TEST_F(dist_object_test, when_here_becomes_ready_in_progress_after_the_construction) {
  static dist_object<int>* found;
  static bool asked;
  found = nullptr;
  asked = false;
  upcxx::barrier();
  if (me == 0) {
    dist_object<int> d(me);
    for (int r = 1; r < n; ++r) {
      upcxx::rpc_ff(
          r,
          [](dist_id<int> id) {
            id.when_here().then([](dist_object<int>& object) {
              EXPECT_TRUE(upcxx::in_progress());
              found = &object;
            });
            asked = true;
          },
          d.id());
    }
    upcxx::barrier();
  } else {
    multirank::spin_until([] { return asked; });
    multirank::poll();
    EXPECT_EQ(found, nullptr);
    dist_object<int> d(me);
    EXPECT_EQ(found, nullptr) << "callbacks ran inside the constructor";
    multirank::spin_until([] { return found != nullptr; });
    EXPECT_EQ(found, &d);
    upcxx::barrier();
  }
}

TEST_F(dist_object_test, moving_takes_the_identity_along) {
  dist_object<std::string> first("value of " + std::to_string(me));
  dist_id<std::string> const id = first.id();
  dist_object<std::string> second(std::move(first));
  EXPECT_TRUE(second.id() == id);
  EXPECT_EQ(&id.here(), &second);
  EXPECT_EQ(*second, "value of " + std::to_string(me));
  upcxx::barrier();
  EXPECT_EQ(second.fetch(right).wait(), "value of " + std::to_string(right));
  // In a container that reallocates.
  std::vector<dist_object<std::string>> moving;
  moving.push_back(std::move(second));
  for (int i = 0; i < 10; ++i) {
    moving.emplace_back(dist_object<std::string>(std::to_string(i)));
  }
  upcxx::barrier();
  EXPECT_EQ(&id.here(), &moving.front());
  EXPECT_EQ(upcxx::rpc(
                right, [](dist_object<std::string>& d) { return *d; }, moving.front())
                .wait(),
            "value of " + std::to_string(right));
  EXPECT_EQ(moving[7].fetch(left).wait(), "6");
  upcxx::barrier();
}

TEST_F(dist_object_test, hundreds_alive_and_thousands_in_sequence) {
  std::vector<std::unique_ptr<dist_object<int>>> alive;
  for (int i = 0; i < 300; ++i) {
    alive.push_back(std::make_unique<dist_object<int>>(i * 10 + me));
  }
  for (int i = 0; i < 2000; ++i) {
    dist_object<int> d(i);
    if (i % 100 == 0) {
      EXPECT_EQ(d.fetch(right).wait(), i);
      upcxx::barrier();
    }
  }
  for (int i = 0; i < 300; i += 37) {
    EXPECT_EQ(alive[static_cast<std::size_t>(i)]->fetch(right).wait(), i * 10 + right);
  }
  upcxx::barrier();
}

TEST_F(dist_object_test, a_distributed_map_works) {
  dist_object<std::unordered_map<std::string, int>> map(upcxx::world());
  auto owner = [](std::string const& key) { return static_cast<int>(std::hash<std::string>()(key)) & 0xFF; };
  upcxx::future<> all = upcxx::make_future();
  for (int i = 0; i < 200; ++i) {
    std::string const key = std::to_string(me) + "/" + std::to_string(i);
    all = upcxx::when_all(all, upcxx::rpc(
                                   owner(key) % n,
                                   [](dist_object<std::unordered_map<std::string, int>>& m,
                                      std::string const& k, int v) { (*m)[k] = v; },
                                   map, key, i));
  }
  all.wait();
  upcxx::barrier();
  for (int i = 0; i < 200; i += 7) {
    std::string const key = std::to_string(right) + "/" + std::to_string(i);
    EXPECT_EQ(upcxx::rpc(
                  owner(key) % n,
                  [](dist_object<std::unordered_map<std::string, int>>& m, std::string const& k) {
                    return m->at(k);
                  },
                  map, key)
                  .wait(),
              i);
  }
  std::size_t const total = upcxx::reduce_all(map->size(), upcxx::op_fast_add).wait();
  EXPECT_EQ(total, static_cast<std::size_t>(200 * n));
  upcxx::barrier();
}

TEST_F(dist_object_test, inactive_objects_are_activated_moved_into_and_refilled) {
  dist_object<std::string> d;
  EXPECT_FALSE(d.is_active());
  EXPECT_FALSE(d.has_value());
  EXPECT_EQ(d.emplace("made"), "made");
  EXPECT_TRUE(d.has_value());
  EXPECT_FALSE(d.is_active());
  d.activate();
  EXPECT_TRUE(d.is_active());
  EXPECT_EQ(d.fetch(right).wait(), "made");
  dist_object<std::string> other;
  dist_id<std::string> const id = d.id();
  other = std::move(d);
  EXPECT_TRUE(other.is_active());
  EXPECT_TRUE(other.id() == id);
  EXPECT_EQ(&id.here(), &other);
  upcxx::barrier();
  other.emplace("second " + std::to_string(me));
  upcxx::barrier();
  EXPECT_EQ(other.fetch(left).wait(), "second " + std::to_string(left));
  upcxx::barrier();
}

TEST_F(dist_object_test, what_was_moved_from_has_no_value) {
  upcxx::dist_object<int> first(me);
  upcxx::dist_object<int> second(std::move(first));
  EXPECT_FALSE(first.has_value());
  EXPECT_EQ(second.has_value() ? *second : -1, me);
  first = std::move(second);
  EXPECT_FALSE(second.has_value());
  EXPECT_EQ(second.is_active(), false);
  EXPECT_EQ(*first, me);
  upcxx::barrier();
}
