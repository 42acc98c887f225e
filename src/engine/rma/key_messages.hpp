#pragma once

/// How questions for keys (network/keys.hpp) and their answers travel: as engine messages. What they are about, and who
/// answers, differs: blocks of heaps, device segments.

#include <cstddef>
#include <cstdint>
#include <span>

#include <atoll/engine/am.hpp>

#include "engine/network/keys.hpp"
#include "engine/progress/progress_engine.hpp"
#include "engine/rma/wire.hpp"

namespace atl::engine {

/// `serve` handles it. Until there is an answer it counts as owed, so that no question is on its way when ranks part.
inline void send_key_question(progress_engine& engine, std::int32_t rank, function_token serve,
                              key_question const& what) {
  engine.open.add_owed(1);
  am_short(rank, serve, &what, sizeof what, pressure::always);
}

/// Answers with what `make(asker, question, room)` says, which puts the key into the room; `answered` handles that.
/// Releases the question.
template <class Make>
void answer_key_question(progress_engine& engine, message* question, function_token answered, Make make) {
  auto const what = remote::read_at<key_question>(question->payload());
  std::int32_t const asker = question->source;
  release(question);
  std::size_t const most = engine.network->transport().limits().key_bytes;
  outgoing out;
  am_begin(out, asker, header_bytes + sizeof(key_answer) + most, pressure::always);
  std::byte* const begin = out.begin + header_bytes;
  key_answer const answer = make(asker, what, std::span(begin + sizeof(key_answer), most));
  remote::write_at(begin, answer);
  am_commit(out, message_kind::active, answered, header_bytes + sizeof answer + answer.bytes);
}

/// Gives it to who keeps peers' keys, and releases it.
inline void take_key_answer(progress_engine& engine, message* answer, peer_keys& into) {
  auto const what = remote::read_at<key_answer>(answer->payload());
  into.answered(answer->source, what, {answer->payload() + sizeof what, what.bytes});
  release(answer);
  engine.open.add_owed(-1);
}

}  // namespace atl::engine
