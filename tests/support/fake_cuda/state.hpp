#pragma once

/// The fake driver's state in a process. A device's memory is in memory objects of the kernel, at addresses
/// that the host cannot touch; copies reach it through second mappings. Everything is under one lock. A
/// thread plays the devices, so that what is on streams happens without the program's help.
///
/// FAKE_CUDA in the environment says what there is and what fails; words with commas between them:
///   devices=N          devices of the host (default 2); CUDA_VISIBLE_DEVICES chooses among them
///   memory=BYTES       of each device, for each process (default 256 MiB)
///   lockable=BYTES     of host memory that may be registered (default: any number)
///   seed=N             which stream goes on when several could
///   reachable          the host can touch devices' memory
///   host_atomics       devices' atomic operations are that for processors, too
///   reductions         streams add to words by themselves, as from CUDA 13.1 on
///   unordered          devices see what other hardware writes only after cuFlushGPUDirectRDMAWrites
///   fail_copy=N        the N-th copy of the process fails on the device, from 1
///   refuse=WHAT        peer: devices do not reach each other's memory. ipc: cuIpcGetMemHandle, as for
///                      memory of stream-ordered pools. vmm: no memory objects. export: no descriptors of
///                      them. register: cuMemHostRegister. write: no stream writes. start: cuInit.
///                      user_objects: cuGraphRetainUserObject.
///                      atomics: devices' operations on each other's memory are none for others.
///                      streams, events: to make any, as on a device that is full. submit: copies. kernels: cuModuleLoadData. batch: cuMemcpyBatchAsync; batch_function: it does not
///                      exist. streams_alone: calls on streams while no context is current

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "memory/array_reduction.hpp"
#include "memory/cuda/api.hpp"
#include "memory/rank_exchange.hpp"
#include "support/fake_cuda/control.hpp"

