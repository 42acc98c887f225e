#pragma once

/// Exchanges among the ranks of a host over Unix sockets, for launchers whose own exchanges are all over the job. Local rank 0 is the hub:
/// the others send it their blobs and get back all.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/descriptor_mail.hpp"
#include "base/os/unique_fd.hpp"

namespace atl::bootstrap {

class host_hub {
 public:
  /// Of one rank, which needs none.
  host_hub() = default;
  /// Local rank 0's: ready for others to join, who are told of invitation(). `one_network`: all are in one network namespace, and need
  /// nothing that has a name in a file system, which would stay where the job is ended meanwhile.
  static host_hub open(bool one_network);
  /// Another rank's. Waits for local rank 0. Throws bootstrap_error with each way that was tried.
  static host_hub join(std::string_view invitation, std::uint32_t local_rank);

  /// Some hundred bytes of any values.
  [[nodiscard]] std::string invitation() const;
  /// Local rank 0 waits for all others of `count` ranks.
  void await(std::uint32_t count);

  /// Collective; indexed by local rank. Throws bootstrap_error when a rank of the host is gone.
  std::vector<std::string> exchange(std::string_view mine);

 private:
  /// False if the letter is another job's.
  bool take_letter(os::descriptor_mailbox& box);

  std::unique_ptr<os::descriptor_mailbox> abstract_;  ///< until all have joined
  std::unique_ptr<os::descriptor_mailbox> folder_;    ///< or null
  std::string token_;
  std::vector<os::unique_fd> links_;  ///< to each local rank but 0, or to 0
  bool leads_ = false;
};

}  // namespace atl::bootstrap
