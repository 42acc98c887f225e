#pragma once

/// One side of what two keepers say over a connection, without the connection: bytes go in, frames and bytes come out.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/keeper/frames.hpp"

namespace atl::keeping {

class conversation {
 public:
  /// `who`: who calls says as what, which a listener takes over. `other`: number of the host that is called, or from which a listener
  /// waits for a call.
  conversation(role who, std::span<std::byte const> secret, std::uint32_t me, std::uint32_t other,
               nonce const& fresh);

  /// Takes what has come, and tells of frames. False: it is no keeper of this job, for why(); nothing more may be taken.
  bool take(std::span<std::byte const> bytes, std::function<void(frame const&)> const& tell);
  /// Both have proved who they are.
  [[nodiscard]] bool stands() const noexcept { return step_ == step::frames; }
  /// As what the one of both calls that does; known to both when it stands.
  [[nodiscard]] role of_caller() const noexcept { return caller_; }
  [[nodiscard]] std::string_view why() const noexcept { return why_; }
  /// Something has come that is not whole yet.
  [[nodiscard]] bool is_in_the_middle() const noexcept { return !arrived_.empty(); }

  /// Words behind it are cut off.
  void say(news what, std::uint32_t host, std::int32_t rank, bool said, std::string_view words);
  /// What is to be sent; who has sent some takes it away.
  std::vector<std::byte>& leaving() noexcept { return leaving_; }

 private:
  enum class step : std::uint8_t { hello, challenge, proof, frames, refused };

  template <class T>
  void send(T const& what);
  bool refuse(char const* why);
  bool take_whole(std::span<std::byte const> bytes, std::function<void(frame const&)> const& tell);
  [[nodiscard]] std::size_t expected() const noexcept;
  void stand(nonce const& of_caller, nonce const& of_listener);

  role who_;
  role caller_;
  std::span<std::byte const> secret_;
  std::uint32_t me_;
  std::uint32_t other_;
  nonce mine_;
  nonce theirs_{};
  digest key_out_{};
  digest key_in_{};
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  step step_;
  std::vector<std::byte> arrived_;  ///< less than what is expected
  std::vector<std::byte> leaving_;
  std::string_view why_;
};

}  // namespace atl::keeping
