#pragma once

/// How many messages of which sizes: what plans would send, and what solves have sent.

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "grid/level.hpp"
#include "movers/forwarding_runtime.hpp"

namespace hpgmg {

/// What a variant makes a message of: a row of cells, a region of a ghost layer, or all for one rank, packed.
enum class message_form { row, region, rank };
inline constexpr std::array message_forms{message_form::row, message_form::region, message_form::rank};
inline constexpr std::size_t message_form_n = message_forms.size();
char const* name_of(message_form form);
message_form form_of(std::string_view communication);

/// Number of messages by their size in doubles.
using message_sizes = std::map<std::ptrdiff_t, long>;
/// Of what this rank sends in one run of a plan.
message_sizes sizes_of(plan const& moves, message_form form);

/// One run of a plan, over all ranks.
struct plan_traffic {
  std::array<double, message_form_n> messages{};
  std::array<double, message_form_n> most_messages{};  ///< of one rank
  double doubles = 0;
  double most_doubles = 0;
  double local_regions = 0;
};
/// Collective.
plan_traffic traffic_of(plan const& moves, group& world);

/// Messages and their bytes by size: bin b has those of 2^b to 2^(b+1)-1 bytes.
struct size_histogram {
  static constexpr int bins = 36;
  std::array<double, bins> messages{};
  std::array<double, bins> bytes{};
};

/// Another runtime that counts what its movers send.
class counting_runtime final : public forwarding_runtime {
 public:
  using forwarding_runtime::forwarding_runtime;
  std::unique_ptr<mover> make_mover(plan const& moves, group* members) override;
  std::unique_ptr<mover> make_exchange(level const& l, ghost_shape shape, group* members) override;
  std::unique_ptr<mover> make_restriction(level const& fine, level const& coarse,
                                          restriction_plan const& what, group* members) override;
  std::unique_ptr<mover> make_interpolation(level const& coarse, level const& fine,
                                            interpolation_plan const& what, group* members) override;

  void reset();
  /// Since reset(), over all ranks, for each form. Collective.
  std::array<size_histogram, message_form_n> histograms();

  /// What one mover sends in a run, and how often it ran.
  struct tally {
    std::array<message_sizes, message_form_n> sizes;
    long runs = 0;
  };

 private:
  std::unique_ptr<mover> counted(std::unique_ptr<mover> inner, plan const& moves);

  std::vector<std::shared_ptr<tally>> tallies_;
};

}  // namespace hpgmg
