// What programs of HIP pass: streams that the runtime has made, and the null stream. Over the fake runtime.

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

#include "multirank/kinds/stream_fixture.hpp"

static_assert(std::is_convertible_v<ihipStream_t*, atl::stream>);
static_assert(!std::is_convertible_v<void*, atl::stream>);

class stream_hip_test : public stream_fixture {
 protected:
  template <class Function>
  static Function* find(char const* name) {
    static void* const runtime = dlopen(std::getenv("ATOLL_HIP_DRIVER"), RTLD_NOW);
    return reinterpret_cast<Function*>(dlsym(runtime, name));
  }
};

TEST_F(stream_hip_test, streams_of_the_runtime_are_those_of_their_device) {
  ihipStream_t* made = nullptr;
  auto* const set = find<int(int)>("hipSetDevice");
  set(gpu_.device_id());
  ASSERT_EQ(find<int(ihipStream_t**, unsigned)>("hipStreamCreateWithFlags")(&made, 1), 0);
  auto const p = filled(100, me);
  auto const signals = of_all(filled<std::uint64_t>(1, 0));
  for (ihipStream_t* const each : {made, static_cast<ihipStream_t*>(nullptr)}) {
    atl::stream const s = each;
    EXPECT_EQ(s.native_hip(), each);
    pinned<int> const found(100, -1);
    upcxx::copy(p, found.data(), 100,
                atl::on_stream(each) | atl::remote_cx::as_signal(signals[right_index()], 1));
    atl::wait(each, signals[static_cast<std::size_t>(me)], 1);
    atl::wait(s);
    EXPECT_EQ(found.values(), std::vector<int>(100, me));
    upcxx::barrier();
  }
  find<int(ihipStream_t*)>("hipStreamDestroy")(made);
  set(0);
}
