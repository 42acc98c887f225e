#include <gtest/gtest.h>

#include <cstdint>
#include <forward_list>
#include <functional>
#include <memory>

#include "serialization_support.hpp"

namespace {

using test::message;
using upcxx::detail::reader;
using upcxx::detail::writer;

struct three_bytes {
  char c[3];
  friend bool operator==(three_bytes const&, three_bytes const&) = default;
};
struct alignas(256) wide {
  int v;
};
struct empty {};

TEST(writer, aligns_items_relative_to_the_start_of_the_buffer) {
  message m(5);
  m.w.write('a');
  EXPECT_EQ(m.w.size(), 6u);
  m.w.write(std::uint32_t(7));
  EXPECT_EQ(m.w.size(), 12u);
  m.w.write(1.5);
  EXPECT_EQ(m.w.size(), 24u);
  m.w.write(empty());
  EXPECT_EQ(m.w.size(), 24u) << "an empty class takes no bytes";
  reader r = m.reader(5);
  EXPECT_EQ(r.read<char>(), 'a');
  EXPECT_EQ(r.read<std::uint32_t>(), 7u);
  EXPECT_EQ(r.read<double>(), 1.5);
  r.read<empty>();
  EXPECT_EQ(r.offset(), m.w.size());
}

TEST(writer, grows_and_keeps_what_was_written) {
  message m(8);
  for (int i = 0; i < 10000; ++i) m.w.write(i);
  reader r = m.reader(8);
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(r.read<int>(), i);
}

TEST(writer, asks_for_alignment_beyond_the_usual) {
  message m;
  m.w.write('x');
  EXPECT_EQ(m.w.max_alignment(), 64u);
  m.w.write(wide{42});
  EXPECT_EQ(m.w.max_alignment(), 256u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.w.begin()) % 256, 0u);
  EXPECT_EQ(m.w.size(), 512u);
  reader r = m.reader();
  EXPECT_EQ(r.read<char>(), 'x');
  EXPECT_EQ(r.read<wide>().v, 42);
}

TEST(writer, sequence_equals_its_elements_one_by_one) {
  std::vector<three_bytes> const threes{{{1, 2, 3}}, {{4, 5, 6}}, {{7, 8, 9}}};
  std::vector<std::int64_t> const longs{1, 2, 3};
  std::vector<std::string> const strings{"a", "", "some longer string that is on the heap"};
  message a;
  EXPECT_EQ(a.w.write_sequence(threes.begin(), threes.end()), 3u);
  EXPECT_EQ(a.w.write_sequence(longs.begin(), longs.end(), 3), 3u);
  EXPECT_EQ(a.w.write_sequence(strings.begin(), strings.end()), 3u);
  message b;
  for (auto const& x : threes) b.w.write(x);
  for (auto const& x : longs) b.w.write(x);
  for (auto const& x : strings) b.w.write(x);
  EXPECT_EQ(a.w.size(), b.w.size());

  reader r = a.reader();
  for (auto const& x : threes) EXPECT_EQ(r.read<three_bytes>(), x);
  for (auto const& x : longs) EXPECT_EQ(r.read<std::int64_t>(), x);
  for (auto const& x : strings) EXPECT_EQ(r.read<std::string>(), x);

  reader s = b.reader();
  three_bytes t[3];
  EXPECT_EQ(s.read_sequence_into<three_bytes>(t, 3), t);
  EXPECT_EQ(t[2], threes[2]);
  std::int64_t l[3];
  s.read_sequence_into<std::int64_t>(l, 3);
  EXPECT_EQ(l[1], 2);
  std::string text[3];
  EXPECT_EQ(s.read_sequence_overwrite<std::string>(text, 3), text);
  EXPECT_EQ(text[2], strings[2]);
  EXPECT_EQ(s.offset(), b.w.size());
}

