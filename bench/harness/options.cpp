#include "harness/options.hpp"

#include <cstdlib>
#include <sstream>

namespace atl::bench {

option option_of(std::string const& word) {
  auto const equals = word.find('=');
  return {word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1)};
}

std::vector<std::string> split(std::string const& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

std::vector<std::size_t> sizes_of(std::string const& text) {
  std::vector<std::size_t> sizes;
  for (auto const& word : split(text)) sizes.push_back(std::strtoull(word.c_str(), nullptr, 10));
  return sizes;
}

bool take_measuring(group_config& config, option const& given) {
  if (given.name == "blocks") {
    config.blocks = std::atoi(given.value.c_str());
  } else if (given.name == "block_us") {
    config.block_us = std::atof(given.value.c_str());
  } else if (given.name == "give_up_us") {
    config.give_up_us = std::atof(given.value.c_str());
  } else {
    return false;
  }
  return true;
}

}  // namespace atl::bench
