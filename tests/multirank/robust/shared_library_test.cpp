// rpc from the program, from a library that it is linked with and from one opened at run time; built as a
// position-independent executable and as a fixed one.

#include <dlfcn.h>

#include "../common.hpp"
#include "plugin.hpp"

using shared_library_test = multirank::fixture;

TEST_F(shared_library_test, the_program_itself_sends_functions) {
  static int const here = 5;
  EXPECT_EQ(upcxx::rpc(
                right, [](int x) { return x + here; }, 1)
                .wait(),
            6);
}

TEST_F(shared_library_test, a_linked_library_sends_functions) {
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(plugin_rpc(r, 7), 70 + r + 1000);
  }
  EXPECT_EQ(plugin_many(right, 9), 0);
}

TEST_F(shared_library_test, a_library_opened_at_run_time_sends_functions) {
  // Ranks open it at different addresses if other libraries come first on some of them.
  void* other = me % 2 == 1 ? ::dlopen("libm.so.6", RTLD_NOW) : nullptr;
  void* handle = ::dlopen(OPENED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << ::dlerror();
  upcxx::barrier();  // everyone has it before anyone sends
  auto* opened_rpc = reinterpret_cast<int (*)(int, int)>(::dlsym(handle, "plugin_rpc"));
  auto* opened_many = reinterpret_cast<int (*)(int, int)>(::dlsym(handle, "plugin_many"));
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(opened_rpc(r, 7), 70 + r + 2000);
    EXPECT_EQ(plugin_rpc(r, 7), 70 + r + 1000);
  }
  EXPECT_EQ(opened_many(left, 9), 0);
  upcxx::barrier();
  if (other != nullptr) {
    ::dlclose(other);
  }
}

TEST_F(shared_library_test, the_program_sends_a_function_that_lives_in_the_library) {
  EXPECT_EQ(upcxx::rpc(right, plugin_add, 4, 5).wait(), 9 + 1000);
}
