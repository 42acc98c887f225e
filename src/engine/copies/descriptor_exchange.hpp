#pragma once

/// Hands the descriptors of new device segments to all ranks of the host, without waiting inside a call, so
/// that calls of others are served meanwhile.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/os/descriptor_mail.hpp"
#include "engine/copies/segments.hpp"

namespace atl::engine {

/// One exchange, collective over the ranks of the host: every rank makes one, gathers the offers of all, and
/// then advances until that is done.
class descriptor_exchange {
 public:
  /// What a rank tells the others: where to send descriptors,
  /// and its own segment if it has one. Travels as bytes.
  struct offer {
    segment_notice segment;  ///< number 0: none
    std::array<char, 16> token;
    std::array<char, os::descriptor_mailbox::longest_name> mailbox;
    std::uint32_t mailbox_bytes;
  };

  /// Throws startup_error. Without a letter box, which only ranks in several network namespaces may lack, this
  /// rank gets no descriptors: the owners of segments copy for it.
  descriptor_exchange();
  /// `mine`: the own segment, or one of number 0; `descriptor` stands for it if that is how it is shared.
  [[nodiscard]] offer make_offer(segment_notice const& mine, os::unique_fd descriptor);
  /// Offers by local rank. Throws segment_error.
  void begin(std::vector<offer> offers);
  /// True when all descriptors have been sent and all have come. Throws startup_error.
  bool advance();

 private:
  struct letter {
    std::array<char, 16> token;
    std::int32_t rank;
  };

  void receive();

  std::optional<os::descriptor_mailbox> box_;
  std::array<char, 16> token_;
  std::vector<offer> offers_;
  os::unique_fd own_;
  std::size_t next_ = 0;     ///< local rank to send to
  std::size_t missing_ = 0;  ///< descriptors that have not come
};

}  // namespace atl::engine
