#include "engine/network/keys.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "memory/kind.hpp"

namespace atl::engine {

using transport::started;

// ---- the owner's side ------------------------------------------------------------------------------

key_answer own_blocks::answer(key_question const& what, std::span<std::byte> room) {
  key_answer const no{what.block, 0, 0, what.epoch, 0};
  // A block of another segment, or of none: its bounds may not fit into a word.
  if (what.epoch != epoch_ || what.block > heap_.heap_end >> key_block_log) return no;
  std::uint64_t const begin = std::max(what.block << key_block_log, heap_.heap_begin);
  std::uint64_t const end = std::min((what.block + 1) << key_block_log, heap_.heap_end);
  if (begin >= end) return no;
  auto known = registered_.find(what.block);
  if (known == registered_.end()) {
    if (!heap_.backed(begin, end - begin)) return no;
    transport::registered const made =
        network_.register_memory(heap_.region + begin, end - begin, memory::kind_id::host, -1);
    if (made.memory == nullptr) {
      refusal_ = made.why_not;
      return no;
    }
    known = registered_.emplace(what.block, made.memory).first;
  }
  std::size_t const bytes = network_.export_key(known->second, room);
  if (bytes == 0) {
    refusal_ = network_.last_error();
    return no;
  }
  return {what.block, begin, end, epoch_, static_cast<std::uint32_t>(bytes)};
}

void own_blocks::forget() {
  for (auto const& [block, memory] : registered_) network_.forget(memory);
  registered_.clear();
}

// ---- the user's side -------------------------------------------------------------------------------

peer_keys::~peer_keys() {
  for (entry& each : entries_) give_back(each);
  for (entry& each : leaving_) give_back(each);
}

void peer_keys::give_back(entry& e) noexcept {
  if (e.key != nullptr) network_.drop_key(e.rank, std::exchange(e.key, nullptr));
}

peer_keys::entry* peer_keys::look(std::int32_t rank, std::uint64_t block) {
  auto const found = found_.find(name_of(rank, block));
  if (found != found_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    entry& e = *found->second;
    if (e.now == state::none && ++e.looks > looks_before_asking_again) ask(e);
    return &e;
  }
  if (found_.size() >= room_ && !make_room()) return nullptr;
  entries_.emplace_front();
  entry& fresh = entries_.front();
  fresh.rank = rank;
  fresh.block = block;
  found_.emplace(name_of(rank, block), entries_.begin());
  ask(fresh);
  return &fresh;
}

peer_keys::entry* peer_keys::find(std::int32_t rank, std::uint64_t block) {
  auto const found = found_.find(name_of(rank, block));
  return found == found_.end() ? nullptr : &*found->second;
}

bool peer_keys::is_used(std::int32_t rank, std::uint64_t block) {
  entry const* const known = find(rank, block);
  return (known != nullptr && known->users != 0) ||
         std::any_of(leaving_.begin(), leaving_.end(),
                     [&](entry const& each) { return each.rank == rank && each.block == block; });
}

void peer_keys::ask(entry& e) {
  e.now = state::asked;
  e.looks = 0;
  ask_(e.rank, {e.block, epoch_});
}

/// Forgets the one that was not looked at for longest, of those that may go.
bool peer_keys::make_room() {
  for (auto at = entries_.end(); at != entries_.begin();) {
    --at;
    if (at->users != 0 || at->is_pending()) continue;
    forget(at);
    return true;
  }
  return false;
}

/// It is not found any more; its key goes as soon as nothing is under way with it.
void peer_keys::forget(list::iterator which) {
  if (which->now == state::arrived) --arrived_;
  found_.erase(name_of(which->rank, which->block));
  if (which->users == 0) {
    give_back(*which);
    entries_.erase(which);
    return;
  }
  which->known = false;
  leaving_.splice(leaving_.begin(), entries_, which);
}

void peer_keys::leave(entry* e) {
  if (--e->users != 0 || e->known) return;
  give_back(*e);
  leaving_.remove_if([e](entry const& each) { return &each == e; });
}

void peer_keys::drop(entry* e) {
  if (e->known) forget(found_.at(name_of(e->rank, e->block)));
}

void peer_keys::answered(std::int32_t rank, key_answer const& what, std::span<std::byte const> key) {
  auto const found = found_.find(name_of(rank, what.block));
  if (what.epoch != epoch_ || found == found_.end() || found->second->now != state::asked) return;
  entry& e = *found->second;
  if (key.empty()) {
    e.now = state::none;
    return;
  }
  e.begin = what.begin;
  e.end = what.end;
  e.must_flush = what.must_flush != 0;
  e.image.assign(key.begin(), key.end());
  e.now = state::arrived;
  ++arrived_;
  static_cast<void>(import(e));
}

/// False: there is no room for that now.
bool peer_keys::import(entry& e) {
  transport::imported const made = network_.import_key(e.rank, e.image);
  if (made.status == started::no_room) return false;
  e.key = made.key;
  e.now = made.status == started::complete ? state::ready : state::none;
  e.image = {};
  --arrived_;
  return true;
}

bool peer_keys::import_arrived() {
  bool any = false;
  if (arrived_ == 0) return any;
  for (entry& each : entries_) {
    if (each.now == state::arrived) any |= import(each);
  }
  return any;
}

void peer_keys::closed(std::int32_t rank) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    auto const next = std::next(at);
    if (at->rank == rank) forget(at);
    at = next;
  }
}

void peer_keys::end_of_heaps() {
  ++epoch_;
  while (!entries_.empty()) forget(entries_.begin());
}

}  // namespace atl::engine
