// What a keeper hears on its port: conversations of two keepers, recorded and then spoiled, from whoever can reach it.

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/keeper/conversation.hpp"
#include "fuzz/driver.hpp"

namespace {

using namespace atl::keeping;
using bytes = std::vector<std::byte>;

constexpr std::uint32_t calling_host = 3;
constexpr std::uint32_t called_host = 4;

/// One side of a meeting, and all that it has heard.
struct recorded_side {
  role who;
  nonce mine;
  bytes heard;
  std::vector<frame> told;
};

struct recording {
  bytes secret;
  recorded_side caller;
  recorded_side listener;
};

nonce some_nonce(std::mt19937_64& random) {
  nonce all;
  for (std::uint8_t& each : all) each = static_cast<std::uint8_t>(random());
  return all;
}

conversation begin(recorded_side const& side, bytes const& secret, nonce const& fresh) {
  bool const listens = side.who == role::listener;
  return {side.who, secret, listens ? called_host : calling_host, listens ? calling_host : called_host,
          fresh};
}

/// Carries what each has to say to the other until there is nothing more.
void carry(conversation& caller, conversation& listener, recording& into) {
  auto const hear = [](conversation& by, conversation& from, recorded_side& side) {
    bytes const words = std::exchange(from.leaving(), {});
    side.heard.insert(side.heard.end(), words.begin(), words.end());
    bool const fine = by.take(words, [&](frame const& f) { side.told.push_back(f); });
    fuzz::expect(fine, "keepers of one job refuse each other");
  };
  while (!caller.leaving().empty() || !listener.leaving().empty()) {
    hear(listener, caller, into.listener);
    hear(caller, listener, into.caller);
  }
}

recording record(std::uint64_t number) {
  std::mt19937_64 random(number);
  recording made;
  made.secret.resize(secret_bytes);
  for (std::byte& each : made.secret) each = static_cast<std::byte>(random());
  made.caller = {number % 2 == 0 ? role::caller : role::watcher, some_nonce(random), {}, {}};
  made.listener = {role::listener, some_nonce(random), {}, {}};
  conversation caller = begin(made.caller, made.secret, made.caller.mine);
  conversation listener = begin(made.listener, made.secret, made.listener.mine);
  carry(caller, listener, made);
  for (int i = 0; i < 3; ++i) {
    std::string const words(random() % 300, static_cast<char>('a' + i));
    for (conversation* const each : {&caller, &listener})
      each->say(static_cast<news>(random() % 6), static_cast<std::uint32_t>(random() % 8),
                static_cast<std::int32_t>(random() % 100), random() % 2 == 0, words);
  }
  carry(caller, listener, made);
  return made;
}

std::array<recording, 8> const& recordings() {
  static auto const all = [] {
    std::array<recording, 8> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = record(i);
    return made;
  }();
  return all;
}

/// Bytes before the first frame.
std::size_t greeting_of(recorded_side const& side) {
  return side.heard.size() - side.told.size() * sizeof(frame);
}

struct piece {
  std::ptrdiff_t first;
  std::ptrdiff_t last;
};

/// Often of whole frames.
piece piece_of(bytes const& all, std::size_t greeting, fuzz::choices& c) {
  bool const whole = all.size() >= greeting && c.one_in(2);
  std::size_t const first =
      whole ? greeting + sizeof(frame) * c.below((all.size() - greeting) / sizeof(frame) + 1)
            : c.below(all.size() + 1);
  std::size_t const size = whole ? sizeof(frame) * c.below(3) : c.size(400);
  return {static_cast<std::ptrdiff_t>(first),
          static_cast<std::ptrdiff_t>(std::min(first + size, all.size()))};
}

/// `from`: whose words are put in.
void spoil(bytes& all, std::size_t greeting, recorded_side const& from, fuzz::choices& c) {
  auto const [at, end] = piece_of(all, greeting, c);
  switch (c.below(6)) {
    case 0:  // a bit
      if (at < end) all[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1U << c.below(8));
      break;
    case 1:
      for (std::ptrdiff_t i = at; i < end; ++i)
        all[static_cast<std::size_t>(i)] = static_cast<std::byte>(c.below(256));
      break;
    case 2:
      all.erase(all.begin() + at, all.begin() + end);
      break;
    case 3: {  // once more, there or elsewhere
      bytes const again(all.begin() + at, all.begin() + end);
      all.insert(all.begin() + piece_of(all, greeting, c).first, again.begin(), again.end());
      break;
    }
    case 4: {
      auto const [first, last] = piece_of(from.heard, greeting_of(from), c);
      all.insert(all.begin() + at, from.heard.begin() + first, from.heard.begin() + last);
      break;
    }
    default:  // the rest is missing
      all.resize(static_cast<std::size_t>(at));
  }
}

bool same(frame const& a, frame const& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

namespace fuzz {

void run_case(choices& c) {
  auto const& all = recordings();
  recording const& one = all[c.below(all.size())];
  recording const& other = all[c.below(all.size())];
  bool const listens = !c.one_in(3);
  recorded_side const& side = listens ? one.listener : one.caller;
  recorded_side const& from = c.one_in(2) ? (listens ? one.caller : one.listener) : other.listener;

  // All of an earlier meeting, or this one.
  bool const replayed = c.one_in(4);
  nonce fresh = side.mine;
  if (replayed) fresh[c.below(fresh.size())] ^= 1;
  std::size_t const greeting = greeting_of(side);
  bytes heard = side.heard;
  for (std::uint64_t times = c.below(4); times > 0; --times) spoil(heard, greeting, from, c);

  std::size_t unspoiled = 0;
  while (unspoiled < heard.size() && unspoiled < side.heard.size() &&
         heard[unspoiled] == side.heard[unspoiled])
    ++unspoiled;
  std::size_t const frames = unspoiled < greeting ? 0 : (unspoiled - greeting) / sizeof(frame);
  // The end of the part that is not as it was: what is wrong in a hello shows in the proof.
  std::size_t const wrong_until = unspoiled < greeting ? greeting : greeting + (frames + 1) * sizeof(frame);

  conversation victim = begin(side, one.secret, fresh);
  std::size_t told = 0;
  bool fine = true;
  std::span<std::byte const> rest(heard);
  while (fine && !rest.empty()) {
    std::size_t const part = std::min<std::size_t>(1 + c.size(700), rest.size());
    fine = victim.take(rest.first(part), [&](frame const& f) {
      expect(!replayed, "a frame of an earlier meeting is told of");
      expect(told < frames && same(f, side.told[told]), "a frame is told of that nobody has sent");
      ++told;
    });
    rest = rest.subspan(part);
  }
  if (replayed) {
    expect(!victim.stands(), "a meeting stands that is an earlier one's");
    expect(!fine || heard.size() < greeting, "an earlier meeting is not refused");
    return;
  }
  expect(told == frames, "a frame that was sent is not told of");
  bool const spoiled = unspoiled < heard.size();
  expect(fine || spoiled, "what was sent is refused");
  expect(!fine || !spoiled || heard.size() < wrong_until, "what nobody has sent is taken");
  expect(fine || !victim.why().empty(), "it is refused without a word");
  // Whatever is missing, it has not been refused: the connection's end says so.
  if (fine) victim.say(news::alive, called_host, -1, false, "");
}

}  // namespace fuzz
