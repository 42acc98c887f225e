// Streams, events, and the thread that plays the devices.

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/copy_watched.hpp"
#include "memory/played_exchange.hpp"
#include "support/fake_cuda/state.hpp"

namespace fake_cuda {
namespace {

std::uint64_t random(std::uint64_t& s) {
  // splitmix64
  std::uint64_t x = s += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

using atl::memory::played_exchange;

bool must_wait(task const& t) {
  if (t.what == task::sort::exchange)
    return !played_exchange::is_ready(*t.exchange, static_cast<int>(t.value));
  if (t.what == task::sort::turn) return t.turns->ended != t.value;
  if (t.what != task::sort::wait) return false;
  auto const now =
      std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(t.to)).load(std::memory_order_acquire);
  return t.how == wait_equal ? now != t.value : static_cast<std::int64_t>(now - t.value) < 0;
}

/// A stream that can go on, any of them; null if there is none. `watching`: one waits for a word, which others may write.
std::shared_ptr<stream_state> choose(state& s, std::uint64_t& dice, bool& watching) {
  watching = false;
  if (s.held) return nullptr;
  std::vector<std::shared_ptr<stream_state>> ready;
  auto const look = [&](std::shared_ptr<stream_state> const& each) {
    if (each->tasks.empty() || each->device->broken != success) return;
    if (s.boxes_held && each->tasks.front().of_box) return;
    if (must_wait(each->tasks.front())) {
      watching = true;
    } else {
      ready.push_back(each);
    }
  };
  for (auto const& [name, each] : s.streams) look(each);
  for (auto const& each : s.ended_streams) look(each);
  return ready.empty() ? nullptr : ready[random(dice) % ready.size()];
}

void execute(task const& t) {
  if (t.what == task::sort::copy) atl::copy_watched(t.to, t.from, t.bytes);
  if (t.what == task::sort::exchange) played_exchange::take(*t.exchange, static_cast<int>(t.value));
  if (t.what == task::sort::reduce) t.reduction->reduce(0, 1);
  if (t.what == task::sort::write) {
    // Release: everything before it on the stream is visible to who reads the word.
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(t.to))
        .store(t.value, std::memory_order_release);
  }
  if (t.what == task::sort::add) {
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(t.to))
        .fetch_add(t.value, std::memory_order_acq_rel);
  }
}

[[noreturn]] void play() {
  state& s = all();
  std::uint64_t dice = s.chosen.seed;
  std::unique_lock held(s.lock);
  for (;;) {
    std::shared_ptr<stream_state> on;
    bool watching = false;
    while (s.to_be_told.empty() && (on = choose(s, dice, watching)) == nullptr) {
      if (watching) {
        s.work.wait_for(held, std::chrono::microseconds(50));
      } else {
        s.work.wait(held);
      }
    }
    for (auto const& [tell, what] : std::exchange(s.to_be_told, {})) {
      held.unlock();
      tell(what);
      held.lock();
    }
    if (on == nullptr) continue;
    task now = std::move(on->tasks.front());
    on->tasks.pop_front();
    if (now.fails) {
      on->device->broken = illegal_address;
    } else if (now.what == task::sort::record) {
      now.mark->happened = std::max(now.mark->happened, now.value);
    } else if (now.what == task::sort::end_of_turn) {
      ++now.turns->ended;
    } else {
      on->busy = true;
      held.unlock();
      execute(now);
      held.lock();
      on->busy = false;
    }
    std::erase_if(s.ended_streams, [](auto const& each) { return each->idle(); });
    s.progress.notify_all();
    note_in_flight(now, -1);
  }
}

void hold(bool stop) {
  std::lock_guard const held(all().lock);
  all().held = stop;
  all().work.notify_one();
}

void hold_boxes(bool stop) {
  std::lock_guard const held(all().lock);
  all().boxes_held = stop;
  all().work.notify_one();
}

void restart() {
  std::lock_guard const held(all().lock);
  if (all().counts.contexts != 0) misused("restarted while contexts are in use");
  all().started = false;
  for (auto const& device : all().devices) {
    for (stream const each : device->common) all().streams.erase(each);
  }
  all().devices.clear();
  all().copies = 0;
}

}  // namespace

