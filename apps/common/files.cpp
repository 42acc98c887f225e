#include "common/files.hpp"

#include <cerrno>
#include <cstring>

namespace apps {

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
