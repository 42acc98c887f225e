// Modules of networks: found, refused, and what is said of those that cannot be used.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/plugins.hpp"

namespace atl::transport {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string module_of(std::string_view what) {
  std::string file = FAKE_NETWORKS "/libfake-";
  file += what;
  file += ".so";
  return file;
}

TEST(plugins, OneThatIsNotInstalledIsNamedWithItsPlace) {
  opened_network const opened = open_plugin("nowhere", {});
  EXPECT_EQ(opened.network, nullptr);
  EXPECT_THAT(opened.why_not, AllOf(HasSubstr("not installed"), HasSubstr("/atoll/libatoll-nowhere.so")));
}

TEST(plugins, AFileThatIsNoneIsRefused) {
  EXPECT_THAT(open_plugin("/dev/null", {}).why_not, HasSubstr("/dev/null"));
  EXPECT_THAT(open_plugin("/nowhere/at_all.so", {}).why_not, HasSubstr("/nowhere/at_all.so"));
  EXPECT_THAT(open_plugin(module_of("none"), {}).why_not,
              AllOf(HasSubstr("libfake-none.so"), HasSubstr("is no network of this version")));
}

TEST(plugins, AnotherVersionIsRefusedBeforeItIsOpened) {
  for (char const* const what : {"version", "types"}) {
    opened_network const opened = open_plugin(module_of(what), {});
    EXPECT_EQ(opened.network, nullptr);
    EXPECT_THAT(opened.why_not,
                AllOf(HasSubstr(what), HasSubstr("another version of Atoll"), HasSubstr("one build")));
  }
}

TEST(plugins, OneThatCannotBeUsedSaysWhyNot) {
  auto const opened_over = [](char const* devices) {
    network_config config;
    config.devices = devices;
    return open_plugin(module_of("failing"), config);
  };
  EXPECT_EQ(opened_over("").network, nullptr);
  EXPECT_EQ(opened_over("").why_not, "no such device");
  EXPECT_EQ(opened_over("throwing").why_not, "no such memory");
  EXPECT_THAT(opened_over("wordy").why_not, testing::MatchesRegex("x{1000,1100}"));
}

TEST(plugins, ThoseOfThisBuildAreFound) {
  // Where their libraries are absent, that is what is said; the modules themselves are here.
#ifdef HAVE_UCX
  EXPECT_THAT(open_plugin("ucx", {}).why_not, testing::Not(HasSubstr("not installed")));
#endif
#ifdef HAVE_OFI
  EXPECT_THAT(open_plugin("ofi", {}).why_not, testing::Not(HasSubstr("not installed")));
#endif
}

}  // namespace
}  // namespace atl::transport
