// A bad link between hosts that scripts/hosts.sh makes, where the kernel has no netem. It stands beside a bridge that no
// longer carries frames between hosts: takes every frame that a host sends to another, holds it for the delay, loses some, lets some
// overtake others, and hands it on.
//
//   link_forwarder [--delay-ns N] [--loss P] [--reorder P] [--seed N] [--report FILE] INTERFACE=ADDRESS...
//
// INTERFACE is this end of a host's cable, ADDRESS the host's own Ethernet address at the other. It ends on SIGTERM; it writes to FILE what it has done when
// it is ready, and on SIGUSR1. One thread, which sleeps while nothing is due.
//
// Packet sockets see frames before the bridge does, and with PACKET_VNET_HDR they hand over segments of 64 KiB that the kernel never cut, with
// checksums that it never made; so the forwarder adds little but the delay. The fate of a frame depends on the seed, its link and its number on that link alone.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using address = std::array<unsigned char, ETH_ALEN>;
using nanoseconds = std::int64_t;

constexpr std::size_t offloads = 10;  // bytes of a virtio_net_hdr, whose header is no C++
constexpr std::size_t largest_frame = offloads + ETH_HLEN + 65536 + 64;
constexpr int socket_room = 64 << 20;  // bytes; what does not fit is lost unasked, and counted

