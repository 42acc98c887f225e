#pragma once

/// Captures of streams that are threads: calls that are made again, with what they were given. And the rules that CUDA has for
/// captures, which a test without it would not notice.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "backends/accelerator.hpp"

namespace heat3d {

class thread_capture {
 public:
  using call = std::function<void()>;

  void work(int stream, call again) {
    EXPECT_TRUE(takes_part_[stream]) << "work in stream " << stream
                                     << ", which is not captured, would run at once";
    ++known_[stream][stream];
    calls_.push_back(std::move(again));
  }
  void record(int stream, mark m, call again) {
    EXPECT_TRUE(takes_part_[stream]) << "a mark in stream " << stream << ", which is not captured";
    marks_[m] = known_[stream];
    calls_.push_back(std::move(again));
  }
  void wait(int stream, mark m, call again) {
    auto const found = marks_.find(m);
    ASSERT_TRUE(found != marks_.end()) << "a captured stream waits for a mark from before the capture";
    takes_part_[stream] = true;
    for (int s = 0; s < stream_n; ++s) known_[stream][s] = std::max(known_[stream][s], found->second[s]);
    calls_.push_back(std::move(again));
  }

  std::vector<call> end() {
    for (int s = 0; s < stream_n; ++s)
      EXPECT_EQ(known_[inner_stream][s], known_[s][s])
          << "stream " << s << " has not come back to the others";
    return std::move(calls_);
  }

 private:
  using counts = std::array<int, stream_n>;

  std::array<counts, stream_n> known_{};  ///< of each stream, how many things of each are done
  std::array<bool, stream_n> takes_part_ = [] {
    std::array<bool, stream_n> origin{};
    origin[inner_stream] = true;
    return origin;
  }();
  std::map<mark, counts> marks_;
  std::vector<call> calls_;
};

class calls_made_again final : public captured_work {
 public:
  explicit calls_made_again(std::vector<thread_capture::call> calls) : calls_(std::move(calls)) {}
  void start() override {
    for (auto const& call : calls_) call();
  }

 private:
  std::vector<thread_capture::call> calls_;
};

}  // namespace heat3d
