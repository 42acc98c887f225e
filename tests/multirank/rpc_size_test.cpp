// rpc: payloads from one byte to 64 MiB, large static types, over-aligned types.

#include <array>
#include <memory>
#include <string>
#include <tuple>

#include "common.hpp"

namespace {

template <std::size_t Alignment>
struct alignas(Alignment) wide {
  std::array<std::uint8_t, Alignment> bytes;
  static wide make(int salt) {
    wide w;
    multirank::fill_pattern(w.bytes.data(), w.bytes.size(), upcxx::rank_me(), salt);
    return w;
  }
  bool right_from(int rank, int salt) const {
    return multirank::first_mismatch(bytes.data(), bytes.size(), rank, salt) == bytes.size();
  }
};

template <class T>
bool aligned(T const* p) {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0;
}

template <std::size_t Alignment>
void over_aligned_types_arrive_aligned(int target) {
  using type = wide<Alignment>;
  int const me = upcxx::rank_me();
  type const one = type::make(1);
  std::vector<type> many;
  for (int i = 0; i < 9; ++i) {
    many.push_back(type::make(i));
  }
  // Odd neighbours shift whatever is not padded properly.
  for (std::size_t shift = 0; shift < 9; ++shift) {
    std::string const odd(shift, 'o');
    int const wrong = upcxx::rpc(
                          target,
                          [](char, type const& t, std::string const& s, std::vector<type> const& v, bool,
                             upcxx::view<type> w, int from, std::size_t expected) {
                            int bad = 0;
                            bad += !aligned(&t) || !t.right_from(from, 1) ? 1 : 0;
                            bad += s.size() != expected ? 2 : 0;
                            bad += v.size() != 9 || w.size() != 9 ? 4 : 0;
                            bad += !aligned(v.data()) || !aligned(w.data()) ? 8 : 0;
                            for (int i = 0; i < 9; ++i) {
                              bad += !v[static_cast<std::size_t>(i)].right_from(from, i) ? 16 : 0;
                              bad += !w[static_cast<std::size_t>(i)].right_from(from, i) ? 1024 : 0;
                            }
                            return bad;
                          },
                          'c', one, odd, many, true, upcxx::make_view(many), me, shift)
                          .wait();
    EXPECT_EQ(wrong, 0) << "alignment " << Alignment << " shift " << shift;
  }
  upcxx::future<type> f = upcxx::rpc(
      target, [](type t) { return t; }, one);
  type const& back = f.wait_reference();
  EXPECT_TRUE(aligned(&back));
  EXPECT_TRUE(back.right_from(me, 1));
  EXPECT_TRUE(upcxx::rpc(
                  target,
                  [](std::tuple<char, type> const& t, int from) {
                    return aligned(&std::get<1>(t)) && std::get<1>(t).right_from(from, 1);
                  },
                  std::tuple<char, type>('x', one), me)
                  .wait());
}

struct large_static {
  std::array<std::uint8_t, 100000> bytes;
};

int pieces_received;
std::size_t received_bytes;
int mismatches;

}  // namespace

using rpc_size_test = multirank::fixture;

TEST_F(rpc_size_test, payloads_of_every_size_arrive_as_vector_and_as_view) {
  std::vector<std::uint8_t> source;
  for (std::size_t const size : multirank::interesting_sizes(1 << 20)) {
    source.resize(size);
    multirank::fill_pattern(source.data(), size, me, 3);
    auto check = [](auto const& v, int from, std::size_t expected) {
      return v.size() == expected && multirank::first_mismatch(v.data(), v.size(), from, 3) == expected;
    };
    EXPECT_TRUE(upcxx::rpc(
                    right,
                    [check](std::vector<std::uint8_t> const& v, int from, std::size_t s) {
                      return check(v, from, s);
                    },
                    source, me, size)
                    .wait())
        << "vector of " << size;
    EXPECT_TRUE(
        upcxx::rpc(
            right,
            [check](upcxx::view<std::uint8_t> v, int from, std::size_t s) { return check(v, from, s); },
            upcxx::make_view(source), me, size)
            .wait())
        << "view of " << size;
  }
}

TEST_F(rpc_size_test, payloads_larger_than_the_shared_heap_arrive) {
  // 64 MiB through heaps of 16 MiB, in both directions between two ranks.
  constexpr std::size_t size = 64 << 20;
  if (me < 2) {
    std::vector<std::uint64_t> source(size / 8);
    constexpr std::uint64_t step = 0x9E3779B97F4A7C15;
    multirank::fill_words(source.data(), source.size(), static_cast<std::uint64_t>(me), step);
    int const other = n == 1 ? 0 : 1 - me;
    auto check = [](std::uint64_t const* p, std::size_t count, int from) {
      return multirank::first_wrong_word(p, count, static_cast<std::uint64_t>(from), step);
    };
    EXPECT_EQ(upcxx::rpc(
                  other,
                  [check](upcxx::view<std::uint64_t> v, int from) { return check(v.data(), v.size(), from); },
                  upcxx::make_view(source), me)
                  .wait(),
              source.size());
    auto f = upcxx::rpc(
        other, [](std::vector<std::uint64_t>&& v) { return std::move(v); }, std::move(source));
    std::vector<std::uint64_t> const& back = f.wait_reference();
    EXPECT_EQ(back.size(), size / 8);
    EXPECT_EQ(check(back.data(), back.size(), me), back.size());
  }
}

TEST_F(rpc_size_test, large_objects_by_value_arrive) {
  auto object = std::make_unique<large_static>();
  multirank::fill_pattern(object->bytes.data(), object->bytes.size(), me, 9);
  EXPECT_EQ(upcxx::rpc(
                right,
                [](large_static const& o, int from) {
                  return multirank::first_mismatch(o.bytes.data(), o.bytes.size(), from, 9);
                },
                *object, me)
                .wait(),
            object->bytes.size());
}

TEST_F(rpc_size_test, types_aligned_to_16_bytes_arrive_aligned) {
  over_aligned_types_arrive_aligned<16>(right);
}
TEST_F(rpc_size_test, types_aligned_to_64_bytes_arrive_aligned) {
  over_aligned_types_arrive_aligned<64>(right);
}
TEST_F(rpc_size_test, types_aligned_to_256_bytes_arrive_aligned) {
  over_aligned_types_arrive_aligned<256>(right);
}

TEST_F(rpc_size_test, remote_completion_carries_large_arguments) {
  pieces_received = mismatches = 0;
  received_bytes = 0;
  multirank::shared_array<int> cell(1);
  std::vector<std::uint8_t> payload(300000);
  multirank::fill_pattern(payload.data(), payload.size(), me);
  for (int i = 0; i < 20; ++i) {
    upcxx::rput(i, cell.at(right),
                upcxx::remote_cx::as_rpc(
                    [](upcxx::view<std::uint8_t> v, int from) {
                      ++pieces_received;
                      received_bytes += v.size();
                      mismatches += multirank::first_mismatch(v.data(), v.size(), from) != v.size() ? 1 : 0;
                    },
                    upcxx::make_view(payload), me));
  }
  multirank::spin_until([] { return pieces_received == 20; });
  EXPECT_EQ(received_bytes, 20u * 300000);
  EXPECT_EQ(mismatches, 0);
}
