// Capturing streams into graphs, and what that forbids. As a driver of CUDA 13 behaves: calls that might wait are refused to a thread
// that captures, and to all threads while one captures in the global mode, unless they have chosen otherwise; and the capture is lost.

#include "support/fake_cuda/state.hpp"

namespace fake_cuda {
namespace {

/// Of this thread.
thread_local capture_mode mode = capture_global;

}  // namespace

cu_result admit_waiting() {
  if (mode == capture_relaxed) return success;
  cu_result answer = success;
  for (auto const& [name, each] : all().streams) {
    capture* const c = each->captured.get();
    if (c == nullptr || c->mode == capture_relaxed) continue;
    bool const mine = c->by == std::this_thread::get_id();
    if (!mine && (c->mode == capture_thread_local || mode == capture_thread_local)) continue;
    c->invalidated = true;
    answer = capture_unsupported;
  }
  return answer;
}

cu_result exchange_capture_mode(capture_mode* wanted) {
  std::swap(*wanted, mode);
  return success;
}

cu_result begin_capture(stream on, capture_mode wanted) {
  std::lock_guard const held(all().lock);
  auto const found = all().streams.find(on);
  if (found == all().streams.end()) return invalid_handle;  // the common streams, too
  if (found->second->captured != nullptr) return capture_unsupported;
  found->second->captured = std::make_unique<capture>();
  found->second->captured->mode = wanted;
  found->second->captured->by = std::this_thread::get_id();
  static std::uintptr_t last = 0;
  found->second->captured->into = reinterpret_cast<graph>(++last);
  return success;
}

cu_result end_capture(stream on, graph* made) {
  std::lock_guard const held(all().lock);
  *made = nullptr;
  auto const found = all().streams.find(on);
  if (found == all().streams.end()) return invalid_handle;
  auto const& c = found->second->captured;
  if (c == nullptr) return capture_unmatched;
  if (c->mode != capture_relaxed && c->by != std::this_thread::get_id()) return capture_wrong_thread;
  auto const ended = std::move(found->second->captured);
  if (ended->invalidated) return capture_invalidated;
  *made = ended->into;
  all().graphs[*made] = {std::move(ended->tasks), !ended->without_context, std::move(ended->kept), nullptr};
  return success;
}

cu_result graph_destroy(graph gone) {
  std::lock_guard const held(all().lock);
  return all().graphs.erase(gone) == 1 ? success : invalid_handle;
}

cu_result graph_instantiate(graph_exec* made, graph from, unsigned long long flags) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  auto const found = all().graphs.find(from);
  if (found == all().graphs.end() || flags != 0 || !found->second.instantiable) return invalid_value;
  static std::uintptr_t last = 0;
  *made = reinterpret_cast<graph_exec>(++last);
  all().executable[*made] = found->second;
  all().executable[*made].turns = std::make_shared<graph_turns>();
  return success;
}

cu_result graph_launch(graph_exec what, stream on) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = name_stream(on); code != success) return code;
  if (current() == nullptr) return invalid_context;
  auto const found = all().executable.find(what);
  if (found == all().executable.end() || all().streams.count(on) == 0) return invalid_handle;
  // Also when the graph is destroyed before it was executed.
  auto const kept = std::make_shared<user_objects>(found->second.kept);
  task turn;
  turn.what = task::sort::turn;
  turn.turns = found->second.turns;
  turn.value = turn.turns->launched++;
  enqueue(on, turn);
  for (captured_task const& each : found->second.tasks) {
    task t = each.what;
    t.kept = kept;
    for (int i = 0; i < 2; ++i) {
      t.ends[i] = each.ends[i].lock();
      if (each.on_device[i] && t.ends[i] == nullptr) return illegal_address;
    }
    for (auto const& end : each.more_ends) {
      t.more_ends.push_back(end.lock());
      if (t.more_ends.back() == nullptr) return illegal_address;
    }
    enqueue(on, std::move(t));
  }
  turn.what = task::sort::end_of_turn;
  enqueue(on, std::move(turn));
  return success;
}

cu_result stream_capture_info(stream on, int* status, unsigned long long* number, graph* into,
                              graph_node const** nodes, std::size_t* count) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = name_stream(on); code != success) return code;
  auto const found = all().streams.find(on);
  if (found == all().streams.end() || nodes != nullptr || count != nullptr) return invalid_handle;
  capture const* const c = found->second->captured.get();
  *status = c == nullptr ? 0 : c->invalidated ? 2 : 1;
  if (*status != 1) return success;
  if (number != nullptr) *number = reinterpret_cast<std::uintptr_t>(c->into) - 1;
  if (into != nullptr) *into = c->into;
  return success;
}

user_object_state::user_object_state(void* what, void (*how)(void*)) : memory(what), destroy(how) {
  ++all().counts.user_objects;
}

user_object_state::~user_object_state() {
  --all().counts.user_objects;
  all().to_be_told.emplace_back(destroy, memory);
  begin_playing();
  all().work.notify_one();
}

cu_result user_object_create(user_object* made, void* memory, void (*destroy)(void*), unsigned references,
                             unsigned flags) {
  std::lock_guard const held(all().lock);
  if (references != 1 || flags != user_object_without_waiting) return invalid_value;
  auto object = std::make_shared<user_object_state>(memory, destroy);
  *made = reinterpret_cast<user_object>(object.get());
  all().objects[*made].push_back(std::move(object));
  return success;
}

cu_result user_object_release(user_object gone, unsigned references) {
  std::lock_guard const held(all().lock);
  if (references != 1) return invalid_value;
  return all().objects.erase(gone) == 1 ? success : invalid_value;
}

cu_result graph_retain(graph into, user_object what, unsigned references, unsigned flags) {
  std::lock_guard const held(all().lock);
  auto const object = all().objects.find(what);
  if (all().chosen.refuses("user_objects")) return not_supported;
  if (object == all().objects.end() || references != 1 || flags != graph_takes_reference)
    return invalid_value;
  for (auto const& [name, each] : all().streams) {
    if (each->captured == nullptr || each->captured->into != into) continue;
    each->captured->kept.push_back(object->second.front());
    all().objects.erase(object);
    return success;
  }
  return invalid_value;
}

cu_result graph_exec_destroy(graph_exec gone) {
  std::lock_guard const held(all().lock);
  return all().executable.erase(gone) == 1 ? success : invalid_handle;
}

}  // namespace fake_cuda
