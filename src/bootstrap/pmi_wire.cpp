#include "bootstrap/pmi_wire.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "bootstrap/bootstrap.hpp"

namespace atl::bootstrap::pmi {
namespace {

constexpr std::size_t longest_message = 65536;
constexpr std::size_t length_digits = 6;
constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What a server has sent, fit to be shown.
std::string shown(std::string_view text) {
  std::string safe;
  for (char const c : text.substr(0, 80)) safe += c >= ' ' && c < 127 ? c : '?';
  return text.size() > 80 ? safe + "..." : safe;
}

[[noreturn]] void misunderstood(std::string_view text) {
  throw bootstrap_error("the launcher's PMI service says what cannot be understood: \"" + shown(text) + "\"");
}

/// The first field has to be the command.
message with_command(message parsed, std::string_view text) {
  if (parsed.fields.empty() || parsed.fields[0].first != "cmd" || parsed.fields[0].second.empty())
    misunderstood(text);
  parsed.command = std::move(parsed.fields[0].second);
  parsed.fields.erase(parsed.fields.begin());
  return parsed;
}

/// Takes a part of the text; false if it does not begin so.
bool take(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

bool take_number(std::string_view& text, std::int64_t& into) {
  auto const read = std::from_chars(text.data(), text.data() + text.size(), into);
  if (read.ec != std::errc{} || into < 0 || into > INT32_MAX) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

struct block {
  std::int64_t first = 0;
  std::int64_t nodes = 0;
  std::int64_t ranks = 0;
};

bool take_block(std::string_view& text, block& into) {
  return take(text, ",(") && take_number(text, into.first) && take(text, ",") &&
         take_number(text, into.nodes) && take(text, ",") && take_number(text, into.ranks) &&
         take(text, ")") && into.nodes > 0 && into.ranks > 0 && into.first + into.nodes <= INT32_MAX;
}

}  // namespace

std::string const* message::find(std::string_view name) const noexcept {
  auto const found =
      std::find_if(fields.begin(), fields.end(), [&](auto const& field) { return field.first == name; });
  return found != fields.end() ? &found->second : nullptr;
}

std::string const& message::need(char const* name) const {
  std::string const* const value = find(name);
  if (value == nullptr)
    throw bootstrap_error(
        format("the launcher's PMI service answers %s without %s", command.substr(0, 40).c_str(), name));
  return *value;
}

bool message::refused() const noexcept {
  std::string const* const code = find("rc");
  return code != nullptr && *code != "0";
}

void message::require_success(std::string_view request, char const* reason) const {
  if (!refused()) return;
  std::string const* const why = find(reason);
  throw bootstrap_error(format("the launcher's PMI service refuses `%s`: rc=%s, %s",
                               std::string(request.substr(0, 100)).c_str(), find("rc")->substr(0, 20).c_str(),
                               why != nullptr ? why->substr(0, 100).c_str() : "for no reason that it tells"));
}

message parse_line(std::string_view line) {
  message parsed;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t const end = std::min(line.find(' ', at), line.size());
    std::string_view const word = line.substr(at, end - at);
    at = end + 1;
    std::size_t const equals = word.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      parsed.fields.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else if (!word.empty()) {
      if (parsed.fields.empty()) misunderstood(line);
      parsed.fields.back().second.append(" ").append(word);
    }
  }
  return with_command(std::move(parsed), line);
}

message parse_fields(std::string_view text) {
  message parsed;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const equals = text.find('=', at);
    if (equals == std::string_view::npos || equals == at) misunderstood(text);
    auto& field = parsed.fields.emplace_back(text.substr(at, equals - at), "");
    for (at = equals + 1;; ++at) {
      std::size_t const end = text.find(';', at);
      if (end == std::string_view::npos) misunderstood(text);
      field.second.append(text.substr(at, end - at));
      at = end + 1;
      if (at >= text.size() || text[at] != ';') break;
      field.second += ';';
    }
  }
  return with_command(std::move(parsed), text);
}

std::string print_fields(std::string_view command,
                         std::vector<std::pair<std::string_view, std::string_view>> const& fields) {
  std::string text = "cmd=" + std::string(command) + ";";
  for (auto const& [name, value] : fields) {
    text.append(name).append("=");
    for (char const c : value) text.append(c == ';' ? 2 : 1, c);
    text += ';';
  }
  return format("%*zu", static_cast<int>(length_digits), text.size()) + text;
}

std::int64_t read_number(std::string_view text, char const* name) {
  std::int64_t value = 0;
  auto const read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size())
    misunderstood(std::string(name) + "=" + std::string(text));
  return value;
}

