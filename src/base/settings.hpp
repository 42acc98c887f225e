#pragma once

/// The environment settings that Atoll knows, each written down once: read here, listed by `atoll info`.
///
/// Getters read the environment at every call (they serve start-up, not hot paths) and throw startup_error,
/// with the offending text and examples, when a value makes no sense.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atl::settings {

/// What values a setting takes.
enum class kind {
  heap_size,
  segment_size,
  size_or_percent,
  boolean,
  automatic_boolean,
  count,
  verbosity,  ///< a count, or yes or no
  choice,
  signal,
  networks,
  text
};

/// One known setting.
struct entry {
  char const* name;
  kind type;
  char const* standard;  ///< default, as one would write it
  char const* choices;   ///< for `choice`: the words, separated by '|'
  char const* help;      ///< one sentence
};

/// All settings, in the order in which people want to read them.
std::span<entry const> all() noexcept;

/// A value as text and where it came from: "default", or "environment".
struct current {
  std::string value;
  std::string origin;
  std::string problem;  ///< why the value cannot be used; empty when it can
};
current look_up(entry const& what);

/// A variable of the environment that is no setting, and the one whose name it almost has.
struct misspelt {
  std::string name;
  char const* meant;
};
std::vector<misspelt> all_misspelt();

/// Settings that ranks of a job have to have alike, for follow(). Launchers do not see to it: Open MPI's mpirun hands variables to ranks
/// of its own host, and to others those that it is told to.
std::string shared_by_job();
/// From here on these settings are those of the first rank, whatever the own environment says.
void follow(std::string_view first_rank);

/// A size in bytes or a share of the host's memory.
struct size_value {
  std::uint64_t bytes = 0;
  double percent = -1;  ///< 0..100 when the size is a share of the host's memory, else negative
};

/// Reads "128MB", "2g", "1.5 GiB", "4096B", "25%". K, M, G and T are powers of 1024. A bare number is in
/// units of `bare_unit` bytes; it is refused where that is 0, except 0: its unit would be a guess. Throws
/// startup_error; `name` is the setting named in the message.
size_value parse_size(std::string_view text, char const* name, std::uint64_t bare_unit = 0);

/// Size of a shared heap: like parse_size, and a bare number is in MiB.
size_value parse_heap_size(std::string_view text, char const* name);

/// yes/no in the usual spellings (1 0 y n yes no true false on off, any case). Throws startup_error.
bool parse_boolean(std::string_view text, char const* name);

/// "128 MiB", "1.5 GiB", "512 B".
std::string format_bytes(std::uint64_t bytes);

/// Bytes of one rank's shared heap (UPCXX_SHARED_HEAP_SIZE, else UPCXX_SEGMENT_MB, else 128 MiB), at most
/// GASNET_MAX_SEGSIZE. A percentage is a share of the host's memory, divided by the `local_ranks` processes
/// of the job on this host.
std::size_t shared_heap_size(int local_ranks);

/// UPCXX_OVERSUBSCRIBED; nothing when it is left to the library to find out.
std::optional<bool> oversubscribed();

/// ATOLL_LONGEST_SLEEP in nanoseconds; 0: ranks never sleep while they wait.
std::int64_t longest_sleep_ns();

/// UPCXX_VERBOSE: 0 (quiet), 1, 2, 3.
int verbosity();

/// ATOLL_TRANSIT_MEMORY in bytes, at least 64 KiB.
std::size_t transit_memory();

/// ATOLL_HUGE_PAGES: "auto", "no" or "pool".
std::string huge_pages();

/// ATOLL_MESSAGE_MEMORY in bytes; nothing when it is left to the library.
std::optional<std::size_t> message_memory();
/// ATOLL_PROGRESS_THREAD.
bool progress_thread();

/// ATOLL_BUNDLES_BY_HOST.
bool bundles_by_host();

/// ATOLL_DIRECT_FROM: bytes.
std::optional<std::size_t> direct_from();

