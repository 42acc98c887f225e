#include "engine/copies/device_keys.hpp"

#include <utility>

#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/copies/copies.hpp"
#include "engine/rma/key_messages.hpp"

namespace atl::engine {
namespace {

device_keys& keys() { return *device_copies::here().keys(); }

// Handlers.
void serve_device_key(message* m) { keys().serve(m); }
void device_key_answered(message* m) { keys().answered(m); }
void device_key_asked_back(message* m) { keys().asked_back(m); }
void device_key_came_back(message* m) { keys().came_back(m); }

}  // namespace

device_keys::device_keys(progress_engine& engine, segment_table& segments, work_source& work)
    : engine_(engine),
      segments_(segments),
      peers_(engine.network->transport(),
             [this](std::int32_t rank, key_question const& what) {
               send_key_question(engine_, rank, token_cache<&serve_device_key>::get(), what);
             }),
      work_(work) {
  engine_.network->on_close.push_back([this](std::int32_t rank) { closed(rank); });
}

device_keys::~device_keys() {
  for (auto const& [number, own] : own_) {
    if (own.memory != nullptr) engine_.network->transport().forget(own.memory);
  }
}

transport::registration* device_keys::registration_of(segment const& own) {
  own_segment& known = own_[own.known.name.number];
  if (known.memory == nullptr && !known.ending) {
    auto* const begin = reinterpret_cast<void*>(static_cast<std::uintptr_t>(own.known.base));
    transport::registered const made = engine_.network->transport().register_memory(
        begin, own.known.bytes, own.known.kind, own.known.device);
    known.memory = made.memory;
    if (made.memory == nullptr && !std::exchange(known.refused, true) && settings::verbosity() > 0) {
      warn("device", "copies of %s segment %u to and from other hosts go through host memory: %s",
           memory::to_string(own.known.kind), unsigned{own.known.name.number}, made.why_not.c_str());
    }
  }
  return known.memory;
}

bool device_keys::must_flush(segment const& own) const {
  // What goes through the host is written by the device.
  return !engine_.network->transport().abilities().stages_devices && own.kind->must_flush(*own.memory);
}

/// Its keys have ended with the connection, and those that it has of segments here. Who was asked already answers still.
void device_keys::closed(std::int32_t rank) {
  peers_.closed(rank);
  for (auto& [number, own] : own_) {
    if (!own.ending) own.askers.erase(rank);
  }
}

// ---- the owner's side ------------------------------------------------------------------------------

void device_keys::serve(message* question) {
  answer_key_question(engine_, question, token_cache<&device_key_answered>::get(),
                      [this](std::int32_t asker, key_question const& what, std::span<std::byte> room) {
                        return answer(asker, what, room);
                      });
}

key_answer device_keys::answer(std::int32_t asker, key_question const& what, std::span<std::byte> room) {
  key_answer const no{what.block, 0, 0, what.epoch, 0};
  auto const number = static_cast<std::uint16_t>(what.block);
  segment const* const own = segments_.own(number);
  transport::registration* const memory = own == nullptr ? nullptr : registration_of(*own);
  if (memory == nullptr || own_[number].ending) return no;
  std::size_t const bytes = engine_.network->transport().export_key(memory, room);
  if (bytes == 0) return no;
  own_[number].askers.insert(asker);
  return {what.block,
          own->known.base,
          own->known.base + own->known.bytes,
          what.epoch,
          static_cast<std::uint32_t>(bytes),
          must_flush(*own) ? 1U : 0U};
}

std::size_t device_keys::holders(std::uint16_t number) const {
  auto const found = own_.find(number);
  return found == own_.end() ? 0 : found->second.askers.size();
}

void device_keys::begin_end(std::uint16_t number) {
  own_segment& own = own_[number];
  own.ending = true;
  own.not_back = own.askers.size();
  for (std::int32_t const rank : own.askers) {
    am_short(rank, token_cache<&device_key_asked_back>::get(), &number, sizeof number, pressure::always);
  }
}

bool device_keys::has_ended(std::uint16_t number) {
  auto const found = own_.find(number);
  if (found == own_.end()) return true;
  if (found->second.not_back != 0) return false;
  if (found->second.memory != nullptr)
    engine_.network->transport().forget(std::exchange(found->second.memory, nullptr));
  return true;
}

void device_keys::came_back(message* m) {
  --own_[remote::read_at<std::uint16_t>(m->payload())].not_back;
  release(m);
}

// ---- the user's side -------------------------------------------------------------------------------

void device_keys::answered(message* answer) { take_key_answer(engine_, answer, peers_); }

void device_keys::asked_back(message* m) {
  auto const number = remote::read_at<std::uint16_t>(m->payload());
  std::int32_t const owner = m->source;
  release(m);
  if (give_back(owner, number)) return;
  leaving_.emplace_back(owner, number);
  work_.count(1);
}

/// False: it is in use.
bool device_keys::give_back(std::int32_t owner, std::uint16_t number) {
  if (peers_.is_used(owner, number)) return false;
  if (peer_keys::entry* const e = peers_.find(owner, number); e != nullptr) peers_.drop(e);
  am_short(owner, token_cache<&device_key_came_back>::get(), &number, sizeof number, pressure::always);
  return true;
}

bool device_keys::advance() {
  bool moved = peers_.import_arrived();
  auto const back =
      std::erase_if(leaving_, [this](auto const& each) { return give_back(each.first, each.second); });
  if (back != 0) work_.count(-static_cast<std::ptrdiff_t>(back));
  return moved || back != 0;
}

}  // namespace atl::engine
