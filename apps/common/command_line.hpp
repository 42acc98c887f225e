#pragma once

/// Reading a command line with CLI11, the same way in every program.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace apps {

/// A text to print and end with, instead of a run.
struct ending {
  std::string help;   ///< not empty: print this and end well
  std::string error;  ///< not empty: print this and end with status 2
};

/// What came of reading the command line: options, or an ending.
template <class Options>
struct parsed : ending {
  Options value;
};

/// The words after the program's name.
std::vector<std::string> words_of(int argc, char const* const* argv);

/// Before options are added: --help, and that the last of options given twice counts.
void prepare(CLI::App& app);
/// Reads the words into the options. False where the run ends with what `result` says then.
bool read(CLI::App& app, std::vector<std::string> words, ending& result);

}  // namespace apps
