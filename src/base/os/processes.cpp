#include "base/os/processes.hpp"

#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/os/cgroup.hpp"

namespace atl::os {

namespace {

/// The names in a folder of proc(5) that are numbers.
std::vector<int> numbers_in(std::string const& path) {
  std::vector<int> found;
  std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return found;
  while (dirent const* const item = ::readdir(folder.get())) {
    if (item->d_name[0] >= '1' && item->d_name[0] <= '9') found.push_back(std::atoi(item->d_name));
  }
  return found;
}

}  // namespace

std::vector<int> process_numbers() { return numbers_in("/proc"); }

int threads_of(int number) { return static_cast<int>(numbers_in(format("/proc/%d/task", number)).size()); }

std::optional<listed_process> find_process(int number) {
  constexpr unsigned long exiting = 4;  // PF_EXITING
  // "4711 (name) S 4700 ...", and a name may contain anything, even parentheses.
  auto const text = read_small_file(format("/proc/%d/stat", number));
  if (!text) return std::nullopt;
  std::size_t const begin = text->find('(');
  std::size_t const end = text->rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 4 >= text->size()) return std::nullopt;
  listed_process found;
  found.number = number;
  found.name = text->substr(begin + 1, end - begin - 1);
  // proc(5) counts from 1, the name is the second.
  std::istringstream words(text->substr(end + 1));
  std::string word;
  for (int field = 3; words >> word; ++field) {
    if (field == 3) found.ended = word == "Z" || word == "X";
    if (field == 4) found.parent = std::atoi(word.c_str());
    if (field == 9) found.ending = (std::strtoul(word.c_str(), nullptr, 10) & exiting) != 0;
    if (field == 22) found.started = std::strtoull(word.c_str(), nullptr, 10);
    if (field == 52) found.status = std::atoi(word.c_str());
  }
  return found;
}

std::vector<listed_process> list_processes() {
  std::vector<listed_process> all;
  for (int const number : process_numbers()) {
    if (auto one = find_process(number)) all.push_back(*std::move(one));
  }
  return all;
}

std::optional<std::string> read_environment(int number) {
  return read_small_file(format("/proc/%d/environ", number));
}

std::optional<std::string_view> value_in(std::string_view environment, std::string_view variable) {
  while (!environment.empty()) {
    std::string_view line = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(environment.size(), line.size() + 1));
    if (!line.starts_with(variable)) continue;
    line.remove_prefix(variable.size());
    if (line.starts_with('=')) return line.substr(1);
  }
  return std::nullopt;
}

}  // namespace atl::os
