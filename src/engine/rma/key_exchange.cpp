#include "engine/rma/key_exchange.hpp"

#include <utility>

#include <atoll/engine/host_map.hpp>

#include "engine/rma/key_messages.hpp"
#include "engine/rma/remote_memory.hpp"
#include "memory/host/host_heap.hpp"

namespace atl::engine {
namespace {

// Handlers.
void serve_key(message* m) { remote_memory::here().keys().serve(m); }
void key_answered(message* m) { remote_memory::here().keys().answered(m); }

}  // namespace

key_exchange::key_exchange(progress_engine& engine)
    : work_source(engine.open, ending::silent),
      engine_(engine),
      peers_(engine.network->transport(),
             [this](std::int32_t rank, key_question const& what) { ask(rank, what); }) {
  engine_.network->on_close.push_back([this](std::int32_t rank) {
    peers_.closed(rank);
    set_open();
    // A key that had come, and had found no room to be imported, is gone: who waits for it asks again.
    if (on_news) on_news();
  });
}

key_exchange::~key_exchange() { engine_.network->on_close.clear(); }

own_blocks& key_exchange::own() {
  if (own_ == nullptr) {
    own_blocks::shape heap;
    heap.region = engine_.host.at(engine_.host.me(), 0);
    heap.heap_begin = hosts.heap_begin;
    heap.heap_end = hosts.heap_end;
    heap.backed = [](std::uint64_t offset, std::uint64_t bytes) {
      return memory::host_heap().backed(offset, bytes);
    };
    own_ = std::make_unique<own_blocks>(engine_.network->transport(), std::move(heap));
  }
  return *own_;
}

void key_exchange::ask(std::int32_t rank, key_question const& what) {
  send_key_question(engine_, rank, token_cache<&serve_key>::get(), what);
}

void key_exchange::serve(message* question) {
  answer_key_question(engine_, question, token_cache<&key_answered>::get(),
                      [this](std::int32_t, key_question const& what, std::span<std::byte> room) {
                        return own().answer(what, room);
                      });
}

void key_exchange::answered(message* answer) {
  take_key_answer(engine_, answer, peers_);
  set_open();
  if (on_news) on_news();
}

void key_exchange::set_open() {
  bool const wanted = peers_.any_arrived();
  if (wanted != (open() != 0)) count(wanted ? 1 : -1);
}

bool key_exchange::advance() {
  bool const moved = peers_.import_arrived();
  set_open();
  if (moved && on_news) on_news();
  return moved;
}

}  // namespace atl::engine
