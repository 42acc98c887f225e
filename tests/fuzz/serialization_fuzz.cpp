// Random values of many types are written into a buffer that starts anywhere, has any room and grows at any
// point, and read back in random ways. What arrives must be what was sent; bounds must hold; and a reader
// that is given less than was written must say so.
//
// Peers run the same program and are trusted, so bytes are never changed here: there is no defence against
// that. A message that ends too early is what mismatched serialize and deserialize functions lead to, and
// checked builds stop with words.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <upcxx/view.hpp>

#include "values.hpp"

namespace fuzz {
namespace {

using upcxx::deserialized_type_t;
using upcxx::detail::reader;
using upcxx::detail::writer;

/// A buffer that moves whenever it grows, by as little as allowed, and watches its end.
class moving_buffer {
 public:
  moving_buffer(choices& c, std::size_t room) : c_(c) { renew(room, 64); }
  ~moving_buffer() {
    check_end();
    std::free(whole_);
  }
  moving_buffer(moving_buffer const&) = delete;
  moving_buffer& operator=(moving_buffer const&) = delete;

  std::byte* data() const { return data_; }
  std::size_t room() const { return room_; }

  static std::byte* grow(void* self, std::byte* old, std::size_t used, std::size_t needed,
                         std::size_t alignment, std::size_t* capacity) {
    auto& b = *static_cast<moving_buffer*>(self);
    expect(old == b.data_, "grow: not the buffer in use");
    expect(used <= b.room_, "grow: more is used than there was room");
    b.check_end();
    std::byte* const before = b.whole_;
    b.renew(needed + b.c_.size(300), alignment);
    std::memcpy(b.data_, old, used);
    std::free(before);
    *capacity = b.room_;
    return b.data_;
  }

 private:
  static constexpr std::size_t guard = 64;

  /// Memory that is aligned to `alignment` and to no more, full of garbage.
  void renew(std::size_t room, std::size_t alignment) {
    std::size_t const total = (room + guard + 3 * alignment) / alignment * alignment;
    whole_ = static_cast<std::byte*>(
        std::aligned_alloc(2 * alignment, (total + 2 * alignment) / alignment / 2 * 2 * alignment));
    data_ = whole_ + alignment;
    room_ = room;
    std::memset(data_, 0xa5, room + guard);
  }
  void check_end() const {
    for (std::size_t i = 0; i < guard; ++i) {
      expect(data_[room_ + i] == std::byte{0xa5},
             "byte " + std::to_string(i) + " behind the buffer was overwritten");
    }
  }

