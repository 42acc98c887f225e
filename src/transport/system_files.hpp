#pragma once

/// What the system says in files: of one line, or of one for each "key: value".

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace atl::transport {

/// The first line; empty where there is none, or no such file.
inline std::string line_of(std::filesystem::path const& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// What follows a key and the space behind it; nothing where no line begins with that.
inline std::optional<std::string> value_of(std::string_view key, std::filesystem::path const& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    std::size_t const begin = line.find_first_not_of(" \t", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return std::nullopt;
}

/// The number that a text begins with.
inline std::optional<int> number_in(std::string_view text) {
  int value = 0;
  auto const read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace atl::transport
