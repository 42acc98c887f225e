#pragma once

/// What is said of a stream that does not come to its end, after ATOLL_STREAM_PATIENCE.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/streams.hpp>
#include <atoll/extensions/detail/progress_until.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/future.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Somebody who knows what streams of several ranks are doing, as long as it lives.
class stream_witness {
 public:
  stream_witness(stream_witness const&) = delete;
  stream_witness& operator=(stream_witness const&) = delete;

  /// What all of them know, a sentence each with a blank before it. May make user-level progress.
  static std::string all_say() {
    std::string text;
    std::vector<stream_witness*> const known = [] {
      std::lock_guard const held(all().lock);
      return all().of;
    }();
    for (stream_witness* const each : known) text += each->say();
    return text;
  }

 protected:
  stream_witness() {
    std::lock_guard const held(all().lock);
    all().of.push_back(this);
  }
  virtual ~stream_witness() {
    std::lock_guard const held(all().lock);
    std::erase(all().of, this);
  }
  virtual std::string say() = 0;

 private:
  struct list {
    std::mutex lock;
    std::vector<stream_witness*> of;
  };
  static list& all() {
    static list known;
    return known;
  }
};

/// Until the stream has come to where `come` is ready, or its patience ends, and the job with it.
inline void wait_with_patience(engine::stream_name s, upcxx::future<> const& come) {
  std::chrono::seconds const patience(engine::patience_with_streams());
  if (progress_until([&come] { return come.is_ready(); }, patience)) return;
  std::string const where = engine::where_stream_stands(s);
  check_failed(
      "atl::wait: rank %d has waited %lld s (ATOLL_STREAM_PATIENCE) for the end of a stream of device %d: %s.%s",
      static_cast<int>(upcxx::rank_me()), static_cast<long long>(patience.count()), engine::stream_device(s),
      where.empty()
          ? "it waits for a signal that has not come, stands behind a kernel that does not end, or shares a queue of the "
            "hardware with a stream that waits (more of those by CUDA_DEVICE_MAX_CONNECTIONS=32 in the environment)"
          : where.c_str(),
      stream_witness::all_say().c_str());
}

}  // namespace atl::inline UPCXX_MODE::detail
