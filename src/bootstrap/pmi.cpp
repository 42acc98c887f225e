#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "bootstrap/board.hpp"
#include "bootstrap/factories.hpp"
#include "bootstrap/host_hub.hpp"
#include "bootstrap/hydra_input.hpp"
#include "bootstrap/launched_channel.hpp"
#include "bootstrap/mpi_in_process.hpp"
#include "bootstrap/pmi_store.hpp"
#include "bootstrap/pmi_wire.hpp"

// Ranks of a launcher that speaks PMI: Hydra (MPICH's and Intel's mpiexec), srun --mpi=pmi2, flux run -o pmi=simple.
//
// PMI has puts, a barrier of the whole job, and gets, which find what was put before the barrier. So hosts, which make different numbers of exchanges,
// make them over sockets of their own (host_hub.hpp). The job meets at the start, for eight bytes of each rank and the invitations of hosts'
// first ranks, and whenever all publish a card. A card is got from the launcher when it is asked for.

namespace atl::bootstrap {
namespace {

/// A number that is all of a variable's value and not negative, else -1.
std::int32_t number_in(char const* variable) {
  char const* const text = std::getenv(variable);
  if (text == nullptr) return -1;
  std::int32_t value = -1;
  char const* const end = text + std::strlen(text);
  auto const read = std::from_chars(text, end, value);
  return read.ec == std::errc{} && read.ptr == end ? value : -1;
}

bool is_socket(int descriptor) {
  struct stat info {};
  return descriptor >= 0 && ::fstat(descriptor, &info) == 0 && S_ISSOCK(info.st_mode);
}

std::unique_ptr<pmi::store> connect() {
  std::int32_t const descriptor = number_in("PMI_FD");
  std::int32_t const rank = number_in("PMI_RANK");
  std::int32_t const size = number_in("PMI_SIZE");
  if (size < 1 || rank < 0 || rank >= size) {
    throw bootstrap_error(format("PMI_RANK=%s and PMI_SIZE=%s make no sense", std::getenv("PMI_RANK"),
                                 std::getenv("PMI_SIZE")));
  }
  // An active MPI of this launcher's has said hello already and asks for itself; what has other ranks is none of this launcher's.
  if (mpi::where_it_is() == mpi::state::active && mpi::is_of_mpich() && mpi::world_size() == size)
    return pmi::connect_by_mpi();
  // Programs that a rank starts are no ranks, and would disturb it.
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  char const* const job = std::getenv("PMI_JOBID");
  // Hydra may use srun to start its own processes, but serves ranks itself.
  bool const of_slurm =
      job != nullptr && std::getenv("SLURM_PROCID") != nullptr && std::getenv("MPI_LOCALNRANKS") == nullptr;
  if (!of_slurm) return pmi::connect_version_1(descriptor, rank, size);
  if (rank == 0 && mpi::where_it_is() == mpi::state::before && mpi::is_of_mpich()) {
    warn(
        "pmi",
        "Slurm's PMI serves one client in each task, and that is this library now: if the program uses the MPI library that is in it, "
        "let it call MPI_Init() before upcxx::init()");
  }
  return pmi::connect_version_2(descriptor, rank, job);
}

class pmi_channel final : public launched_channel {
 public:
  explicit pmi_channel(std::unique_ptr<pmi::store> store) : store_(std::move(store)) { watch_exit(); }

  std::string_view name() const override { return "pmi"; }
  std::vector<std::string> exchange(std::string_view mine) override { return hub_.exchange(mine); }

  /// Waits for all, as launchers promise nothing before a barrier.
  void publish(std::string_view card) override {
    if (card.size() > blob_limit)
      throw bootstrap_error(format("a card of %zu bytes; the limit is %zu", card.size(), blob_limit));
    ++cards_;
    leave("card", card);
    store_->barrier();
  }
  std::string published_by(std::int32_t rank) override { return find("card", rank); }

