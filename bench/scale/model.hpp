#pragma once

/// Many ranks in one process, each with the engine's own collectives, teams and messages between hosts, that take turns in
/// virtual time. What is replaced lies below <atoll/engine/am.hpp> and at doorbells (seam.cpp): messages inside a host, the
/// network (counting_network.hpp), and waiting. So steps, their order and their sizes are those of the library; only what
/// they cost is assumed (costs.hpp).
///
/// Flat collectives go over lines of memory, as in a job. What a rank publishes is there for others at once, though those
/// that wait for it look only when it would have reached them: who looks in between for another reason sees it up to a
/// line's latency early. Copying and combining arrays inside a host takes no virtual time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <atoll/engine/on_done.hpp>
#include <atoll/engine/team.hpp>
#include <atoll/transport/message.hpp>

#include "scale/counting_network.hpp"
#include "scale/job_shape.hpp"
#include "scale/timeline.hpp"

namespace atl::scale {

/// What a collective of all ranks, or what has happened since the start, took.
struct tally {
  std::uint64_t between = 0;        ///< messages to other hosts
  std::uint64_t between_bytes = 0;  ///< with all headers of ours
  std::uint64_t inside = 0;         ///< messages inside hosts
  std::uint64_t inside_bytes = 0;
  std::uint64_t lines = 0;           ///< publications that another rank was woken for
  std::uint64_t most_sent = 0;       ///< messages to other hosts by the rank that sent most
  std::uint64_t most_bytes = 0;      ///< the same of bytes
  std::int32_t depth = 0;            ///< messages between hosts on the longest way
  std::uint64_t connects = 0;        ///< connections made
  std::size_t most_connections = 0;  ///< that one rank had at once
  std::size_t most_peers = 0;        ///< ranks of which one rank keeps something in the end
  picoseconds time = 0;
};

class model final : public carrier {
 public:
  /// There may be one at a time. Messages cost what they do over the first of the networks, until they are repriced.
  explicit model(job_shape const& shape);
  void reprice(costs const& of_messages) { costs_ = of_messages; }
  ~model();
  model(model const&) = delete;
  model& operator=(model const&) = delete;

  /// Starts something on every rank, which must call `done` once, and plays it to the end.
  /// Throws std::runtime_error if it comes to none.
  tally run(
      std::function<void(engine::team_view& world, std::int32_t rank, engine::on_done done)> const& start);

  [[nodiscard]] job_shape const& shape() const noexcept { return shape_; }
  /// Private memory in use in this process: bytes, or 0 where the C library does not say.
  [[nodiscard]] static std::size_t heap_in_use();
  /// What all ranks together took of it when they started.
  [[nodiscard]] std::size_t heap_at_start() const noexcept { return heap_at_start_; }

  // What the replaced parts of the engine call, for the rank whose turn it is.

  static model& here() noexcept { return *current_; }
  [[nodiscard]] std::int32_t whose_turn() const noexcept { return now_; }
  void begin(transport::outgoing& out, std::size_t bytes, std::size_t alignment);
  void commit(transport::outgoing& out, transport::message_kind kind, std::uint64_t token, std::size_t bytes);
  void cancel(transport::outgoing& out) noexcept;
  void release(transport::message* m) noexcept;
  void rung(void const* bell);
  void carry(std::int32_t to, packet* what) override;

 private:
  struct host_memory;
  struct virtual_rank;

  [[nodiscard]] std::size_t host_of(std::int32_t rank) const {
    return static_cast<std::size_t>(rank / shape_.per_host);
  }
  [[nodiscard]] bool is_inside(std::int32_t target) const { return host_of(target) == host_of(now_); }
  virtual_rank& rank(std::int32_t r) { return *ranks_[static_cast<std::size_t>(r)]; }
  picoseconds& clock(std::int32_t r) { return clocks_[static_cast<std::size_t>(r)]; }
  void take_turn(std::int32_t rank);
  void go_on();
  void play(occurrence const& o);
  void finish(std::int32_t rank);

  static model* current_;

  job_shape shape_;
  costs costs_ = networks[0];
  std::unique_ptr<host_memory> memory_;
  std::vector<std::unique_ptr<virtual_rank>> ranks_;
  std::int32_t now_ = 0;  ///< whose turn it is
  timeline coming_;
  std::vector<picoseconds> clocks_;  ///< until when each rank is busy
  std::vector<picoseconds> finished_;
  std::vector<std::int32_t> depths_;
  std::vector<std::uint64_t> sent_, sent_bytes_;
  std::vector<picoseconds> adapters_out_, adapters_in_;  ///< of hosts: until when they are busy
  std::size_t unfinished_ = 0;
  std::size_t heap_at_start_ = 0;
  tally now_counted_;
};

}  // namespace atl::scale
