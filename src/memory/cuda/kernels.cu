// Kernels of the library. Not compiled in the build, which needs no toolkit: scripts/kernels.sh makes kernels.ptx.inc of it.

#include <cstdint>

#include "memory/array_reduction.hpp"
#include "memory/cuda/kernels.hpp"
#include "memory/rank_exchange.hpp"

/// One thread adds to a word, wherever it is. Who sees the sum sees what the stream had written before.
extern "C" __global__ void atoll_add(std::uint64_t word, std::uint64_t value) {
  asm volatile("red.release.sys.add.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

namespace {

/// Of what is left from `done` on, the part that is whole units, if both ends are multiples of that; gives how much is done then.
template <class Unit>
__device__ std::uint32_t copy_units(std::uint64_t to, std::uint64_t from, std::uint32_t bytes,
                                    std::uint32_t done) {
  if ((to | from) % sizeof(Unit) != 0) return done;
  std::uint32_t const whole = bytes / sizeof(Unit) * sizeof(Unit);
  for (std::uint32_t i = done + threadIdx.x * sizeof(Unit); i < whole; i += blockDim.x * sizeof(Unit))
    *reinterpret_cast<Unit*>(to + i) = *reinterpret_cast<Unit const*>(from + i);
  return whole;
}

}  // namespace

/// A copy for each block. Loads and stores of 16 bytes where both ends allow that; words, which may be signals, whole.
extern "C" __global__ void atoll_copies(atl::memory::cuda::small_copies const __grid_constant__ all) {
  std::uint64_t const to = all.to[blockIdx.x];
  std::uint64_t const from = all.from[blockIdx.x];
  std::uint32_t const bytes = all.bytes[blockIdx.x];
  std::uint32_t done = copy_units<uint4>(to, from, bytes, 0);
  done = copy_units<unsigned long long>(to, from, bytes, done);
  done = copy_units<unsigned>(to, from, bytes, done);
  copy_units<unsigned char>(to, from, bytes, done);
}

namespace {

template <class Unit>
__device__ void move_units(atl::memory::cuda::box_copy const& all) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < all.units; i += gridDim.x * blockDim.x) {
    *reinterpret_cast<Unit*>(all.place(all.to, all.to_strides, i)) =
        *reinterpret_cast<Unit const*>(all.place(all.from, all.from_strides, i));
  }
}

}  // namespace

/// All threads move units of one box.
extern "C" __global__ void atoll_box(atl::memory::cuda::box_copy const __grid_constant__ all) {
  switch (all.unit) {
    case 16:
      return move_units<uint4>(all);
    case 8:
      return move_units<unsigned long long>(all);
    case 4:
      return move_units<unsigned>(all);
    case 2:
      return move_units<unsigned short>(all);
    default:
      return move_units<unsigned char>(all);
  }
}

