// Ghost exchange between boxes on two GPUs, whose faces are one run or many single elements; beside it the driver's copies of as many bytes
// that lie together.

#include <atoll/array.hpp>
#include <atoll/stream.hpp>
#include <string>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "suites/gpu.hpp"

namespace atl::bench {
namespace {

constexpr auto kind = upcxx::gpu_default_device::kind;
constexpr int faces = 2;

/// The ranks' boxes lie side by side along dimension `along`, in a ring.
void run_faces(setting const& s, upcxx::device_allocator<upcxx::gpu_default_device>& gpu,
               atl::stream const& stream, int edge, int along) {
  auto const face_bytes = sizeof(double) * static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge);
  auto const unit = [along](std::ptrdiff_t length) {
    atl::point<3> p{0, 0, 0};
    p[along] = length;
    return p;
  };
  auto const shift = unit(edge * upcxx::rank_me());
  atl::domain<3> const interior{shift, atl::point<3>::all(edge) + shift};
  auto const memory = atl::make_array<double>(gpu, interior.grow(1));
  atl::array<double, 3, kind> const boxes[] = {memory};
  auto const& box = boxes[0];
  // In private memory: shared heaps may be smaller.
  std::vector<double> data;
  for (atl::point<3> const& p : box.domain()) data.push_back(static_cast<double>(p[along]));
  upcxx::copy(data.data(), box.pointer(box.lower()), data.size()).wait();
  upcxx::barrier();
  atl::ghost_exchange<double, 3, kind> halo(boxes, 1, atl::shape::faces,
                                            atl::domain<3>{{0, 0, 0}, unit(2 * edge)});
  halo.run();
  auto const beyond = unit(edge) + shift;
  double found = -1;
  upcxx::copy(box.pointer(beyond), &found, 1).wait();
  if (found != static_cast<double>(beyond[along] % (2 * edge))) wrong_data("ghost_exchange on devices");
  halo.shake_hands();
  halo.use_streams(gpu);
  std::string const key = std::string("ghosts.") + "xyz"[along];
  std::string const name =
      std::string("two ") + "xyz"[along] + " faces of " + std::to_string(edge) + "^3 doubles";
  auto const limit = s.limit([&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      for (int k = 0; k < faces; ++k) s.raw->copy(s.raw->peer(), s.raw->own(), face_bytes);
      s.raw->wait();
    }
  });
  row by_host = s.make_row(key, name + ", waited for", faces * face_bytes);
  by_host.limit_of_both = true;
  s.g.symmetric(
      by_host,
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) halo.run();
      },
      limit);
  halo.shake_hands();
  row in_stream = s.make_row(key + ".stream", name + " in a stream, many", faces * face_bytes);
  in_stream.least = 16;
  in_stream.limit_of_both = true;
  s.g.symmetric(
      in_stream,
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) halo.run(stream);
        atl::wait(stream);
      },
      limit);
  upcxx::barrier();
}

}  // namespace

void run_ghosts(setting const& s) {
  int const edge = s.options.quick ? 16 : 128;
  auto const cells = static_cast<std::size_t>(edge + 2) * static_cast<std::size_t>(edge + 2) *
                     static_cast<std::size_t>(edge + 2);
  auto gpu = upcxx::make_gpu_allocator(cells * sizeof(double) + (std::size_t{1} << 20));
  {
    auto const stream = atl::make_stream(gpu);
    for (int along = 2; along >= 0; --along) run_faces(s, gpu, stream, edge, along);
  }
  gpu.destroy();
}

}  // namespace atl::bench
