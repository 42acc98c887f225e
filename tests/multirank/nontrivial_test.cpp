// Broadcasts and reductions of values that must be serialised (parallel digest, 8.8).

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "common.hpp"

namespace {

namespace experimental = upcxx::experimental;

/// Arrives as something else.
struct word {
  int length;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, word const& object) {
      w.write(std::string(static_cast<std::size_t>(object.length), 'x'));
    }
    template <class Reader, class Storage>
    static std::string* deserialize(Reader& r, Storage storage) {
      return storage.construct(r.template read<std::string>());
    }
  };
};

struct alignas(256) wide {
  int value = 0;
  std::string text;
  UPCXX_SERIALIZED_FIELDS(value, text)
};

/// Neither copyable nor trivially serialisable.
struct only_moves {
  std::unique_ptr<int> number;
  explicit only_moves(int n) : number(std::make_unique<int>(n)) {}
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, only_moves const& object) {
      w.write(*object.number);
    }
    template <class Reader, class Storage>
    static only_moves* deserialize(Reader& r, Storage storage) {
      return storage.construct(r.template read<int>());
    }
  };
};

/// Some values cannot be serialised.
struct reluctant {
  int value;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, reluctant const& object) {
      if (object.value < 0) throw std::runtime_error("a negative value");
      w.write(object.value);
    }
    template <class Reader, class Storage>
    static reluctant* deserialize(Reader& r, Storage storage) {
      return storage.construct(reluctant{r.template read<int>()});
    }
  };
};

using numbers = std::map<int, std::string>;

}  // namespace

using nontrivial_test = multirank::fixture;

TEST_F(nontrivial_test, containers_are_broadcast) {
  upcxx::team half = upcxx::world().split(me % 2, -me);
  for (upcxx::team const* t :
       {static_cast<upcxx::team const*>(&upcxx::world()), static_cast<upcxx::team const*>(&half)}) {
    for (int root = 0; root < t->rank_n(); ++root) {
      numbers mine;
      if (t->rank_me() == root) {
        for (int i = 0; i < 200; ++i)
          mine[i] = std::string(static_cast<std::size_t>(i), static_cast<char>('a' + root));
      }
      auto const got = experimental::broadcast_nontrivial(mine, root, *t);
      static_assert(std::is_same_v<decltype(got), upcxx::future<numbers> const>);
      numbers const result = got.wait();
      EXPECT_EQ(result.size(), 200u);
      EXPECT_EQ(result.at(199), std::string(199, static_cast<char>('a' + root)));
      EXPECT_EQ(experimental::broadcast_nontrivial(std::string("of one rank"), root, *t).wait(),
                "of one rank");
    }
  }
  half.destroy();
}

TEST_F(nontrivial_test, values_arrive_as_their_serialization_says) {
  upcxx::future<std::string> const got = experimental::broadcast_nontrivial(word{me + 5}, n - 1);
  EXPECT_EQ(got.wait(), std::string(static_cast<std::size_t>(n) + 4, 'x'));
  EXPECT_EQ(*experimental::broadcast_nontrivial(only_moves(me), n - 1).wait_reference().number, n - 1);
  wide mine;
  mine.value = me;
  mine.text.assign(3000, 'w');
  wide const w = experimental::broadcast_nontrivial(mine, 0).wait();
  EXPECT_EQ(w.value, 0);
  EXPECT_EQ(w.text, mine.text);
}

TEST_F(nontrivial_test, a_root_that_cannot_serialise_has_begun_nothing) {
  for (int root = 0; root < n; ++root) {
    if (me == root && n > 1) {
      EXPECT_THROW((void)experimental::broadcast_nontrivial(reluctant{-1}, root), std::runtime_error);
      upcxx::promise<reluctant> none;
      EXPECT_THROW(experimental::broadcast_nontrivial(reluctant{-1}, root, upcxx::world(),
                                                      upcxx::operation_cx::as_promise(none)),
                   std::runtime_error);
    }
    EXPECT_EQ(experimental::broadcast_nontrivial(reluctant{me}, root).wait().value, root);
  }
}

TEST_F(nontrivial_test, containers_are_reduced) {
  auto const merge = [](numbers a, numbers b) {
    a.merge(b);
    return a;
  };
  numbers expected;
  for (int r = 0; r < n; ++r) expected[r] = std::to_string(r);
  numbers const mine{{me, std::to_string(me)}};
  EXPECT_EQ(experimental::reduce_all_nontrivial(mine, merge).wait(), expected);
  for (int root = 0; root < n; ++root) {
    numbers const got = experimental::reduce_one_nontrivial(mine, merge, root).wait();
    if (me == root) {
      EXPECT_EQ(got, expected);
    }
  }
  auto const all =
      experimental::reduce_all_nontrivial(std::string(1, static_cast<char>('a' + me)), experimental::op_add)
          .wait();
  std::string sorted = all;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, std::string("abcdefghijklmnopqrstuvwxyz").substr(0, static_cast<std::size_t>(n)));
  EXPECT_EQ(experimental::broadcast_nontrivial(all, 0).wait(), all) << "one order for all ranks";
}

TEST_F(nontrivial_test, operations_take_any_type_that_has_the_operator) {
  EXPECT_EQ(upcxx::reduce_all(me, experimental::op_add).wait(), n * (n - 1) / 2);
  EXPECT_EQ(upcxx::reduce_all(2.0, experimental::op_mul).wait(), static_cast<double>(1 << n));
  EXPECT_EQ(upcxx::reduce_all(me, experimental::op_min).wait(), 0);
  EXPECT_EQ(upcxx::reduce_all(me, experimental::op_max).wait(), n - 1);
  EXPECT_EQ(upcxx::reduce_all(6u, experimental::op_bit_and).wait(), 6u);
  EXPECT_EQ(upcxx::reduce_all(1u << me, experimental::op_bit_or).wait(), (1u << n) - 1);
  EXPECT_EQ(upcxx::reduce_all(1u << me, experimental::op_bit_xor).wait(), (1u << n) - 1);
  EXPECT_EQ(experimental::reduce_all_nontrivial(std::to_string(me), experimental::op_max).wait(),
            std::to_string(n - 1));
}

TEST_F(nontrivial_test, many_are_in_flight_with_all_completions) {
  upcxx::promise<std::string> value;
  bool called = false;
  auto both = experimental::broadcast_nontrivial(
      std::string(static_cast<std::size_t>(me), 'r'), n - 1, upcxx::world(),
      upcxx::operation_cx::as_future() | upcxx::operation_cx::as_promise(value) |
          upcxx::operation_cx::as_lpc(upcxx::current_persona(), [&](std::string const& s) {
            called = static_cast<int>(s.size()) == upcxx::rank_n() - 1;
          }));
  upcxx::future<> done = upcxx::make_future();
  for (int i = 0; i < 50; ++i) {
    done = upcxx::when_all(
        done, experimental::reduce_all_nontrivial(std::string(static_cast<std::size_t>(i), 'a'),
                                                  experimental::op_max,
                                                  i % 2 == 0 ? upcxx::world() : upcxx::local_team())
                  .then([i](std::string const& s) { EXPECT_EQ(static_cast<int>(s.size()), i); }));
  }
  done.wait();
  EXPECT_EQ(both.wait().size(), static_cast<std::size_t>(n) - 1);
  EXPECT_EQ(value.finalize().wait().size(), static_cast<std::size_t>(n) - 1);
  multirank::spin_until([&] { return called; });
}
