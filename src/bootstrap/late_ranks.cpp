#include "bootstrap/late_ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/os/signals_are_for_others.hpp"
#include "bootstrap/roll_call.hpp"

namespace atl::bootstrap {
namespace {

constexpr int speakers =
    2;  ///< the first ranks of the job, and of a node: one of them may be who does not come
constexpr int first_words_s = 10;
constexpr int first_look_s = 5;  ///< launchers have started all by then
constexpr int looks_alike = 2;   ///< before one is believed
constexpr int second_turn = 2;   ///< further looks of a node's second rank
constexpr int most_turn_ms = 2000;
constexpr std::size_t most_named = 8;

std::string words_of(std::vector<std::int32_t> const& ranks) {
  std::string all = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == most_named) return all + ", ...";
    all += format("%s %d", i == 0 ? "" : ",", static_cast<int>(ranks[i]));
  }
  return all;
}

/// Where all ranks of this node are there.
std::string words_of_others(std::int32_t size, std::vector<std::int32_t> const& node) {
  std::vector<std::int32_t> others;
  for (std::int32_t rank = 0; rank < size && others.size() <= most_named; ++rank) {
    if (std::find(node.begin(), node.end(), rank) == node.end()) others.push_back(rank);
  }
  if (others.empty()) return " (all are running)";
  return " (those of this host are running; of others there " +
         std::string(others.size() == 1 ? "is " : "are ") + words_of(others) + ")";
}

}  // namespace

late_ranks::~late_ranks() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard const held(lock_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void late_ranks::watch(std::int32_t rank, std::int32_t size, std::vector<std::int32_t> node,
                       std::string rank_variable, std::function<void()> end_job) {
  auto const place = std::find(node.begin(), node.end(), rank) - node.begin();
  char const* const told = std::getenv(rank_variable.c_str());
  bool const is_known = told != nullptr && std::to_string(rank) == told;
  if (!is_known || place == static_cast<std::ptrdiff_t>(node.size()) || place >= speakers) node.clear();
  if (rank >= speakers && node.empty()) return;
  os::signals_are_for_others const masked;
  thread_ = std::thread([this, rank, size, of_node = std::move(node), variable = std::move(rank_variable),
                         end = std::move(end_job)] { run(rank, size, of_node, variable, end); });
}

void late_ranks::run(std::int32_t rank, std::int32_t size, std::vector<std::int32_t> const& node,
                     std::string const& rank_variable, std::function<void()> const& end_job) {
  bool const is_second = !node.empty() && node.front() != rank;
  int const enough = looks_alike + (is_second ? second_turn : 0);
  std::vector<std::int32_t> before;
  int alike = 0;
  std::unique_lock held(lock_);
  for (int second = 1;; ++second) {
    if (changed_.wait_for(held, std::chrono::seconds(1), [this] { return over_; })) return;
    std::optional<std::vector<std::int32_t>> missing;
    if (!node.empty() && second >= first_look_s) {
      held.unlock();
      missing = call_roll(os::list_processes(), ::getpid(), rank_variable, node, &os::read_environment);
      held.lock();
      if (over_) return;
      alike = missing && !missing->empty() ? (*missing == before ? alike + 1 : 1) : 0;
      before = missing.value_or(std::vector<std::int32_t>());
    }
    if (alike >= enough) {
      // Where ranks of several nodes are missing, the job is mostly ended before all have said so.
      auto const turn =
          std::chrono::milliseconds(std::min(20 * static_cast<int>(node.front()), most_turn_ms));
      if (changed_.wait_for(held, turn, [this] { return over_; })) return;
      warn(
          "bootstrap",
          "%s, of this host, %s ended without having come to upcxx::init(), in which the others wait; the job ends",
          words_of(before).c_str(), before.size() == 1 ? "has" : "have");
      held.unlock();
      end_job();
    }
    if (rank < speakers && second == first_words_s * (1 + rank)) {
      warn(
          "bootstrap",
          "for %d s the other ranks have been waited for, which have to come to upcxx::init: has one ended before that, or "
          "could one not be started%s? Ranks wait on",
          second, missing && missing->empty() ? words_of_others(size, node).c_str() : "");
    }
    if (node.empty() && second >= first_words_s * speakers) return;
  }
}

}  // namespace atl::bootstrap