void refuse_beside_waits(device_state const* device, char const* what) {
  for (auto const& [name, each] : all().streams) {
    if (device != nullptr && each->device != device) continue;
    for (task const& t : each->tasks) {
      if (t.what != task::sort::wait) continue;
      misused(
          (std::string(what) + " beside a stream that waits for a word: the call would wait, too").c_str());
    }
  }
}

cu_result admit(device_state const& device) {
  if (device.broken != success) return device.broken;
  if (current() == nullptr && all().chosen.refuses("streams_alone")) return invalid_context;
  return current() == nullptr || current() == &device ? success : invalid_value;
}

cu_result resolve(pointer at, std::size_t bytes, device_state const& device, end_of_copy& result) {
  result.memory = find_mapping(at);
  if (result.memory == nullptr) {
    result.at = reinterpret_cast<std::byte*>(at);
    bool const whole = bytes == 0 || find_registration(at, bytes, result.host);
    return is_reserved(at) || !whole ? invalid_value : success;
  }
  std::uint64_t const offset = at - result.memory->at;
  if (bytes > result.memory->bytes - offset) return invalid_value;
  if ((result.memory->access >> device.physical & 1) == 0) return invalid_value;
  result.at = result.memory->alias + offset;
  return success;
}

void note_in_flight(task const& t, int more) {
  for (auto const& end : t.ends) {
    if (end != nullptr) end->in_flight += more;
  }
  for (auto const& end : t.more_ends) end->in_flight += more;
  if (t.host != nullptr) t.host->in_flight += more;
}

void enqueue(stream on, task t) {
  state& s = all();
  std::shared_ptr<stream_state> const found = s.streams.at(on);
  stream_state& queue = *found;
  if (queue.captured != nullptr) {
    queue.captured->without_context |= current() == nullptr;
    captured_task node;
    for (int i = 0; i < 2; ++i) {
      node.on_device[i] = t.ends[i] != nullptr;
      node.ends[i] = std::exchange(t.ends[i], nullptr);
    }
    for (auto const& end : std::exchange(t.more_ends, {})) node.more_ends.emplace_back(end);
    node.what = std::move(t);
    queue.captured->tasks.push_back(std::move(node));
    return;
  }
  // A driver has room for some thousand, and has its caller wait then.
  constexpr std::size_t room = 1024;
  if (queue.tasks.size() >= room) {
    std::unique_lock held(s.lock, std::adopt_lock);
    s.progress.wait(held, [&] { return queue.tasks.size() < room; });
    held.release();  // the caller's
  }
  note_in_flight(t, 1);
  queue.tasks.push_back(std::move(t));
  begin_playing();
  s.work.notify_one();
}

