// Transfers that are not contiguous: the faces of a block with ghost cells, beside loops written for each of
// them, and lists of small pieces.

#include <algorithm>
#include <array>
#include <string>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "suites.hpp"

namespace atl::bench {
namespace {

using std::ptrdiff_t;

constexpr ptrdiff_t side = 128;       // cells of a block
constexpr ptrdiff_t line = side + 2;  // with a layer of ghost cells around
constexpr std::size_t volume = line * line * line;
constexpr ptrdiff_t cell = sizeof(double);
constexpr std::size_t face_bytes = side * side * sizeof(double);

/// A face in one direction: where the cells lie that leave, and where those that arrive.
struct face {
  char const* name;
  ptrdiff_t from;   ///< index of the first cell
  ptrdiff_t to;     ///< in the other block
  ptrdiff_t outer;  ///< cells from one row to the next
  ptrdiff_t inner;  ///< cells from one to the next in a row
};

constexpr ptrdiff_t at(ptrdiff_t z, ptrdiff_t y, ptrdiff_t x) { return (z * line + y) * line + x; }

constexpr std::array<face, 6> faces{{
    {"low z", at(1, 1, 1), at(side + 1, 1, 1), at(0, 1, 0), at(0, 0, 1)},
    {"high z", at(side, 1, 1), at(0, 1, 1), at(0, 1, 0), at(0, 0, 1)},
    {"low y", at(1, 1, 1), at(1, side + 1, 1), at(1, 0, 0), at(0, 0, 1)},
    {"high y", at(1, side, 1), at(1, 0, 1), at(1, 0, 0), at(0, 0, 1)},
    {"low x", at(1, 1, 1), at(1, 1, side + 1), at(1, 0, 0), at(0, 1, 0)},
    {"high x", at(1, 1, side), at(1, 1, 0), at(1, 0, 0), at(0, 1, 0)},
}};

/// What a program without the library's call would have: the strides are constants.
template <ptrdiff_t Outer, ptrdiff_t Inner>
void loop(double* to, double const* from) {
  for (ptrdiff_t j = 0; j < side; ++j) {
    for (ptrdiff_t i = 0; i < side; ++i) to[j * Outer + i * Inner] = from[j * Outer + i * Inner];
  }
}

void copy_face_by_hand(face const& f, double* to, double const* from) {
  if (f.outer == at(0, 1, 0)) {
    loop<at(0, 1, 0), at(0, 0, 1)>(to + f.to, from + f.from);
  } else if (f.inner == at(0, 0, 1)) {
    loop<at(1, 0, 0), at(0, 0, 1)>(to + f.to, from + f.from);
  } else {
    loop<at(1, 0, 0), at(0, 1, 0)>(to + f.to, from + f.from);
  }
  asm volatile("" : : : "memory");
}

void put_face(face const& f, double const* from, upcxx::global_ptr<double> to) {
  std::array<ptrdiff_t, 2> const strides{f.outer * cell, f.inner * cell};
  upcxx::rput_strided<2>(from + f.from, strides, to + f.to, strides, {{side, side}}).wait();
}

void get_face(face const& f, upcxx::global_ptr<double const> from, double* to) {
  std::array<ptrdiff_t, 2> const strides{f.outer * cell, f.inner * cell};
  upcxx::rget_strided<2>(from + f.from, strides, to + f.to, strides, {{side, side}}).wait();
}

void check_faces(double const* got, char const* what) {
  for (face const& f : faces) {
    for (ptrdiff_t j = 0; j < side; j += 9) {
      for (ptrdiff_t i = 0; i < side; i += 7) {
        auto const source = f.from + j * f.outer + i * f.inner;
        if (got[f.to + j * f.outer + i * f.inner] != static_cast<double>(source)) wrong_data(what);
      }
    }
  }
}

void run_faces(group& g) {
  auto const own = upcxx::new_array<double>(volume);
  auto const there = upcxx::broadcast(own, 1).wait();
  std::vector<double> block(volume);
  for (std::size_t i = 0; i < volume; ++i) block[i] = own.local()[i] = static_cast<double>(i);
  g.meet();
  if (g.first()) {
    std::vector<double> got(volume);
    for (face const& f : faces) {
      put_face(f, block.data(), there);
      get_face(f, own, got.data());
    }
    std::vector<double> put(volume);
    upcxx::rget(there, put.data(), volume).wait();
    check_faces(put.data(), "rput_strided of the faces of a block");
    check_faces(got.data(), "rget_strided of the faces of a block");
  }
  double* const target = address_if_local(there);
  row r{.suite = "strided", .key = "", .name = "", .show = "bandwidth", .limit = "loops"};
  // All six first, then each direction.
  struct group_of_faces {
    char const* key;
    char const* name;
    std::size_t first;
    std::size_t last;
  };
  for (auto const& [key, name, first, last] :
       {group_of_faces{"faces", "all six faces of 128^3 doubles", 0, 6},
        group_of_faces{"face.planes", "two faces of rows side by side", 0, 2},
        group_of_faces{"face.rows", "two faces of rows far apart", 2, 4},
        group_of_faces{"face.cells", "two faces of single cells", 4, 6}}) {
    auto const begin = faces.begin() + first;
    auto const end = faces.begin() + last;
    r.bytes = (last - first) * face_bytes;
    r.key = std::string("strided.put.") + key;
    r.name = std::string("rput_strided, ") + name;
    served_on(
        g, r, target,
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            std::for_each(begin, end, [&](face const& f) { put_face(f, block.data(), there); });
          }
        },
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            std::for_each(begin, end, [&](face const& f) { copy_face_by_hand(f, target, block.data()); });
          }
        });
    r.key = std::string("strided.get.") + key;
    r.name = std::string("rget_strided, ") + name;
    served_on(
        g, r, target,
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            std::for_each(begin, end, [&](face const& f) { get_face(f, there, block.data()); });
          }
        },
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            std::for_each(begin, end, [&](face const& f) { copy_face_by_hand(f, block.data(), target); });
          }
        });
  }
  g.meet();
  upcxx::delete_array(own);
}

