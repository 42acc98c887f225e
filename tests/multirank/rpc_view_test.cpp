// Views: what arrives, from what it can be made, and how long it lives (communication digest, chapter 9).

#include <algorithm>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "common.hpp"

namespace {

using upcxx::make_view;
using upcxx::view;

/// Keeps a promise open at the target until the test says so.
upcxx::promise<>* gate;

/// Reads fewer items than were written: the next element must not be derailed.
struct lazy_reader {
  int id;
  std::vector<int> unread;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, lazy_reader const& x) {
      w.write(x.id);
    }
    template <class Reader>
    static lazy_reader* deserialize(Reader& r, void* storage) {
      return ::new (storage) lazy_reader{r.template read<int>(), {}};
    }
  };
};

template <class V>
int checked_sum(V const& v) {
  return std::accumulate(v.begin(), v.end(), 0);
}

}  // namespace

using rpc_view_test = multirank::fixture;

TEST_F(rpc_view_test, trivial_elements_arrive_as_random_access_constant_arrays) {
  std::vector<int> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), me);
  int const result =
      upcxx::rpc(
          right,
          [](view<int> v, int first) {
            static_assert(std::is_same_v<decltype(v.begin()), int const*>);
            static_assert(std::is_same_v<view<int>::iterator, int const*>);
            int wrong = v.size() != 1000 || v.empty() ? 1 : 0;
            wrong += v.front() != first || v.back() != first + 999 ? 1 : 0;
            wrong += v[10] != first + 10 || v.at(20) != first + 20 || v.data()[30] != first + 30 ? 1 : 0;
            wrong += *v.rbegin() != first + 999 || *(v.rend() - 1) != first ? 1 : 0;
            wrong += v.cend() - v.cbegin() != 1000 || v.crend() - v.crbegin() != 1000 ? 1 : 0;
            try {
              (void)v.at(1000);
              ++wrong;
            } catch (std::out_of_range const&) {
            }
            return wrong;
          },
          make_view(numbers), me)
          .wait();
  EXPECT_EQ(result, 0);
}

TEST_F(rpc_view_test, parameters_may_be_values_references_and_rvalues) {
  std::vector<int> const numbers{1, 2, 3};
  EXPECT_EQ(upcxx::rpc(
                right, [](view<int> v) { return checked_sum(v); }, make_view(numbers))
                .wait(),
            6);
  EXPECT_EQ(upcxx::rpc(
                right, [](view<int> const& v) { return checked_sum(v); }, make_view(numbers))
                .wait(),
            6);
  EXPECT_EQ(upcxx::rpc(
                right, [](view<int>&& v) { return checked_sum(v); }, make_view(numbers))
                .wait(),
            6);
  auto const lvalue = make_view(numbers);
  EXPECT_EQ(upcxx::rpc(
                right, [](view<int> v) { return checked_sum(v); }, lvalue)
                .wait(),
            6);
}

