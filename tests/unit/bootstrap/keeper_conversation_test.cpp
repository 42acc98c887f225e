// What keepers prove and say to each other, without connections.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bootstrap/keeper/conversation.hpp"

namespace {

using namespace atl::keeping;
using bytes = std::vector<std::byte>;

std::string hex(digest const& what) {
  std::string text;
  for (std::uint8_t const each : what) {
    text += "0123456789abcdef"[each >> 4];
    text += "0123456789abcdef"[each & 15];
  }
  return text;
}
std::span<std::byte const> as_bytes(std::string const& text) { return std::as_bytes(std::span(text)); }

// FIPS 180-4, examples; RFC 4231, test cases 1, 2, 3 and 6.
TEST(KeeperSha256, KnownDigests) {
  auto const of = [](std::string const& text) { return hex(sha256().add(as_bytes(text)).result()); };
  EXPECT_EQ(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  auto const code = [](std::string const& key, std::string const& text) {
    return hex(hmac(as_bytes(key), as_bytes(text)));
  };
  EXPECT_EQ(code(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(code("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(code(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(code(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

nonce filled_with(std::uint8_t value) {
  nonce all;
  all.fill(value);
  return all;
}

/// Both sides of a meeting of host 3, who calls, and host 4.
class KeeperConversation : public testing::Test {
 protected:
  static bytes secret_of(char letter) { return bytes(secret_bytes, static_cast<std::byte>(letter)); }

  /// Carries what each has to say to the other until there is nothing more; false: one has refused.
  bool carry() {
    bool fine = true;
    while (fine && (!caller.leaving().empty() || !listener.leaving().empty())) {
      bytes const there = std::exchange(caller.leaving(), {});
      bytes const back = std::exchange(listener.leaving(), {});
      sent.insert(sent.end(), there.begin(), there.end());
      answered.insert(answered.end(), back.begin(), back.end());
      fine = listener.take(there, [&](frame const& f) { by_listener.push_back(f); }) &&
             caller.take(back, [&](frame const& f) { by_caller.push_back(f); });
    }
    return fine;
  }

  bytes const secret = secret_of('s');
  conversation caller{role::caller, secret, 3, 4, filled_with(1)};
  conversation listener{role::listener, secret, 4, 3, filled_with(2)};
  bytes sent, answered;
  std::vector<frame> by_caller, by_listener;
};

TEST_F(KeeperConversation, MeetsAndTalks) {
  EXPECT_FALSE(caller.stands());
  EXPECT_TRUE(carry());
  EXPECT_TRUE(caller.stands());
  EXPECT_TRUE(listener.stands());
  caller.say(news::fallen, 3, 17, false, "rank 17");
  listener.say(news::ending, 4, -1, true, std::string(1000, 'x'));
  listener.say(news::bye, 4, -1, false, "");
  EXPECT_TRUE(carry());
  ASSERT_EQ(by_listener.size(), 1U);
  EXPECT_EQ(by_listener[0].what, news::fallen);
  EXPECT_EQ(by_listener[0].host, 3U);
  EXPECT_EQ(by_listener[0].rank, 17);
  EXPECT_EQ(by_listener[0].said, 0U);
  EXPECT_STREQ(by_listener[0].words.data(), "rank 17");
  ASSERT_EQ(by_caller.size(), 2U);
  EXPECT_EQ(by_caller[0].what, news::ending);
  EXPECT_EQ(by_caller[0].said, 1U);
  EXPECT_EQ(std::string(by_caller[0].words.data()), std::string(255, 'x'));
  EXPECT_EQ(by_caller[1].what, news::bye);
}

TEST_F(KeeperConversation, AListenerLearnsAsWhatItIsCalled) {
  ASSERT_TRUE(carry());
  EXPECT_EQ(listener.of_caller(), role::caller);
  caller = conversation(role::watcher, secret, 3, 4, filled_with(5));
  listener = conversation(role::listener, secret, 4, 3, filled_with(6));
  ASSERT_TRUE(carry());
  EXPECT_EQ(listener.of_caller(), role::watcher);
  caller.say(news::alive, 3, -1, false, "");
  listener.say(news::alive, 4, -1, false, "");
  EXPECT_TRUE(carry());
  EXPECT_EQ(by_listener.size(), 1U);
  EXPECT_EQ(by_caller.size(), 1U);
}

TEST_F(KeeperConversation, TakesByteByByte) {
  EXPECT_TRUE(carry());
  listener.say(news::alive, 4, -1, false, "");
  for (std::byte const each : std::exchange(listener.leaving(), {}))
    EXPECT_TRUE(caller.take({&each, 1}, [&](frame const& f) { by_caller.push_back(f); }));
  EXPECT_EQ(by_caller.size(), 1U);
}

TEST_F(KeeperConversation, RefusesWhoDoesNotKnowTheSecret) {
  bytes const other = secret_of('t');
  conversation stranger(role::caller, other, 3, 4, filled_with(5));
  EXPECT_TRUE(listener.take(std::exchange(stranger.leaving(), {}), {}));
  // A real one hears from the answer that its peer knows nothing.
  EXPECT_FALSE(stranger.take(std::exchange(listener.leaving(), {}), {}));
  EXPECT_EQ(stranger.why(), "it does not know the job's secret");
  // One that goes on all the same is refused.
  proof const guess{};
  EXPECT_FALSE(listener.take(std::as_bytes(std::span(&guess, 1)), {}));
  EXPECT_EQ(listener.why(), "it does not know the job's secret");
  EXPECT_FALSE(listener.stands());
}

TEST_F(KeeperConversation, RefusesOtherHostsAndOtherWords) {
  conversation wrong(role::caller, secret, 2, 4, filled_with(1));
  EXPECT_FALSE(listener.take(wrong.leaving(), {}));
  conversation second(role::listener, secret, 4, 3, filled_with(2));
  std::string const http = "GET / HTTP/1.1\r\nHost: somewhere.example\r\nAccept: */*\r\n\r\n";
  EXPECT_FALSE(second.take(as_bytes(http), {}));
  EXPECT_EQ(second.why(), "it does not speak as keepers do");
}

TEST_F(KeeperConversation, RefusesReplays) {
  ASSERT_TRUE(carry());
  caller.say(news::alive, 3, -1, false, "");
  bytes const alive = caller.leaving();
  ASSERT_TRUE(carry());
  // All of an earlier meeting, to a listener with a fresh number.
  conversation fresh(role::listener, secret, 4, 3, filled_with(9));
  EXPECT_FALSE(fresh.take(sent, [](frame const&) { FAIL(); }));
  // A frame again; then one turned around.
  EXPECT_FALSE(listener.take(alive, [](frame const&) { FAIL(); }));
  EXPECT_FALSE(caller.take(alive, [](frame const&) { FAIL(); }));
}

TEST_F(KeeperConversation, RefusesWhatIsLeftOut) {
  ASSERT_TRUE(carry());
  caller.say(news::alive, 3, -1, false, "");
  caller.leaving().clear();
  caller.say(news::bye, 3, -1, false, "");
  EXPECT_FALSE(carry());
  EXPECT_EQ(listener.why(), "a frame is missing, or comes again");
}

TEST_F(KeeperConversation, EveryBitCounts) {
  ASSERT_TRUE(carry());
  caller.say(news::ending, 3, 1, true, "words");
  ASSERT_TRUE(carry());
  ASSERT_EQ(by_listener.size(), 1U);
  for (std::size_t bit = 0; bit < 8 * sent.size(); ++bit) {
    bytes altered = sent;
    altered[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    conversation other(role::listener, secret, 4, 3, filled_with(2));
    bool told = false;
    EXPECT_FALSE(other.take(altered, [&](frame const&) { told = true; })) << "bit " << bit;
    EXPECT_FALSE(told);
  }
}

TEST_F(KeeperConversation, NothingComesOfNonsense) {
  ASSERT_TRUE(carry());
  std::mt19937_64 random(20);
  char const* const wanted = std::getenv("ATOLL_TEST_INPUTS");
  long const inputs = wanted != nullptr ? std::atol(wanted) : 20'000;
  for (long i = 0; i < inputs; ++i) {
    // The right beginning now and then, so that later steps are reached.
    bytes all(sent.begin(),
              sent.begin() + static_cast<std::ptrdiff_t>(random() % 3 == 0 ? sizeof(hello) : 0));
    all.resize(all.size() + random() % 600);
    for (std::size_t at = random() % 3 == 0 ? sizeof(hello) : 0; at < all.size(); ++at)
      all[at] = static_cast<std::byte>(random());
    conversation other(role::listener, secret, 4, 3, filled_with(static_cast<std::uint8_t>(i)));
    std::span<std::byte const> rest(all);
    while (!rest.empty()) {
      std::size_t const part = std::min<std::size_t>(1 + random() % 200, rest.size());
      if (!other.take(rest.first(part), [](frame const&) { FAIL(); })) break;
      rest = rest.subspan(part);
    }
    ASSERT_FALSE(other.stands());
  }
}

}  // namespace
