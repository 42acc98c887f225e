#include "exchanges/communicator.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace heat3d {
namespace {

struct entry {
  std::string_view name;
  std::unique_ptr<communicator> (*make)(int* argc, char*** argv);
  bool on_device = false;
  stepping steps = stepping::by_host;
};

constexpr auto entries = std::to_array<entry>({
    {"rma", [](int*, char***) { return make_upcxx_communicator(one_sided::copy); }, true},
    {"rma-staged", [](int*, char***) { return make_upcxx_communicator(one_sided::copy); }},
    {"graph", [](int*, char***) { return make_upcxx_communicator(one_sided::copy); }, true,
     stepping::in_streams},
    {"device", [](int*, char***) { return make_upcxx_communicator(one_sided::copy); }, true,
     stepping::in_kernel},
    {"put", [](int*, char***) { return make_upcxx_communicator(one_sided::signalling_put); }},
#ifdef HEAT3D_HAS_MPI
    {"mpi", [](int* argc, char*** argv) { return make_mpi_communicator(argc, argv, two_sided::natural); }},
    {"mpi-tuned",
     [](int* argc, char*** argv) { return make_mpi_communicator(argc, argv, two_sided::tuned); }},
    {"mpi-cuda",
     [](int* argc, char*** argv) { return make_mpi_communicator(argc, argv, two_sided::natural); }, true},
#endif
    {"off", [](int*, char***) { return make_upcxx_communicator(one_sided::nothing); }, true},
    {"none", [](int*, char***) { return make_solo_communicator(); }, true},
});

/// Delivers something else than what arrived.
class faulty_exchange final : public halo_exchange {
 public:
  faulty_exchange(std::unique_ptr<halo_exchange> inner, std::string_view fault, block const& own)
      : inner_(std::move(inner)), fault_(fault) {
    for (int f = 0; f < face_n; ++f) {
      if (!own.has_neighbor(face(f))) continue;
      for (auto& planes : delivered_) planes[f].resize(face_cells(own.extent(), face(f)));
    }
  }

  double* outgoing(face f) override { return inner_->outgoing(f); }
  void start(face f, double const* plane) override { inner_->start(f, plane); }
  bool arrived(face f) override { return inner_->arrived(f); }
  void wait() override { inner_->wait(); }
  double const* incoming(face f) override {
    auto const* const arrived = inner_->incoming(f);
    if (arrived == nullptr) return nullptr;
    auto& plane = delivered_[parity_][f];
    if (fault_ == "mirror") std::reverse_copy(arrived, arrived + plane.size(), plane.begin());
    return plane.data();
  }
  void next_step() override {
    // Devices may still copy what was delivered in this step.
    parity_ ^= 1;
    for (int f = 0; f < face_n; ++f) {
      auto& plane = delivered_[parity_][f];
      if (fault_ == "late" && !plane.empty())
        std::copy_n(inner_->incoming(face(f)), plane.size(), plane.begin());
    }
    inner_->next_step();
  }

 private:
  std::unique_ptr<halo_exchange> inner_;
  std::string fault_;
  int parity_ = 0;
  std::array<std::array<std::vector<double>, face_n>, 2> delivered_;
};

}  // namespace

std::string exchange_names() {
  std::string names;
  for (auto const& e : entries) names += (names.empty() ? "" : ", ") + std::string(e.name);
  return names;
}

bool exchange_exists(std::string_view name) {
  return std::ranges::any_of(entries, [&](entry const& e) { return e.name == name; });
}

bool exchange_on_device(std::string_view name) {
  return std::ranges::any_of(entries, [&](entry const& e) { return e.name == name && e.on_device; });
}

stepping exchange_stepping(std::string_view name) {
  auto const* const found = std::ranges::find(entries, name, &entry::name);
  return found == entries.end() ? stepping::by_host : found->steps;
}

std::unique_ptr<stream_planes> communicator::make_stream_planes(block const&, device_memory&) {
  throw failure{"planes travel in streams of a device with an exchange of the library only, such as graph"};
}

std::unique_ptr<kernel_exchange> communicator::make_kernel_exchange(block const&, device_memory&) {
  throw failure{"kernels store planes with an exchange of the library only, such as device"};
}

std::unique_ptr<communicator> make_communicator(std::string_view exchange, int* argc, char*** argv) {
  for (auto const& e : entries) {
    if (e.name == exchange) return e.make(argc, argv);
  }
  return make_upcxx_communicator(one_sided::copy);
}

std::unique_ptr<halo_exchange> with_fault(std::unique_ptr<halo_exchange> inner, std::string_view fault,
                                          block const& own) {
  if (fault != "late" && fault != "zero" && fault != "mirror") return inner;
  return std::make_unique<faulty_exchange>(std::move(inner), fault, own);
}

}  // namespace heat3d