void run_pieces(group& g) {
  constexpr std::size_t pieces = 4096;
  constexpr std::size_t spread = 5;  // words from one piece to the next
  auto const own = upcxx::new_array<double>(pieces * spread);
  auto const there = upcxx::broadcast(own, 1).wait();
  std::vector<double> block(pieces * spread);
  std::vector<std::pair<double const*, std::size_t>> from;
  std::vector<std::pair<upcxx::global_ptr<double>, std::size_t>> to;
  for (std::size_t i = 0; i < pieces; ++i) {
    std::size_t const other = i * 1031 % pieces;
    block[i * spread] = static_cast<double>(i);
    from.emplace_back(block.data() + i * spread, 1);
    to.emplace_back(there + static_cast<ptrdiff_t>(other * spread), 1);
  }
  auto const put = [&] { upcxx::rput_irregular(from.begin(), from.end(), to.begin(), to.end()).wait(); };
  g.meet();
  if (g.first()) {
    put();
    for (std::size_t i = 0; i < pieces; ++i) {
      if (upcxx::rget(to[i].first).wait() != block[i * spread]) wrong_data("rput_irregular of single words");
    }
  }
  row const r{.suite = "strided",
              .key = "irregular.put",
              .name = "rput_irregular, 4096 pieces of 8 bytes",
              .bytes = pieces * sizeof(double),
              .limit = "loops"};
  std::vector<double*> places;
  for (auto const& [piece, length] : to) places.push_back(address_if_local(piece));
  served_on(
      g, r, places.front(),
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) put();
      },
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          for (std::size_t k = 0; k < pieces; ++k) *places[k] = *from[k].first;
          asm volatile("" : : : "memory");
        }
      });
  g.meet();
  upcxx::delete_array(own);
}

}  // namespace

void run_strided(group& g, suite_options const&) {
  run_faces(g);
  run_pieces(g);
}

}  // namespace atl::bench
