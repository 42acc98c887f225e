// First, and before anything else that would include standard headers: what it makes visible is the test.
#include <upcxx/upcxx.hpp>

namespace {

/// Uses every standard header that programs rely on <upcxx/upcxx.hpp> for.
int use_what_the_header_brings() {
  std::forward_list<int> const list{3, 1, 2};
  std::ostringstream text;
  std::copy(list.begin(), list.end(), std::ostream_iterator<int>(text, " "));
  std::mutex mutex;
  std::lock_guard<std::mutex> const lock(mutex);
  std::function<int(int)> const twice = [](int i) { return 2 * i; };
  auto const owned = std::make_unique<int>(*std::max_element(list.begin(), list.end()));
  auto const shared = std::make_shared<int>(twice(*owned));
  if (!std::cout || std::numeric_limits<int>::max() < 0) return 0;
  return *shared + static_cast<int>(text.str().size());
}

}  // namespace

#include <gtest/gtest.h>

TEST(umbrella, brings_the_standard_headers_that_programs_rely_on) {
  EXPECT_EQ(use_what_the_header_brings(), 12);
}
