#include "common/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace apps {
namespace {

namespace fs = std::filesystem;

bool are_one(std::string const& a, std::string const& b) {
  std::error_code error;
  if (fs::exists(a, error) && !fs::is_regular_file(a, error)) return false;
  fs::path const first = fs::weakly_canonical(fs::absolute(a, error), error);
  if (error) return a == b;
  fs::path const second = fs::weakly_canonical(fs::absolute(b, error), error);
  if (error) return a == b;
  return first == second || fs::equivalent(first, second, error);
}

}  // namespace

void expect_different(std::initializer_list<wanted_file> files) {
  for (auto const* a = files.begin(); a != files.end(); ++a) {
    for (auto const* b = a + 1; b != files.end(); ++b) {
      if (a->path.empty() || b->path.empty() || !are_one(a->path, b->path)) continue;
      throw file_problem{std::string(a->option) + " and " + b->option + " name one file, " + b->path +
                         ": one would destroy what the other has written"};
    }
  }
}

output_file::output_file(char const* option, std::string const& path)
    : name_(std::string(option) + " " + path), file_(std::fopen(path.c_str(), "wb"), std::fclose) {
  if (!file_) fail(errno);
}

void output_file::write(void const* data, std::size_t bytes) {
  if (std::fwrite(data, 1, bytes, file_.get()) != bytes) fail(errno);
}

void output_file::close() {
  auto const failed = std::fflush(file_.get()) != 0;
  auto const error = errno;
  auto* const file = file_.release();
  if (std::fclose(file) != 0 && !failed) fail(errno);
  if (failed) fail(error);
}

void output_file::fail(int error) const {
  auto const* const advice = error == ENOSPC                     ? "; free some space or write elsewhere"
                             : error == ENOENT                   ? "; does the folder exist?"
                             : error == EACCES || error == EROFS ? "; write to a folder of your own"
                                                                 : "";
  throw file_problem{name_ + ": " + std::strerror(error) + advice};
}

}  // namespace apps
