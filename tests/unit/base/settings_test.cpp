#include "base/settings.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <csignal>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.hpp"

namespace {

namespace settings = atl::settings;

/// Sets or unsets a variable for the length of a test.
class scoped_variable {
 public:
  scoped_variable(char const* name, char const* value) : name_(name) {
    if (char const* const old = std::getenv(name)) {
      old_ = old;
      had_ = true;
    }
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~scoped_variable() { had_ ? ::setenv(name_, old_.c_str(), 1) : ::unsetenv(name_); }
  scoped_variable(scoped_variable const&) = delete;
  scoped_variable& operator=(scoped_variable const&) = delete;

 private:
  char const* name_;
  std::string old_;
  bool had_ = false;
};

TEST(settings, sizes) {
  auto const bytes = [](char const* text) { return settings::parse_size(text, "X").bytes; };
  EXPECT_EQ(bytes("4096B"), 4096U);
  EXPECT_EQ(bytes("1k"), 1024U);
  EXPECT_EQ(bytes("128MB"), std::uint64_t{128} << 20);
  EXPECT_EQ(bytes("128 mb"), std::uint64_t{128} << 20);
  EXPECT_EQ(bytes("2GiB"), std::uint64_t{2} << 30);
  EXPECT_EQ(bytes(" 1.5g "), std::uint64_t{3} << 29);
  EXPECT_EQ(bytes("1T"), std::uint64_t{1} << 40);
  EXPECT_EQ(bytes("0"), 0U);
  EXPECT_EQ(settings::parse_size("12.5%", "X").percent, 12.5);
}

/// A locale of users who write 1,5, made here, as systems need not have any; false: it cannot be made.
bool choose_locale_with_commas(std::string const& folder) {
  std::ofstream source(folder + "/source");
  for (char const* const each : {"LC_CTYPE", "LC_COLLATE", "LC_MONETARY", "LC_TIME", "LC_MESSAGES"})
    source << each << "\ncopy \"POSIX\"\nEND " << each << "\n";
  source << "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n";
  source.close();
  std::string const make = "cd " + folder + " && localedef -c -i ./source -f UTF-8 ./made > /dev/null 2>&1";
  static_cast<void>(std::system(make.c_str()));
  scoped_variable const where("LOCPATH", folder.c_str());
  return std::setlocale(LC_NUMERIC, "made") != nullptr && std::strtod("1,5", nullptr) == 1.5;
}

TEST(settings, numbers_have_points_in_all_locales) {
  std::string folder = testing::TempDir() + "locales-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  bool const chosen = choose_locale_with_commas(folder);
  std::filesystem::remove_all(folder);
  std::shared_ptr<void> const after(nullptr, [](void*) { std::setlocale(LC_NUMERIC, "C"); });
  if (!chosen) GTEST_SKIP() << "no locale can be made here (Debian: locales)";
  EXPECT_EQ(settings::parse_size("1.5G", "X").bytes, std::uint64_t{3} << 29);
  EXPECT_EQ(settings::parse_size("12.5%", "X").percent, 12.5);
  {
    // What `upcxx-run --shared-heap 1%` sets.
    scoped_variable const heap("UPCXX_SHARED_HEAP_SIZE", "2G");
    scoped_variable const most("GASNET_MAX_SEGSIZE", "0.0100/H");
    EXPECT_GT(settings::shared_heap_size(1), 0U);
  }
}

TEST(settings, wrong_sizes_are_refused_with_the_name_and_an_example) {
  for (char const* text :
       {"", "MB", "12", "12 34", "12XB", "-1M", "1e3M", "0x10M", "101%", "1.2.3M", "12MM", "99999999999T"}) {
    try {
      settings::parse_size(text, "SOME_NAME");
      ADD_FAILURE() << "accepted: " << text;
    } catch (atl::startup_error const& error) {
      EXPECT_NE(std::string(error.what()).find("SOME_NAME="), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("128MB"), std::string::npos) << error.what();
    }
  }
}

TEST(settings, booleans) {
  for (char const* text : {"1", "y", "YES", "true", "On"})
    EXPECT_TRUE(settings::parse_boolean(text, "X")) << text;
  for (char const* text : {"0", "n", "No", "FALSE", "off"})
    EXPECT_FALSE(settings::parse_boolean(text, "X")) << text;
  EXPECT_THROW(settings::parse_boolean("perhaps", "X"), atl::startup_error);
}

TEST(settings, shared_heap_size) {
  scoped_variable const none("UPCXX_SHARED_HEAP_SIZE", nullptr);
  scoped_variable const no_old("UPCXX_SEGMENT_MB", nullptr);
  EXPECT_EQ(settings::shared_heap_size(1), std::size_t{128} << 20);
  {
    scoped_variable const old("UPCXX_SEGMENT_MB", "32");
    EXPECT_EQ(settings::shared_heap_size(1), std::size_t{32} << 20);
    scoped_variable const now("UPCXX_SHARED_HEAP_SIZE", "16M");
    EXPECT_EQ(settings::shared_heap_size(1), std::size_t{16} << 20);
  }
  scoped_variable const share("UPCXX_SHARED_HEAP_SIZE", "10%");
  auto const one = settings::shared_heap_size(1);
  EXPECT_GT(one, 0U);
  EXPECT_NEAR(static_cast<double>(settings::shared_heap_size(4)), static_cast<double>(one) / 4, 16);
}

TEST(settings, bare_heap_sizes_are_in_mebibytes) {
  EXPECT_EQ(settings::parse_heap_size("64", "X").bytes, std::uint64_t{64} << 20);
  EXPECT_EQ(settings::parse_heap_size("0.5", "X").bytes, std::uint64_t{1} << 19);
  EXPECT_EQ(settings::parse_heap_size("64k", "X").bytes, std::uint64_t{64} << 10);
  EXPECT_THROW(settings::parse_size("64", "X"), atl::startup_error);
}

TEST(settings, heap_has_a_ceiling) {
  scoped_variable const heap("UPCXX_SHARED_HEAP_SIZE", "1GB");
  constexpr std::size_t mebi = std::size_t{1} << 20;
  auto const under = [](char const* ceiling, int ranks) {
    scoped_variable const set("GASNET_MAX_SEGSIZE", ceiling);
    return settings::shared_heap_size(ranks);
  };
  EXPECT_EQ(under(nullptr, 2), 1024 * mebi);
  EXPECT_EQ(under("128MB/P", 2), 128 * mebi);
  EXPECT_EQ(under("128mb", 2), 128 * mebi);
  EXPECT_EQ(under("128MB/H", 2), 64 * mebi);
  EXPECT_EQ(under("2GB/P", 2), 1024 * mebi);
  EXPECT_LT(under("0.01/H", 100), 1024 * mebi);
  EXPECT_GT(under("0.01/H", 1), 0U);
  EXPECT_THROW(under("much", 1), atl::startup_error);
}

TEST(settings, signals) {
  auto const parsed = [](char const* text) {
    scoped_variable const set("GASNET_FREEZE_SIGNAL", text);
    return settings::freeze_signal();
  };
  EXPECT_EQ(parsed("USR1"), SIGUSR1);
  EXPECT_EQ(parsed("SIGusr2"), SIGUSR2);
  EXPECT_EQ(parsed("12"), 12);
  EXPECT_EQ(parsed(nullptr), 0);
  EXPECT_THROW(parsed("LOUD"), atl::startup_error);
}

TEST(settings, automatic_booleans_may_be_unset) {
  scoped_variable const unset("UPCXX_OVERSUBSCRIBED", nullptr);
  EXPECT_FALSE(settings::oversubscribed().has_value());
  scoped_variable const empty("UPCXX_OVERSUBSCRIBED", "");
  EXPECT_FALSE(settings::oversubscribed().has_value());
  scoped_variable const yes("UPCXX_OVERSUBSCRIBED", "yes");
  EXPECT_EQ(settings::oversubscribed(), true);
}

TEST(settings, verbosity) {
  scoped_variable const yes("UPCXX_VERBOSE", "yes");
  EXPECT_EQ(settings::verbosity(), 1);
  // For who asks about settings, too.
  for (auto const& item : settings::all()) {
    if (std::string_view(item.name) == "UPCXX_VERBOSE") {
      EXPECT_EQ(settings::look_up(item).problem, "");
    }
  }
  scoped_variable const two("UPCXX_VERBOSE", "2");
  EXPECT_EQ(settings::verbosity(), 2);
  scoped_variable const words("UPCXX_VERBOSE", "a lot");
  EXPECT_THROW(settings::verbosity(), atl::startup_error);
}

TEST(settings, every_entry_has_a_default_that_is_valid_and_a_help_text) {
  for (auto const& item : settings::all()) {
    scoped_variable const unset(item.name, nullptr);
    EXPECT_EQ(settings::look_up(item).origin, "default");
    EXPECT_FALSE(std::string(item.help).empty()) << item.name;
    if (*item.standard == '\0') continue;
    scoped_variable const as_default(item.name, item.standard);
    EXPECT_EQ(settings::look_up(item).problem, "") << item.name;
    EXPECT_EQ(settings::look_up(item).origin, "environment");
  }
}

TEST(settings, names_that_are_almost_those_of_settings_are_found) {
  auto const meant = [](char const* name) -> std::string {
    scoped_variable const variable(name, "1");
    for (auto const& each : settings::all_misspelt()) {
      if (each.name == name) return each.meant;
    }
    return "";
  };
  EXPECT_EQ(meant("ATOLL_TRANSPORT"), "ATOLL_TRANSPORTS");
  EXPECT_EQ(meant("ATOLL_SIM_HOST"), "ATOLL_SIM_HOSTS");
  EXPECT_EQ(meant("ATOLL_HSOT"), "ATOLL_HOST");
  EXPECT_EQ(meant("UPCXX_SHARED_HEAP"), "UPCXX_SHARED_HEAP_SIZE");
  // Settings; what others read; what could be several; what others named.
  for (char const* const name : {"ATOLL_HOST",     "UPCXX_VERBOSE",      "ATOLL_JOB",
                                 "ATOLL_RANK",     "ATOLL_JOB_ENDS",     "ATOLL_CLUSTER_JOB",
                                 "ATOLL_TERMINAL", "ATOLL_PYTHON",       "ATOLL_CXX",
                                 "ATOLL_CC",       "ATOLL_TEST_SOCKETS", "ATOLL_HEAT3D_FAULT",
                                 "UPCXX_NETWORK",  "UPCXX_CODEMODE",     "UPCXX_THREADMODE",
                                 "UPCXX_INSTALL",  "UPCXX_LINK_CUDA",    "UPCXX_GASNET_CONDUIT",
                                 "ATOLL_SIM",      "MY_ATOLL_HOSTS"}) {
    EXPECT_EQ(meant(name), "") << name;
  }
}

TEST(settings_deathtest, those_of_a_job_are_the_first_ranks) {
  scoped_variable const timeout("ATOLL_HOST_TIMEOUT", "4");
  scoped_variable const bundles("ATOLL_BUNDLES_BY_HOST", "yes");
  std::string const first = atl::settings::shared_by_job();
  // What follows stays.
  auto const other_rank = [&] {
    scoped_variable const own_timeout("ATOLL_HOST_TIMEOUT", "0");
    scoped_variable const own_bundles("ATOLL_BUNDLES_BY_HOST", nullptr);
    atl::settings::follow(first);
    std::fprintf(stderr, "%u %d", atl::settings::host_timeout_ms(), atl::settings::bundles_by_host());
    std::exit(0);
  };
  EXPECT_EXIT(other_rank(), testing::ExitedWithCode(0), "^4000 1$");
  atl::settings::follow("");  // of another version, which says nothing
  EXPECT_EQ(atl::settings::host_timeout_ms(), 4000);
}

TEST(settings, bytes_for_people) {
  EXPECT_EQ(settings::format_bytes(0), "0 B");
  EXPECT_EQ(settings::format_bytes(512), "512 B");
  EXPECT_EQ(settings::format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(settings::format_bytes(std::uint64_t{128} << 20), "128 MiB");
}

}  // namespace
