#include "common/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

namespace apps {
namespace {

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

std::vector<std::string> words_of(int argc, char const* const* argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) words.emplace_back(argv[i]);
  return words;
}

void prepare(CLI::App& app) {
  app.set_help_flag("-h,--help", "Print this and end");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

bool read(CLI::App& app, std::vector<std::string> words, ending& result) {
  std::ranges::reverse(words);  // CLI11 wants them last first
  try {
    app.parse(std::move(words));
    return true;
  } catch (CLI::CallForHelp const&) {
    result.help = app.help();
  } catch (CLI::ParseError const& e) {
    result.error = one_line(e.what()) + "; " + app.get_name() + " --help lists the options";
  }
  return false;
}

}  // namespace apps
