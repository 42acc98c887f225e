#pragma once

/// What the `pmi` bootstrap needs of a launcher: a place for pairs of words, where what was put is found after a barrier of the
/// job. Three sorts: both versions of PMI's protocol, and the calls of an MPI library that has PMI for itself.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace atl::bootstrap::pmi {

class store {
 public:
  virtual ~store() = default;
  store(store const&) = delete;
  store& operator=(store const&) = delete;

  [[nodiscard]] std::int32_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::int32_t size() const noexcept { return size_; }
  /// Most characters of a value.
  [[nodiscard]] std::size_t longest_value() const noexcept { return longest_value_; }

  // Throw bootstrap_error when the launcher is gone, refuses, or sends what makes no sense.

  /// PMI_process_mapping, or empty.
  virtual std::string process_mapping() = 0;
  /// Each key once. Neither has spaces, semicolons or `=`.
  virtual void put(std::string const& key, std::string const& value) = 0;
  /// Of all ranks.
  virtual void barrier() = 0;
  virtual std::optional<std::string> get(std::string const& key) = 0;

  /// Asks the launcher to end all ranks; this one's part is the caller's.
  virtual void abort(int status) noexcept = 0;
  /// The job ends well as far as this rank is concerned. Nothing is possible afterwards.
  virtual void finalize() noexcept = 0;

 protected:
  store() = default;
  std::int32_t rank_ = 0;
  std::int32_t size_ = 1;
  std::size_t longest_value_ = 0;
};

/// Over the socket, as rank `rank` of `size` ranks, which the environment says. Throws bootstrap_error.
std::unique_ptr<store> connect_version_1(int descriptor, std::int32_t rank, std::int32_t size);
/// Over the socket; `job` is PMI_JOBID. Throws bootstrap_error.
std::unique_ptr<store> connect_version_2(int descriptor, std::int32_t rank, std::string const& job);
/// By the MPI library of the process, which is active and of MPICH's family. Collective. Throws bootstrap_error.
std::unique_ptr<store> connect_by_mpi();

}  // namespace atl::bootstrap::pmi