namespace {

using atl::memory::rank_exchange;

__device__ std::uint64_t load_acquire(std::uint64_t word) {
  std::uint64_t found;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(found) : "l"(word) : "memory");
  return found;
}
/// What kernels before have read and stored is done when one begins, so who says no more than that needs no order.
__device__ void store_relaxed(std::uint64_t word, std::uint64_t value) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
/// What the block has stored and read before its last barrier is done for who sees it.
__device__ void store_release(std::uint64_t word, std::uint64_t value) {
  asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ void wait_for(std::uint64_t word, std::uint64_t value) {
  while (!rank_exchange::has_come(load_acquire(word), value)) {
  }
}

/// Where what is sent goes: to several ranks, or to one.
struct to_several {
  std::uint64_t places[rank_exchange::most_ranks];
  std::int32_t ranks;
  [[nodiscard]] __device__ std::int32_t count() const { return ranks; }
  [[nodiscard]] __device__ std::uint64_t at(std::int32_t k) const { return places[k]; }
};
struct to_one {
  std::uint64_t place;
  [[nodiscard]] __device__ std::int32_t count() const { return 1; }
  [[nodiscard]] __device__ std::uint64_t at(std::int32_t /*k*/) const { return place; }
};

/// The bytes from `begin` to `end` behind each place, or as many as are whole units, if all of them begin at multiples of that; gives where the
/// rest begins. Each unit is read once. A thread has four under way: what crosses a link is long on its way.
template <class Unit, class To>
__device__ std::uint64_t spread_units(To const& to, std::uint64_t from, std::uint64_t begin,
                                      std::uint64_t end) {
  std::uint64_t places = from + begin;
  for (std::int32_t k = 0; k < to.count(); ++k) places |= to.at(k) + begin;
  if (places % sizeof(Unit) != 0) return begin;
  end -= (end - begin) % sizeof(Unit);
  std::uint64_t const step = blockDim.x * sizeof(Unit);
  auto const unit = [](std::uint64_t place) { return reinterpret_cast<Unit*>(place); };
  std::uint64_t i = begin + threadIdx.x * sizeof(Unit);
  for (; i + 3 * step < end; i += 4 * step) {
    Unit const a = *unit(from + i);
    Unit const b = *unit(from + i + step);
    Unit const c = *unit(from + i + 2 * step);
    Unit const d = *unit(from + i + 3 * step);
    for (std::int32_t k = 0; k < to.count(); ++k) {
      std::uint64_t const there = to.at(k) + i;
      *unit(there) = a;
      *unit(there + step) = b;
      *unit(there + 2 * step) = c;
      *unit(there + 3 * step) = d;
    }
  }
  for (; i < end; i += step) {
    Unit const a = *unit(from + i);
    for (std::int32_t k = 0; k < to.count(); ++k) *unit(to.at(k) + i) = a;
  }
  return end;
}
template <class To>
__device__ void spread(To const& to, std::uint64_t from, std::uint64_t begin, std::uint64_t end) {
  begin = spread_units<uint4>(to, from, begin, end);
  begin = spread_units<unsigned long long>(to, from, begin, end);
  begin = spread_units<unsigned>(to, from, begin, end);
  spread_units<unsigned char>(to, from, begin, end);
}

/// What is told of, and passed on, while more is under way.
constexpr std::uint64_t bytes_of_chunk = 4 * 16 * rank_exchange::threads;

/// The same to all, behind the root if it is passed on.
__device__ void send_one(rank_exchange const& x, std::uint32_t block, std::uint64_t number, to_several& to) {
  if (threadIdx.x == 0) {
    to.ranks = 0;
    for (std::int32_t k = 1; k <= x.ranks; ++k) {
      std::int32_t const r = x.ahead(k);
      if (x.gives_to(r)) to.places[to.ranks++] = x.share(r, block).to;
    }
  }
  __syncthreads();
  if (to.ranks == 0) return;
  rank_exchange::piece const part = x.share(x.ahead(1), block);
  if (!x.relays()) return spread(to, part.from, 0, part.bytes);
  std::uint64_t chunks = 0;
  for (std::uint64_t begin = 0; begin < part.bytes; begin += bytes_of_chunk) {
    ++chunks;
    if (threadIdx.x == 0) wait_for(x.news(x.me, x.root, block), rank_exchange::told(number, chunks));
    __syncthreads();
    std::uint64_t const left = part.bytes - begin;
    spread(to, part.from, begin, begin + (left < bytes_of_chunk ? left : bytes_of_chunk));
  }
}

/// To each its part, of which it hears by chunks if it passes that on.
__device__ void send_parts(rank_exchange const& x, std::uint32_t block, std::uint64_t number) {
  std::uint64_t const chunk = x.relayed ? bytes_of_chunk : x.bytes;
  std::uint64_t chunks = 0;
  bool more = true;
  for (std::uint64_t begin = 0; more; begin += chunk) {
    more = false;
    for (std::int32_t k = 1; k <= x.ranks; ++k) {
      std::int32_t const r = x.ahead(k);
      if (!x.gives_to(r)) continue;
      rank_exchange::piece const part = x.share(r, block);
      if (begin >= part.bytes) continue;
      std::uint64_t const left = part.bytes - begin;
      spread(to_one{part.to}, part.from, begin, begin + (left < chunk ? left : chunk));
      more = more || left > chunk;
    }
    if (!x.relayed) continue;
    ++chunks;
    __syncthreads();
    auto const r = static_cast<std::int32_t>(threadIdx.x);
    if (r < x.ranks && x.sends(x.me, r))
      store_release(x.news(r, x.me, block), rank_exchange::told(number, chunks));
  }
}

}  // namespace

/// A rank's part in an exchange. Blocks do not wait for others of their kernel, so they need not be there at once; two fit on a multiprocessor,
/// so that several such kernels of a device, which may wait for different ranks, do.
extern "C" __global__ void __launch_bounds__(rank_exchange::threads, 2)
    atoll_exchange(rank_exchange const __grid_constant__ x) {
  __shared__ to_several to;
  std::uint32_t const block = blockIdx.x;
  auto const r = static_cast<std::int32_t>(threadIdx.x);  // the rank that this thread looks after
  bool const sends = r < x.ranks && x.sends(x.me, r);
  bool const hears = r < x.ranks && x.sends(r, x.me);
  std::uint64_t const number = *reinterpret_cast<std::uint64_t const*>(x.number(block)) + 1;
  if ((x.steps & rank_exchange::opens) != 0) {
    if (hears) store_relaxed(x.offer(r, x.me, block), number);
    if (sends) wait_for(x.offer(x.me, r, block), number);
    __syncthreads();
  }
  if ((x.steps & rank_exchange::moves) != 0) {
    x.sends_one() ? send_one(x, block, number, to) : send_parts(x, block, number);
  }
  if ((x.steps & rank_exchange::closes) != 0) {
    __syncthreads();
    if (sends) store_release(x.news(r, x.me, block), rank_exchange::told(number));
    if (hears) wait_for(x.news(x.me, r, block), rank_exchange::told(number));
    __syncthreads();
    if (threadIdx.x == 0) *reinterpret_cast<std::uint64_t*>(x.number(block)) = number;
  }
}

