#include <atoll/engine/token.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/tokens/modules.hpp"

namespace atl::engine {
namespace {

int local_function(int x) { return x + 1; }
int other_function(int x) { return x + 2; }

template <class Function>
void const* address_of(Function* f) {
  return reinterpret_cast<void const*>(f);
}

/// The token that a function would have, without a use of it.
function_token look_at(void const* function) {
  auto const address = reinterpret_cast<std::uintptr_t>(function);
  loaded_module const* const m = find_address(look_for_modules(), address);
  return m == nullptr ? 0 : (function_token{m->hash} << 32) | (address - m->begin);
}

/// A folder with copies of the test's module, gone at the end.
class module_copies {
 public:
  module_copies() {
    char name[] = "/tmp/atoll-token-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~module_copies() {
    close_all();
    std::filesystem::remove_all(folder_);
  }
  /// Loads a copy under a path below the folder; the address of its function.
  void* load(std::string const& path, char const* build = TOKEN_MODULE) {
    std::filesystem::path const file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::remove(file);
    std::filesystem::copy_file(build, file);
    return load_again(path);
  }
  /// The file that is there.
  void* load_again(std::string const& path) {
    void* const handle = dlopen((folder_ / path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    handles_.push_back(handle);
    return dlsym(handle, "module_answer");
  }
  void close_all() {
    for (void* const handle : handles_) dlclose(handle);
    handles_.clear();
  }

 private:
  std::filesystem::path folder_;
  std::vector<void*> handles_;
};

TEST(tokens, name_functions_of_the_program) {
  function_token const a = token_of(address_of(&local_function));
  function_token const b = token_of(address_of(&other_function));
  EXPECT_NE(a, 0U);
  EXPECT_NE(a, b);
  EXPECT_EQ(a >> 32, b >> 32) << "one module, one hash";
  EXPECT_EQ(resolve(a), address_of(&local_function));
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(resolve(b))(40), 42);
  EXPECT_EQ(token_cache<&local_function>::get(), a);
  EXPECT_EQ(token_cache<&local_function>::get(), a);
}

TEST(tokens, name_functions_of_shared_libraries) {
  function_token const t = token_of(dlsym(RTLD_DEFAULT, "getpid"));
  EXPECT_EQ(reinterpret_cast<pid_t (*)()>(resolve(t))(), getpid());
}

TEST(tokens, find_modules_loaded_later) {
  (void)token_of(address_of(&local_function));  // a table exists
  module_copies copies;
  void* const f = copies.load("later.so");
  function_token const t = token_of(f);
  EXPECT_EQ(resolve(t), f);
  EXPECT_NE(t >> 32, token_of(address_of(&local_function)) >> 32);
}

TEST(tokens, tell_copies_of_a_library_apart) {
  module_copies copies;
  void* const one = copies.load("one.so");
  void* const two = copies.load("two.so");
  void* const same_name = copies.load("elsewhere/two.so");
  function_token const a = token_of(one);
  function_token const b = token_of(two);
  function_token const c = token_of(same_name);
  EXPECT_NE(a, b);
  EXPECT_NE(b, c);
  EXPECT_EQ(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)) << "the same offset";
  EXPECT_EQ(resolve(a), one);
  EXPECT_EQ(resolve(b), two);
  EXPECT_EQ(resolve(c), same_name);
}

TEST(tokens, stay_valid_when_a_copy_is_loaded_later) {
  module_copies copies;
  void* const one = copies.load("a/same.so");
  function_token const before = token_of(one);
  void* const two = copies.load("b/same.so");
  EXPECT_NE(token_of(two), before);
  EXPECT_EQ(token_of(one), before);
  EXPECT_EQ(resolve(before), one);
}

TEST(tokens, do_not_depend_on_what_else_is_loaded_or_where) {
  // The same file at another address, in a table with other modules: the hash of a name must not change.
  static int rounds = 0;  // of the test, each of which leaves its library loaded
  std::string const name = "x" + std::to_string(rounds++) + ".so";
  function_token first = 0;
  {
    module_copies copies;
    first = look_at(copies.load(name));
  }
  module_copies copies;
  (void)copies.load("y.so");
  (void)copies.load("z.so");
  EXPECT_EQ(token_of(copies.load(name)), first);
}

TEST(tokens, hold_for_libraries_that_are_closed_and_opened_again) {
  module_copies copies;
  std::string const names[] = {"first.so", "second.so"};
  function_token tokens[2];
  for (int i = 0; i < 2; ++i) {
    void* const f = copies.load(names[i]);
    tokens[i] = look_at(f);
    EXPECT_EQ(resolve(tokens[i]), f);  // as the target of a call, which asks for no token itself
  }
  copies.close_all();
  for (int i : {1, 0}) {
    void* const f = copies.load_again(names[i]);
    EXPECT_EQ(resolve(tokens[i]), f) << names[i];
    EXPECT_EQ(token_of(f), tokens[i]) << names[i];
  }
}

TEST(tokens, notice_what_took_the_place_of_a_library_that_was_never_used) {
  module_copies copies;
  function_token const old = look_at(copies.load("old.so"));
  copies.close_all();
  void* const f = copies.load("new.so");
  void* const moved = copies.load_again("old.so");
  EXPECT_EQ(resolve(old), moved);
  function_token const fresh = token_of(f);
  EXPECT_NE(fresh, old);
  EXPECT_EQ(resolve(fresh), f);
  EXPECT_EQ(token_of(moved), old);
}

TEST(tokens, tell_builds_of_a_library_apart) {
  module_copies copies;
  function_token const old = look_at(copies.load("plugin.so"));
  copies.close_all();
  void* const f = copies.load("plugin.so", OTHER_BUILD);
  EXPECT_NE(token_of(f), old);
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(resolve(token_of(f)))(40), 43) << "not the other build";
}

TEST(tokens, may_be_looked_up_by_many_threads) {
  module_copies copies;
  std::vector<void*> functions;
  for (int i = 0; i < 4; ++i) functions.push_back(copies.load(std::to_string(i) + ".so"));
  (void)token_of(functions[0]);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        void* const f = functions[static_cast<std::size_t>(i + t) % functions.size()];
        EXPECT_EQ(resolve(token_of(f)), f);
        EXPECT_EQ(resolve(token_cache<&other_function>::get()), address_of(&other_function));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(tokens_death, unknown_module_is_named) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(resolve(0x12345678'00000abcU), "0xabc.*12345678");
}

TEST(tokens_death, address_outside_modules_is_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int on_the_stack = 0;
  EXPECT_DEATH(static_cast<void>(token_of(&on_the_stack)), "belongs to no loaded module");
}

}  // namespace
}  // namespace atl::engine
