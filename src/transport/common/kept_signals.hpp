#pragma once

/// Libraries of networks catch fatal signals when they are loaded, which is the program's and Atoll's business.

#include <array>
#include <csignal>
#include <cstddef>

namespace atl::transport {

/// What happens at signals, put back at its end where something else has changed it.
class kept_signals {
 public:
  kept_signals() {
    for (int s = 1; s < count; ++s) known_[slot(s)] = ::sigaction(s, nullptr, &before_[slot(s)]) == 0;
  }
  ~kept_signals() {
    for (int s = 1; s < count; ++s) {
      struct sigaction now {};
      if (!known_[slot(s)] || ::sigaction(s, nullptr, &now) != 0) continue;
      struct sigaction const& before = before_[slot(s)];
      if (now.sa_sigaction == before.sa_sigaction && now.sa_flags == before.sa_flags) continue;
      static_cast<void>(::sigaction(s, &before, nullptr));
    }
  }
  kept_signals(kept_signals const&) = delete;
  kept_signals& operator=(kept_signals const&) = delete;

 private:
  static constexpr int count = 32;  // those of real time are nobody's here
  static std::size_t slot(int signal) { return static_cast<std::size_t>(signal); }
  std::array<struct sigaction, count> before_{};
  std::array<bool, count> known_{};
};

}  // namespace atl::transport