namespace {

// A value and a number in one access of 16 bytes, as PTX says from 8.3 on, and devices have done all along.

__device__ void store_packet(std::uint64_t place, std::uint64_t value, std::uint64_t number) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(place), "l"(value), "l"(number) : "memory");
}
__device__ std::uint64_t take_packet(std::uint64_t place, std::uint64_t number) {
  std::uint64_t value;
  std::uint64_t found;
  do {
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(value), "=l"(found)
                 : "l"(place)
                 : "memory");
  } while (found != number);
  return value;
}

/// At most 8 bytes, from or to any place.
__device__ std::uint64_t load_bytes(std::uint64_t from, std::uint64_t bytes) {
  if (bytes >= 8 && from % 8 == 0) return *reinterpret_cast<std::uint64_t const*>(from);
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < 8 && i < bytes; ++i)
    value |= std::uint64_t{*reinterpret_cast<unsigned char const*>(from + i)} << (8 * i);
  return value;
}
__device__ void store_bytes(std::uint64_t to, std::uint64_t value, std::uint64_t bytes) {
  if (bytes >= 8 && to % 8 == 0) {
    *reinterpret_cast<std::uint64_t*>(to) = value;
    return;
  }
  for (std::uint64_t i = 0; i < 8 && i < bytes; ++i)
    *reinterpret_cast<unsigned char*>(to + i) = static_cast<unsigned char>(value >> (8 * i));
}

}  // namespace

/// The same where there is little: a thread for each packet that a rank sends or gets.
extern "C" __global__ void __launch_bounds__(rank_exchange::threads, 2)
    atoll_exchange_few(rank_exchange const __grid_constant__ x) {
  std::uint32_t const block = blockIdx.x;
  std::uint64_t const number = *reinterpret_cast<std::uint64_t const*>(x.number(block)) + 1;
  auto const looked_after = static_cast<std::int32_t>(threadIdx.x);
  if (looked_after < x.ranks) {
    if (x.sends(looked_after, x.me)) store_relaxed(x.offer(looked_after, x.me, block), number);
    if (x.sends(x.me, looked_after)) wait_for(x.offer(x.me, looked_after, block), number - 1);
  }
  __syncthreads();
  // Of one rank that sends, or of all, each its threads.
  std::uint32_t const packet = threadIdx.x & (x.packets() - 1);
  std::uint64_t const offset = x.carried(block, packet);
  if (offset < x.bytes) {
    std::uint64_t const left = x.bytes - offset;
    auto const other = static_cast<std::int32_t>(threadIdx.x >> x.packet_bits);
    if (x.root < 0) {
      if (other < x.ranks) {
        rank_exchange::piece const part = x.for_rank(other);
        if (other != x.me) {
          store_packet(x.packet_at(other, x.me, number, block, packet), load_bytes(part.from + offset, left),
                       number);
          store_bytes(x.received(other) + offset,
                      take_packet(x.packet_at(x.me, other, number, block, packet), number), left);
        } else if (part.to != part.from) {
          store_bytes(part.to + offset, load_bytes(part.from + offset, left), left);
        }
      }
    } else if (x.me == x.root) {
      std::uint64_t const value = load_bytes(x.from + offset, left);
      for (std::int32_t k = 1; k < x.ranks; ++k)
        store_packet(x.packet_at(x.ahead(k), x.me, number, block, packet), value, number);
      if (x.to[x.me] != x.from) store_bytes(x.to[x.me] + offset, value, left);
    } else {
      store_bytes(x.to[x.me] + offset, take_packet(x.packet_at(x.me, x.root, number, block, packet), number),
                  left);
    }
  }
  if (threadIdx.x == 0) *reinterpret_cast<std::uint64_t*>(x.number(block)) = number;
}

/// Arrays of one device, which ranks have gathered before.
extern "C" __global__ void atoll_reduce(atl::memory::array_reduction const __grid_constant__ x) {
  x.reduce(std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, std::uint64_t{gridDim.x} * blockDim.x);
}