 private:
  void join() override {
    std::int32_t const rank = store_->rank();
    std::int32_t const size = store_->size();
    auto const nodes = pmi::read_process_mapping(store_->process_mapping(), size);
    std::vector<std::int32_t> of_node;
    for (std::int32_t r = 0; !nodes.empty() && r < size; ++r) {
      if (nodes[static_cast<std::size_t>(r)] == nodes[static_cast<std::size_t>(rank)]) of_node.push_back(r);
    }
    find_places(rank, size, own_host_identity(of_node.empty() ? -1 : of_node.front()), of_node, "PMI_RANK");
    meet_host();
  }

  void meet_host() {
    bool const alone = where().local_size == 1;
    if (!alone && where().local_rank == 0) leave("hub", (hub_ = host_hub::open(one_network())).invitation());
    store_->barrier();
    if (alone) return;
    if (where().local_rank == 0) {
      hub_.await(static_cast<std::uint32_t>(where().local_size));
    } else {
      hub_ = host_hub::join(find("hub", where().ranks_of_host().world_rank(0)),
                            static_cast<std::uint32_t>(where().local_rank));
    }
  }

  /// Name of a part of what a rank leaves. A key may be put once only.
  [[nodiscard]] std::string key_of(char const* what, std::int32_t rank, std::size_t part) const {
    return format("atoll-%s-%u-%d-%zu", what, cards_, static_cast<int>(rank), part);
  }
  /// Values are short texts: in parts, each after a letter that tells whether it is the last.
  void leave(char const* what, std::string_view bytes) override {
    std::string const text = pmi::to_letters(bytes);
    std::size_t const longest = store_->longest_value() - 1;
    for (std::size_t part = 0, at = 0; part == 0 || at < text.size(); ++part, at += longest) {
      bool const last = at + longest >= text.size();
      store_->put(key_of(what, store_->rank(), part), (last ? "." : "+") + text.substr(at, longest));
    }
  }
  void meet_job() override { store_->barrier(); }
  std::string find(char const* what, std::int32_t rank) override {
    std::string text;
    for (std::size_t part = 0; text.size() < 4 * blob_limit; ++part) {
      auto const value = store_->get(key_of(what, rank, part));
      if (!value || value->empty()) break;
      text.append(*value, 1);
      if (value->front() == '.') return pmi::from_letters(text);
    }
    throw bootstrap_error(format("the launcher's PMI service has not kept what rank %d left there (%s)",
                                 static_cast<int>(rank), what));
  }

  void end_job(int status) noexcept override { store_->abort(status); }
  void leave_launcher() noexcept override {
    // An MPI that was initialised after us ends, or has ended, what is one connection.
    mpi::state const state = mpi::where_it_is();
    if (state == mpi::state::absent || state == mpi::state::before || !mpi::is_of_mpich()) store_->finalize();
  }

  std::unique_ptr<pmi::store> store_;
  host_hub hub_;
  unsigned cards_ = 0;  ///< published
};

}  // namespace

bool started_by_pmi(std::string& reason) noexcept {
  char const* const text = std::getenv("PMI_FD");
  if (std::getenv("PMI_RANK") == nullptr || std::getenv("PMI_SIZE") == nullptr) {
    reason = "not started by a PMI launcher";
    return false;
  }
  if (text == nullptr) {
    reason =
        std::getenv("PMI_PORT") != nullptr
            ? "the launcher offers a port (PMI_PORT) instead of a descriptor: leave out -pmi-port"
            : "the launcher offers no descriptor (PMI_FD): it has a PMI library of its own, or another version";
    return false;
  }
  if (!is_socket(number_in("PMI_FD"))) {
    reason = format(
        "PMI_FD=%s is not open here: this is a program that a rank has started, or a wrapper has closed it",
        text);
    return false;
  }
  reason = format("started by a PMI launcher (PMI_FD=%s)", text);
  return true;
}

std::unique_ptr<channel> make_pmi() {
  std::string reason;
  if (!started_by_pmi(reason)) throw startup_error("ATOLL_BOOTSTRAP=pmi, but: " + reason);
  end_input_that_hydra_keeps_open();
  try {
    return std::make_unique<pmi_channel>(connect());
  } catch (startup_error const& error) {
    throw startup_error(format(
        "started by a PMI launcher (PMI_RANK=%s), but %s. ATOLL_BOOTSTRAP=solo runs each process as a job of its own",
        std::getenv("PMI_RANK"), error.what()));
  }
}

}  // namespace atl::bootstrap
