// Several devices over libfabric: what becomes of a peer where a wire of a further one does not come to stand. For a namespace of its
// own, two devices of which are named (CMakeLists.txt); skipped elsewhere.

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <set>

#include "network_fabric.hpp"
#include "transport/plugins.hpp"

namespace atl::transport {
namespace {

struct tcp_end {
  std::uint32_t host;
  std::uint16_t port;
  auto operator<=>(tcp_end const&) const = default;
};

using look_up = int (*)(int, sockaddr*, socklen_t*);

/// Of a descriptor that is a socket of IPv4.
std::optional<tcp_end> end_of(int descriptor, look_up of) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (of(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.sin_family != AF_INET)
    return std::nullopt;
  return tcp_end{address.sin_addr.s_addr, address.sin_port};
}

constexpr int most_descriptors = 256;

bool listens(int descriptor) {
  int is = 0;
  socklen_t size = sizeof is;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &is, &size) == 0 && is != 0;
}

/// Sockets of this process that have called one of its listeners.
std::set<int> calls() {
  std::set<tcp_end> called;
  for (int d = 0; d < most_descriptors; ++d) {
    if (std::optional<tcp_end> const own = end_of(d, &::getsockname); own && listens(d)) called.insert(*own);
  }
  std::set<int> found;
  for (int d = 0; d < most_descriptors; ++d) {
    if (std::optional<tcp_end> const other = end_of(d, &::getpeername); other && called.contains(*other))
      found.insert(d);
  }
  return found;
}

/// Over all devices that are named, not the first alone.
class all_devices final : public network_job {
 public:
  std::unique_ptr<network> open(std::int32_t rank) override {
    char const* const named = std::getenv("ATOLL_NET_DEVICES");
    network_config config;
    config.rank = rank;
    config.ranks = 2;
    config.devices = named != nullptr ? named : "";
    config.one_machine = true;
    opened_network opened = open_plugin("ofi", config);
    EXPECT_NE(opened.network, nullptr) << opened.why_not;
    if (opened.network == nullptr) std::abort();
    return std::move(opened.network);
  }
};

class ofi_rails : public network_test {
 protected:
  /// Puts all of `source` into rank 1's memory.
  void put(remote_key* key, bytes& source) {
    complete([&](operation* op) { return at(0).net->put(1, {key, 0}, {source.data()}, source.size(), op); });
  }
};

/// Who wants to put over it has dropped it before it stood there, and says so; at the other end it stands.
TEST_P(ofi_rails, AWireThatItsOwnerDropsCostsNoPeer) {
  open(2);
  if (at(0).net->description().find(", ") == std::string::npos)
    GTEST_SKIP() << "has one device: " << at(0).net->description();
  connect(0, 1);
  bytes memory(2'000'000), first = pattern(memory.size(), 1), second = pattern(memory.size(), 2);
  registration* const r = enter(1, memory);
  remote_key* const key = share(1, r, 0);
  std::set<int> const before = calls();
  ASSERT_EQ(before.size(), 1U);
  counted op;
  ASSERT_EQ(persist([&] {
              return at(0).net->put(1, {key, 0}, {first.data()}, first.size(), &op);
            }),
            started::under_way);
  int call = -1;
  int answered = 0;
  auto const end = std::chrono::steady_clock::now() + too_long;
  while (answered == 0 && std::chrono::steady_clock::now() < end) {
    at(0).poll();
    std::set<int> const now = calls();
    for (int const d : now) call = before.contains(d) ? call : d;
    at(1).poll();  // nobody but this test reads what comes of that
    ASSERT_TRUE(call < 0 || ::ioctl(call, FIONREAD, &answered) == 0);
  }
  ASSERT_GT(answered, 0);
  std::array<char, 4096> answer{};
  ASSERT_GT(::recv(call, answer.data(), answer.size(), MSG_DONTWAIT), 0);
  ASSERT_EQ(::shutdown(call, SHUT_RDWR), 0);
  ASSERT_TRUE(until([&] { return op.finished == 1; }));
  // Both have looked at what has become of it.
  ASSERT_TRUE(until([&] { return calls().size() == 1; }));
  rounds(1000);
  EXPECT_EQ(at(0).count(connection_change::lost, 1), 0);
  EXPECT_EQ(at(1).count(connection_change::lost, 0), 0);
  put(key, second);
  EXPECT_TRUE(memory == second);
  at(0).net->drop_key(1, key);
  at(1).net->forget(r);
}

INSTANTIATE_TEST_SUITE_P(All, ofi_rails,
                         testing::Values(network_kind{
                             "named",
                             [](std::int32_t, std::string const&) -> std::unique_ptr<network_job> {
                               return std::make_unique<all_devices>();
                             },
                             ""}),
                         name_of_network);

}  // namespace
}  // namespace atl::transport
