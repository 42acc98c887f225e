#pragma once

#include <fstream>
#include <string>

namespace atl::os {

/// What a process is at, as a letter of proc(5): R, S, D, T, Z, ...; X if there is none of that number in sight.
inline char process_state(int number) {
  // "4711 (name) S 4700 ...", and a name may contain anything, even parentheses.
  std::ifstream file("/proc/" + std::to_string(number) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return 'X';
  std::size_t const name_end = text.rfind(')');
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : 'X';
}

}  // namespace atl::os