TEST(writer, writes_sequences_of_every_iterator_category) {
  int const raw[4] = {1, 2, 3, 4};
  std::list<int> const list(raw, raw + 4);
  std::forward_list<int> const forward(raw, raw + 4);
  std::deque<int> const deque(raw, raw + 4);
  std::vector<bool> const bits{true, false, true};
  std::map<int, double> const map{{1, 0.5}, {2, 1.5}};
  message m;
  EXPECT_EQ(m.w.write_sequence(raw, raw + 4), 4u);
  EXPECT_EQ(m.w.write_sequence(list.begin(), list.end()), 4u);
  EXPECT_EQ(m.w.write_sequence(list.begin(), list.end(), 4), 4u);
  EXPECT_EQ(m.w.write_sequence(forward.begin(), forward.end()), 4u);
  EXPECT_EQ(m.w.write_sequence(deque.rbegin(), deque.rend()), 4u);
  EXPECT_EQ(m.w.write_sequence(bits.begin(), bits.end()), 3u);
  EXPECT_EQ(m.w.write_sequence(map.begin(), map.end()), 2u);
  EXPECT_EQ(m.w.write_sequence(raw, raw), 0u);
  EXPECT_EQ(m.w.write_sequence(list.end(), list.end(), 0), 0u);

  reader r = m.reader();
  for (int part = 0; part < 4; ++part) {
    for (int i = 1; i <= 4; ++i) EXPECT_EQ(r.read<int>(), i);
  }
  for (int i = 4; i >= 1; --i) EXPECT_EQ(r.read<int>(), i);
  EXPECT_TRUE(r.read<bool>());
  EXPECT_FALSE(r.read<bool>());
  EXPECT_TRUE(r.read<bool>());
  EXPECT_EQ((r.read<std::pair<int const, double>>().second), 0.5);
  EXPECT_EQ((r.read<std::pair<int const, double>>().first), 2);
  EXPECT_EQ(r.offset(), m.w.size());
}

TEST(writer, sequences_of_empty_classes_take_nothing) {
  std::vector<empty> const many(1000);
  std::vector<test::counted> const none;
  message m;
  EXPECT_EQ(m.w.write_sequence(many.begin(), many.end()), 1000u);
  EXPECT_EQ(m.w.write_sequence(none.begin(), none.end()), 0u);
  EXPECT_EQ(m.w.size(), 0u);
}

TEST(writer, reserve_and_commit_before_inside_and_around_sequences) {
  std::list<std::string> const list{"one", "two", "three"};
  message m;
  auto outer = m.w.reserve<char>();
  auto count = m.w.reserve<std::size_t>();
  std::size_t const n = m.w.write_sequence(list.begin(), list.end());  // grows the buffer
  m.w.commit(std::move(count), n);
  auto after = m.w.reserve<wide>();  // moves the buffer to a better aligned place
  m.w.commit(after, wide{9});        // lvalue handle
  m.w.commit(outer, 'x');
  auto mixed = m.w.reserve<std::uint64_t>();
  m.w.commit(mixed, 5);  // converts
  EXPECT_EQ(m.w.reserved(), 0);

  reader r = m.reader();
  EXPECT_EQ(r.read<char>(), 'x');
  ASSERT_EQ(r.read<std::size_t>(), 3u);
  for (auto const& s : list) EXPECT_EQ(r.read<std::string>(), s);
  EXPECT_EQ(r.read<wide>().v, 9);
  EXPECT_EQ(r.read<std::uint64_t>(), 5u);
}

TEST(writer, arrays_of_any_rank) {
  int const numbers[2][3] = {{1, 2, 3}, {4, 5, 6}};
  std::string const words[2][2] = {{"a", "b"}, {"c", "d"}};
  message m;
  m.w.write(numbers);
  m.w.write(words);
  m.w.write("text");
  reader r = m.reader();
  int n[2][3] = {};
  int(*const pn)[2][3] = r.read_into<int[2][3]>(&n);
  EXPECT_EQ(pn, &n);
  EXPECT_EQ(n[1][2], 6);
  std::string w[2][2];
  std::string(*const pw)[2][2] = r.read_overwrite<std::string[2][2]>(w);
  EXPECT_EQ(pw, &w);
  EXPECT_EQ(w[1][0], "c");
  char text[5];
  r.read_into<char[5]>(text);
  EXPECT_STREQ(text, "text");
}

TEST(reader, arrays_of_asymmetric_elements) {
  test::as_double const values[2][2] = {{{1}, {2}}, {{3}, {4}}};
  message m;
  m.w.write(values);
  reader r = m.reader();
  double result[2][2];
  double(*const p)[2][2] = r.read_into<test::as_double[2][2]>(static_cast<void*>(result));
  EXPECT_EQ((*p)[1][1], 4.5);
}

TEST(reader, read_into_raw_memory_destroys_nothing) {
  message m;
  m.w.write(std::string("a string that does not fit into the object itself"));
  m.w.write(test::counted(3));
  reader r = m.reader();
  alignas(std::string) std::byte raw[sizeof(std::string)];
  std::string* const s = r.read_into<std::string>(raw);
  EXPECT_EQ(s->size(), 49u);
  std::destroy_at(s);
  {
    int const before = test::counted::alive;
    alignas(test::counted) std::byte place[sizeof(test::counted)];
    test::counted* const c = r.read_into<test::counted>(static_cast<void*>(place));
    EXPECT_EQ(test::counted::alive, before + 1);
    EXPECT_EQ(c->value, 3);
    std::destroy_at(c);
  }
}

