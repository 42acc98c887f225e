#include "engine/copies/kernel_service.hpp"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstring>
#include <utility>

#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>

#include "base/copy_watched.hpp"
#include "base/error.hpp"
#include "engine/copies/copies.hpp"
#include "engine/copies/kernel_waits.hpp"
#include "engine/progress/guard.hpp"

namespace atl::engine {
namespace {

/// To the owner of a word, or to who is to hear a notice; and back, with `value` what was there.
struct kernel_order {
  std::uint64_t cookie;  ///< the asking rank's
  memory_place word;
  word_operation operation;
  std::uint32_t number;
  std::uint64_t value;
  std::uint64_t compare;
  std::uint64_t team;
};

kernel_order order_in(message* m) noexcept {
  kernel_order order;
  std::memcpy(&order, m->payload(), sizeof order);
  return order;
}

void serve_word(message* m) { kernel_service::here().serve_word(m); }
void serve_notice(message* m) { kernel_service::here().serve_notice(m); }
void word_answered(message* m) { kernel_service::here().answered(m); }

template <auto Handler>
void send(std::int32_t target, kernel_order const& order) {
  am_short(target, token_cache<Handler>::get(), &order, sizeof order, pressure::always);
}

std::uint64_t after(word_operation operation, std::uint64_t before, std::uint64_t operand,
                    std::uint64_t compare) {
  switch (operation) {
    case word_operation::none:
      return before;
    case word_operation::set:
      return operand;
    case word_operation::add:
      return before + operand;
    case word_operation::exchange_if_equal:
      return before == compare ? operand : before;
  }
  return before;
}

/// On a word of host memory, where processors are atomic. Returns what was there.
std::uint64_t change(std::byte* place, word_operation operation, std::uint64_t operand,
                     std::uint64_t compare) {
  std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(place));
  std::uint64_t before = word.load(std::memory_order_relaxed);
  // Acquire and release: kernels and ranks that see the new value see what was there before it.
  while (!word.compare_exchange_weak(before, after(operation, before, operand, compare),
                                     std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  return before;
}

char const* name_of(kernel_call call) noexcept {
  switch (call) {
    case kernel_call::put:
    case kernel_call::put_value:
      return "put";
    case kernel_call::signal:
      return "signal";
    case kernel_call::get:
    case kernel_call::get_value:
      return "get";
    case kernel_call::atomic:
      return "an atomic operation";
    case kernel_call::notify:
      return "notify";
  }
  return "a call";
}

[[noreturn]] void report(kernel_trouble const& t) {
  static constexpr std::array<char const*, 9> calls = {"wait",    "wait_any",   "wait_all",
                                                       "barrier", "reduce_all", "a request to the host",
                                                       "quiet",   "put",        "get"};
  char const* const call = t.call < calls.size() ? calls[t.call] : "a call";
  if (static_cast<kernel_trouble::sort>(t.what) == kernel_trouble::sort::not_nameable) {
    fatal(
        "device",
        "%s by a kernel of rank %d (block %" PRIu64
        "): the other side is not reached by the device, so the host must copy %" PRIu64
        " bytes at 0x%" PRIx64
        ", but these are neither in the segment of the device_team's allocator nor in the rank's shared heap: allocate them there",
        call, job.rank_me, t.block, t.expected, t.address);
  }
  fatal(
      "device",
      "%s in a kernel of rank %d (block %" PRIu64 ") has waited %.1f s: the word at 0x%" PRIx64 " is %" PRIu64
      " (0x%" PRIx64 "), not %" PRIu64
      " as expected. Is its writer in time, are as many blocks launched as can be resident (device_team::max_blocks), and does the "
      "host make progress (atl::wait(stream))?",
      call, job.rank_me, t.block, static_cast<double>(t.waited_ns) / 1e9, t.address, t.found, t.found,
      t.expected);
}

}  // namespace

/// On its way, in the place that its number has among those of its mailbox.
struct kernel_service::command final : copy_completion {
  mailbox* box = nullptr;
  kernel_command* place = nullptr;  ///< in the mailbox
  bool done = true;

