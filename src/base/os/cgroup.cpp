#include "base/os/cgroup.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <sstream>

#include "base/os/unique_fd.hpp"

namespace atl::os {
namespace {

/// True when `list` ("cpu,cpuacct") has the item.
bool has_item(std::string const& list, std::string const& item) {
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    if (part == item) return true;
  }
  return false;
}

/// The path after the controller's name in /proc/self/cgroup, or nothing.
std::optional<std::string> own_group(std::string const& controller, std::string const& root) {
  auto const text = read_small_file(root + "/proc/self/cgroup");
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) {
    auto const first = line.find(':');
    if (first == std::string::npos) continue;
    auto const second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_item(controllers, controller)) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

/// Mount point of the hierarchy and the group that is its root, from /proc/self/mountinfo.
struct mount_place {
  std::string folder;
  std::string group;
};

std::optional<mount_place> find_mount(std::string const& controller, std::string const& root) {
  auto const text = read_small_file(root + "/proc/self/mountinfo");
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) {
    auto const dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash));
    std::istringstream right(line.substr(dash + 3));
    std::string id, parent, device, group, folder, type, source, options;
    left >> id >> parent >> device >> group >> folder;
    right >> type >> source >> options;
    if (controller.empty() ? type == "cgroup2" : type == "cgroup" && has_item(options, controller)) {
      return mount_place{folder, group};
    }
  }
  return std::nullopt;
}

bool is_folder(std::string const& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

std::optional<std::string> read_small_file(std::string const& path) {
  unique_fd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    ssize_t const got = ::read(fd.get(), part.data(), part.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

std::optional<std::uint64_t> read_number(std::string const& path) {
  auto const text = read_small_file(path);
  if (!text || text->empty() || (*text)[0] < '0' || (*text)[0] > '9') return std::nullopt;
  return std::strtoull(text->c_str(), nullptr, 10);
}

std::vector<std::string> cgroup_folders(std::string const& controller, char const* root) {
  auto const mount = find_mount(controller, root);
  if (!mount) return {};
  std::string inside = own_group(controller, root).value_or("/");
  // In a container the mount often shows only our part of the tree: take its root off the front.
  if (mount->group != "/" && inside.compare(0, mount->group.size(), mount->group) == 0) {
    inside = inside.substr(mount->group.size());
  }
  std::string const base = std::string(root) + mount->folder;
  std::vector<std::string> folders;
  while (!inside.empty() && inside != "/") {
    if (is_folder(base + inside)) folders.push_back(base + inside);
    auto const slash = inside.rfind('/');
    inside = slash == std::string::npos ? "" : inside.substr(0, slash);
  }
  if (is_folder(base)) folders.push_back(base);
  return folders;
}

}  // namespace atl::os
