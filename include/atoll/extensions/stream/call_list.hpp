#pragma once

/// Calls of an object in streams, in their order, as one rank compares them with those of another.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <type_traits>
#include <utility>
#include <vector>

#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// What all ranks say alike.
struct stream_call {
  enum class operation : std::uint32_t { broadcast, gather_all, all_to_all, reduce_all, reduce_one };
  operation what;
  std::uint32_t element;      ///< bytes
  std::uint64_t count;        ///< of elements
  std::int32_t root;          ///< -1: none
  std::uint32_t destination;  ///< which of those that were bound, from 1 on; 0: none are
  // `other`: of the program's own, and so not told apart. The function is that of a reduction.
  enum class function : std::uint32_t { none, plus, least, greatest, other } by = function::none;
  enum class type : std::uint32_t { none, floating, signed_integer, unsigned_integer, other } of = type::none;

  friend bool operator==(stream_call const&, stream_call const&) = default;
};

template <class T>
inline constexpr stream_call::type type_of_elements =
    std::is_floating_point_v<T>                         ? stream_call::type::floating
    : !std::is_integral_v<T> || std::is_same_v<T, bool> ? stream_call::type::other
    : std::is_signed_v<T>                               ? stream_call::type::signed_integer
                                                        : stream_call::type::unsigned_integer;

/// "broadcast of 10 elements of 4 bytes from rank 0 to destination no. 1", "reduce_all by plus of 10 floating elements of 4 bytes", for
/// messages.
struct stream_call_text {
  char text[200];

  explicit stream_call_text(stream_call const& c) : text{} {
    constexpr char const* names[] = {"broadcast", "gather_all", "all_to_all", "reduce_all", "reduce_one"};
    constexpr char const* functions[] = {"", " by plus", " by least", " by greatest",
                                         " by another operation"};
    constexpr char const* types[] = {"", "floating ", "signed ", "unsigned ", "other "};
    char root[32] = "";
    char to[48] = "";
    if (c.root >= 0)
      std::snprintf(root, sizeof root,
                    c.what == stream_call::operation::reduce_one ? " to rank %d" : " from rank %d", c.root);
    if (c.destination != 0) std::snprintf(to, sizeof to, " to destination no. %u", c.destination);
    std::snprintf(text, sizeof text, "%s%s of %llu %selements of %u bytes%s%s",
                  names[static_cast<std::uint32_t>(c.what)], functions[static_cast<std::uint32_t>(c.by)],
                  static_cast<unsigned long long>(c.count), types[static_cast<std::uint32_t>(c.of)],
                  c.element, root, to);
  }
};

/// One call, or several one after the other, of which nothing is left but the first and a digest of all.
struct call_run {
  stream_call first;
  std::uint64_t count = 1;
  std::uint64_t digest;

  explicit call_run(stream_call const& one) : first(one), digest(digest_of(one)) {}
  call_run() : call_run(stream_call{}) {}

  friend bool operator==(call_run const&, call_run const&) = default;

  /// Those of the other follow. The digest is the same however the calls were put together.
  void join(call_run const& next) {
    digest = digest * power(next.count) + next.digest;
    count += next.count;
  }

 private:
  static std::uint64_t mix(std::uint64_t x) {  // Steele, Lea and Flood's splitmix64
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
  }
  static std::uint64_t digest_of(stream_call const& c) {
    std::uint64_t const head = static_cast<std::uint64_t>(c.what) << 32 | c.element;
    std::uint64_t const tail =
        static_cast<std::uint64_t>(c.destination) << 32 | static_cast<std::uint32_t>(c.root);
    std::uint64_t const kind = static_cast<std::uint64_t>(c.by) << 32 | static_cast<std::uint32_t>(c.of);
    return mix(mix(mix(mix(head) ^ c.count) ^ tail) ^ kind);
  }
  static std::uint64_t power(std::uint64_t n) {
    std::uint64_t result = 1;
    for (std::uint64_t base = 0xd1342543de82ef95U; n != 0; n /= 2, base *= base) {
      if (n % 2 != 0) result *= base;
    }
    return result;
  }
};

/// A rank's calls that have not been compared. Takes a bounded amount of memory, whatever the number of them.
class call_list {
 public:
  static constexpr std::size_t most = 1024;

  void add(call_run const& next) { runs_.size() < most ? runs_.push_back(next) : runs_.back().join(next); }
  [[nodiscard]] bool empty() const { return runs_.empty(); }
  [[nodiscard]] std::vector<call_run> take() {
    std::deque<call_run> const all = std::exchange(runs_, {});
    return {all.begin(), all.end()};
  }

  /// Takes from both what is equal. True if they differ: the first runs then do.
  static bool differ(call_list& a, call_list& b, std::uint64_t& compared) {
    while (!a.empty() && !b.empty()) {
      std::uint64_t const n = a.front().count;
      if (n == b.front().count) {
        if (a.front() != b.front()) return true;
        compared += n;
        a.runs_.pop_front();
        b.runs_.pop_front();
      } else if (!(n < b.front().count ? a : b).join_first()) {
        return false;  // more will come
      }
    }
    return false;
  }
  [[nodiscard]] call_run const& front() const { return runs_.front(); }

 private:
  bool join_first() {
    if (runs_.size() == 1) return false;
    call_run const first = runs_.front();
    runs_.pop_front();
    call_run both = first;
    both.join(runs_.front());
    runs_.front() = both;
    return true;
  }

  std::deque<call_run> runs_;
};

}  // namespace atl::inline UPCXX_MODE::detail