[[noreturn]] void fail(std::string const& what) {
  std::fprintf(stderr, "link_forwarder: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

nanoseconds now() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * std::int64_t{1'000'000'000} + at.tv_nsec;
}

/// A number in [0, 1) that only the arguments decide (the finaliser of MurmurHash3, twice).
double drawn(std::uint64_t seed, std::uint64_t link, std::uint64_t number) {
  auto const mix = [](std::uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
  };
  return static_cast<double>(mix(mix(seed + 0x9e3779b97f4a7c15ULL * (link + 1)) + number) >> 11) * 0x1p-53;
}

struct orders {
  nanoseconds delay = 0;
  double loss = 0;
  double reorder = 0;
  std::uint64_t seed = 1;
  std::string report;
};

struct port {
  std::string name;
  address host{};
  int socket = -1;
};

struct held_frame {
  nanoseconds due;
  std::unique_ptr<unsigned char[]> bytes;
  std::size_t size;
  std::size_t to;
};

class forwarder {
 public:
  forwarder(orders given, std::vector<port> ports)
      : orders_(std::move(given)), ports_(std::move(ports)), seen_(ports_.size() * ports_.size()) {
    for (port& each : ports_) open(each);
    sigset_t asked;
    sigemptyset(&asked);
    for (int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&asked, signal);
    sigprocmask(SIG_BLOCK, &asked, nullptr);
    signals_ = signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) fail("signalfd");
  }

  void run() {
    std::vector<pollfd> watched;
    for (port const& each : ports_) watched.push_back({each.socket, POLLIN, 0});
    watched.push_back({signals_, POLLIN, 0});
    began_ = now();
    report();
    for (;;) {
      timespec left{};
      if (!held_.empty()) {
        nanoseconds const wait = std::max<nanoseconds>(0, held_.front().due - now());
        left = {wait / 1'000'000'000, wait % 1'000'000'000};
      }
      if (ppoll(watched.data(), watched.size(), held_.empty() ? nullptr : &left, nullptr) < 0 &&
          errno != EINTR)
        fail("ppoll");
      // Few from each in turn, so that what is due does not wait for a flood to end.
      for (std::size_t from = 0; from < ports_.size(); ++from) {
        if (watched[from].revents != 0) take(from);
      }
      release();
      if (watched.back().revents != 0 && obey_signal()) return;
    }
  }

 private:
  static void open(port& each) {
    unsigned const index = if_nametoindex(each.name.c_str());
    if (index == 0) fail(each.name);
    each.socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (each.socket < 0) fail("a packet socket");
    int const one = 1;
    if (setsockopt(each.socket, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) != 0) fail("PACKET_VNET_HDR");
    if (setsockopt(each.socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) != 0)
      fail("PACKET_IGNORE_OUTGOING");
    setsockopt(each.socket, SOL_SOCKET, SO_RCVBUFFORCE, &socket_room, sizeof socket_room);
    setsockopt(each.socket, SOL_SOCKET, SO_SNDBUFFORCE, &socket_room, sizeof socket_room);
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(ETH_P_ALL);
    at.sll_ifindex = static_cast<int>(index);
    if (bind(each.socket, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fail("bind to " + each.name);
  }

  void take(std::size_t from) {
    for (int i = 0; i < 16; ++i) {
      // A cable that was cut says so once.
      ssize_t const got = recv(ports_[from].socket, arrived_.data(), arrived_.size(), MSG_TRUNC);
      if (got < 0) return;
      auto const size = static_cast<std::size_t>(got);
      if (size < offloads + ETH_HLEN || size > arrived_.size()) continue;
      address target;
      std::memcpy(target.data(), arrived_.data() + offloads, target.size());
      bool const everyone = (target[0] & 1) != 0;
      for (std::size_t to = 0; to < ports_.size(); ++to) {
        if (to != from && (everyone || target == ports_[to].host)) decide(from, to, size);
      }
    }
  }

  void decide(std::size_t from, std::size_t to, std::size_t size) {
    std::uint64_t const link = from * ports_.size() + to;
    std::uint64_t const number = seen_[link]++;
    ++frames_;
    bytes_ += size - offloads;
    if (drawn(orders_.seed, 2 * link, number) < orders_.loss) {
      ++lost_;
    } else if (orders_.delay == 0) {
      send(to, arrived_.data(), size);
    } else if (drawn(orders_.seed, 2 * link + 1, number) < orders_.reorder) {
      ++overtaking_;
      send(to, arrived_.data(), size);
    } else {
      std::unique_ptr<unsigned char[]> bytes;
      if (spare_.empty()) {
        bytes.reset(new unsigned char[largest_frame]);  // not touched: small frames cost a page
      } else {
        bytes = std::move(spare_.back());
        spare_.pop_back();
      }
      std::memcpy(bytes.get(), arrived_.data(), size);
      held_.push_back({now() + orders_.delay, std::move(bytes), size, to});
    }
  }

  void release() {
    while (!held_.empty() && held_.front().due <= now()) {
      held_frame& first = held_.front();
      send(first.to, first.bytes.get(), first.size);
      spare_.push_back(std::move(first.bytes));
      held_.pop_front();
    }
  }

  void send(std::size_t to, unsigned char const* bytes, std::size_t size) {
    if (::send(ports_[to].socket, bytes, size, 0) < 0) ++refused_;
  }

  bool obey_signal() {
    signalfd_siginfo which{};
    if (read(signals_, &which, sizeof which) != sizeof which) return false;
    if (which.ssi_signo == SIGUSR1) report();
    return which.ssi_signo != SIGUSR1;
  }

  void report() {
    if (orders_.report.empty()) return;
    for (port const& each : ports_) {
      tpacket_stats since{};  // since the last question
      socklen_t size = sizeof since;
      if (getsockopt(each.socket, SOL_PACKET, PACKET_STATISTICS, &since, &size) == 0)
        missed_ += since.tp_drops;
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    auto const seconds = [](timeval t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    double const wall = 1e-9 * static_cast<double>(now() - began_);
    double const cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
    std::string const draft = orders_.report + ".new";
    std::FILE* file = std::fopen(draft.c_str(), "w");
    if (file == nullptr) return;
    std::fprintf(
        file,
        "forwarder: %llu frames of %.1f MB in %.1f s, %llu lost, %llu overtaking, %llu not taken in time, %llu refused; "
        "processor time %.3f s (%.1f %% of a core)\n",
        frames_, 1e-6 * static_cast<double>(bytes_), wall, lost_, overtaking_, missed_, refused_, cpu,
        100 * cpu / wall);
    std::fclose(file);
    std::rename(draft.c_str(), orders_.report.c_str());
  }

  using count = unsigned long long;
  orders orders_;
  std::vector<port> ports_;
  std::vector<std::uint64_t> seen_;  // frames so far, by link
  std::deque<held_frame> held_;      // in the order in which they are due: all wait for the same time
  std::vector<std::unique_ptr<unsigned char[]>> spare_;
  std::array<unsigned char, largest_frame> arrived_{};
  int signals_ = -1;
  nanoseconds began_ = 0;
  count frames_ = 0, bytes_ = 0, lost_ = 0, overtaking_ = 0, missed_ = 0, refused_ = 0;
};

address parse_address(char const* text) {
  address parsed{};
  if (std::sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx", &parsed[0], &parsed[1], &parsed[2], &parsed[3],
                  &parsed[4], &parsed[5]) != 6) {
    errno = EINVAL;
    fail(text);
  }
  return parsed;
}

}  // namespace

int main(int count, char** words) {
  orders given;
  std::vector<port> ports;
  for (int i = 1; i < count; ++i) {
    std::string_view const word = words[i];
    char const* const value = i + 1 < count ? words[i + 1] : "";
    if (word == "--delay-ns")
      given.delay = std::atoll(value), ++i;
    else if (word == "--loss")
      given.loss = std::atof(value), ++i;
    else if (word == "--reorder")
      given.reorder = std::atof(value), ++i;
    else if (word == "--seed")
      given.seed = std::strtoull(value, nullptr, 10), ++i;
    else if (word == "--report")
      given.report = value, ++i;
    else if (std::size_t const at = word.find('='); at != word.npos)
      ports.push_back({std::string(word.substr(0, at)), parse_address(words[i] + at + 1), -1});
    else {
      std::fprintf(stderr, "link_forwarder: %s: not understood\n", words[i]);
      return 2;
    }
  }
  // Before ranks that keep the cores busy: a link does not wait for the processors of those who use it.
  sched_param const first{20};
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) setpriority(PRIO_PROCESS, 0, -20);
  prctl(PR_SET_TIMERSLACK, 1UL);
  prctl(PR_SET_NAME, "link_forwarder");
  forwarder(std::move(given), std::move(ports)).run();
  return 0;
}
