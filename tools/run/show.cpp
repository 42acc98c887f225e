#include "run/show.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "run/quoted.hpp"

namespace atl::tools {
namespace {

/// The variables that decide how the library starts, as a rank will see them.
std::vector<std::string> launch_environment(run_options const& options) {
  std::vector<std::string> chosen;
  auto const asked_for = [&](std::string_view name) {
    return std::any_of(options.environment.begin(), options.environment.end(), [&](std::string const& line) {
      return line.starts_with(name) && line.substr(name.size()).starts_with('=');
    });
  };
  for (auto const& item : settings::all()) {
    char const* const set = std::getenv(item.name);
    if (set != nullptr && !asked_for(item.name)) chosen.push_back(std::string(item.name) + "=" + set);
  }
  std::erase_if(chosen, [](std::string const& line) { return line.starts_with("GASNET_PSHM_NODES="); });
  chosen.push_back(format("GASNET_PSHM_NODES=%d", options.ranks));
  chosen.insert(chosen.end(), options.environment.begin(), options.environment.end());
  auto const has = [&](std::string const& name) {
    return std::any_of(chosen.begin(), chosen.end(),
                       [&](std::string const& line) { return line.starts_with(name + "="); });
  };
  if (!has("UPCXX_SHARED_HEAP_SIZE")) {
    char const* const old_name = std::getenv("UPCXX_SEGMENT_MB");
    chosen.push_back(std::string("UPCXX_SHARED_HEAP_SIZE=") + (old_name != nullptr ? old_name : "128MB"));
  }
  if (!has("GASNET_MAX_SEGSIZE")) {
    auto const heap = std::find_if(chosen.begin(), chosen.end(), [](std::string const& line) {
      return line.starts_with("UPCXX_SHARED_HEAP_SIZE=");
    });
    chosen.push_back("GASNET_MAX_SEGSIZE=" + segment_size(heap->substr(heap->find('=') + 1)));
  }
  return chosen;
}

}  // namespace

void show_words(std::vector<std::string> const& words, run_options const& options, std::FILE* to) {
  for (auto const& line : options.environment) {
    auto const equals = line.find('=');
    std::fprintf(to, "%s=%s ", line.substr(0, equals).c_str(), quoted(line.substr(equals + 1)).c_str());
  }
  for (std::size_t i = 0; i < words.size(); ++i)
    std::fprintf(to, "%s%s", i == 0 ? "" : " ", quoted(words[i]).c_str());
  std::fprintf(to, "\n");
}

void show_command(run_options const& options) {
  bool const all = options.verbosity > 0;
  for (auto const& line : all ? launch_environment(options) : options.environment) {
    auto const equals = line.find('=');
    std::printf("%s=%s%s", line.substr(0, equals).c_str(), quoted(line.substr(equals + 1)).c_str(),
                all ? "\n" : " ");
  }
  std::printf("atoll run -n %d", options.ranks);
  std::printf(" %s", quoted(options.path).c_str());
  for (auto const& word : options.arguments) std::printf(" %s", quoted(word).c_str());
  std::printf("\n");
}

}  // namespace atl::tools
