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
  static std::uintptr_t last = 0;
  *made = reinterpret_cast<graph>(++last);
  all().graphs[*made] = {std::move(ended->tasks), !ended->without_context};
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
  all().executable[*made] = found->second.tasks;
  return success;
}

cu_result graph_launch(graph_exec what, stream on) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = name_stream(on); code != success) return code;
  if (current() == nullptr) return invalid_context;
  auto const found = all().executable.find(what);
  if (found == all().executable.end() || all().streams.count(on) == 0) return invalid_handle;
  for (task const& each : found->second) enqueue(on, each);
  return success;
}

cu_result graph_exec_destroy(graph_exec gone) {
  std::lock_guard const held(all().lock);
  return all().executable.erase(gone) == 1 ? success : invalid_handle;
}

}  // namespace fake_cuda
