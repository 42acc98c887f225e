#include "common/database.hpp"

#include <sqlite3.h>

#include <utility>

namespace apps {
namespace {

constexpr int wait_ms = 120'000;

}  // namespace

database::database(std::string path, char const* schema, std::span<char const* const> later)
    : path_(std::move(path)) {
  // The destructor of an object that was not completed does not run.
  try {
    if (sqlite3_open(path_.c_str(), &handle_) != SQLITE_OK) fail("open");
    prepare(schema, later);
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

database::~database() { sqlite3_close(handle_); }

void database::prepare(char const* schema, std::span<char const* const> later) {
  sqlite3_busy_timeout(handle_, wait_ms);
  // One file and nothing beside it once nobody writes, so that it can be copied and sent: files of earlier versions have a
  // write-ahead log, which even readers leave behind. Fails while others have such a file open; then the last of
  // them to open it when it is alone does this.
  sqlite3_exec(handle_, "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr);
  transaction writing(*this);
  execute(schema, "create tables");
  for (auto const* const sql : later) sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  writing.commit();
}

void database::fail(char const* doing) const {
  std::string const why = handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory";
  auto const code = handle_ != nullptr ? sqlite3_errcode(handle_) & 0xff : SQLITE_NOMEM;
  auto const* const advice = code == SQLITE_FULL       ? "; free some space or give another file"
                             : code == SQLITE_NOTADB   ? "; give another file"
                             : code == SQLITE_BUSY     ? "; other jobs held the file for two minutes"
                             : code == SQLITE_CANTOPEN ? "; does the folder exist, and may you write there?"
                                                       : "";
  throw file_problem{"--results " + path_ + ": cannot " + doing + ": " + why + advice};
}

void database::execute(char const* sql, char const* doing) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(doing);
}

std::int64_t database::last_row() const { return sqlite3_last_insert_rowid(handle_); }

transaction::transaction(database& in) : in_(in) { in_.execute("BEGIN IMMEDIATE"); }

transaction::~transaction() {
  if (!committed_) sqlite3_exec(in_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void transaction::commit() {
  in_.execute("COMMIT");
  committed_ = true;
}

statement::statement(database& in, char const* sql) : in_(in) {
  if (sqlite3_prepare_v2(in.handle(), sql, -1, &statement_, nullptr) != SQLITE_OK) in_.fail("write");
}

statement::~statement() { sqlite3_finalize(statement_); }

statement& statement::bind(std::int64_t value) {
  return bound(sqlite3_bind_int64(statement_, ++bound_, value));
}

statement& statement::bind(double value) { return bound(sqlite3_bind_double(statement_, ++bound_, value)); }

statement& statement::bind(std::string const& value) {
  return bound(sqlite3_bind_text(statement_, ++bound_, value.c_str(), -1, SQLITE_TRANSIENT));
}

statement& statement::bind(std::optional<std::int64_t> value) {
  return value ? bind(*value) : bound(sqlite3_bind_null(statement_, ++bound_));
}

void statement::run() {
  if (sqlite3_step(statement_) != SQLITE_DONE) in_.fail("write");
  sqlite3_reset(statement_);
  bound_ = 0;
}

statement& statement::bound(int status) {
  if (status != SQLITE_OK) in_.fail("write");
  return *this;
}

}  // namespace apps
