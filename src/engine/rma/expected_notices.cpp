#include "engine/rma/expected_notices.hpp"

#include "engine/rma/remote_memory.hpp"
#include "engine/rma/wire.hpp"

namespace atl::engine {

expected_notices::expected_notices(progress_engine& engine, remote_memory& messages)
    : engine_(engine), messages_(messages) {
  engine_.network->on_notified = [this](std::int32_t from, std::uint64_t tag) {
    landed(from, static_cast<std::uint32_t>(tag));
  };
}

expected_notices::~expected_notices() { engine_.network->on_notified = nullptr; }

void expected_notices::announced(message* m) {
  auto const what = remote::read_at<expected_arrivals>(m->base + m->bytes - sizeof(remote::notice_trailer) -
                                                       sizeof(expected_arrivals));
  std::uint64_t const name = name_of(m->source, what.tag);
  expected& e = expected_[name];
  e.notice = m;
  e.pieces = what.pieces;
  look(name, e);
}

void expected_notices::landed(std::int32_t from, std::uint32_t tag) {
  std::uint64_t const name = name_of(from, tag);
  expected& e = expected_[name];
  ++e.arrived;
  look(name, e);
}

void expected_notices::look(std::uint64_t name, expected& e) {
  if (e.notice == nullptr || e.arrived != e.pieces) return;
  message* const notice = e.notice;
  expected_.erase(name);
  messages_.serve_put_with_notice(notice);
}

}  // namespace atl::engine
