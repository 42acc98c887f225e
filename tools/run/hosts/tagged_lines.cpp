#include "run/hosts/tagged_lines.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "run/output.hpp"

namespace atl::tools {
namespace {

constexpr std::string_view digits = "0123456789";

/// What stands at the beginning of some text.
struct finding {
  enum { nothing, begun, tag } what = nothing;  ///< begun: the text ends too early to say
  std::size_t bytes = 0;                        ///< of the tag
  int rank = 0;
};

/// Reads a text from its beginning, as far as it goes.
class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}

  /// Past what is expected there. False: something else is, or the text has ended before.
  bool pass(std::string_view expected) {
    std::string_view const there = text_.substr(at_, expected.size());
    if (there != expected) {
      ended_ = expected.starts_with(there);
      return false;
    }
    at_ += expected.size();
    return true;
  }
  /// Past all of these, at most `most`. False: there are more, or the text may go on with them.
  bool pass_all(std::string_view of, std::size_t most) {
    std::size_t const end = std::min(text_.find_first_not_of(of, at_), text_.size());
    ended_ = end == text_.size();
    if (end - at_ > most) ended_ = false;
    if (ended_ || end - at_ > most) return false;
    at_ = end;
    return true;
  }
  std::optional<int> number() {
    std::size_t const begin = at_;
    if (!pass_all(digits, 9) || at_ == begin) return std::nullopt;
    return std::atoi(std::string(text_.substr(begin, at_ - begin)).c_str());
  }
  std::size_t at() const { return at_; }
  finding no_tag() const { return {ended_ ? finding::begun : finding::nothing}; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

/// "[1,3]<stdout>:", with PRRTE "[name@1,3]<stdout>: ".
finding bracketed(std::string_view text, std::string_view behind) {
  constexpr std::string_view in_names = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.@";
  constexpr std::size_t longest_name = 300;
  reader at(text);
  if (!at.pass("[") || !at.pass_all(in_names, longest_name) || !at.pass(",")) return at.no_tag();
  auto const rank = at.number();
  if (!rank || !at.pass("]<std")) return at.no_tag();
  reader other = at;
  if (!at.pass("out>:")) {
    if (!other.pass("err>:"))
      return {at.no_tag().what == finding::begun ? finding::begun : other.no_tag().what};
    at = other;
  }
  if (!at.pass(behind)) return at.no_tag();
  return {finding::tag, at.at(), *rank};
}

/// Hydra's, as we have asked for it.
finding pattern(std::string_view text) {
  reader at(text);
  if (!at.pass(hydra_tag_begins)) return at.no_tag();
  auto const rank = at.number();
  if (!rank || !at.pass(hydra_tag_ends)) return at.no_tag();
  return {finding::tag, at.at(), *rank};
}

/// " 3: ", only before lines: srun keeps pieces back until these are whole, or longer than it can keep.
finding label(std::string_view text) {
  reader at(text);
  if (!at.pass_all(" ", 9)) return at.no_tag();
  auto const rank = at.number();
  if (!rank || !at.pass(": ")) return at.no_tag();
  return {finding::tag, at.at(), *rank};
}

finding tag_at(tag_style style, std::string_view text) {
  switch (style) {
    case tag_style::none:
      break;
    case tag_style::bracketed:
      return bracketed(text, "");
    case tag_style::bracketed_with_space:
      return bracketed(text, " ");
    case tag_style::pattern:
      return pattern(text);
    case tag_style::label:
      return label(text);
  }
  return {};
}

/// With labels srun cuts longer lines into lines of this many characters, and calls only others whole, whose own end counts (Slurm 22.05).
constexpr std::size_t srun_cuts_at = 1024;

/// With what a tag begins inside of a line; 0: nothing does.
char begins_tag(tag_style style) {
  switch (style) {
    case tag_style::none:
    case tag_style::label:
      break;
    case tag_style::bracketed:
    case tag_style::bracketed_with_space:
      return '[';
    case tag_style::pattern:
      return hydra_tag_begins.front();
  }
  return '\0';
}

}  // namespace

void tagged_lines::add(std::string_view bytes) {
  held_ += bytes;
  std::string const whole = std::exchange(held_, {});
  std::string_view rest = whole;
  char const mark = begins_tag(style_);
  while (!rest.empty()) {
    if (begins_ || (mark != '\0' && rest.front() == mark)) {
      finding const found = tag_at(style_, rest);
      if (found.what == finding::begun) {
        held_ = rest;
        return;
      }
      if (found.what == finding::tag) {
        now_ = found.rank;
        begins_ = false;
        since_tag_ = 0;
        rest.remove_prefix(found.bytes);
        continue;
      }
    }
    // At least one byte, up to the next end of a line or beginning of a tag.
    std::size_t end = rest.front() == '\n' ? 1 : std::min(rest.find('\n', 1), rest.size() - 1) + 1;
    if (mark != '\0') end = std::min(end, std::max<std::size_t>(rest.substr(0, end).find(mark, 1), 1));
    add_text(rest.substr(0, end));
    rest.remove_prefix(end);
  }
}

/// Of one rank, with the end of a line at most at its own.
void tagged_lines::add_text(std::string_view text) {
  std::string& line = open_[now_];
  begins_ = text.back() == '\n';
  since_tag_ += text.size() - (begins_ ? 1 : 0);
  bool const goes_on =
      !begins_ || (style_ == tag_style::label && now_ != launcher && since_tag_ == srun_cuts_at);
  line += text.substr(0, text.size() - (begins_ && goes_on ? 1 : 0));
  if (!goes_on) {
    pass_on(now_, line, "");
  } else if (line.size() > longest_line) {
    pass_on(now_, line, "\n");
  }
  if (begins_) now_ = launcher;
}

void tagged_lines::pass_on(int rank, std::string& line, std::string_view end) {
  std::string const text = std::exchange(line, {});
  std::string const name = named_ && rank != launcher ? "[" + std::to_string(rank) + "] " : "";
  take_(name + text + std::string(end));
}

void tagged_lines::finish() {
  if (!held_.empty()) add_text(std::exchange(held_, {}));
  for (auto& [rank, line] : open_) {
    if (!line.empty()) pass_on(rank, line, "\n");
  }
}

}  // namespace atl::tools
