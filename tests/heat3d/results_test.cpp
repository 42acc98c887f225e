#include "program/results.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/core_watch.hpp"

namespace heat3d {
namespace {

class results : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "heat3d-results-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "runs.db"; }

  long query(char const* sql) const {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    long const value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return value;
  }

  static run_record record(std::size_t steps) {
    run_record r;
    r.exchange = "rma";
    r.backend = "plain";
    r.grid = {1, 1, 2};
    r.ranks = 2;
    r.checked = true;
    r.passed = true;
    r.checks = {{"energy balance", 1e-16, 1e-12, "fine"}};
    r.step_max_s.assign(steps, 0.002);
    r.step_rank0_s.assign(steps, 0.001);
    return r;
  }

  std::filesystem::path folder_;
};

TEST_F(results, a_run_is_stored_with_its_steps_and_checks) {
  results_file(path()).add(record(17));
  results_file(path()).add(record(3));
  EXPECT_EQ(query("SELECT count(*) FROM runs"), 2);
  EXPECT_EQ(query("SELECT count(*) FROM steps WHERE run = 1"), 17);
  EXPECT_EQ(query("SELECT count(*) FROM checks WHERE passed = 1"), 2);
  EXPECT_EQ(query("SELECT ranks FROM runs WHERE grid = '1x1x2'"), 2);
}

TEST_F(results, a_file_of_an_earlier_version_gets_the_columns_it_lacks) {
  {
    results_file old(path());
    auto r = record(2);
    r.devices = 3;
    r.device = "a device";
    old.add(r);
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  for (auto const* const column : {"devices", "device"}) {
    auto const sql = std::string("ALTER TABLE runs DROP COLUMN ") + column;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  }
  sqlite3_close(database);
  auto later = record(2);
  later.devices = 2;
  later.device = "another";
  results_file(path()).add(later);
  EXPECT_EQ(query("SELECT devices FROM runs WHERE run = 1"), 0);
  EXPECT_EQ(query("SELECT devices FROM runs WHERE device = 'another'"), 2);
}

TEST_F(results, writers_at_the_same_time_lose_nothing) {
  constexpr int writers = 8;
  constexpr int runs = 6;
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w) {
    threads.emplace_back([&] {
      for (int i = 0; i < runs; ++i) results_file(path()).add(record(50));
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(query("SELECT count(*) FROM runs"), writers * runs);
  EXPECT_EQ(query("SELECT count(*) FROM steps"), writers * runs * 50);
  EXPECT_EQ(query("SELECT count(*) FROM checks"), writers * runs);
}

TEST_F(results, a_file_that_cannot_be_used_is_named) {
  EXPECT_THROW(results_file("/nonexistent/folder/x.db"), file_problem);
  std::ofstream(path()) << "this is not a database, and long enough to be seen as none";
  try {
    results_file broken(path());
    FAIL() << "accepted";
  } catch (file_problem const& p) {
    EXPECT_NE(p.text.find(path()), std::string::npos) << p.text;
    EXPECT_NE(p.text.find("not a database"), std::string::npos) << p.text;
  }
}

TEST(core_watch, says_a_share_of_the_time_wherever_the_thread_is_stopped) {
  std::thread([] {  // and its children, on one core; the threads of other tests keep theirs
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    std::atomic<bool> over = false;
    std::thread other([&] {
      while (!over) {
      }
    });
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (std::chrono::steady_clock::now() < end) {
      apps::core_watch const watch;
      double const waited = watch.waited();
      if (waited == apps::core_watch::unknown) break;  // a kernel that does not count
      EXPECT_GE(waited, 0);
      EXPECT_LE(waited, 1);
    }
    over = true;
    other.join();
  })
      .join();
}

}  // namespace
}  // namespace heat3d
