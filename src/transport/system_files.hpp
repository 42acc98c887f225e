#pragma once

/// What the system says in files of one line.

#include <charconv>
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

/// The number that a text begins with.
inline std::optional<int> number_in(std::string_view text) {
  int value = 0;
  auto const read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace atl::transport