/// ATOLL_DIRECT_RUN_FROM: bytes.
std::optional<std::size_t> direct_run_from();

/// ATOLL_NETWORK_ATOMICS; nothing when the library decides.
std::optional<bool> network_atomics();

/// ATOLL_NETWORK_DEVICE_MEMORY; nothing when the library decides.
std::optional<bool> network_device_memory();

/// ATOLL_FLAT_COLLECTIVES.
bool flat_collectives();

/// ATOLL_READ_PEERS.
bool read_peers();

/// ATOLL_SIM_DEVICES, ATOLL_SIM_KIND, ATOLL_SIM_MEMORY, ATOLL_SIM_ATOMICS and ATOLL_SIM_SEED.
struct simulated_devices {
  int count = 0;            ///< of each kind, in each process
  std::string kind;         ///< "cuda", "hip", "ze" or "all"
  std::uint64_t bytes = 0;  ///< largest segment
  bool atomics = true;      ///< of kernels reach other devices and the host
  std::uint64_t seed = 1;
};
simulated_devices sim_devices();

/// ATOLL_SIM_NETWORK, which the network itself reads, ATOLL_SIM_SEED and ATOLL_SIM_LOCKSTEP.
struct simulated_network {
  std::string options;
  std::uint64_t seed = 1;
  bool lockstep = false;
};
simulated_network sim_network();

/// ATOLL_CUDA_DRIVER, ATOLL_HIP_DRIVER or ATOLL_ZE_DRIVER: the library to open, or "none". `kind` is "cuda",
/// "hip" or "ze".
std::string gpu_driver(std::string_view kind);
/// ATOLL_TRANSPORTS: names of networks between hosts, or paths of their modules, in the order of choice; empty: the library
/// chooses.
std::vector<std::string> transports();
/// ATOLL_NET_DEVICES as it stands; empty: the network's library chooses.
std::string network_devices();
/// ATOLL_UCX_LIBRARY, ATOLL_OFI_LIBRARY: the file that a network (ucx, ofi) is to open instead of its usual library; may be
/// empty.
std::string network_library(std::string_view network);

/// ATOLL_STREAM_PATIENCE in seconds; 0: whoever waits for a stream waits for ever.
std::uint64_t stream_patience();

/// ATOLL_GPU_SHARING: whether peers may import device memory.
bool gpu_sharing();
/// ATOLL_GPU_DESCRIPTORS: whether new device memory is made so that a descriptor can stand for it.
bool gpu_descriptors();

/// ATOLL_SIM_HOSTS as it stands (bootstrap/host_layout.hpp reads it); empty: none are simulated.
std::string sim_hosts();

/// ATOLL_BOOTSTRAP: "auto", "solo", "local", "pmix" or "pmi".
std::string bootstrap();

/// ATOLL_HOST: empty, or a name that ranks of one host have in common.
std::string host();
/// ATOLL_HOST_TIMEOUT; 0: nobody watches over hosts.
std::uint32_t host_timeout_ms();

/// GASNET_PSHM_NODES: how many ranks a program that no launcher started becomes at init.
int ranks_without_launcher();

/// GASNET_BACKTRACE: print a backtrace on a crash where no launcher does.
bool backtrace();
/// GASNET_FREEZE and GASNET_FREEZE_ON_ERROR: wait for a debugger at init, and before ending on an error.
bool freeze();
bool freeze_on_error();
/// GASNET_BACKTRACE_SIGNAL and GASNET_FREEZE_SIGNAL: number of the signal, or 0.
int backtrace_signal();
int freeze_signal();

/// UPCXX_COLORIZE_DEBUG; nothing when the terminal decides.
std::optional<bool> colorize_debug();

/// ATOLL_LEAKS: "no", "summary" or "sites".
std::string leaks();

/// ATOLL_CRASH_REPORTS: whether ranks under a launcher catch fatal signals to report them.
bool crash_reports();

}  // namespace atl::settings
