// Each attempt puts a word of every rank together: what there is left to try, a line end, and why the first of that cannot be opened here, if so.
// The first such reason wins. Ranks that have other networks to try have other settings; then the word is "!" and says so.
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
constexpr std::size_t longest_reason = 500;

std::string list_of(std::string const& word) { return word.substr(0, word.find('\n')); }
std::string reason_of(std::string const& word) { return word.substr(word.find('\n') + 1); }

std::string put_together(std::string const& a, std::string const& b) {
  if (a.front() == '!' || b.front() == '!') return a.front() == '!' ? a : b;
  if (list_of(a) != list_of(b))
    return format("!not all ranks have the same ATOLL_TRANSPORTS: some try %s, some %s", list_of(a).c_str(),
                  list_of(b).c_str());
  return reason_of(a).empty() ? b : a;
}

}  // namespace

agreement agree_on_network(bootstrap::channel& channel, std::vector<std::string> const& names,
                           std::function<std::string(std::string const& name)> const& open) {
  agreement result;
  std::string left;
  for (std::string const& name : names) left += (left.empty() ? "" : ",") + name;
  for (std::string const& name : names) {
    std::string const why_not = open(name);
    std::string word = left.substr(0, longest_list) + "\n";
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
