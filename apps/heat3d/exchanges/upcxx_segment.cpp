#include "exchanges/upcxx_segment.hpp"

#include <atoll/stream.hpp>
#include <deque>
#include <new>
#include <utility>

#include "exchanges/communicator.hpp"

namespace heat3d {
namespace {

class library_point final : public stream_point {
 public:
  explicit library_point(atl::stream const& s) : passed(atl::when(s)) {}
  bool reached() const override { return passed.is_ready(); }

  upcxx::future<> const passed;
};

/// A stream of the library, where `work` is done when the host sees that it has come there: not in the callback that
/// says so, in which nothing may wait.
class library_stream final : public device_stream {
 public:
  explicit library_stream(upcxx::device_allocator<gpu> const& memory) : stream_(atl::make_stream(memory)) {}

  void* native() override { return stream_.native(); }
  void start(std::function<void()> work) override {
    due_.push_back({std::move(work), atl::when(stream_), {}});
    atl::wait(stream_, due_.back().done.get_future());
  }
  std::shared_ptr<stream_point const> end() override { return std::make_shared<library_point>(stream_); }
  void wait(std::shared_ptr<stream_point const> const& point) override {
    atl::wait(stream_, static_cast<library_point const&>(*point).passed);
  }
  void poll() override {
    upcxx::progress();
    if (due_.empty() || !due_.front().come.is_ready()) return;
    auto next = std::move(due_.front());
    due_.pop_front();
    next.work();
    next.done.finalize();
  }

 private:
  struct item {
    std::function<void()> work;
    upcxx::future<> come;
    upcxx::promise<> done;
  };

  atl::owned_stream stream_;
  std::deque<item> due_;
};

}  // namespace

segment::segment(std::uint64_t bytes) {
  try {
    allocator_ = upcxx::make_gpu_allocator(bytes);
  } catch (upcxx::bad_segment_alloc const&) {
    throw failure{"memory does not suffice: the fields (" + std::to_string(bytes >> 20U) +
                  " MiB on this rank) do not fit into device memory; use a smaller domain or more devices"};
  }
  // Without a device on any rank all give up.
  auto const without = allocator_.is_active() ? upcxx::rank_n() : upcxx::rank_me();
  auto const first = upcxx::reduce_all(without, upcxx::op_fast_min).wait();
  if (first != upcxx::rank_n()) {
    allocator_.destroy();
    throw failure{"rank " + std::to_string(first) +
                  " has no device; `atoll info` lists those that a process sees"};
  }
}

std::string segment::name() const {
  // A line for each device: "cuda device 0: its name, its memory, ..."
  auto const lines = gpu::kind_info();
  auto const line = lines.find(" device " + std::to_string(device()) + ": ");
  auto const begin = lines.find(": ", line) + 2;
  return line == std::string::npos ? "" : lines.substr(begin, lines.find_first_of(",\n", begin) - begin);
}

double* segment::allocate(std::int64_t n) {
  auto const p = allocator_.allocate<double>(static_cast<std::size_t>(n));
  if (p.is_null()) throw std::bad_alloc();
  return allocator_.local(p);
}

void segment::put(double* device, double const* host, std::int64_t n) {
  upcxx::copy(host, global(device), static_cast<std::size_t>(n), upcxx::operation_cx::as_promise(*copies_));
}

void segment::get(double* host, double const* device, std::int64_t n) {
  upcxx::copy(global(device), host, static_cast<std::size_t>(n), upcxx::operation_cx::as_promise(*copies_));
}

void segment::finish() {
  copies_->finalize().wait();
  copies_.emplace();
}

std::unique_ptr<device_stream> segment::make_stream() { return std::make_unique<library_stream>(allocator_); }

}  // namespace heat3d
