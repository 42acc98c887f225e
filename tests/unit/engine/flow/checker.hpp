#pragma once

/// Walks through all states of a model, breadth first: every order of the atomic steps of its ranks.
///
/// A model has a `state` (bytes without padding), start(), steps(state, emit), is_end(state), and broken(state), which
/// says in words which promise a state breaks, or null. Found are: a state that breaks a promise, a state from which
/// nothing moves although it is no end, and one from which no end can be reached whatever the ranks do.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace flow {

/// What a rank does to which message.
struct step {
  std::uint8_t rank = 0;
  std::uint8_t message = 0;
  char const* what = "";
};

struct verdict {
  bool good = false;
  std::string words;        ///< what was found
  std::vector<step> trace;  ///< shortest way there
  std::size_t states = 0;
};

inline std::string text_of(verdict const& v) {
  std::string all = v.words + " (" + std::to_string(v.states) + " states)\n";
  for (step const& s : v.trace) {
    all += "  rank " + std::to_string(s.rank) + ": " + s.what + " [" + std::to_string(s.message) + "]\n";
  }
  return all;
}

template <class Model>
class checker {
  using state = typename Model::state;
  static_assert(std::has_unique_object_representations_v<state>);

 public:
  explicit checker(Model const& model) : model_(model) {}

  verdict run(std::size_t most_states = 3'000'000) {
    reach(model_.start(), 0, {});
    for (std::uint32_t at = 0; at < states_.size(); ++at) {
      first_edge_.push_back(edges_.size());
      if (states_.size() > most_states) return found("too many states", at);
      state const from = states_[at];
      if (char const* const words = model_.broken(from)) return found(words, at);
      model_.steps(from, [&](state const& to, step s) { edges_.push_back(reach(to, at, s)); });
    }
    first_edge_.push_back(edges_.size());
    return judge_ends();
  }

 private:
  static std::uint64_t hash_of(state const& s) noexcept {
    auto const* const bytes = reinterpret_cast<unsigned char const*>(&s);
    std::uint64_t h = 0x9e3779b97f4a7c15U;
    for (std::size_t i = 0; i < sizeof s; i += sizeof h) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + i, sizeof s - i < sizeof word ? sizeof s - i : sizeof word);
      h = (h ^ word) * 0xff51afd7ed558ccdU;
      h ^= h >> 32;
    }
    return h;
  }

  /// The number of that state, a new one if it was not met before.
  std::uint32_t reach(state const& s, std::uint32_t from, step by) {
    if (2 * states_.size() >= table_.size()) widen();
    std::uint32_t& place = place_of(s);
    if (place == nothing) {
      place = static_cast<std::uint32_t>(states_.size());
      states_.push_back(s);
      reached_.emplace_back(from, by);
    }
    return place;
  }
  std::uint32_t& place_of(state const& s) {
    std::size_t at = hash_of(s) & (table_.size() - 1);
    while (table_[at] != nothing && std::memcmp(&states_[table_[at]], &s, sizeof s) != 0) {
      at = (at + 1) & (table_.size() - 1);
    }
    return table_[at];
  }
  void widen() {
    table_.assign(table_.empty() ? 1024 : 4 * table_.size(), nothing);
    for (std::uint32_t i = 0; i < states_.size(); ++i) place_of(states_[i]) = i;
  }

  /// Can an end be reached from everywhere?
  verdict judge_ends() const {
    std::size_t const count = states_.size();
    std::vector<std::size_t> first(count + 1, 0);
    for (std::uint32_t const to : edges_) ++first[to + 1];
    for (std::size_t i = 0; i < count; ++i) first[i + 1] += first[i];
    std::vector<std::uint32_t> sources(edges_.size());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t at = 0; at < count; ++at) {
      for (std::size_t e = first_edge_[at]; e < first_edge_[at + 1]; ++e) sources[next[edges_[e]]++] = at;
    }
    std::vector<char> leads_on(count, 0);
    std::vector<std::uint32_t> open;
    for (std::uint32_t at = 0; at < count; ++at) {
      if (!model_.is_end(states_[at])) continue;
      leads_on[at] = 1;
      open.push_back(at);
    }
    while (!open.empty()) {
      std::uint32_t const at = open.back();
      open.pop_back();
      for (std::size_t e = first[at]; e < first[at + 1]; ++e) {
        if (std::exchange(leads_on[sources[e]], 1) == 0) open.push_back(sources[e]);
      }
    }
    std::uint32_t lost = static_cast<std::uint32_t>(count);
    for (std::uint32_t at = 0; at < count; ++at) {
      if (leads_on[at] != 0) continue;
      if (first_edge_[at] == first_edge_[at + 1]) return found("deadlock: nobody can move", at);
      if (lost == count) lost = at;
    }
    if (lost != count) return found("the end is out of reach", lost);
    return {true, "good", {}, count};
  }

  verdict found(char const* words, std::uint32_t at) const {
    verdict v{false, words, {}, states_.size()};
    for (; at != 0; at = reached_[at].first) v.trace.insert(v.trace.begin(), reached_[at].second);
    return v;
  }

  Model const& model_;
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
  std::vector<std::uint32_t> table_;  ///< numbers of states, by their hashes; half empty
  std::vector<state> states_;
  std::vector<std::pair<std::uint32_t, step>> reached_;  ///< from where, by what
  std::vector<std::uint32_t> edges_;
  std::vector<std::size_t> first_edge_;
};

template <class Model>
verdict check(Model const& model) {
  return checker<Model>(model).run();
}

}  // namespace flow
