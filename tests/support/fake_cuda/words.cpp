// Words of memory that streams write, add to and wait for.

#include <span>

#include "support/fake_cuda/state.hpp"

namespace fake_cuda {
namespace {

/// Whether calls for a stream may be made now; puts the stream in the place of a handle that every context has.
cu_result enter(stream& on) {
  if (cu_result const code = name_stream(on); code != success) return code;
  auto const found = all().streams.find(on);
  return found == all().streams.end() ? invalid_handle : admit(*found->second->device);
}

/// A write of a word, an addition or a wait for one: of a device that the stream's device reaches, or of registered host memory.
cu_result start_on_word(stream on, pointer word, task t) {
  end_of_copy end;
  cu_result const code = resolve(word, 8, *all().streams.at(on)->device, end);
  if (code != success) return code;
  if (word % 8 != 0 || (end.memory == nullptr && !is_registered(word, 8))) return invalid_value;
  if (t.what != task::sort::add && all().chosen.refuses("write")) return not_supported;
  t.to = end.at;
  t.ends[0] = end.memory;
  enqueue(on, std::move(t));
  return success;
}

}  // namespace

cu_result start_addition(stream on, pointer word, std::uint64_t value) {
  if (cu_result const code = enter(on); code != success) return code;
  device_state const& device = *all().streams.at(on)->device;
  std::shared_ptr<mapping> const memory = find_mapping(word);
  settings const& chosen = all().chosen;
  bool const atomic = memory == nullptr ? chosen.host_atomics
                                        : memory->what->physical == device.physical ||
                                              (!chosen.refuses("atomics") && !chosen.refuses("peer"));
  if (!atomic) return invalid_value;
  task t;
  t.what = task::sort::add;
  t.value = value;
  cu_result const code = start_on_word(on, word, std::move(t));
  if (code == success) ++all().counts.additions;
  return code;
}

cu_result stream_write64(stream on, pointer word, std::uint64_t value, unsigned flags) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = enter(on); code != success) return code;
  if (flags != 0) return invalid_value;
  task t;
  t.what = task::sort::write;
  t.value = value;
  cu_result const code = start_on_word(on, word, std::move(t));
  if (code == success) ++all().counts.writes;
  return code;
}

cu_result stream_wait64(stream on, pointer word, std::uint64_t value, unsigned flags) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = enter(on); code != success) return code;
  if (flags != wait_at_least && flags != wait_equal) return invalid_value;
  task t;
  t.what = task::sort::wait;
  t.value = value;
  t.how = flags;
  return start_on_word(on, word, std::move(t));
}

cu_result stream_operations(stream on, unsigned count, stream_operation* each, unsigned flags) {
  std::lock_guard const held(all().lock);
  if (cu_result const code = enter(on); code != success) return code;
  if (flags != 0 || count == 0 || count >= 256) return invalid_value;
  bool behind_barrier = false;
  for (stream_operation const& o : std::span(each, count)) {
    cu_result code = invalid_value;
    task t;
    t.value = o.on_word.value;
    t.how = o.on_word.flags;
    if (o.what == operation_wait && t.how <= wait_equal) {
      t.what = task::sort::wait;
      code = start_on_word(on, o.on_word.word, std::move(t));
    } else if (o.what == operation_write && t.how == 0) {
      t.what = task::sort::write;
      code = start_on_word(on, o.on_word.word, std::move(t));
    } else if (o.what == operation_barrier && o.barrier.flags == barrier_for_system) {
      behind_barrier = true;
      code = success;
    } else if (o.what == operation_reduce && all().chosen.reductions && behind_barrier &&
               o.reduce.flags == 0 && o.reduce.reduction == reduction_add &&
               o.reduce.type == reduction_unsigned_64) {
      code = start_addition(on, o.reduce.word, o.reduce.value);
    }
    if (code != success) return code;
  }
  ++all().counts.operations;
  return success;
}

}  // namespace fake_cuda
