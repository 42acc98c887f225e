// Many pieces of memory, usually small ones and all of the same size.

#include <cstring>

#include <atoll/engine/pieces.hpp>

namespace atl::engine {
namespace {

/// The compiler turns this into a load and a store.
template <std::size_t Bytes>
void copy_one(piece const& p) {
  std::memcpy(p.dest, p.source, Bytes);
}

}  // namespace

void copy_pieces(piece const* pieces, std::size_t count) {
  for (piece const* p = pieces; p != pieces + count; ++p) {
    switch (p->bytes) {
      case 0:
        break;
      case 4:
        copy_one<4>(*p);
        break;
      case 8:
        copy_one<8>(*p);
        break;
      case 16:
        copy_one<16>(*p);
        break;
      case 24:
        copy_one<24>(*p);
        break;
      case 32:
        copy_one<32>(*p);
        break;
      default:
        std::memcpy(p->dest, p->source, p->bytes);
    }
  }
}

}  // namespace atl::engine
