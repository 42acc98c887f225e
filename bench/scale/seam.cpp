// What the engine calls and the model does instead: these functions take the place of src/engine/progress/messages.cpp and
// src/base/doorbell.cpp. They are linked before the library, which is an archive here; if the engine comes to need more of
// those files, linking says so.

#include <cstring>

#include <atoll/engine/am.hpp>

#include "base/doorbell.hpp"
#include "base/error.hpp"
#include "scale/model.hpp"

namespace atl {

void ring(doorbell& peer, std::uint32_t) noexcept { scale::model::here().rung(&peer); }

/// Ranks of the model take turns: none waits.
void sleep(doorbell const&, std::uint32_t, std::int64_t, int) noexcept {
  fatal("scale model", "a rank of the model sleeps");
}

}  // namespace atl

namespace atl::engine {

void am_begin(outgoing& out, std::int32_t target, std::size_t bytes, pressure, std::size_t alignment,
              lane way) {
  out.target = target;
  out.way = way;
  scale::model::here().begin(out, bytes, alignment);
}

void am_commit(outgoing& out, message_kind kind, function_token token, std::size_t bytes) {
  scale::model::here().commit(out, kind, token, bytes);
}

void am_cancel(outgoing& out) noexcept { scale::model::here().cancel(out); }

void am_short(std::int32_t target, function_token token, void const* data, std::size_t bytes,
              pressure when_full) {
  outgoing out;
  am_begin(out, target, header_bytes + bytes, when_full, buffer_alignment, lane::control);
  std::memcpy(out.begin + header_bytes, data, bytes);
  am_commit(out, message_kind::active, token, header_bytes + bytes);
}

/// Nothing is kept back.
void am_counted(std::int32_t target, function_token token, void const* data, std::size_t bytes,
                std::uint32_t& /*kept_back*/) {
  am_short(target, token, data, bytes, pressure::always);
}

void release(message* arrived) noexcept { scale::model::here().release(arrived); }

bool poll() { fatal("scale model", "a rank of the model waits"); }
bool poll_in_wait() { return poll(); }

}  // namespace atl::engine
