#include "movers/bulk_mover.hpp"

#include <array>
#include <atoll/neighbors.hpp>
#include <upcxx/upcxx.hpp>

#include "movers/packing.hpp"
#include "movers/runtime.hpp"

namespace hpgmg {
namespace {

using buffer = upcxx::global_ptr<double>;
/// Messages from one peer alternate between two buffers,
/// so that the next one may come before this one has been unpacked.
using buffer_pair = std::array<buffer, 2>;

struct outgoing {
  bundle what;
  int index = 0;  ///< among the neighbours
  std::vector<double> message;
  buffer_pair there;
};

struct incoming {
  bundle what;
  int index = 0;
  buffer_pair here;
};

class bulk_mover final : public mover {
 public:
  explicit bulk_mover(plan const& moves)
      : source_(moves.source),
        destination_(moves.destination),
        locals_(moves.locals),
        full_(peers_of(moves)),
        empty_(peers_of(moves)) {
    std::vector<std::pair<int, buffer_pair>> by_sender;
    bool all_there = true;
    for (bundle& b : bundles_of(moves.receives)) {
      incoming in{std::move(b), 0, {}};
      in.index = full_.index_of(in.what.peer);
      for (buffer& each : in.here) {
        each = upcxx::allocate<double>(static_cast<std::size_t>(in.what.doubles));
        all_there = all_there && !each.is_null();
      }
      by_sender.emplace_back(in.what.peer, in.here);
      incoming_.push_back(std::move(in));
    }
    // A rank without memory must not leave the others waiting for its pointers.
    if (!upcxx::reduce_all(all_there, upcxx::op_fast_bit_and).wait()) {
      free_buffers();
      throw failure{
          "the buffers of messages do not fit into the shared heaps; set UPCXX_SHARED_HEAP_SIZE to more, for example 1GB"};
    }
    upcxx::dist_object<std::vector<std::pair<int, buffer_pair>>> const published(std::move(by_sender));
    for (bundle& b : bundles_of(moves.sends)) {
      outgoing out{std::move(b), 0, {}, {}};
      out.index = full_.index_of(out.what.peer);
      out.message.resize(static_cast<std::size_t>(out.what.doubles));
      for (auto const& [sender, pair] : published.fetch(out.what.peer).wait()) {
        if (sender == upcxx::rank_me()) out.there = pair;
      }
      outgoing_.push_back(std::move(out));
    }
    upcxx::barrier();
  }
  ~bulk_mover() override {
    upcxx::barrier();
    free_buffers();
  }

  void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool /*disturbed*/,
           move_times& times) override {
    double const* const source = source_->local + source_offset;
    double* const destination = destination_->local + destination_offset;
    std::size_t const which = runs_ % 2;
    lap_timer lap;
    for (outgoing& out : outgoing_) {
      pack(out.what, source, out.message.data());
      lap.add_to(times.pack);
      if (runs_ >= 2) empty_.wait(out.index);
      lap.add_to(times.wait);
      upcxx::rput(out.message.data(), out.there[which], out.message.size()).wait();
      full_.signal(out.index);
      lap.add_to(times.send);
    }
    for (region const& r : locals_) copy_cells(destination + r.destination, source + r.source, r);
    lap.add_to(times.local);
    for (incoming const& in : incoming_) {
      full_.wait(in.index);
      lap.add_to(times.wait);
      unpack(in.what, in.here[which].local(), destination);
      empty_.signal(in.index);
      lap.add_to(times.unpack);
    }
    ++runs_;
  }

 private:
  void free_buffers() {
    for (incoming const& in : incoming_) {
      for (buffer const each : in.here) upcxx::deallocate(each);
    }
  }

  arena* source_;
  arena* destination_;
  std::vector<region> locals_;
  std::vector<outgoing> outgoing_;
  std::vector<incoming> incoming_;
  atl::neighbors full_;   ///< buffers at this rank hold a message
  atl::neighbors empty_;  ///< the peer has unpacked one
  std::size_t runs_ = 0;
};

}  // namespace

std::unique_ptr<mover> make_bulk_mover(plan const& moves) { return std::make_unique<bulk_mover>(moves); }

}  // namespace hpgmg
