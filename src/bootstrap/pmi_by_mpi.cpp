// The store of a process in which an MPI library of MPICH's family is active: the launcher's PMI is that library's then. What ranks have put
// goes to all of them in a barrier, by MPI_Allgatherv, so a card costs each rank its bytes; none can be fetched later, since MPI makes progress
// only in its own calls.

#include <cstring>
#include <map>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/mpi_in_process.hpp"
#include "bootstrap/pmi_store.hpp"

namespace atl::bootstrap::pmi {
namespace {

using mpi::mpich_byte;
using mpi::mpich_int;

template <class Function>
Function* need(char const* name) {
  auto* const found = mpi::find<Function>(name);
  if (found == nullptr) throw bootstrap_error(format("the MPI library of the process has no %s", name));
  return found;
}

void require(int code, char const* what) {
  if (code != 0) throw bootstrap_error(format("%s failed with %d", what, code));
}

class by_mpi final : public store {
 public:
  by_mpi() {
    // Of our own, so that nothing of the program's gets mixed up with ours.
    require(need<int(int, int*)>("MPI_Comm_dup")(mpi::mpich_comm_world, &world_), "MPI_Comm_dup");
    require(need<int(int, int*)>("MPI_Comm_rank")(world_, &rank_), "MPI_Comm_rank");
    require(need<int(int, int*)>("MPI_Comm_size")(world_, &size_), "MPI_Comm_size");
    longest_value_ = 4096;
  }

  std::string process_mapping() override { return ""; }
  void put(std::string const& key, std::string const& value) override { mine_ += key + "=" + value + ";"; }

  void barrier() override {
    if (mpi::where_it_is() != mpi::state::active)
      throw bootstrap_error(
          "the ranks know each other by MPI, which has been finalised: call upcxx::finalize() for the last time before MPI_Finalize()");
    auto* const gather = need<int(void const*, int, int, void*, int, int, int)>("MPI_Allgather");
    auto* const gather_all =
        need<int(void const*, int, int, void*, int const*, int const*, int, int)>("MPI_Allgatherv");
    auto const ranks = static_cast<std::size_t>(size_);
    int const bytes = static_cast<int>(mine_.size());
    std::vector<int> counts(ranks);
    require(gather(&bytes, 1, mpich_int, counts.data(), 1, mpich_int, world_), "MPI_Allgather");
    std::vector<int> begins(ranks);
    std::size_t sum = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      begins[r] = static_cast<int>(sum);
      sum += static_cast<std::size_t>(counts[r]);
    }
    if (sum > INT32_MAX)
      throw bootstrap_error(
          format("ranks leave %zu bytes for each other, more than MPI can gather at once", sum));
    std::string all(sum, '\0');
    require(gather_all(mine_.data(), bytes, mpich_byte, all.data(), counts.data(), begins.data(), mpich_byte,
                       world_),
            "MPI_Allgatherv");
    mine_.clear();
    for (std::size_t at = 0; at < all.size();) {
      std::size_t const equals = all.find('=', at);
      std::size_t const end = all.find(';', at);
      if (equals == std::string::npos || end == std::string::npos || equals > end)
        throw bootstrap_error("MPI_Allgatherv has brought what no rank has left");
      kept_.emplace(all.substr(at, equals - at), all.substr(equals + 1, end - equals - 1));
      at = end + 1;
    }
  }

  std::optional<std::string> get(std::string const& key) override {
    auto const found = kept_.find(key);
    return found != kept_.end() ? std::optional(found->second) : std::nullopt;
  }

  void abort(int status) noexcept override {
    auto* const end = mpi::find<int(int, int)>("MPI_Abort");
    if (end != nullptr && mpi::where_it_is() == mpi::state::active) end(mpi::mpich_comm_world, status);
  }
  /// MPI_Finalize is the program's.
  void finalize() noexcept override {}

 private:
  int world_ = 0;
  std::string mine_;
  std::map<std::string, std::string> kept_;
};

}  // namespace

std::unique_ptr<store> connect_by_mpi() { return std::make_unique<by_mpi>(); }

}  // namespace atl::bootstrap::pmi
