// Each attempt puts a word of every rank together, of five lines: what there is left to try; which libatoll a rank has, and the rank; its system, and
// who has no way out; which program, and the rank, or "!" and two that differ; why the first of what is left cannot be opened here, if so. The first such reason wins. Ranks that have other networks to try have
// other settings, and those of another library could not read each other's messages; then the word is "!" and says so. Of different systems
// nothing is left but a star.
//
// Networks are tried by opening them and not announced in advance, since opening is how a library finds out: usually all have the first, and
// then nothing else is loaded anywhere.

#include "engine/network/agreement.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>

#include "base/error.hpp"

namespace atl::engine {
namespace {

// So that words fit in what is exchanged.
constexpr std::size_t longest_list = 120;
constexpr std::size_t longest_name = 40;
constexpr std::size_t longest_library = 100;
constexpr std::size_t longest_place = 180;
constexpr std::size_t longest_reason = 290;
constexpr std::size_t longest_owner = 60;
constexpr std::size_t longest_owner_of_reason = 90;
constexpr char several = '*';

/// The lines.
struct word {
  std::string list, library, place, program, reason;
};
word read(std::string const& text) {
  word w;
  std::istringstream in(text);
  for (std::string* const part : {&w.list, &w.library, &w.place, &w.program}) std::getline(in, *part);
  std::getline(in, w.reason, '\0');
  return w;
}
std::string text_of(word const& w) {
  return w.list + "\n" + w.library + "\n" + w.place + "\n" + w.program + "\n" + w.reason;
}

/// Which build or system, and what is said behind that.
std::string first_in(std::string const& line) { return line.substr(0, line.find(' ')); }
std::string behind_first_in(std::string const& line) { return line.substr(line.find(' ') + 1); }

std::string put_places_together(std::string const& a, std::string const& b) {
  std::string const system = first_in(a) == first_in(b) ? first_in(a) : std::string(1, several);
  std::string const no_way_out = behind_first_in(a);
  return system + " " + (no_way_out.empty() ? behind_first_in(b) : no_way_out);
}

/// "name=build"; a name may have blanks, which would end it.
std::string key_of_program(standpoint const& mine) {
  std::string key = mine.program.substr(0, longest_name);
  std::replace_if(
      key.begin(), key.end(), [](unsigned char c) { return c <= ' '; }, '_');
  return key + "=" + mine.program_build;
}

/// Of different programs, which are started together on purpose, one is left.
std::string put_programs_together(std::string const& a, std::string const& b) {
  if (a.front() == '!' || b.front() == '!') return a.front() == '!' ? a : b;
  std::string const one = first_in(a);
  std::string const other = first_in(b);
  std::size_t const name_ends = one.rfind('=');
  if (one == other || one.substr(0, name_ends) != other.substr(0, other.rfind('='))) return a;
  return format("!%s: %s has %s, %s has %s", one.substr(0, name_ends).c_str(), behind_first_in(a).c_str(),
                one.substr(name_ends + 1).c_str(), behind_first_in(b).c_str(),
                other.substr(name_ends + 1).c_str());
}

std::string put_together(std::string const& a, std::string const& b) {
  if (a.front() == '!' || b.front() == '!') return a.front() == '!' ? a : b;
  word one = read(a);
  word const other = read(b);
  if (first_in(one.library) != first_in(other.library))
    return format(
        "!%s and %s have different builds of libatoll (%s, %s): all hosts need the same, so look at LD_LIBRARY_PATH, and for files that are "
        "older there",
        behind_first_in(one.library).c_str(), behind_first_in(other.library).c_str(),
        first_in(one.library).c_str(), first_in(other.library).c_str());
  if (one.list != other.list)
    return format("!not all ranks have the same ATOLL_TRANSPORTS: some try %s, some %s", one.list.c_str(),
                  other.list.c_str());
  one.place = put_places_together(one.place, other.place);
  one.program = put_programs_together(one.program, other.program);
  if (one.reason.empty()) one.reason = other.reason;
  return text_of(one);
}

}  // namespace

agreement agree_on_network(bootstrap::channel& channel, standpoint const& mine,
                           std::vector<std::string> const& names,
                           std::function<std::string(std::string const& name)> const& open) {
  agreement result;
  std::string const library = (mine.build + " " + identity()).substr(0, longest_library);
  std::string const program = key_of_program(mine) + " " + identity().substr(0, longest_owner);
  std::string left;
  for (std::string const& name : names) left += (left.empty() ? "" : ",") + name;
  for (std::string const& name : names) {
    std::string const why_not = open(name);
    std::string place = mine.system + " ";
    if (!mine.no_way_out.empty()) place += identity() + " has " + mine.no_way_out;
    place.resize(std::min(place.size(), longest_place));
    std::string reason;
    if (!why_not.empty())
      reason = format("%s: not on %s: %s", name.substr(0, longest_name).c_str(),
                      identity().substr(0, longest_owner_of_reason).c_str(),
                      why_not.substr(0, longest_reason).c_str());
    std::string const agreed =
        channel.agree(text_of({left.substr(0, longest_list), library, place, program, reason}), put_together);
    if (agreed.front() == '!') {
      result.passed_over = agreed.substr(1);
      return result;
    }
    word const all = read(agreed);
    if (all.program.front() == '!') result.programs = all.program.substr(1);
    result.one_system = all.place.front() != several;
    if (!result.one_system && !behind_first_in(all.place).empty()) {
      result.passed_over = behind_first_in(all.place);
      return result;
    }
    if (all.reason.empty()) {
      result.name = name;
      return result;
    }
    result.has_better = result.has_better || why_not.empty();
    result.passed_over += (result.passed_over.empty() ? "" : "; ") + all.reason;
    left.erase(0, name.size() + 1);
  }
  return result;
}

}  // namespace atl::engine