  choices& c_;
  std::byte* whole_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t room_ = 0;
};

/// Something in a message: values of one type, written in some way.
struct item {
  virtual ~item() = default;
  virtual char const* type() const = 0;
  virtual std::size_t bound(std::size_t at) const = 0;
  virtual void write(writer& w) const = 0;
  /// Reads it in the way that `c` says, and compares.
  virtual bool read(reader& r, choices& c) const = 0;
};

template <class T>
struct single final : item {
  T value;
  explicit single(choices& c) : value(make<T>(c)) {}
  char const* type() const override { return __PRETTY_FUNCTION__; }
  std::size_t bound(std::size_t at) const override { return upcxx::detail::bound_after(at, value); }
  void write(writer& w) const override { w.write(value); }
  bool read(reader& r, choices& c) const override {
    using D = deserialized_type_t<T>;
    switch (c.below(3)) {
      case 0:
        return same(value, r.read<T>());
      case 1: {
        alignas(D) std::byte raw[sizeof(D)];
        std::memset(raw, 0xa5, sizeof raw);
        D* const d = r.read_into<T>(static_cast<void*>(raw));
        bool const good = same(value, *d);
        std::destroy_at(d);
        return good;
      }
      default: {
        std::optional<D> place;
        if (c.one_in(2)) {
          reader again = r;
          place.emplace(again.read<T>());
          r.read_overwrite<T>(*place);
        } else {
          r.read_into<T>(place);
        }
        return same(value, *place);
      }
    }
  }
};

/// Elements one after the other: `write_sequence` and several `write` are the same bytes.
template <class T>
struct sequence final : item {
  std::deque<T> values;
  int how;
  explicit sequence(choices& c) : values(make<std::deque<T>>(c)), how(static_cast<int>(c.below(4))) {}
  char const* type() const override { return __PRETTY_FUNCTION__; }
  std::size_t bound(std::size_t) const override { return upcxx::detail::npos; }
  void write(writer& w) const override {
    std::size_t n = values.size();
    if (how == 0) {
      for (T const& v : values) w.write(v);
    } else if (how == 1) {
      n = w.write_sequence(values.begin(), values.end());
    } else if (how == 2) {
      n = w.write_sequence(values.begin(), values.end(), values.size());
    } else {
      std::vector<T> const contiguous(values.begin(), values.end());
      n = w.write_sequence(contiguous.begin(), contiguous.end());
    }
    expect(n == values.size(), "write_sequence returned a wrong number");
  }
  bool read(reader& r, choices& c) const override {
    using D = deserialized_type_t<T>;
    bool good = true;
    if (c.one_in(2)) {
      for (T const& v : values) good = good && same(v, r.read<T>());
      return good;
    }
    // Not from a vector<D>: that would need D's default constructor.
    auto* const raw =
        static_cast<D*>(::operator new(sizeof(D) * values.size(), std::align_val_t(alignof(D))));
    D* const first = r.read_sequence_into<T>(static_cast<void*>(raw), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      good = good && same(values[i], first[i]);
      std::destroy_at(first + i);
    }
    ::operator delete(raw, std::align_val_t(alignof(D)));
    return good;
  }
};

/// A view of a container; elements are passed over, read once or twice.
template <class C>
struct viewed final : item {
  using T = typename C::value_type;
  C values;
  explicit viewed(choices& c) : values(make<C>(c)) {}
  char const* type() const override { return __PRETTY_FUNCTION__; }
  std::size_t bound(std::size_t at) const override {
    return upcxx::detail::bound_after(at, upcxx::make_view(values));
  }
  void write(writer& w) const override { w.write(upcxx::make_view(values)); }
  bool read(reader& r, choices& c) const override {
    using view = decltype(upcxx::make_view(values));
    upcxx::view<T> const v = r.read<view>();
    if (v.size() != values.size()) return false;
    auto it = v.begin();
    for (auto const& e : values) {
      std::uint64_t const how = c.below(4);
      if (how != 0 && !same(e, *it)) return false;
      if (how == 1 && !same(e, *it)) return false;
      if constexpr (!upcxx::is_trivially_serializable<T>::value) {
        if (how == 2) {
          std::optional<deserialized_type_t<T>> place;
          it.deserialize_into(place);
          if (!same(e, *place)) return false;
        }
      }
      ++it;
    }
    return it == v.end();
  }
};

using factory = std::unique_ptr<item> (*)(choices&);
template <class I>
std::unique_ptr<item> create(choices& c) {
  return std::make_unique<I>(c);
}

factory const factories[] = {
    create<single<bool>>,
    create<single<char>>,
    create<single<long double>>,
    create<single<nothing>>,
    create<single<aligned>>,
    create<single<declared>>,
    create<single<std::string>>,
    create<single<std::u32string>>,
    create<single<derived>>,
    create<single<closed>>,
    create<single<custom>>,
    create<single<sliced>>,
    create<single<number>>,
    create<single<by_modulus>>,
    create<single<tree<std::pair<char, int>>>>,
    create<single<std::vector<bool>>>,
    create<single<std::vector<derived>>>,
    create<single<std::list<std::pair<char const, number>>>>,
    create<single<std::tuple<char, std::string, aligned, nothing, std::vector<sliced>>>>,
    create<single<std::map<std::string, std::vector<number>>>>,
    create<single<std::multimap<short, closed>>>,
    create<single<std::unordered_map<std::string, std::set<int>>>>,
    create<single<std::unordered_multiset<unsigned>>>,
    create<single<std::array<tree<std::string>, 2>>>,
    create<single<std::deque<aligned>>>,
    create<sequence<char>>,
    create<sequence<std::tuple<int, char>>>,
    create<sequence<aligned>>,
    create<sequence<number>>,
    create<sequence<closed>>,
    create<viewed<std::vector<double>>>,
    create<viewed<std::list<aligned>>>,
    create<viewed<std::deque<declared>>>,
    create<viewed<std::vector<bool>>>,
    create<viewed<std::set<std::string>>>,
    create<viewed<std::vector<number>>>,
    create<viewed<std::map<int, custom>>>,
};

using message = std::vector<std::unique_ptr<item>>;

/// In a child, reads a message that has lost its end: the reader must stop with words.
[[maybe_unused]] void check_truncated(message const& items, std::byte const* base, std::size_t head,
                                      std::size_t kept, choices& c) {
  ::fflush(nullptr);
  pid_t const child = ::fork();
  if (child == 0) {
    int const silent = ::open("/dev/null", 1);
    ::dup2(silent, 2);
    std::signal(SIGABRT, SIG_DFL);
    reader r(base, head, kept);
    for (auto const& i : items) static_cast<void>(i->read(r, c));
    ::_exit(r.offset() <= kept ? 42 : 43);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  // 42: all that is missing is padding at the end.
  bool const stopped = WIFEXITED(status) ? WEXITSTATUS(status) != 43 : WTERMSIG(status) == SIGABRT;
  expect(stopped, "a message of which " + std::to_string(kept) + " bytes are left was read with status " +
                      std::to_string(status));
}

}  // namespace

void run_case(choices& c) {
  // What a transport puts before the message.
  std::size_t const head = c.below(65);
  moving_buffer buffer(c, head + c.size(400));
  message items;
  for (std::uint64_t n = c.between(1, 8); n != 0; --n) {
    items.push_back(factories[c.below(std::size(factories))](c));
  }
  writer w(buffer.data(), head, buffer.room(), &moving_buffer::grow, &buffer);
  for (auto const& i : items) {
    std::size_t const bound = i->bound(w.size());
    i->write(w);
    expect(w.size() <= bound, std::string("more bytes than the bound said: ") + i->type());
    expect(w.reserved() == 0, "a reservation was not committed");
  }
  expect(w.begin() == buffer.data() && w.capacity() == buffer.room(), "the writer lost its buffer");

  // To the receiver, in memory of exactly this size.
  std::size_t const alignment = w.max_alignment();
  auto const copy_out = [&](std::size_t bytes) {
    auto* const memory = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(alignment)));
    if (bytes > head) std::memcpy(memory + head, w.begin() + head, bytes - head);
    return memory;
  };
  std::byte* const arrived = copy_out(w.size());
  reader r(arrived, head, w.size());
  for (auto const& i : items) {
    expect(i->read(r, c), std::string("differs: ") + i->type());
  }
  expect(r.offset() <= w.size(), "read beyond the end");
  ::operator delete(arrived, std::align_val_t(alignment));

#if !defined(UPCXX_CODEMODE) && !defined(ATOLL_LIBFUZZER)
  if (w.size() > head && c.one_in(60)) {
    std::size_t const kept = head + c.below(w.size() - head);
    std::byte* const part = copy_out(kept);
    check_truncated(items, part, head, kept, c);
    ::operator delete(part, std::align_val_t(alignment));
  }
#endif
}

}  // namespace fuzz
