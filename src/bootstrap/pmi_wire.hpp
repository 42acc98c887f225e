#pragma once

/// Messages of the process management interface (PMI), versions 1 and 2, as its servers send them over the socket PMI_FD. Written
/// from the published descriptions of the protocol. What a server sends is not trusted.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atl::bootstrap::pmi {

/// `cmd=...` and the rest, in their order.
struct message {
  std::string command;
  std::vector<std::pair<std::string, std::string>> fields;

  /// Of the first field of that name; null if there is none.
  [[nodiscard]] std::string const* find(std::string_view name) const noexcept;
  /// The same; throws bootstrap_error if there is none.
  [[nodiscard]] std::string const& need(char const* name) const;
  /// Does it say that the request has failed?
  [[nodiscard]] bool refused() const noexcept;
  /// Throws bootstrap_error if so; `request` for the words, `reason`: name of the field that tells why.
  void require_success(std::string_view request, char const* reason) const;
};

/// Version 1, a line without its end: "cmd=get_result rc=0 msg=success value=v". Words are separated by spaces; what has no `=` belongs to
/// the value before it. Throws bootstrap_error.
message parse_line(std::string_view line);

/// Version 2, without its length: "cmd=kvs-get-response;rc=0;found=TRUE;value=v;". A semicolon in a value is written twice. Throws
/// bootstrap_error.
message parse_fields(std::string_view text);
/// The same backwards, with the length in front.
std::string print_fields(std::string_view command,
                         std::vector<std::pair<std::string_view, std::string_view>> const& fields);

/// A number that is all of the text; throws bootstrap_error with the name of the field.
std::int64_t read_number(std::string_view text, char const* name);

/// Node of each of `size` ranks, from the value of PMI_process_mapping: "(vector,(0,2,4))" are blocks of (first node, nodes,
/// ranks on each), which begin again when they end before the ranks do. Empty if the text is something else or makes no sense.
std::vector<std::int32_t> read_process_mapping(std::string_view text, std::int32_t size);

/// Any bytes as letters, digits, `_` and `-`, four for each three; and back, which throws bootstrap_error.
std::string to_letters(std::string_view bytes);
std::string from_letters(std::string_view text);

/// Both ends of the socket. Throws bootstrap_error when the server is gone.
class stream {
 public:
  /// The descriptor stays the caller's.
  explicit stream(int descriptor) noexcept : descriptor_(descriptor) {}

  void send(std::string_view text) const;
  /// Up to the end of the line, without it; of at most 64 KiB.
  std::string receive_line();
  /// A message with its length in six digits; of at most 64 KiB.
  std::string receive_counted();

 private:
  void receive_more();

  int descriptor_;
  std::string received_;  ///< not yet taken
};

}  // namespace atl::bootstrap::pmi