void begin_playing() {
  state& s = all();
  if (!s.playing) {
    s.playing = true;
    // The program's handlers are for its own threads.
    sigset_t everything;
    sigset_t before;
    sigfillset(&everything);
    pthread_sigmask(SIG_SETMASK, &everything, &before);
    std::thread(play).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
}

cu_result start_copy(stream on, pointer to, device_state const* to_device, pointer from,
                     device_state const* from_device, std::size_t bytes, bool of_box) {
  state& s = all();
  auto const found = s.streams.find(on);
  if (found == s.streams.end()) return invalid_handle;
  device_state const& device = *found->second->device;
  if (cu_result const code = admit(device); code != success) return code;
  if (s.chosen.refuses("submit")) return not_supported;
  end_of_copy ends[2];
  cu_result code = resolve(to, bytes, to_device == nullptr ? device : *to_device, ends[0]);
  if (code == success) code = resolve(from, bytes, from_device == nullptr ? device : *from_device, ends[1]);
  if (code != success) return code;
  // Of host memory no context is known.
  bool const across = to_device != nullptr;
  if (across && (ends[0].memory == nullptr || ends[1].memory == nullptr)) return invalid_value;
  if (ends[0].memory == nullptr && ends[1].memory == nullptr && found->second->captured == nullptr)
    misused("a copy from host memory to host memory, in which a driver would wait for the stream");
  task t;
  t.to = ends[0].at;
  t.from = ends[1].at;
  t.bytes = bytes;
  t.fails = ++s.copies == s.chosen.fail_copy;
  t.of_box = of_box;
  for (int i = 0; i < 2; ++i) {
    t.ends[i] = ends[i].memory;
    if (ends[i].host != nullptr) t.host = ends[i].host;
  }
  enqueue(on, std::move(t));
  return success;
}

cu_result name_stream(stream& on) {
  auto const number = reinterpret_cast<std::uintptr_t>(on);
  if (number > last_common_stream) return success;
  device_state* const device = current();
  if (device == nullptr) return invalid_context;
  // The default stream, as 0 or 1, and that of the thread, which is one here.
  stream& known = device->common[number == 2 ? 1 : 0];
  if (known == nullptr) known = add_stream(device);
  on = known;
  return success;
}

stream add_stream(device_state* device) {
  std::uintptr_t handle = 0x10000;
  while (all().streams.count(reinterpret_cast<stream>(handle)) != 0) handle += 0x100;
  auto made = std::make_shared<stream_state>();
  made->device = device;
  made->number = ++all().streams_ever;
  all().streams[reinterpret_cast<stream>(handle)] = std::move(made);
  return reinterpret_cast<stream>(handle);
}

cu_result stream_create(stream* made, unsigned flags) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (flags != stream_non_blocking) return invalid_value;
  if (all().chosen.refuses("streams")) return error_out_of_memory;
  *made = add_stream(current());
  ++all().counts.streams;
  return success;
}

cu_result stream_destroy(stream gone) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  auto const found = all().streams.find(gone);
  if (found == all().streams.end()) return invalid_handle;
  if (!found->second->idle()) all().ended_streams.push_back(found->second);
  all().streams.erase(found);
  --all().counts.streams;
  return success;
}

cu_result stream_number(stream on, unsigned long long* number) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = name_stream(on); code != success) return code;
  auto const found = all().streams.find(on);
  if (found == all().streams.end()) return invalid_handle;
  // A driver of CUDA 13 ends the capture.
  if (capture* const c = found->second->captured.get(); c != nullptr) {
    c->invalidated = true;
    return capture_unsupported;
  }
  *number = found->second->number;
  return success;
}

cu_result context_synchronize() {
  std::unique_lock held(all().lock);
  device_state const* const device = current();
  if (device == nullptr) return invalid_context;
  auto const all_of = [&](auto done) {
    auto const is_so = [&](auto const& each) { return each->device != device || done(*each); };
    return std::all_of(all().streams.begin(), all().streams.end(),
                       [&](auto const& each) { return is_so(each.second); }) &&
           std::all_of(all().ended_streams.begin(), all().ended_streams.end(), is_so);
  };
  bool const captured = !all_of([](stream_state& s) {
    if (s.captured != nullptr) s.captured->invalidated = true;
    return s.captured == nullptr;
  });
  // In every mode.
  if (captured) return capture_unsupported;
  all().progress.wait(
      held, [&] { return device->broken != success || all_of([](stream_state& s) { return s.idle(); }); });
  return device->broken;
}

cu_result stream_query(stream on) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = name_stream(on); code != success) return code;
  auto const found = all().streams.find(on);
  if (found == all().streams.end()) return invalid_handle;
  if (cu_result const code = admit_waiting(); code != success) return code;
  if (found->second->device->broken != success) return found->second->device->broken;
  return found->second->idle() ? success : error_not_ready;
}

cu_result stream_context(stream on, context* result) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = name_stream(on); code != success) return code;
  auto const found = all().streams.find(on);
  if (found == all().streams.end()) return invalid_handle;
  if (found->second->captured != nullptr && found->second->captured->invalidated) return capture_invalidated;
  *result = reinterpret_cast<context>(found->second->device);
  return success;
}

cu_result stream_is_capturing(stream on, int* status) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = name_stream(on); code != success) return code;
  auto const found = all().streams.find(on);
  if (found == all().streams.end()) return invalid_handle;
  capture const* const c = found->second->captured.get();
  *status = c == nullptr ? 0 : c->invalidated ? 2 : 1;
  return success;
}

