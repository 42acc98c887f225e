// Large vectors and views that their target reads while they are written: at the end of a call's arguments, and as
// results. UPCXX_OVERSUBSCRIBED=0 in the environment, since ranks that share cores do without.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common.hpp"
#include "support/sanitized.hpp"

namespace {

struct triple {  // pieces end in its middle
  double a, b, c;
};
struct odd {
  unsigned char bytes[3];
};

template <class T>
T element(std::uint64_t i) {
  std::uint64_t const mixed = (i + 1) * 0x9e3779b97f4a7c15U;
  if constexpr (std::is_same_v<T, triple>) {
    return {static_cast<double>(i), static_cast<double>(mixed >> 20), static_cast<double>(mixed >> 40)};
  } else if constexpr (std::is_same_v<T, odd>) {
    return {{static_cast<unsigned char>(mixed >> 50), static_cast<unsigned char>(i),
             static_cast<unsigned char>(mixed >> 40)}};
  } else {
    return static_cast<T>(mixed >> 20);
  }
}

/// `count` elements of a sequence from the seed on. Computed once: under a sanitizer all else would wait for that.
template <class T>
T const* expected(std::uint64_t seed, std::size_t count) {
  static std::vector<T> all;
  for (std::uint64_t i = all.size(); i < seed + count; ++i) all.push_back(element<T>(i));
  return all.data() + seed;
}

template <class T>
std::vector<T> make(std::uint64_t seed, std::size_t count) {
  return {expected<T>(seed, count), expected<T>(seed, count) + count};
}

template <class Range>
bool right(Range const& range, std::uint64_t seed, std::size_t count) {
  using type = typename Range::value_type;
  return range.size() == count &&
         std::memcmp(&*range.begin(), expected<type>(seed, count), count * sizeof(type)) == 0;
}

/// Bytes around where elements begin to follow their message, around pieces, and beyond what travels in one buffer; under
/// sanitizers fewer of the latter.
std::vector<std::size_t> const lengths =
    atoll_test::sanitized
        ? std::vector<std::size_t>{16383, 16384, 16385, 32767, 32768, 65536 + 1, 300000, 1 << 20, 13 << 20}
        : std::vector<std::size_t>{16383,  16384,   16385,   32767,   32768,   65536 + 1,
                                   300000, 1 << 20, 3 << 20, 5 << 20, 7 << 20, 13 << 20};

int target_of(int me) { return (me + 1) % upcxx::rank_n(); }

template <class T>
void as_argument() {
  std::uint64_t seed = static_cast<std::uint64_t>(upcxx::rank_me()) * 1000;
  for (std::size_t const bytes : lengths) {
    std::size_t const count = bytes / sizeof(T) + 1;
    SCOPED_TRACE(std::to_string(count) + " elements of " + std::to_string(sizeof(T)) + " bytes");
    ++seed;
    std::vector<T> const v = make<T>(seed, count);
    for (int const target : {target_of(upcxx::rank_me()), upcxx::rank_me()}) {
      // Alone, behind others, and in front of another.
      EXPECT_TRUE(upcxx::rpc(
                      target,
                      [](std::vector<T> const& a, std::uint64_t s, std::size_t n) { return right(a, s, n); },
                      v, seed, count)
                      .wait());
      EXPECT_TRUE(upcxx::rpc(
                      target,
                      [](std::uint64_t s, std::string const& text, std::size_t n, std::vector<T>&& a) {
                        return text == "before" && right(a, s, n);
                      },
                      seed, std::string("before"), count, v)
                      .wait());
      EXPECT_TRUE(upcxx::rpc(
                      target,
                      [](std::uint64_t s, std::size_t n, std::vector<T> const& a, std::vector<T> const& b) {
                        return right(a, s, n) && right(b, s, n);
                      },
                      seed, count, v, v)
                      .wait());
      EXPECT_TRUE(upcxx::rpc(
                      target, [](std::uint64_t s, std::size_t n, upcxx::view<T> a) { return right(a, s, n); },
                      seed, count, upcxx::make_view(v))
                      .wait());
    }
  }
}

TEST(rpc_growing, as_an_argument) {
  as_argument<double>();
  upcxx::barrier();
}

TEST(rpc_growing, pieces_end_inside_elements) {
  as_argument<triple>();
  as_argument<odd>();
  upcxx::barrier();
}

TEST(rpc_growing, as_a_result) {
  std::uint64_t seed = static_cast<std::uint64_t>(upcxx::rank_me()) * 1000;
  for (std::size_t const bytes : lengths) {
    std::size_t const count = bytes / sizeof(triple) + 1;
    ++seed;
    for (int const target : {target_of(upcxx::rank_me()), upcxx::rank_me()}) {
      EXPECT_TRUE(
          right(upcxx::rpc(
                    target, [](std::uint64_t s, std::size_t n) { return make<triple>(s, n); }, seed, count)
                    .wait(),
                seed, count));
      // The argument itself, moved, and referred to.
      std::vector<triple> const v = make<triple>(seed, count);
      EXPECT_TRUE(right(upcxx::rpc(
                            target, [](std::vector<triple>&& a) { return std::move(a); }, v)
                            .wait(),
                        seed, count));
      EXPECT_TRUE(
          right(upcxx::rpc(
                    target, [](std::vector<triple> const& a) -> std::vector<triple> const& { return a; }, v)
                    .wait(),
                seed, count));
      // A future's value.
      EXPECT_TRUE(
          right(upcxx::rpc(
                    target, [](std::vector<triple>&& a) { return upcxx::make_future(std::move(a)); }, v)
                    .wait(),
                seed, count));
    }
  }
  upcxx::barrier();
}

int grown = 0;
int arrived = 0;
[[gnu::visibility("hidden")]] void look_at(atl::engine::message* m) {
  grown += m->growing ? 1 : 0;
  ++arrived;
  atl::engine::release(m);
}

TEST(rpc_growing, only_what_lasts_and_is_large_is_shown_early) {
  namespace engine = atl::engine;
  grown = arrived = 0;
  upcxx::barrier();
  auto const send = [](std::size_t count, bool lasts) {
    std::vector<double> const v = make<double>(1, count);
    upcxx::detail::outgoing_message out(target_of(upcxx::rank_me()), count * sizeof(double) + 256,
                                        engine::pressure::wait, engine::lane::control);
    out.write(32, lasts, v);
    out.commit(engine::message_kind::active, engine::token_cache<&look_at>::get());
  };
  send(100'000, true);
  send(100'000, false);
  send(100, true);
  while (arrived < 3) upcxx::progress();
  // The sender's memory must be in reach.
  int const sender = (upcxx::rank_me() + upcxx::rank_n() - 1) % upcxx::rank_n();
  EXPECT_EQ(grown, upcxx::local_team_contains(sender) ? 1 : 0);
  upcxx::barrier();
}

int right_ones = 0;
int wrong_ones = 0;

TEST(rpc_growing, many_at_once) {
  right_ones = wrong_ones = 0;
  upcxx::barrier();
  constexpr int calls = 40;
  for (int i = 0; i < calls; ++i) {
    for (int target = 0; target < upcxx::rank_n(); ++target) {
      std::size_t const count = lengths[static_cast<std::size_t>(i) % 8] / sizeof(double);
      std::uint64_t const seed = static_cast<std::uint64_t>(i) * 7 + static_cast<std::uint64_t>(target);
      std::vector<double> const v = make<double>(seed, count);
      upcxx::rpc_ff(
          target,
          [](std::uint64_t s, std::size_t n, std::vector<double> const& a) {
            ++(right(a, s, n) ? right_ones : wrong_ones);
          },
          seed, count, v);
      // What arrives meanwhile is taken into private memory.
      upcxx::progress(upcxx::progress_level::internal);
    }
  }
  while (right_ones + wrong_ones < calls * upcxx::rank_n()) upcxx::progress();
  EXPECT_EQ(wrong_ones, 0);
  upcxx::barrier();
}

TEST(rpc_growing, kept_until_its_object_is_there) {
  std::vector<double> const v = make<double>(3, 100000);
  // The first calls come before the target's object.
  upcxx::future<bool> early = upcxx::make_future(true);
  {
    upcxx::dist_object<int> mine(upcxx::rank_me());
    early = upcxx::rpc(
        target_of(upcxx::rank_me()),
        [](upcxx::dist_object<int>& here, std::vector<double> const& a) {
          return *here == upcxx::rank_me() && right(a, 3, 100000);
        },
        mine, v);
    EXPECT_TRUE(early.wait());
    upcxx::barrier();
  }
}

}  // namespace
