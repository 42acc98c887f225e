#pragma once

/// Which call of an object the streams of all ranks have come to last. Streams cannot tell: ranks that launch graphs of calls in different
/// orders stand still. So each writes down in its own memory which call it begins, when somebody's patience may end; a call is known by its
/// digest, so that nodes of graphs can say it, too.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <atoll/extensions/detail/kept_team.hpp>
#include <atoll/extensions/detail/progress_until.hpp>
#include <atoll/extensions/stream/call_list.hpp>
#include <atoll/extensions/stream/standing.hpp>
#include <atoll/stream.hpp>
#include <upcxx/allocate.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

class stream_marks final : public stream_witness {
 public:
  static constexpr std::size_t words = 1;  ///< of each rank
  static bool are_wanted() { return engine::patience_with_streams() != 0; }

  /// `mark`: which of each rank's signals is written; `number`: which one counts the calls that kernels have ended, if they do any.
  template <class Signals>
  stream_marks(char const* object, Signals const& signals, std::size_t mark,
               std::optional<std::size_t> number, upcxx::team const& over)
      : object_(object), over_(over) {
    for (upcxx::intrank_t r = 0; r < over.rank_n(); ++r) {
      marks_.push_back(signals.at(r, mark));
      if (number) numbers_.push_back(signals.at(r, *number));
    }
  }

  /// The stream is about to begin the call.
  void note(stream const& s, call_run const& call) {
    {
      std::lock_guard const held(lock_);
      known_.emplace(call.digest, call.first);
    }
    signal(s, marks_[static_cast<std::size_t>(over_->rank_me())], call.digest);
  }

 private:
  using pointer = upcxx::global_ptr<std::uint64_t, upcxx::memory_kind::any>;
  static constexpr upcxx::intrank_t most_ranks = 16;

  /// What the calls of all ranks are, in the order of the ranks.
  std::string say() override {
    std::string text = std::string(" Calls that streams have begun last, of ") + object_ + ':';
    for (upcxx::intrank_t r = 0; r < over_->rank_n(); ++r) {
      if (r == most_ranks) {
        text += " ...";
        break;
      }
      auto const rank = static_cast<std::size_t>(r);
      char line[320];
      std::snprintf(line, sizeof line, "%s rank %d: %s%s", r == 0 ? "" : ";", static_cast<int>((*over_)[r]),
                    name_of_call(read(marks_[rank])).c_str(),
                    numbers_.empty() ? "" : ended(read(numbers_[rank])).c_str());
      text += line;
    }
    return text + ". Do all ranks launch their graphs as often and in the same order?";
  }
  std::string name_of_call(std::optional<std::uint64_t> mark) const {
    if (!mark) return "not known";
    if (*mark == 0) return "none";
    std::lock_guard const held(lock_);
    auto const found = known_.find(*mark);
    return found == known_.end() ? "one that this rank has not called" : stream_call_text(found->second).text;
  }
  static std::string ended(std::optional<std::uint64_t> calls) {
    return calls ? " (kernels have ended " + std::to_string(*calls) + ')' : "";
  }
  /// Nothing if it is not here soon.
  static std::optional<std::uint64_t> read(pointer word) {
    // Of the shared heap: to private memory a driver copies within the call, and that may stand behind a stream that stands still. It stays, as
    // the copy may come later; the job ends anyway.
    auto const value = upcxx::allocate<std::uint64_t>();
    if (value.is_null()) return std::nullopt;
    upcxx::future<> const come = upcxx::copy(word, value, 1);
    bool const in_time = progress_until([&come] { return come.is_ready(); }, std::chrono::seconds(1));
    return in_time ? std::optional(*value.local()) : std::nullopt;
  }

  char const* object_;
  kept_team over_;
  std::vector<pointer> marks_;
  std::vector<pointer> numbers_;  ///< empty: nobody counts
  mutable std::mutex lock_;
  std::unordered_map<std::uint64_t, stream_call> known_;  ///< by their digests
};

}  // namespace atl::inline UPCXX_MODE::detail