TEST(reader, overwrite_destroys_first) {
  int const before = test::counted::alive;
  {
    message m;
    for (int i = 0; i < 6; ++i) m.w.write(test::counted(i));
    test::counted one;
    test::counted several[3];
    reader r = m.reader();
    EXPECT_EQ(r.read_overwrite<test::counted>(&one), &one);
    EXPECT_EQ(one.value, 0);
    EXPECT_EQ(r.read_overwrite<test::counted>(one)->value, 1);
    EXPECT_EQ(r.read_sequence_overwrite<test::counted>(several, 3), several);
    EXPECT_EQ(several[2].value, 4);
    EXPECT_EQ(r.read_overwrite<test::counted>(static_cast<void*>(&one))->value, 5);
    EXPECT_EQ(test::counted::alive, before + 4);
  }
  EXPECT_EQ(test::counted::alive, before);
}

TEST(reader, optionals_are_replaced_and_keep_ownership) {
  int const before = test::counted::alive;
  {
    message m;
    m.w.write(test::counted(1));
    m.w.write(test::counted(2));
    m.w.write(std::string("text"));
    m.w.write(test::immovable(7));
    m.w.write(test::as_double{2});
    m.w.write(5);
    reader r = m.reader();
    std::optional<test::counted> c;
    EXPECT_EQ(r.read_into<test::counted>(c), &*c);
    EXPECT_EQ(c->value, 1);
    EXPECT_EQ(r.read_overwrite<test::counted>(c)->value, 2);
    EXPECT_EQ(test::counted::alive, before + 1);
    std::optional<std::string> s = "before";
    EXPECT_EQ(*r.read_into<std::string>(s), "text");
    std::optional<test::immovable> i;
    EXPECT_EQ(r.read_into<test::immovable>(i)->value, 7);
    std::optional<double> d;
    EXPECT_EQ(*r.read_into<test::as_double>(d), 2.5);
    std::optional<int> n;
    EXPECT_EQ(*r.read_into<int>(n), 5);
  }
  EXPECT_EQ(test::counted::alive, before);
}

TEST(reader, reads_types_without_default_constructor) {
  struct no_default {
    explicit no_default(int x) : v(x) {}
    int v;
  };
  int captured = 3;
  auto const closure = [captured](int x) { return captured + x; };
  EXPECT_EQ(test::round_trip(no_default(4)).v, 4);
  EXPECT_EQ(test::round_trip(closure)(4), 7);
  EXPECT_EQ(test::round_trip([](int x) { return x + 1; })(1), 2);
  EXPECT_EQ(test::round_trip(std::reference_wrapper<int>(captured)), 3);
}

TEST(reader, immovable_objects_are_built_in_place) {
  message m;
  m.w.write(test::immovable(1));
  m.w.write(std::array<test::immovable, 2>{test::immovable(2), test::immovable(3)});
  reader r = m.reader();
  alignas(test::immovable) std::byte raw[sizeof(test::immovable) * 2];
  EXPECT_EQ(r.read_into<test::immovable>(raw)->value, 1);
  using pair_of = std::array<test::immovable, 2>;
  EXPECT_EQ((*r.read_into<pair_of>(raw))[1].value, 3);
}

TEST(reader, objects_larger_than_a_stack_frame) {
  struct huge {
    std::array<char, 32 << 20> bytes;
    std::string text;
    UPCXX_SERIALIZED_FIELDS(bytes, text)
  };
  auto const object = std::make_unique<huge>();
  object->bytes.back() = 'z';
  object->text = "end";
  message m;
  m.w.write(*object);
  reader r = m.reader();
  std::unique_ptr<huge> arrived(r.read_into<huge>(::operator new(sizeof(huge))));
  EXPECT_EQ(arrived->bytes.back(), 'z');
  EXPECT_EQ(arrived->text, "end");
  reader again = m.reader();
  upcxx::detail::skip<huge>(again);
  EXPECT_EQ(again.offset(), m.w.size());
}

#if !defined(UPCXX_CODEMODE) || !UPCXX_CODEMODE
TEST(reader_death, a_message_that_is_too_short_is_refused_with_words) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  message m;
  m.w.write(std::size_t(1) << 60);  // the count of a string that is not there
  EXPECT_DEATH((void)m.reader().read<std::string>(),
               "a message of 8 bytes cannot hold 1152921504606846976 more");
  EXPECT_DEATH((void)m.reader().read<std::vector<int>>(), "What is read must be what was written");
  EXPECT_DEATH(
      {
        reader r = m.reader();
        r.read<std::size_t>();
        r.read<char>();
      },
      "cannot hold 1 more item.s. of 1 bytes from byte 8");
}
#endif

}  // namespace
