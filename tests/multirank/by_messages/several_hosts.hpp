#pragma once

/// For tests of collectives over several hosts: where ranks are, and what crosses between hosts. Either ranks of one
/// host are told to be on several (PRETENDED_HOSTS), without channels; or the hosts are simulated, and members of a
/// host have channels.

#include <cstddef>
#include <vector>

#include "../common.hpp"

namespace several_hosts {

bool pretended();
/// The host of a rank.
int place(int rank);

class fixture : public multirank::fixture {
 protected:
  void SetUp() override;

  /// Steps between hosts while `call` runs, of this rank.
  template <class Call>
  int crossing(Call call) {
    upcxx::barrier();
    watch(true);
    call();
    watch(false);
    return between_hosts();
  }
  static int between_hosts();
  /// Of arrays, in the last crossing(): bytes to other hosts; to this one of them.
  static std::size_t bytes_between_hosts();
  static std::size_t bytes_to_host(int host);
  /// All of this rank's steps in the last crossing().
  static int const& in_all();

  /// Of an exchange among the leaders of hosts.
  [[nodiscard]] int rounds() const;
  /// Is this the lowest rank of its host?
  [[nodiscard]] bool leads() const;

  std::vector<int> all_;  ///< ranks
  int used_ = 1;          ///< hosts

 private:
  static void watch(bool on);
};

}  // namespace several_hosts
