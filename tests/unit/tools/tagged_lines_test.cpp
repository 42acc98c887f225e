#include "run/hosts/tagged_lines.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using atl::tools::tag_style;
using atl::tools::tagged_lines;

/// What comes of a launcher's output, which is given in pieces of that size; 0: whole.
std::string taken(tag_style style, std::string_view output, std::size_t piece = 0, bool named = true) {
  std::string text;
  tagged_lines lines(style, named, [&](std::string_view line) { text += line; });
  if (piece == 0) piece = output.size() + 1;
  for (std::size_t at = 0; at < output.size(); at += piece) lines.add(output.substr(at, piece));
  lines.finish();
  return text;
}

TEST(TaggedLines, BecomeOurs) {
  constexpr auto bracketed = tag_style::bracketed;
  EXPECT_EQ(taken(bracketed, "[1,13]<stdout>:a [b] 1: c\n"), "[13] a [b] 1: c\n");
  EXPECT_EQ(taken(bracketed, "[1,0]<stderr>:\n"), "[0] \n");
  EXPECT_EQ(taken(bracketed, "[1,2]<stdout>: x\n"), "[2]  x\n");
  EXPECT_EQ(taken(bracketed, "[1,2]<stdout>: x\n", 0, false), " x\n");
  EXPECT_EQ(taken(tag_style::bracketed_with_space, "[prterun-h1-77@1,2]<stdout>: x\n"), "[2] x\n");
  EXPECT_EQ(taken(tag_style::bracketed_with_space, "[1,2]<stderr>:   x\n"), "[2]   x\n");
  EXPECT_EQ(taken(tag_style::label, " 3: x: y\n12: z\n"), "[3] x: y\n[12] z\n");
  EXPECT_EQ(taken(tag_style::pattern, "<atoll:4>x\n"), "[4] x\n");
  EXPECT_EQ(taken(bracketed, ""), "");
}

TEST(TaggedLines, WhatIsNoTagStays) {
  EXPECT_EQ(taken(tag_style::bracketed, "[host:123] words\n"), "[host:123] words\n");
  EXPECT_EQ(taken(tag_style::bracketed, "[1,0]<stdout>:[1,x]<stdout>:[a,1]<stdlog>:[1,2] [\n"),
            "[0] [1,x]<stdout>:[a,1]<stdlog>:[1,2] [\n");
  EXPECT_EQ(taken(tag_style::bracketed, "[1,12345678901]<stdout>:x\n"), "[1,12345678901]<stdout>:x\n");
  EXPECT_EQ(taken(tag_style::label, "srun: error: h1: task 2\n"), "srun: error: h1: task 2\n");
  EXPECT_EQ(taken(tag_style::label, "0: a 1: b\n"), "[0] a 1: b\n");
  EXPECT_EQ(taken(tag_style::pattern, "<atoll:>x<atoll:1\n<<atoll:2>y\n"), "<atoll:>x<atoll:1\n[2] y\n<\n");
  EXPECT_EQ(taken(tag_style::none, "[1,0]<stdout>:x\n\n<atoll:1>"), "[1,0]<stdout>:x\n\n<atoll:1>\n");
}

TEST(TaggedLines, PiecesOfALineComeTogether) {
  EXPECT_EQ(taken(tag_style::bracketed,
                  "[1,0]<stdout>:no [1,1]<stdout>:or[1,0]<stdout>:end\n[1,1]<stdout>:der\n[1,0]<stdout>:x\n"),
            "[0] no end\n[1] order\n[0] x\n");
  EXPECT_EQ(taken(tag_style::pattern, "<atoll:0>a<atoll:10>b<atoll:0>\n<atoll:10>\n"), "[0] a\n[10] b\n");
}

TEST(TaggedLines, TheLauncherSpeaksBetweenThem) {
  EXPECT_EQ(
      taken(tag_style::bracketed, "[1,0]<stderr>:half[1,1]<stderr>:whole\nmpirun: words\n[1,0]<stderr>:\n"),
      "[1] whole\nmpirun: words\n[0] half\n");
}

TEST(TaggedLines, LastLinesGetAnEnd) {
  EXPECT_EQ(taken(tag_style::bracketed, "[1,1]<stdout>:a[1,0]<stdout>:b"), "[0] b\n[1] a\n");
  EXPECT_EQ(taken(tag_style::bracketed, "[1,1]<stdout>:a[1,0]<std"), "[1] a[1,0]<std\n");
  EXPECT_EQ(taken(tag_style::label, "   "), "   \n");
}

/// srun cuts at 1024 characters, and shows each piece as a line; a whole line has at most one less.
TEST(TaggedLines, SrunsPiecesBecomeLinesAgain) {
  std::string const piece(1024, 'x');
  std::string const whole(1023, 'y');
  std::string const output = "0: " + piece + "\n1: " + piece + "\n1: \n0: " + piece +
                             "\n0: end\n1: " + whole + "\n1: z\n" + "srun: " + std::string(1018, '-') +
                             "\n0: " + piece + "\n";
  std::string const expected = "[1] " + piece + "\n[0] " + piece + piece + "end\n[1] " + whole +
                               "\n[1] z\nsrun: " + std::string(1018, '-') + "\n[0] " + piece + "\n";
  EXPECT_EQ(taken(tag_style::label, output), expected);
  for (std::size_t const size : {1U, 7U, 1000U, 1027U, 1028U})
    EXPECT_EQ(taken(tag_style::label, output, size), expected);
}

/// Launchers may write, and pipes give, pieces that end anywhere.
TEST(TaggedLines, AnyPiecesGiveTheSame) {
  std::mt19937 random(7);
  auto const up_to = [&](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); };
  for (tag_style const style : {tag_style::bracketed, tag_style::bracketed_with_space, tag_style::pattern}) {
    std::vector<std::string> written(4);
    std::string output;
    for (int i = 0; i < 400; ++i) {
      unsigned const rank = up_to(3);
      std::string const tag = style == tag_style::bracketed ? "[1," + std::to_string(rank) + "]<stdout>:"
                              : style == tag_style::bracketed_with_space
                                  ? "[p@1," + std::to_string(rank) + "]<stdout>: "
                                  : "<atoll:" + std::to_string(rank) + ">";
      std::string text;
      for (unsigned n = 1 + up_to(20); n > 0; --n) text += "[1,<atoll:]x \n"[up_to(13)];
      // A tag at the beginning, and after each end of a line within.
      output += tag;
      for (std::size_t at = 0; at < text.size(); ++at) {
        output += text[at];
        if (text[at] == '\n' && at + 1 < text.size()) output += tag;
      }
      written[rank] += text;
    }
    std::string const whole = taken(style, output);
    for (std::size_t const piece : {1U, 2U, 3U, 7U, 64U}) EXPECT_EQ(taken(style, output, piece), whole);
    // Each rank's own lines, in order.
    for (int rank = 0; rank < 4; ++rank) {
      std::string const name = "[" + std::to_string(rank) + "] ";
      std::string mine;
      for (std::size_t at = 0; at < whole.size();) {
        std::size_t const end = whole.find('\n', at) + 1;
        if (whole.compare(at, name.size(), name) == 0)
          mine += whole.substr(at + name.size(), end - at - name.size());
        at = end;
      }
      std::string expected = written[static_cast<std::size_t>(rank)];
      if (!expected.empty() && expected.back() != '\n') expected += '\n';
      EXPECT_EQ(mine, expected) << "rank " << rank;
    }
  }
}

}  // namespace
