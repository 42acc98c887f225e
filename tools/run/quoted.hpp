#pragma once

#include <string>

namespace atl::tools {

/// A word as shells take it.
inline std::string quoted(std::string const& word) {
  bool const plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~!") == std::string::npos;
  if (plain) return word;
  std::string result = "'";
  for (char const c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace atl::tools