  command() : copy_completion{&copied} {}
};

struct kernel_service::mailbox {
  kernel_mailbox* words;
  std::uint64_t team;
  notice_listener* listener;
  std::uint64_t taken = 0;
  std::uint64_t completed = 0;
  std::unique_ptr<command[]> commands = std::make_unique<command[]>(kernel_mailbox::capacity);
};

/// A change of a word of an own device, by copies there and back: one after the other.
struct kernel_service::word_request final : copy_completion {
  kernel_order order;
  std::int32_t asker;
  bool loaded = false;
  bool arrived = false;

  word_request(kernel_order const& wanted, std::int32_t from)
      : copy_completion{&word_moved}, order(wanted), asker(from) {}
};

kernel_service::kernel_service(progress_engine& engine, segment_table& segments)
    : single(this), work_source(engine.open, ending::silent), engine_(engine), segments_(segments) {}

kernel_service::~kernel_service() {
  release_kernels_at_death(false);
  for (auto const& box : boxes_) box->listener->left_open(box->listener);
}

kernel_service::mailbox* kernel_service::find(kernel_mailbox* words) {
  auto const found =
      std::find_if(boxes_.begin(), boxes_.end(), [words](auto const& box) { return box->words == words; });
  return found == boxes_.end() ? nullptr : found->get();
}

void kernel_service::serve(kernel_mailbox* words, std::uint64_t team, notice_listener* listener) {
  auto box = std::make_unique<mailbox>();
  box->words = words;
  box->team = team;
  box->listener = listener;
  for (std::uint64_t i = 0; i < kernel_mailbox::capacity; ++i) {
    box->commands[i].box = box.get();
    box->commands[i].place = &words->commands[i];
  }
  boxes_.push_back(std::move(box));
  count(1);
  release_kernels_at_death(true);
}

void kernel_service::end(kernel_mailbox* words) {
  if (std::erase_if(boxes_, [words](auto const& box) { return box->words == words; }) != 0) count(-1);
  if (boxes_.empty()) release_kernels_at_death(false);
}

bool kernel_service::owes(kernel_mailbox* words) {
  mailbox* const box = find(words);
  if (box == nullptr) return false;
  take(*box);
  // What others have asked for here keeps them from being done, not this one.
  return box->taken != box->completed;
}

bool kernel_service::is_listening(notice_listener const* listener) const {
  return std::any_of(boxes_.begin(), boxes_.end(),
                     [listener](auto const& box) { return box->listener == listener; });
}

std::vector<kernel_mailbox const*> kernel_service::open_mailboxes() const {
  std::vector<kernel_mailbox const*> open;
  for (auto const& box : boxes_) open.push_back(box->words);
  return open;
}

bool kernel_service::advance() {
  stop_if_job_ends();
  bool moved = false;
  for (std::size_t i = 0; i < boxes_.size(); ++i) moved |= take(*boxes_[i]);
  moved |= advance_request();
  for (command* const c : std::exchange(copied_, {})) {
    moved = true;
    change_word(*c);
  }
  // Acquire pairs with the kernel's release, after which it reads the answer no more.
  std::erase_if(unread_, [&](command* c) {
    if (std::atomic_ref(c->place->answered).load(std::memory_order_acquire) != 0) return false;
    finish(*c);
    return moved = true;
  });
  return moved;
}

bool kernel_service::take(mailbox& box) {
  kernel_trouble& trouble = box.words->trouble;
  // Acquire pairs with the kernel's release: the rest of it is there.
  if (std::atomic_ref(trouble.what).load(std::memory_order_acquire) != 0) [[unlikely]]
    report(trouble);
  bool moved = false;
  for (;;) {
    std::uint64_t const place = box.taken % kernel_mailbox::capacity;
    command& c = box.commands[place];
    if (!c.done || std::atomic_ref(c.place->number).load(std::memory_order_acquire) != box.taken + 1)
      return moved;
    ++box.taken;
    c.done = false;
    engine_.open.add_owed(1);
    moved = true;
    begin(c);
  }
}

void kernel_service::begin(command& c) {
  kernel_request const& asked = c.place->asked;
  memory_place const to{asked.to_owner, asked.to};
  bool const fetches = asked.call == kernel_call::get || asked.call == kernel_call::get_value;
  bool const stores = asked.call == kernel_call::put || asked.call == kernel_call::get ||
                      asked.call == kernel_call::put_value;
  bool const names_word = asked.operation != word_operation::none && asked.call != kernel_call::notify;
  if ((stores && asked.to_owner == 0) || (fetches && asked.from_owner == 0) ||
      (names_word && asked.word_owner == 0)) {
    fatal(
        "device",
        "a kernel of rank %d has called %s with a null global pointer: fetch those of peers before the launch (broadcast, dist_object)",
        job.rank_me, name_of(asked.call));
  }
  switch (asked.call) {
    case kernel_call::put:
    case kernel_call::get:
      return copy(c, to, {asked.from_owner, asked.from}, asked.bytes);
    case kernel_call::put_value:
      return copy(c, to, {0, reinterpret_cast<std::uintptr_t>(&asked.from)}, asked.bytes);
    case kernel_call::get_value:
      // There, since devices reach it by themselves: to other memory a driver copies within the call, whatever the copy stands behind.
      c.place->answer = 0;
      return copy(c, {0, reinterpret_cast<std::uintptr_t>(&c.place->answer)}, {asked.from_owner, asked.from},
                  asked.bytes);
    case kernel_call::signal:
    case kernel_call::atomic:
      return change_word(c);
    case kernel_call::notify: {
      auto const target = static_cast<std::int32_t>(asked.to_owner);
      if (target < 0 || target >= job.rank_n) {
        fatal("device", "notify by a kernel of rank %d: there is no rank %d in this job of %d", job.rank_me,
              target, job.rank_n);
      }
      return send<&engine::serve_notice>(target, {reinterpret_cast<std::uintptr_t>(&c),
                                                  {},
                                                  word_operation::none,
                                                  static_cast<std::uint32_t>(asked.to),
                                                  asked.operand,
                                                  0,
                                                  c.box->team});
    }
  }
  fatal("device", "a kernel of rank %d has asked its host for what there is not (%u): the mailbox is damaged",
        job.rank_me, static_cast<unsigned>(asked.call));
}

void kernel_service::copy(command& c, memory_place to, memory_place from, std::size_t bytes) {
  copy_place const target = segments_.resolve(to, bytes);
  copy_place const source = segments_.resolve(from, bytes);
  if (!target.is_on_host_here() || !source.is_on_host_here()) {
    device_copies::here().start(to, from, bytes, &c);
    return;
  }
  copy_watched(target.on_host(), source.on_host(), bytes);
  change_word(c);
}

bool kernel_service::copied(copy_completion* done) noexcept {
  // What comes next may start copies and send messages, which not all who call this are ready for.
  here().copied_.push_back(static_cast<command*>(done));
  return true;
}

/// The data, if there is any, is in place.
void kernel_service::change_word(command& c) {
  kernel_request& asked = c.place->asked;
  if (asked.operation == word_operation::none) return give_answer(c, c.place->answer);
  memory_place const word{asked.word_owner, asked.word};
  copy_place const place = segments_.resolve(word, sizeof(std::uint64_t));
  if (place.is_on_host_here())
    return give_answer(c, change(place.on_host(), asked.operation, asked.operand, asked.compare));
  if (asked.operation == word_operation::set && asked.call != kernel_call::atomic) {
    asked.operation = word_operation::none;  // done with, when this copy is
    memory_place const value{0, reinterpret_cast<std::uintptr_t>(&asked.operand)};
    device_copies::here().start(word, value, sizeof asked.operand, &c);
    return;
  }
  send<&engine::serve_word>(place.owner(), {reinterpret_cast<std::uintptr_t>(&c), word, asked.operation, 0,
                                            asked.operand, asked.compare, 0});
}

/// If the kernel waits for one.
void kernel_service::give_answer(command& c, std::uint64_t value) {
  kernel_call const asked = c.place->asked.call;
  if (asked != kernel_call::atomic && asked != kernel_call::get_value) return finish(c);
  std::atomic_ref(c.place->answer).store(value, std::memory_order_relaxed);
  // Release pairs with the kernel's acquire: the answer is there.
  std::atomic_ref(c.place->answered).store(c.place->number, std::memory_order_release);
  unread_.push_back(&c);
}

void kernel_service::finish(command& c) {
  c.done = true;
  engine_.open.add_owed(-1);
  mailbox& box = *c.box;
  std::uint64_t const before = box.completed;
  while (box.completed != box.taken && box.commands[box.completed % kernel_mailbox::capacity].done)
    ++box.completed;
  // Release pairs with acquires of kernels: what they asked for has happened, and places may be used again.
  if (box.completed != before)
    std::atomic_ref(box.words->completed).store(box.completed, std::memory_order_release);
}

// Whose word it is

void kernel_service::serve_word(message* m) {
  kernel_order order = order_in(m);
  std::int32_t const asker = m->source;
  release(m);
  copy_place const place = segments_.resolve(order.word, sizeof(std::uint64_t));
  if (place.is_on_host_here()) {
    order.value = change(place.on_host(), order.operation, order.value, order.compare);
    return send<&engine::word_answered>(asker, order);
  }
  requests_.push_back(std::make_unique<word_request>(order, asker));
  count(1);
  if (requests_.size() == 1) move_word(*requests_.front());
}

/// From the word, or back to it.
void kernel_service::move_word(word_request& r) {
  r.arrived = false;
  std::uint64_t const& here = engine_.host.own_page().moved_word;
  memory_place const scratch{0, reinterpret_cast<std::uintptr_t>(&here)};
  device_copies::here().start(r.loaded ? r.order.word : scratch, r.loaded ? scratch : r.order.word,
                              sizeof here, &r);
}

bool kernel_service::word_moved(copy_completion* done) noexcept {
  static_cast<word_request*>(done)->arrived = true;
  return true;
}

bool kernel_service::advance_request() {
  if (requests_.empty() || !requests_.front()->arrived) return false;
  word_request& r = *requests_.front();
  if (!r.loaded) {
    r.loaded = true;
    std::uint64_t& word = engine_.host.own_page().moved_word;
    std::uint64_t const before =
        std::exchange(word, after(r.order.operation, word, r.order.value, r.order.compare));
    r.order.value = before;
    move_word(r);
    return true;
  }
  send<&engine::word_answered>(r.asker, r.order);
  requests_.pop_front();
  count(-1);
  if (!requests_.empty()) move_word(*requests_.front());
  return true;
}

void kernel_service::answered(message* m) {
  kernel_order const order = order_in(m);
  release(m);
  give_answer(*reinterpret_cast<command*>(static_cast<std::uintptr_t>(order.cookie)), order.value);
}

void kernel_service::serve_notice(message* m) {
  kernel_order const order = order_in(m);
  std::int32_t const from = m->source;
  release(m);
  auto const box =
      std::find_if(boxes_.begin(), boxes_.end(), [&](auto const& each) { return each->team == order.team; });
  if (box == boxes_.end()) {
    fatal("device", "a kernel of rank %d calls notify() for rank %d, which is not in its team", from,
          job.rank_me);
  }
  (*box)->listener->told((*box)->listener, from, order.number, order.value);
  send<&engine::word_answered>(from, order);
}

}  // namespace atl::engine