TEST_F(rpc_view_test, any_container_and_any_iterator_pair_can_be_viewed) {
  auto sum = [](view<int> v) { return checked_sum(v); };
  std::list<int> list{1, 2, 3, 4};
  std::set<int> set{9, 5, 7};
  std::deque<int> deque{10, 20};
  int array[] = {100, 200, 300};
  int const constant_array[] = {1000, 2000};
  std::vector<int> vector{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(upcxx::rpc(right, sum, make_view(list)).wait(), 10);
  EXPECT_EQ(upcxx::rpc(right, sum, make_view(set)).wait(), 21);
  EXPECT_EQ(upcxx::rpc(right, sum, make_view(deque)).wait(), 30);
  EXPECT_EQ(upcxx::rpc(right, sum, make_view(array, array + 3)).wait(), 600);
  EXPECT_EQ(upcxx::rpc(right, sum, make_view(constant_array, constant_array + 2)).wait(), 3000);
  EXPECT_EQ(upcxx::rpc(right, sum, make_view(list.begin(), list.end(), 4)).wait(), 10);
  EXPECT_EQ(upcxx::rpc(right, sum, make_view(std::next(list.begin()), std::prev(list.end()))).wait(), 5);
  EXPECT_EQ(upcxx::rpc(right, sum, make_view(vector.begin() + 2, vector.end() - 1)).wait(), 12);
  EXPECT_EQ(upcxx::rpc(right, sum, make_view(vector.rbegin(), vector.rend())).wait(), 21);
  static_assert(std::is_same_v<decltype(make_view(array, array + 3)), view<int, int*>>);
  static_assert(
      std::is_same_v<decltype(make_view(constant_array, constant_array + 2)), view<int, int const*>>);
  EXPECT_EQ(make_view(list).size(), 4u);
}

TEST_F(rpc_view_test, bits_of_a_vector_of_bool_arrive_as_bools) {
  std::vector<bool> bits{true, false, true, true};
  EXPECT_EQ(upcxx::rpc(
                right, [](view<bool> v) { return std::vector<bool>(v.begin(), v.end()); }, make_view(bits))
                .wait(),
            bits);
}

TEST_F(rpc_view_test, empty_views_arrive_empty) {
  std::vector<int> const none;
  std::list<std::string> const no_strings;
  EXPECT_EQ(upcxx::rpc(
                right,
                [](view<int> v, int between, view<std::string> s, view<int> w) {
                  return v.empty() && v.begin() == v.end() && between == 5 && s.size() == 0 &&
                         s.begin() == s.end() && w.size() == 0;
                },
                make_view(none), 5, make_view(no_strings), view<int>())
                .wait(),
            true);
}

TEST_F(rpc_view_test, non_trivial_elements_are_deserialised_on_demand) {
  std::vector<std::string> words{"alpha", "", std::string(1000, 'b'), "delta", "echo"};
  std::string const joined = upcxx::rpc(
                                 right,
                                 [](view<std::string> v) {
                                   std::string all;
                                   for (std::string const& s : v) {
                                     all += s + ",";
                                   }
                                   return all + std::to_string(v.size());
                                 },
                                 make_view(words))
                                 .wait();
  EXPECT_EQ(joined, "alpha,," + words[2] + ",delta,echo,5");
  // Through a constant reference, from an input that is not contiguous.
  std::list<std::string> list(words.begin(), words.end());
  EXPECT_EQ(upcxx::rpc(
                right,
                [](view<std::string> const& v) {
                  std::vector<std::string> out;
                  for (auto it = v.begin(); it != v.end(); ++it) {
                    out.push_back(*it);
                  }
                  return out;
                },
                make_view(list))
                .wait(),
            words);
}

TEST_F(rpc_view_test, iterators_reread_skip_copy_and_construct_in_place) {
  std::vector<std::string> words{"zero", "one", "two", "three", "four"};
  EXPECT_TRUE(upcxx::rpc(
                  right,
                  [](view<std::string> v) {
                    auto it = v.begin();
                    bool ok = *it == "zero" && *it == "zero";  // reading does not consume
                    ++it;
                    ++it;  // "one" was never read
                    ok = ok && *it == "two";
                    auto copy = it;
                    ok = ok && *it++ == "two";
                    ok = ok && *it == "three" && *copy == "two";
                    ++copy;
                    ok = ok && *copy == "three" && copy == it;
                    alignas(std::string) unsigned char storage[sizeof(std::string)];
                    ++it;
                    std::string* made = it.deserialize_into(static_cast<void*>(storage));
                    ok = ok && made == reinterpret_cast<std::string*>(storage) && *made == "four";
                    made->~basic_string();
                    ok = ok && ++it == v.end() && copy != v.end();
                    return ok;
                  },
                  make_view(words))
                  .wait());
}

TEST_F(rpc_view_test, elements_with_custom_serialisation_and_constant_keys_arrive) {
  std::vector<lazy_reader> items{{1, {1, 2}}, {2, {}}, {3, {3}}};
  EXPECT_EQ(upcxx::rpc(
                right,
                [](view<lazy_reader> v) {
                  int sum = 0;
                  for (lazy_reader const& x : v) {
                    sum = sum * 10 + x.id;
                  }
                  return sum;
                },
                make_view(items))
                .wait(),
            123);
  std::map<int, std::string> map{{1, "x"}, {2, "yy"}};
  EXPECT_EQ(upcxx::rpc(
                right,
                [](view<std::pair<int const, std::string>> v) {
                  std::map<int, std::string> out(v.begin(), v.end());
                  return out;
                },
                make_view(map))
                .wait(),
            map);
}

TEST_F(rpc_view_test, several_views_and_other_arguments_share_a_call) {
  std::vector<char> chars{'a', 'b', 'c'};
  std::vector<double> doubles{1.5, 2.5};
  std::list<std::string> words{"w", "v"};
  EXPECT_EQ(upcxx::rpc(
                right,
                [](char x, view<char> c, view<double> d, std::string s, view<std::string> w, int y) {
                  std::string out(1, x);
                  out.append(c.begin(), c.end());
                  out += std::to_string(static_cast<int>(10 * (d[0] + d[1]))) + s;
                  for (auto const& word : w) {
                    out += word;
                  }
                  return reinterpret_cast<std::uintptr_t>(d.data()) % alignof(double) == 0
                             ? out + std::to_string(y)
                             : "misaligned";
                },
                'X', make_view(chars), make_view(doubles), std::string("-"), make_view(words), 7)
                .wait(),
            "Xabc40-wv7");
}

TEST_F(rpc_view_test, the_buffer_lives_until_the_returned_future_is_ready) {
  upcxx::promise<> open;
  gate = &open;
  upcxx::barrier();
  std::vector<std::uint8_t> bytes(50000);
  multirank::fill_pattern(bytes.data(), bytes.size(), me);
  auto f = upcxx::rpc(
      right,
      [](view<std::uint8_t> v, int sender) {
        return gate->get_future().then([v, sender] {  // the view is copied, its memory is the runtime's
          return multirank::first_mismatch(v.data(), v.size(), sender);
        });
      },
      make_view(bytes), me);
  auto g = upcxx::rpc(
      right,
      [](view<std::string> v) {
        return gate->get_future().then([v] { return *v.begin() + std::to_string(v.size()); });
      },
      make_view(std::vector<std::string>{"first", "second"}));
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  // Other traffic reuses whatever was freed too early.
  for (int i = 0; i < 50; ++i) {
    std::vector<int> noise(20000, -1);
    upcxx::rpc(
        right, [](view<int> v) { return v.back(); }, make_view(noise))
        .wait();
  }
  EXPECT_FALSE(f.ready());
  upcxx::barrier();
  open.fulfill_anonymous(1);
  EXPECT_EQ(f.wait(), bytes.size());
  EXPECT_EQ(g.wait(), "first2");
  upcxx::barrier();
}

TEST_F(rpc_view_test, received_elements_may_be_modified_in_the_buffer) {
  std::vector<int> numbers{3, 1, 2};
  EXPECT_EQ(upcxx::rpc(
                right,
                [](view<int> v) {
                  int* data = const_cast<int*>(v.data());
                  std::sort(data, data + v.size());
                  return std::vector<int>(v.begin(), v.end());
                },
                make_view(numbers))
                .wait(),
            (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(numbers, (std::vector<int>{3, 1, 2}));
}

TEST_F(rpc_view_test, a_received_view_can_be_sent_on) {
  std::vector<int> numbers(3000, me);
  auto f = upcxx::rpc(
      right,
      [](view<int> v) {
        return upcxx::rpc((upcxx::rank_me() + 1) % upcxx::rank_n(),
                          [](view<int> w) { return checked_sum(w); }, v);
      },
      make_view(numbers));
  EXPECT_EQ(f.wait(), 3000 * me);
}

TEST_F(rpc_view_test, views_of_one_large_object_avoid_copies) {
  auto big = std::make_unique<std::map<int, std::string>>();
  for (int i = 0; i < 2000; ++i) {
    (*big)[i] = std::string(static_cast<std::size_t>(i % 50), 'm');
  }
  auto const size = upcxx::rpc(
                        right,
                        [](view<std::map<int, std::string>> v) {
                          void* storage = ::operator new(sizeof(std::map<int, std::string>));
                          auto* m = v.begin().deserialize_into(storage);
                          std::size_t const s = m->size() + m->at(1049).size();
                          std::destroy_at(m);
                          ::operator delete(storage);
                          return s;
                        },
                        make_view(big.get(), big.get() + 1))
                        .wait();
  EXPECT_EQ(size, 2049u);
}