namespace fake_cuda {

using namespace atl::memory::cuda;

/// Streams that every context has; handles beyond are streams that were made.
inline constexpr std::uintptr_t last_common_stream = 2;

inline constexpr cu_result invalid_value = 1;
inline constexpr cu_result not_initialized = 3;
inline constexpr cu_result invalid_device = 101;
inline constexpr cu_result invalid_context = error_invalid_context;
inline constexpr cu_result peer_access_unsupported = 217;
inline constexpr cu_result invalid_handle = 400;
inline constexpr cu_result not_supported = 801;
inline constexpr cu_result illegal_address = 700;
inline constexpr cu_result not_registered = 713;
inline constexpr cu_result capture_unsupported = error_capture_unsupported;
inline constexpr cu_result capture_invalidated = 901;
inline constexpr cu_result capture_unmatched = 903;
inline constexpr cu_result capture_wrong_thread = 908;

/// The driver's functions, under the driver's names: a definition with other parameters than the library
/// expects is another function, and the symbol is missing.
#define X(name, symbol, parameters) \
  __attribute__((visibility("default"))) cu_result name parameters asm(symbol);
ATOLL_CUDA_FUNCTIONS(X)

/// What programs call and the library does not.
using graph_exec = struct graph_exec_data*;
#define FAKE_CUDA_PROGRAMS_FUNCTIONS(X)                                                         \
  X(begin_capture, "cuStreamBeginCapture_v2", (stream, capture_mode))                           \
  X(end_capture, "cuStreamEndCapture", (stream, graph*))                                        \
  X(graph_destroy, "cuGraphDestroy", (graph))                                                   \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", (graph_exec*, graph, unsigned long long)) \
  X(graph_launch, "cuGraphLaunch", (graph_exec, stream))                                        \
  X(graph_exec_destroy, "cuGraphExecDestroy", (graph_exec))
FAKE_CUDA_PROGRAMS_FUNCTIONS(X)
#undef X

struct settings {
  int devices = 2;
  std::size_t memory = std::size_t{256} << 20;
  std::size_t lockable = ~std::size_t{0};
  std::uint64_t seed = 1;
  std::uint64_t fail_copy = 0;
  bool reachable = false;
  bool unordered = false;
  bool host_atomics = false;
  bool reductions = false;
  std::string refused;
  [[nodiscard]] bool refuses(char const* what) const {
    return refused.find(',' + std::string(what) + ',') != std::string::npos;
  }
};

struct device_state {
  int physical = 0;
  int retained = 0;
  std::size_t used = 0;
  cu_result broken = success;  ///< what every later call about the device's streams returns
  stream common[2] = {};       ///< streams that every context has; null: not used yet
};

/// Memory of a device behind a descriptor, which may be another process'.
struct object {
  int descriptor = -1;
  std::size_t bytes = 0;
  int physical = 0;                 ///< device
  device_state* charged = nullptr;  ///< whose memory it takes; null: another process'
  object() = default;
  ~object();
};

struct mapping {
  std::shared_ptr<object> what;
  pointer at = 0;
  std::size_t bytes = 0;
  std::byte* alias = nullptr;
  std::uint64_t access = 0;  ///< physical devices, a bit each
  enum class sort { object, plain, ipc } from = sort::object;
  std::string key;    ///< ipc: the handle
  int opened = 0;     ///< ipc: how often
  int in_flight = 0;  ///< copies that need it
  mapping() = default;
  ~mapping();
};

/// Host memory that was registered.
struct registration {
  std::size_t bytes = 0;
  int in_flight = 0;  ///< copies that need it
};

struct event_state {
  device_state* device = nullptr;
  std::uint64_t wanted = 0;
  std::uint64_t happened = 0;
};

/// What graphs keep of the program's. Its end is told by the devices' thread.
struct user_object_state {
  void* memory;
  void (*destroy)(void*);
  user_object_state(void* what, void (*how)(void*));
  user_object_state(user_object_state const&) = delete;
  ~user_object_state();
};
using user_objects = std::vector<std::shared_ptr<user_object_state>>;

/// Executions of a graph, which come one after the other in whatever streams they are.
struct graph_turns {
  std::uint64_t launched = 0;
  std::uint64_t ended = 0;
};

struct task {
  enum class sort { copy, write, add, wait, record, exchange, reduce, turn, end_of_turn } what = sort::copy;
  std::byte* to = nullptr;
  std::byte const* from = nullptr;
  std::size_t bytes = 0;
  std::uint64_t value = 0;                                        ///< or the step of an exchange
  unsigned how = 0;                                               ///< flags of a wait
  std::shared_ptr<mapping> ends[2];                               ///< in flight once the task is in a queue
  std::vector<std::shared_ptr<mapping>> more_ends;                ///< of an exchange or a reduction, alike
  std::shared_ptr<atl::memory::rank_exchange const> exchange;     ///< by addresses of the host
  std::shared_ptr<atl::memory::array_reduction const> reduction;  ///< alike
  std::shared_ptr<registration> host;                             ///< as well
  std::shared_ptr<event_state> mark;
  std::shared_ptr<graph_turns> turns;  ///< `value` executions come before
  bool fails = false;
  bool of_box = false;                 ///< a unit of a kernel that copies a box
  std::shared_ptr<user_objects> kept;  ///< of a graph that was launched
};

/// A node of a graph, which keeps no memory.
struct captured_task {
  task what;  ///< without its ends
  bool on_device[2] = {};
  std::weak_ptr<mapping> ends[2];
  std::vector<std::weak_ptr<mapping>> more_ends;
};

/// A stream's calls on their way into a graph.
struct capture {
  capture_mode mode = capture_global;
  std::thread::id by;
  bool invalidated = false;
  bool without_context =
      false;  ///< a call was made while none was current: a driver may not make sense of it later
  std::vector<captured_task> tasks;
  graph into = nullptr;
  user_objects kept;
};

struct stream_state {
  device_state* device = nullptr;
  unsigned long long number = 0;  ///< that no other stream of the process has had
  std::deque<task> tasks;
  bool busy = false;  ///< with a task that has left the queue
  std::unique_ptr<capture> captured;
  [[nodiscard]] bool idle() const { return tasks.empty() && !busy; }
};

struct state {
  std::mutex lock;
  std::condition_variable work;
  std::condition_variable progress;  ///< a task was done
  settings chosen;
  bool started = false;
  bool held = false;
  bool boxes_held = false;
  bool playing = false;                                ///< the devices' thread runs
  std::vector<std::unique_ptr<device_state>> devices;  ///< that this process sees
  std::map<pointer, std::size_t> reserved;
  std::map<pointer, std::shared_ptr<mapping>> mapped;
  std::map<memory_handle, std::shared_ptr<object>> handles;
  memory_handle next_handle = 1;
  std::map<std::byte*, std::shared_ptr<registration>> registered;
  std::map<stream, std::shared_ptr<stream_state>> streams;
  unsigned long long streams_ever = 0;
  std::vector<std::shared_ptr<stream_state>> ended_streams;  ///< with what is left in them, which goes on
  std::map<event, std::shared_ptr<event_state>> events;
  struct captured_graph {
    std::vector<captured_task> tasks;  ///< of one stream, in its order
    bool instantiable;
    user_objects kept;
    std::shared_ptr<graph_turns> turns;  ///< of an executable one
  };
  std::map<graph, captured_graph> graphs;
  std::map<graph_exec, captured_graph> executable;
  /// References that the program has.
  std::map<user_object, user_objects> objects;
  std::vector<std::pair<void (*)(void*), void*>> to_be_told;
  std::map<module, device_state*> modules;
  std::uint64_t copies = 0;
  control counts;
};

/// Never destroyed: the devices' thread uses it until the process ends.
state& all();

/// The device of the thread's current context, null without one.
device_state* current();
/// The device with this ordinal, or null.
device_state* device_at(int ordinal);

// Under the lock.

/// The mapping that holds an address, or null.
std::shared_ptr<mapping> find_mapping(pointer at);
/// Whether the address is the devices' without anything being mapped there.
bool is_reserved(pointer at);
bool is_registered(pointer at, std::size_t bytes);
/// What a piece of host memory lies in; false if it crosses the border of something registered, which no driver takes.
bool find_registration(pointer at, std::size_t bytes, std::shared_ptr<registration>& found);
/// In flight now, or no longer.
void note_in_flight(task const& t, int more);
/// Puts a stream in the place of a handle that every context has; fails if no context is current.
cu_result name_stream(stream& on);
/// Of this device; handles of streams that have ended are used again as soon as can be.
stream add_stream(device_state* device);
/// A copy at the end of a stream. Devices whose reach decides; null: the stream's.
cu_result start_copy(stream on, pointer to, device_state const* to_device, pointer from,
                     device_state const* from_device, std::size_t bytes, bool of_box = false);
/// Whether calls for a stream of the device may be made by this thread now. Measured on a driver of CUDA 13:
/// no current context will do, that of another device will not.
cu_result admit(device_state const& device);
struct end_of_copy {
  std::shared_ptr<mapping> memory;     ///< null: of the host
  std::shared_ptr<registration> host;  ///< null: not registered
  std::byte* at = nullptr;
};
/// Where a device finds it.
cu_result resolve(pointer at, std::size_t bytes, device_state const& device, end_of_copy& result);
/// Adds to a word in a stream; refused where a device would do it, but not in one step for all.
cu_result start_addition(stream on, pointer word, std::uint64_t value);
/// Has a thread play the devices from now on.
void begin_playing();
/// At the end of a stream, or of what is captured there.
void enqueue(stream on, task t);
/// Ends the program: no driver would have gone on from there.
[[noreturn]] void misused(char const* what);
/// Ends the program if a stream of the device, or of any if that is null, waits for a word. Measured on a driver of CUDA 13 (580.159, H200): a
/// call that loads code or unregisters host memory waits for such streams and for kernels, though what its caller does next may be what those
/// wait for. One that registers does not.
void refuse_beside_waits(device_state const* device, char const* what);
/// What a call that may wait answers this thread while streams are captured; if not success, it ends those captures.
cu_result admit_waiting();

}  // namespace fake_cuda
