#pragma once

/// A folder with the files in which a system says what devices there are: /sys, and more of the root.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace atl::test {

class fake_machine {
 public:
  fake_machine() : root_((std::filesystem::temp_directory_path() / "atoll-machine-XXXXXX").string()) {
    if (::mkdtemp(root_.data()) == nullptr) throw std::runtime_error("no folder for files of a machine");
  }
  ~fake_machine() { std::filesystem::remove_all(root_); }
  fake_machine(fake_machine const&) = delete;
  fake_machine& operator=(fake_machine const&) = delete;

  [[nodiscard]] std::string const& root() const { return root_; }
  [[nodiscard]] std::string sys() const { return root_ + "/sys"; }

  /// `file`: below the root.
  void write(std::string const& file, std::string const& line) const {
    std::filesystem::path const path = std::filesystem::path(root_) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << line << '\n';
  }

  /// NUMA nodes of four cores each; those of one socket are 12 apart, others 32.
  void add_nodes(int sockets, int nodes_of_socket) const {
    int const nodes = sockets * nodes_of_socket;
    write("sys/devices/system/node/online", "0-" + std::to_string(nodes - 1));
    for (int node = 0; node < nodes; ++node) {
      std::string distances;
      for (int other = 0; other < nodes; ++other) {
        bool const same_socket = node / nodes_of_socket == other / nodes_of_socket;
        distances += node == other ? "10 " : same_socket ? "12 " : "32 ";
      }
      std::string const folder = "sys/devices/system/node/node" + std::to_string(node);
      write(folder + "/distance", distances);
      write(folder + "/cpulist", std::to_string(node * 4) + "-" + std::to_string(node * 4 + 2) + "," +
                                     std::to_string(node * 4 + 3));
    }
  }

  /// A device on the bus. `path`: below /sys/devices, its address last.
  void add_pci(std::string const& path, std::string const& sort, std::string const& vendor, int node) const {
    std::string const folder = "sys/devices/" + path;
    write(folder + "/class", sort);
    write(folder + "/vendor", vendor);
    write(folder + "/numa_node", std::to_string(node));
    link("sys/bus/pci/devices/" + std::filesystem::path(path).filename().string(), folder);
  }
  void add_gpu(std::string const& path, int node = 0, std::string const& vendor = "0x10de",
               std::string const& sort = "0x030200") const {
    add_pci(path, sort, vendor, node);
  }
  /// `name`: "infiniband/mlx5_0"
  void add_network(std::string const& name, std::string const& path, int node = 0) const {
    add_pci(path, "0x020000", "0x15b3", node);
    link("sys/class/" + name + "/device", "sys/devices/" + path);
  }

  /// Two sockets, each with four switches; under each of these, a GPU ("0000:13:00.0", "0000:23:00.0", … "0000:83:00.0") and beside it an adapter
  /// (mlx5_0 … mlx5_7).
  void add_pairs_under_switches() const {
    add_nodes(2, 1);
    for (int pair = 0; pair < 8; ++pair) {
      std::string const tens(1, static_cast<char>('1' + pair));
      auto const bus = [&](char units) { return "0000:" + tens + units; };
      std::string const up = "pci" + bus('0') + "/" + bus('0') + ":01.0/" + bus('1') + ":00.0/";
      add_gpu(up + bus('2') + ":00.0/" + bus('3') + ":00.0", pair / 4);
      add_network("infiniband/mlx5_" + std::to_string(pair), up + bus('2') + ":01.0/" + bus('4') + ":00.0",
                  pair / 4);
    }
  }

 private:
  void link(std::string const& name, std::string const& target) const {
    std::filesystem::path const path = std::filesystem::path(root_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_directory_symlink(std::filesystem::path(root_) / target, path);
  }

  std::string root_;
};

/// The variables by which drivers and the library let GPUs be seen, unset for a scope.
class no_gpu_variables {
 public:
  no_gpu_variables() {
    for (char const* const name : names) {
      char const* const value = std::getenv(name);
      before_.emplace_back(value != nullptr ? value : "");
      had_.push_back(value != nullptr);
      ::unsetenv(name);
    }
  }
  ~no_gpu_variables() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      had_[i] ? ::setenv(names[i], before_[i].c_str(), 1) : ::unsetenv(names[i]);
    }
  }
  no_gpu_variables(no_gpu_variables const&) = delete;
  no_gpu_variables& operator=(no_gpu_variables const&) = delete;

 private:
  static constexpr char const* names[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                          "HIP_VISIBLE_DEVICES", "ATOLL_CUDA_DRIVER", "ATOLL_HIP_DRIVER"};
  std::vector<std::string> before_;
  std::vector<bool> had_;
};

}  // namespace atl::test
