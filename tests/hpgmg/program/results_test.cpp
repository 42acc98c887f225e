#include "program/results.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "program/checks.hpp"

namespace hpgmg {
namespace {

class results : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "hpgmg-results-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "runs.db"; }

  double query(char const* sql) const {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    double const value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return value;
  }

  /// As if fv4 with Gauss-Seidel had been run on 32^3 cells.
  static run_record record() {
    run_record r;
    r.communication = "bulk";
    r.ranks = 2;
    r.levels = {{32, 16, 2, 2}, {16, 8, 2, 2}, {8, 8, 1, 2}};
    r.largest_eigenvalue = {2.223793917728256, 2, 2};
    constexpr double norms[] = {8.412949741e-04, 2.463322559e-03, 7.615331128e-04};
    constexpr double sources[] = {8.748951839747e-01, 6.007449875581e-01, 1.843492673356e-01};
    for (int level = 0; level < size_n; ++level) {
      size_record size;
      size.level = level;
      size.cells = 32 >> level;
      size.source_norm = sources[level];
      size.history = {{norms[level], norms[level] / sources[level]}};
      size.solve_s = {0.3, 0.1, 0.2};
      size.mean_s = 0.2;
      size.best_s = 0.1;
      size.levels.resize(3);
      size.levels.back().seconds[0] = size.levels.back().most[0] = 0.125;
      size.levels.back().least[0] = 0.0625;
      r.sizes.push_back(size);
    }
    r.error = 2.741524561805e-05;
    r.order = 1.966;
    r.transfers = {{0, "restriction", {.messages = {6, 4, 2}, .most_messages = {3, 2, 1}, .doubles = 512}}};
    r.warmup = 4;
    r.messages[0].messages[5] = 7;
    r.messages[0].bytes[5] = 280;
    r.checked = true;
    r.checks = compare(r);
    return r;
  }

  std::filesystem::path folder_;
};

TEST_F(results, a_run_is_stored_with_all_that_hangs_on_it) {
  results_file(path()).add(record());
  auto unchecked = record();
  unchecked.checked = false;
  results_file(path()).add(unchecked);
  EXPECT_EQ(query("SELECT count(*) FROM hpgmg_runs WHERE comm = 'bulk' AND cells = 32 AND boxes = 2"), 2);
  EXPECT_EQ(query("SELECT count(*) FROM hpgmg_runs WHERE passed = 1"), 1);
  EXPECT_EQ(query("SELECT error FROM hpgmg_runs WHERE run = 2"), 2.741524561805e-05);
  EXPECT_EQ(query("SELECT count(*) FROM hpgmg_sizes WHERE solves = 3 AND best_s = 0.1"), 6);
  EXPECT_EQ(query("SELECT max(seconds) FROM hpgmg_solves WHERE run = 1 AND level = 2"), 0.3);
  EXPECT_EQ(
      query(
          "SELECT seconds FROM hpgmg_phases WHERE run = 1 AND start = 1 AND level = 2 AND phase = 'smooth'"),
      0.125);
  EXPECT_EQ(query("SELECT count(*) FROM hpgmg_transfers WHERE run = 1"), 3);
  EXPECT_EQ(query("SELECT messages FROM hpgmg_messages WHERE run = 1 AND form = 'row' AND least_bytes = 32"),
            7);
}

TEST_F(results, writers_at_the_same_time_lose_nothing) {
  constexpr int writers = 6;
  constexpr int runs = 5;
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w) {
    threads.emplace_back([&] {
      for (int i = 0; i < runs; ++i) results_file(path()).add(record());
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(query("SELECT count(*) FROM hpgmg_runs"), writers * runs);
  EXPECT_EQ(query("SELECT count(*) FROM hpgmg_solves"), writers * runs * 9);
}

TEST_F(results, json_has_the_same_numbers) {
  apps::output_file file("--json", path());
  write_json(file, record());
  std::ifstream text(path());
  auto const read = nlohmann::json::parse(text);
  EXPECT_EQ(read.at("comm"), "bulk");
  EXPECT_EQ(read.at("sizes").at(0).at("best_s"), 0.1);
  EXPECT_EQ(read.at("passed"), true);
  EXPECT_EQ(read.at("richardson_error"), 2.741524561805e-05);
  auto const& size = read.at("sizes").at(1);
  EXPECT_EQ(size.at("levels").at(2).at("smooth"), 0.125);
  EXPECT_EQ(size.at("levels_most").at(2).at("smooth"), 0.125);
  EXPECT_EQ(size.at("levels_least").at(2).at("smooth"), 0.0625);
  EXPECT_EQ(read.at("warmup"), 4);
  auto const& transfer = read.at("transfers").at(0);
  EXPECT_EQ(transfer.at("operation"), "restriction");
  EXPECT_EQ(transfer.at("messages").at("region"), 4);
  EXPECT_EQ(transfer.at("most_messages").at("rank"), 1);
  EXPECT_EQ(transfer.at("doubles"), 512);
  EXPECT_EQ(read.at("checks").size(), record().checks.size());
  EXPECT_EQ(read.at("checks").at(0).at("passed"), true);
  bool found = false;
  for (auto const& bins : read.at("messages_by_bytes")) {
    for (auto const& bin : bins) found = found || bin == nlohmann::json{32, 7, 280};
  }
  EXPECT_TRUE(found) << read;
}

TEST_F(results, numbers_off_by_more_than_rounding_are_wrong) {
  auto right = record();
  EXPECT_TRUE(right.passed());
  EXPECT_EQ(right.checks.size(), 1U + 3 + 3 + 2 + 3);
  auto spoilt = [](auto&& change) {
    auto r = record();
    change(r);
    r.checks = compare(r);
    return !r.passed();
  };
  EXPECT_TRUE(spoilt([](run_record& r) { r.error *= 1 + 1e-8; }));
  EXPECT_TRUE(spoilt([](run_record& r) { r.order += 0.002; }));
  EXPECT_TRUE(spoilt([](run_record& r) { r.sizes[1].history[0].norm *= 1 - 1e-7; }));
  EXPECT_TRUE(spoilt([](run_record& r) { r.sizes[2].source_norm *= 1 + 1e-9; }));
  EXPECT_TRUE(spoilt([](run_record& r) { r.largest_eigenvalue[0] += 1e-9; }));
  EXPECT_TRUE(spoilt([](run_record& r) { r.error = std::nan(""); }));
  // Where nothing is known, the residual must fall all the same.
  EXPECT_FALSE(spoilt([](run_record& r) { r.levels.front().cells = 80; }));
  EXPECT_TRUE(spoilt([](run_record& r) {
    r.levels.front().cells = 80;
    r.sizes[0].history[0].relative = 0.5;
  }));
}

}  // namespace
}  // namespace hpgmg
