#pragma once

/// Files that a run writes.

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>

namespace apps {

/// Cannot read or write a file; the text names it and the reason.
struct file_problem {
  std::string text;
};

/// A file that an option asks for; none if the path is empty.
struct wanted_file {
  char const* option;
  std::string const& path;
};

/// Throws file_problem if two of them are one: the one that is opened last would empty it. Devices are not files that fill.
void expect_different(std::initializer_list<wanted_file> files);

/// A file that is open for writing, named in every complaint. Opened before the run.
class output_file {
 public:
  /// `option` is how the user asked for it. Throws file_problem.
  output_file(char const* option, std::string const& path);

  void write(void const* data, std::size_t bytes);
  /// Writes what is buffered; throws file_problem where the disk is full.
  void close();

 private:
  [[noreturn]] void fail(int error) const;

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace apps