cu_result copy_async(pointer to, pointer from, std::size_t bytes, stream on) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = name_stream(on); code != success) return code;
  cu_result const code = start_copy(on, to, nullptr, from, nullptr, bytes);
  if (code == success) ++all().counts.copies;
  return code;
}

cu_result copy_batch(pointer* to, pointer* from, std::size_t* bytes, std::size_t count,
                     copy_attributes* attributes, std::size_t* first, std::size_t attributes_count,
                     std::size_t* failed, stream on) {
  std::lock_guard const held(all().lock);
  *failed = ~std::size_t{0};
  if (count == 0 || attributes_count != 1 || *first != 0 || attributes->source_order != source_order_stream) {
    return invalid_value;
  }
  if (current() == nullptr) return invalid_value;
  if (all().chosen.refuses("batch")) return not_supported;
  for (*failed = 0; *failed < count; ++*failed) {
    std::size_t const i = *failed;
    if (bytes[i] == 0) return invalid_value;
    if (cu_result const code = start_copy(on, to[i], nullptr, from[i], nullptr, bytes[i]); code != success) {
      return code;
    }
  }
  all().counts.copies += count;
  ++all().counts.batches;
  return success;
}

cu_result function_of_version(char const* name, void** found, int version, std::uint64_t /*flags*/,
                              int* status) {
  std::lock_guard const held(all().lock);
  bool const known = std::strcmp(name, "cuMemcpyBatchAsync") == 0 && version == version_of_copy_batch &&
                     !all().chosen.refuses("batch_function");
  *found = known ? reinterpret_cast<void*>(&copy_batch) : nullptr;
  *status = known ? 0 : 1;
  return success;
}

cu_result copy_peer_async(pointer to, context to_context, pointer from, context from_context,
                          std::size_t bytes, stream on) {
  std::lock_guard const held(all().lock);
  if (to_context == nullptr || from_context == nullptr) return invalid_context;
  cu_result const code = start_copy(on, to, reinterpret_cast<device_state const*>(to_context), from,
                                    reinterpret_cast<device_state const*>(from_context), bytes);
  if (code == success) ++all().counts.peer_copies;
  return code;
}

cu_result event_create(event* made, unsigned /*flags*/) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (all().chosen.refuses("events")) return error_out_of_memory;
  auto mark = std::make_shared<event_state>();
  mark->device = current();
  *made = reinterpret_cast<event>(mark.get());
  all().events[*made] = std::move(mark);
  ++all().counts.events;
  return success;
}

cu_result event_destroy(event gone) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (all().events.erase(gone) == 0) return invalid_handle;
  --all().counts.events;
  return success;
}

cu_result event_record(event mark, stream on) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = name_stream(on); code != success) return code;
  auto const found = all().streams.find(on);
  auto const what = all().events.find(mark);
  if (found == all().streams.end() || what == all().events.end()) return invalid_handle;
  if (what->second->device != found->second->device) return invalid_handle;
  if (cu_result const code = admit(*found->second->device); code != success) return code;
  task t;
  t.what = task::sort::record;
  t.mark = what->second;
  t.value = ++what->second->wanted;
  enqueue(on, std::move(t));
  ++all().counts.records;
  return success;
}

cu_result event_query(event mark) {
  std::lock_guard const held(all().lock);
  auto const what = all().events.find(mark);
  if (what == all().events.end()) return invalid_handle;
  if (cu_result const code = admit_waiting(); code != success) return code;
  if (what->second->device->broken != success) return what->second->device->broken;
  ++all().counts.queries;
  return what->second->happened == what->second->wanted ? success : error_not_ready;
}

}  // namespace fake_cuda

extern "C" __attribute__((visibility("default"))) fake_cuda::control* fake_cuda_control() asm("fake_cuda");
fake_cuda::control* fake_cuda_control() {
  fake_cuda::control& counts = fake_cuda::all().counts;
  counts.hold = &fake_cuda::hold;
  counts.hold_boxes = &fake_cuda::hold_boxes;
  counts.restart = &fake_cuda::restart;
  return &counts;
}
