#pragma once

/// An SQLite file that many jobs may add to at once.
///
/// What belongs together is one transaction that takes the write lock at its start (BEGIN IMMEDIATE), so two
/// writers never deadlock half-way, and a writer that finds the lock taken waits instead of giving up.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/files.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace apps {

class database {
 public:
  /// Creates the file and its tables when they are missing; the schema says IF NOT EXISTS. `later` are
  /// statements that may fail, such as the addition of columns that files of earlier versions lack. Throws
  /// file_problem, which calls the file that of --results.
  database(std::string path, char const* schema, std::span<char const* const> later = {});
  ~database();
  database(database const&) = delete;
  database& operator=(database const&) = delete;

  void execute(char const* sql, char const* doing = "write");
  [[nodiscard]] std::int64_t last_row() const;
  /// Throws file_problem with the reason of the last failure.
  [[noreturn]] void fail(char const* doing) const;
  [[nodiscard]] sqlite3* handle() const { return handle_; }

 private:
  void prepare(char const* schema, std::span<char const* const> later);

  std::string path_;
  sqlite3* handle_ = nullptr;
};

/// All of it or nothing. Waits for other writers.
class transaction {
 public:
  explicit transaction(database& in);
  ~transaction();
  transaction(transaction const&) = delete;
  transaction& operator=(transaction const&) = delete;
  void commit();

 private:
  database& in_;
  bool committed_ = false;
};

/// A prepared statement whose parameters are bound in order.
class statement {
 public:
  statement(database& in, char const* sql);
  ~statement();
  statement(statement const&) = delete;
  statement& operator=(statement const&) = delete;

  statement& bind(std::int64_t value);
  statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
  statement& bind(double value);
  statement& bind(std::string const& value);
  /// Nothing becomes null.
  statement& bind(std::optional<std::int64_t> value);
  void run();

 private:
  statement& bound(int status);

  database& in_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace apps
