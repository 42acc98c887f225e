#include "fabric.hpp"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <atoll/base/round_up.hpp>

namespace atl::transport {
namespace {

/// Ranks that meet in one anonymous mapping. Behind every rank's region lie bytes that nobody may change.
class shm_fabric final : public fabric {
 public:
  shm_fabric(fabric_shape const& shape, bool read_peers) {
    shm::endpoint_config config;
    config.layout.counters_offset = sizeof(doorbell);
    config.layout.ring_cells = shape.ring_cells;
    config.layout.place_rings();
    config.layout.arena_bytes = shape.arena_bytes;
    config.layout.end = config.layout.arena_offset + shape.arena_bytes;
    config.stride = round_up(config.layout.end + guard_bytes, std::size_t{4096});
    config.count = shape.ranks;
    config.ranks = bootstrap::host_ranks(0, shape.ranks);
    config.read_peers = read_peers;
    static shm::peer_process const self = shm::introduce_process();
    config.peers.assign(shape.ranks, self);
    bytes_ = config.stride * shape.ranks;
    int const sharing = shape.between_processes ? MAP_SHARED : MAP_PRIVATE;
    void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("mmap failed");
    config.base = static_cast<std::byte*>(mapped);
    config.bells = reinterpret_cast<doorbell*>(config.base);
    config_ = config;
    for (std::uint32_t r = 0; r < shape.ranks; ++r) std::memset(guard_of(r), 0x5a, guard_bytes);
    for (std::uint32_t r = 0; r < shape.ranks; ++r) {
      config.me = r;
      arenas_.push_back(std::make_unique<memory::arena>(
          config.base + r * config.stride + config.layout.arena_offset, config.layout.arena_bytes));
      config.transit = arenas_.back().get();
      memories_.push_back(std::make_unique<message_memory>(shape.private_limit));
      config.memory = memories_.back().get();
      ranks_.push_back(std::make_unique<shm::endpoint>(config));
    }
  }

  ~shm_fabric() override {
    ranks_.clear();
    for (std::uint32_t r = 0; r < config_.count; ++r) {
      for (std::size_t i = 0; i < guard_bytes; ++i) {
        if (guard_of(r)[i] != std::byte{0x5a}) {
          ADD_FAILURE() << "byte " << i << " behind the region of rank " << r << " was overwritten";
          break;
        }
      }
    }
    munmap(config_.base, bytes_);
  }

  shm::endpoint& rank(std::uint32_t index) override { return *ranks_[index]; }
  std::size_t in_place_bytes() const override { return config_.layout.arena_bytes / 2; }
  std::size_t private_bytes(std::uint32_t index) const override { return ranks_[index]->memory().used(); }
  bool starved(std::uint32_t index) const override { return ranks_[index]->starved(); }

 private:
  static constexpr std::size_t guard_bytes = 4096;
  std::byte* guard_of(std::uint32_t r) const {
    return config_.base + r * config_.stride + config_.layout.end;
  }

  shm::endpoint_config config_;
  std::size_t bytes_ = 0;
  std::vector<std::unique_ptr<memory::arena>> arenas_;
  std::vector<std::unique_ptr<message_memory>> memories_;
  std::vector<std::unique_ptr<shm::endpoint>> ranks_;
};

std::string process_memory_obstacle() {
  std::uint64_t const there = 42;
  std::uint64_t here = 0;
  iovec const to{&here, sizeof here};
  iovec const from{const_cast<std::uint64_t*>(&there), sizeof there};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof here && here == there) return {};
  return std::string("process_vm_readv: ") + std::strerror(errno);
}

}  // namespace

std::vector<fabric_kind> fabric_kinds() {
  return {
      {"shm_rendezvous",
       [](fabric_shape const& shape) -> std::unique_ptr<fabric> {
         return std::make_unique<shm_fabric>(shape, true);
       },
       &process_memory_obstacle},
      {"shm_fragments",
       [](fabric_shape const& shape) -> std::unique_ptr<fabric> {
         return std::make_unique<shm_fabric>(shape, false);
       },
       [] { return std::string(); }},
  };
}

void fill_and_commit(shm::endpoint& from, outgoing& out, message_kind kind, std::uint64_t token,
                     std::size_t bytes) {
  std::byte* const payload = out.begin + header_bytes;
  for (std::size_t i = 0; i < bytes; i += 8) {
    std::uint64_t const word = pattern(token, i);
    std::memcpy(payload + i, &word, std::min<std::size_t>(8, bytes - i));
  }
  from.commit(out, kind, token, header_bytes + bytes);
}

status try_send(shm::endpoint& from, std::uint32_t target, std::uint64_t token, std::size_t bytes,
                spill allowed, std::size_t alignment, message_kind kind) {
  outgoing out;
  out.target = static_cast<std::int32_t>(target);
  out.way = lane_of(kind);
  status const s = from.begin(out, header_bytes + bytes, alignment, allowed);
  if (s != status::ok) return s;
  EXPECT_GE(out.capacity, header_bytes + bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(out.begin) % alignment, 0U);
  fill_and_commit(from, out, kind, token, bytes);
  return s;
}

std::string difference(message const& arrived, std::size_t bytes) {
  if (arrived.bytes != header_bytes + bytes) {
    return "payload of " + std::to_string(arrived.bytes - header_bytes) + " bytes, not " +
           std::to_string(bytes);
  }
  for (std::size_t i = 0; i < bytes; i += 8) {
    std::uint64_t const word = pattern(arrived.token, i);
    if (std::memcmp(arrived.payload() + i, &word, std::min<std::size_t>(8, bytes - i)) != 0) {
      return "message " + std::to_string(arrived.token) + " of " + std::to_string(bytes) +
             " bytes differs in the eight from byte " + std::to_string(i);
    }
  }
  return {};
}

message* receive_soon(fabric& ranks, std::uint32_t receiver, shm::taking how) {
  for (int round = 0; round < 1000; ++round) {
    if (message* const m = ranks.rank(receiver).receive(how)) return m;
    for (std::uint32_t r = 0; r < 2; ++r) ranks.rank(r).flush();
  }
  return nullptr;
}

}  // namespace atl::transport
