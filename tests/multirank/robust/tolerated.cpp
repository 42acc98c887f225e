// Mistakes that opt programs get away with, each said once: collectives inside callbacks, and objects of main's
// scope that are destroyed after finalize. (Checked programs stop over them: misuse.cpp.)

#include <unistd.h>

#include <cstdio>
#include <string>

#include <atoll/neighbors.hpp>
#include <upcxx/upcxx.hpp>

namespace {

int failures = 0;

void expect(bool right, char const* what) {
  if (right) return;
  ++failures;
  std::printf("rank failed: %s\n", what);
}

/// What the library says goes to a file meanwhile.
class said {
 public:
  said() : file_(std::tmpfile()), before_(::dup(2)) { ::dup2(::fileno(file_), 2); }
  std::string take() {
    ::dup2(before_, 2);
    std::string text(static_cast<std::size_t>(::lseek(::fileno(file_), 0, SEEK_END)), ' ');
    expect(::pread(::fileno(file_), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
           "pread");
    std::fputs(text.c_str(), stderr);
    return text;
  }

 private:
  std::FILE* file_;
  int before_;
};

int times(std::string const& text, std::string const& words) {
  int n = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++n;
  return n;
}

template <class F>
void in_callback(F f) {
  upcxx::current_persona().lpc(f).wait();
}

}  // namespace

int main() {
  upcxx::init();
  int const n = upcxx::rank_n();
  {
    said warnings;
    upcxx::intrank_t const neighbours[] = {(upcxx::rank_me() + 1) % n, (upcxx::rank_me() + n - 1) % n};
    atl::neighbors around(neighbours);
    upcxx::future<> met;
    in_callback([&] { met = around.sync_async(); });
    met.wait();
    around.destroy();
    expect(times(warnings.take(), "started inside a callback") == 0, "no warning of what is not collective");
  }
  {
    said warnings;
    upcxx::future<int> sum;
    upcxx::future<> met;
    in_callback([&] {
      met = upcxx::barrier_async();
      sum = upcxx::reduce_all(1, upcxx::op_fast_add);
    });
    met.wait();
    expect(sum.wait() == n, "a reduction that was started in a callback");
    // The callback runs in the barrier, whose channel the second reduction wants, too.
    for (int i = 0; i < 50; ++i) {
      auto const twice = upcxx::reduce_all(1, upcxx::op_fast_add).then([](int all) {
        return upcxx::reduce_all(all, upcxx::op_fast_add);
      });
      upcxx::barrier();
      expect(twice.wait() == n * n, "a reduction that was started in a barrier");
    }
    in_callback([&] {
      upcxx::atomic_domain<int> domain({upcxx::atomic_op::load});
      domain.destroy();
      upcxx::cuda_device device(0);
      upcxx::device_allocator<upcxx::cuda_device> heap(device, 1 << 16);
      expect(heap.is_active(), "a device heap that was made in a callback");
      device.destroy();
    });
    expect(times(warnings.take(), "started inside a callback") == 1,
           "one warning of collectives in callbacks");
  }
  upcxx::team everybody = upcxx::world().split(0, 0);
  upcxx::team nobody = upcxx::world().split(upcxx::team::color_none, 0);
  upcxx::atomic_domain<int> domain({upcxx::atomic_op::load});
  auto heap = upcxx::make_gpu_allocator<upcxx::cuda_device>(1 << 16, 0);
  upcxx::finalize();
  {
    said warnings;
    everybody.destroy();
    nobody.destroy();
    domain.destroy();
    heap.destroy();
    expect(!domain.is_active(), "a domain that was destroyed late");
    expect(upcxx::allocate<int>(4).is_null() && upcxx::allocate(4) == nullptr, "there is no heap");
    std::string const text = warnings.take();
    expect(times(text, "called after upcxx::finalize, so nothing happens") == 1, "one warning of late ends");
    expect(times(text, "gives null") == 1, "one warning of late allocations");
  }
  return failures;
}
