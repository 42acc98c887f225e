#pragma once

/// What a measuring program tells the program that started it: one line a record, `kind<TAB>name=value...`.
///
/// `row` is one measurement with all its samples, `value` one number that is no duration, `fact` something
/// about the run. Everything else on standard output is meant for people.

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::bench {

struct record {
  std::string kind;
  std::map<std::string, std::string, std::less<>> fields;

  std::string get(std::string_view name) const {
    auto const found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  }
  double number(std::string_view name) const {
    std::string const text = get(name);
    double result = 0;
    std::from_chars(text.data(), text.data() + text.size(), result);
    return result;
  }
  std::vector<double> numbers(std::string_view name) const {
    std::string const text = get(name);
    std::vector<double> result;
    char const* at = text.data();
    char const* const end = at + text.size();
    while (at < end) {
      double value = 0;
      auto const read = std::from_chars(at, end, value);
      if (read.ec != std::errc()) break;
      result.push_back(value);
      at = read.ptr + 1;  // the comma
    }
    return result;
  }
};

inline std::string encode(record const& r) {
  std::string line = r.kind;
  for (auto const& [name, value] : r.fields) line.append(1, '\t').append(name).append(1, '=').append(value);
  return line + '\n';
}

/// Empty if the line is no record.
inline std::optional<record> decode(std::string_view line) {
  record result;
  auto next = [&line] {
    auto const tab = line.find('\t');
    std::string_view const word = line.substr(0, tab);
    line.remove_prefix(tab == std::string_view::npos ? line.size() : tab + 1);
    return word;
  };
  result.kind = next();
  if (result.kind != "row" && result.kind != "value" && result.kind != "fact") return std::nullopt;
  while (!line.empty()) {
    std::string_view const word = next();
    auto const equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    result.fields.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  return result;
}

}  // namespace atl::bench