std::vector<std::int32_t> read_process_mapping(std::string_view text, std::int32_t size) {
  std::vector<block> blocks;
  if (!take(text, "(vector")) return {};
  while (text.starts_with(",")) {
    if (!take_block(text, blocks.emplace_back())) return {};
  }
  if (text != ")" || blocks.empty() || size <= 0) return {};
  std::vector<std::int32_t> nodes;
  nodes.reserve(static_cast<std::size_t>(size));
  auto const wanted = static_cast<std::size_t>(size);
  while (nodes.size() < wanted) {
    for (block const& part : blocks) {
      for (std::int64_t node = 0; node < part.nodes && nodes.size() < wanted; ++node) {
        auto const more = std::min(static_cast<std::size_t>(part.ranks), wanted - nodes.size());
        nodes.insert(nodes.end(), more, static_cast<std::int32_t>(part.first + node));
      }
    }
  }
  return nodes;
}

std::string to_letters(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  unsigned bits = 0;
  int held = 0;
  for (char const c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) text += letters[bits >> (held - 6) & 63];
  }
  if (held > 0) text += letters[bits << (6 - held) & 63];
  return text;
}

std::string from_letters(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  unsigned bits = 0;
  int held = 0;
  for (char const c : text) {
    std::size_t const value = letters.find(c);
    if (value == std::string_view::npos) misunderstood(text);
    bits = bits << 6 | static_cast<unsigned>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  return bytes;
}

void stream::send(std::string_view text) const {
  while (!text.empty()) {
    ::ssize_t const sent = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      throw bootstrap_error(format(
          "the launcher's PMI service (PMI_FD=%d) cannot be reached: %s. It serves one program of each task, "
          "until that or MPI_Finalize ends it",
          descriptor_, std::strerror(errno)));
    }
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void stream::receive_more() {
  std::array<char, 4096> part;
  for (;;) {
    ::ssize_t const bytes = ::recv(descriptor_, part.data(), part.size(), 0);
    if (bytes > 0) {
      received_.append(part.data(), static_cast<std::size_t>(bytes));
      return;
    }
    if (bytes < 0 && errno == EINTR) continue;
    throw bootstrap_error(format("the launcher's PMI service (PMI_FD=%d) %s", descriptor_,
                                 bytes == 0 ? "has ended: the launcher is gone, or the job is being ended"
                                            : format("fails: %s", std::strerror(errno)).c_str()));
  }
}

std::string stream::receive_line() {
  std::size_t end = 0;
  while ((end = received_.find('\n')) == std::string::npos) {
    if (received_.size() > longest_message) misunderstood(received_);
    receive_more();
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

std::string stream::receive_counted() {
  while (received_.size() < length_digits) receive_more();
  std::string_view digits = std::string_view(received_).substr(0, length_digits);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  std::size_t bytes = 0;
  auto const read = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  while (read.ptr != digits.data() + digits.size() && digits.ends_with(' ')) digits.remove_suffix(1);
  if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size() || bytes > longest_message)
    misunderstood(received_);
  while (received_.size() < length_digits + bytes) receive_more();
  std::string text = received_.substr(length_digits, bytes);
  received_.erase(0, length_digits + bytes);
  return text;
}

}  // namespace atl::bootstrap::pmi
