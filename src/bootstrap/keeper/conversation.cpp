#include "bootstrap/keeper/conversation.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace atl::keeping {
namespace {

template <class T>
T read(std::span<std::byte const> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

conversation::conversation(role who, std::span<std::byte const> secret, std::uint32_t me, std::uint32_t other,
                           nonce const& fresh)
    : who_(who),
      caller_(who),
      secret_(secret),
      me_(me),
      other_(other),
      mine_(fresh),
      step_(who == role::listener ? step::hello : step::challenge) {
  if (who != role::listener) send(hello{protocol, me, static_cast<std::uint32_t>(who), mine_});
}

template <class T>
void conversation::send(T const& what) {
  auto const bytes = std::as_bytes(std::span(&what, 1));
  leaving_.insert(leaving_.end(), bytes.begin(), bytes.end());
}

bool conversation::refuse(char const* why) {
  step_ = step::refused;
  why_ = why;
  return false;
}

std::size_t conversation::expected() const noexcept {
  switch (step_) {
    case step::hello:
      return sizeof(hello);
    case step::challenge:
      return sizeof(challenge);
    case step::proof:
      return sizeof(proof);
    default:
      return sizeof(frame);
  }
}

void conversation::stand(nonce const& of_caller, nonce const& of_listener) {
  role const other = who_ == role::listener ? caller_ : role::listener;
  key_out_ = key_of(secret_, who_, of_caller, of_listener);
  key_in_ = key_of(secret_, other, of_caller, of_listener);
  step_ = step::frames;
}

bool conversation::take(std::span<std::byte const> bytes, std::function<void(frame const&)> const& tell) {
  while (step_ != step::refused && !bytes.empty()) {
    std::size_t const missing = expected() - arrived_.size();
    std::size_t const more = std::min(missing, bytes.size());
    arrived_.insert(arrived_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(more));
    bytes = bytes.subspan(more);
    if (more < missing) break;
    std::vector<std::byte> const whole = std::exchange(arrived_, {});
    if (!take_whole(whole, tell)) return false;
  }
  return step_ != step::refused;
}

bool conversation::take_whole(std::span<std::byte const> bytes,
                              std::function<void(frame const&)> const& tell) {
  switch (step_) {
    case step::hello: {
      auto const words = read<hello>(bytes);
      caller_ = static_cast<role>(words.as);
      if (words.protocol != protocol || (words.as != static_cast<std::uint32_t>(role::caller) &&
                                         words.as != static_cast<std::uint32_t>(role::watcher)))
        return refuse("it does not speak as keepers do");
      if (words.host != other_) return refuse("it calls for another host than is expected");
      theirs_ = words.nonce;
      send(challenge{mine_, sign_meeting(secret_, role::listener, other_, me_, theirs_, mine_)});
      step_ = step::proof;
      return true;
    }
    case step::challenge: {
      auto const words = read<challenge>(bytes);
      theirs_ = words.nonce;
      if (!equal(words.signature, sign_meeting(secret_, role::listener, me_, other_, mine_, theirs_)))
        return refuse("it does not know the job's secret");
      send(proof{sign_meeting(secret_, who_, me_, other_, mine_, theirs_)});
      stand(mine_, theirs_);
      return true;
    }
    case step::proof:
      if (!equal(read<proof>(bytes).signature, sign_meeting(secret_, caller_, other_, me_, theirs_, mine_)))
        return refuse("it does not know the job's secret");
      stand(theirs_, mine_);
      return true;
    case step::frames: {
      auto words = read<frame>(bytes);
      if (!is_signed(words, key_in_)) return refuse("a frame's signature is wrong");
      if (words.number != ++taken_) return refuse("a frame is missing, or comes again");
      words.words.back() = '\0';
      tell(words);
      return true;
    }
    case step::refused:
      break;
  }
  return false;
}

void conversation::say(news what, std::uint32_t host, std::int32_t rank, bool said, std::string_view words) {
  frame all{++sent_, what, host, rank, said ? 1U : 0U, {}, {}};
  words.substr(0, all.words.size() - 1).copy(all.words.data(), all.words.size() - 1);
  sign(all, key_out_);
  send(all);
}

}  // namespace atl::keeping
