// Each attempt puts a word of every rank together, of three lines: what there is left to try; which libatoll a rank has, and the rank; why the
// first of what is left cannot be opened here, if so. The first such reason wins. Ranks that have other networks to try have other settings, and
// those of another library could not read each other's messages; then the word is "!" and says so.
//
// Networks are tried by opening them and not announced in advance, since opening is how a library finds out: usually all have the first, and
// then nothing else is loaded anywhere.

#include "engine/network/agreement.hpp"

#include <cstddef>

#include "base/error.hpp"

namespace atl::engine {
namespace {

// So that words fit in what is exchanged.
constexpr std::size_t longest_list = 120;
constexpr std::size_t longest_library = 100;
constexpr std::size_t longest_reason = 500;

std::string list_of(std::string const& word) { return word.substr(0, word.find('\n')); }
std::string rest_of(std::string const& word) { return word.substr(word.find('\n') + 1); }
std::string library_of(std::string const& word) { return list_of(rest_of(word)); }
std::string reason_of(std::string const& word) { return rest_of(rest_of(word)); }

/// Which build, and who has it.
std::string build_in(std::string const& library) { return library.substr(0, library.find(' ')); }
std::string owner_in(std::string const& library) { return library.substr(library.find(' ') + 1); }

std::string put_together(std::string const& a, std::string const& b) {
  if (a.front() == '!' || b.front() == '!') return a.front() == '!' ? a : b;
  std::string const one = library_of(a);
  std::string const other = library_of(b);
  if (build_in(one) != build_in(other))
    return format(
        "!%s and %s have different builds of libatoll (%s, %s): all hosts need the same, so look at LD_LIBRARY_PATH, and for files that are "
        "older there",
        owner_in(one).c_str(), owner_in(other).c_str(), build_in(one).c_str(), build_in(other).c_str());
  if (list_of(a) != list_of(b))
    return format("!not all ranks have the same ATOLL_TRANSPORTS: some try %s, some %s", list_of(a).c_str(),
                  list_of(b).c_str());
  return reason_of(a).empty() ? b : a;
}

}  // namespace

agreement agree_on_network(bootstrap::channel& channel, std::string const& build,
                           std::vector<std::string> const& names,
                           std::function<std::string(std::string const& name)> const& open) {
  agreement result;
  std::string const library = (build + " " + identity()).substr(0, longest_library);
  std::string left;
  for (std::string const& name : names) left += (left.empty() ? "" : ",") + name;
  for (std::string const& name : names) {
    std::string const why_not = open(name);
    std::string word = left.substr(0, longest_list) + "\n" + library + "\n";
    if (!why_not.empty())
      word += format("%s: not on %s: %s", name.substr(0, longest_list).c_str(), identity().c_str(),
                     why_not.substr(0, longest_reason).c_str());
    std::string const all = channel.agree(word, put_together);
    if (all.front() == '!') {
      result.passed_over = all.substr(1);
      return result;
    }
    if (reason_of(all).empty()) {
      result.name = name;
      return result;
    }
    result.has_better = result.has_better || why_not.empty();
    result.passed_over += (result.passed_over.empty() ? "" : "; ") + reason_of(all);
    left.erase(0, name.size() + 1);
  }
  return result;
}

}  // namespace atl::engine
