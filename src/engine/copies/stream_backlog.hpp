#pragma once

/// How much streams of the program hold that they have not come to. A driver takes some thousand operations of a stream and has its caller
/// wait then; for ever, if the stream waits for what progress of the caller would bring.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/program_streams.hpp"

namespace atl::engine {

/// What programs put into streams by themselves nobody counts. Under the engine's lock.
class stream_backlog {
 public:
  /// Operations of a stream, which leaves a driver's room for those of the program.
  static constexpr std::uint64_t most = 640;

  void note(memory::program_streams& streams, memory::stream_handle s) {
    if (!is_counted(streams, s)) return;
    line& of = line_of(streams, s);
    ++of.started;
    if (of.started - of.marked >= between_marks) mark(of);
  }
  /// The same for a report, behind which nothing may be left: who hears of it may end the stream.
  void note_report(memory::program_streams& streams, memory::stream_handle s) {
    if (is_counted(streams, s)) ++line_of(streams, s).started;
  }
  /// Whether so many more have room, as far as is known; asks for news if not. A stream that has come to all takes any number: it stands
  /// before none of them.
  bool has_room(memory::program_streams& streams, memory::stream_handle s, std::uint64_t more) {
    auto const found = find(streams, s);
    if (found == lines_.end() || fits(*found, more)) return true;
    if (found->marked != found->started) mark(*found);
    return fits(*found, more);
  }

 private:
  static constexpr std::uint64_t between_marks = 128;
  struct line {
    memory::program_streams* streams;
    memory::stream_handle of;
    std::uint64_t started = 0;
    std::uint64_t marked = 0;
    std::uint64_t passed = 0;
  };
  struct passing final : memory::copy_record {
    stream_backlog& all;
    memory::program_streams* streams;
    memory::stream_handle of;
    std::uint64_t at;
    passing(stream_backlog& backlog, line const& l)
        : memory::copy_record{&come}, all(backlog), streams(l.streams), of(l.of), at(l.started) {}
  };

  static bool is_counted(memory::program_streams& streams, memory::stream_handle s) {
    return streams.can_be_full() && !memory::differs_by_thread(s);
  }
  static bool fits(line const& l, std::uint64_t more) {
    std::uint64_t const open = l.started - l.passed;
    return open == 0 || open + more <= most;
  }
  std::vector<line>::iterator find(memory::program_streams& streams, memory::stream_handle s) {
    return std::find_if(lines_.begin(), lines_.end(),
                        [&](line const& l) { return l.of == s && l.streams == &streams; });
  }
  line& line_of(memory::program_streams& streams, memory::stream_handle s) {
    if (auto const known = find(streams, s); known != lines_.end()) return *known;
    // Programs may make any number of streams, and handles come again.
    constexpr std::size_t most_lines = 64;
    if (lines_.size() >= most_lines)
      std::erase_if(lines_, [](line const& l) { return l.marked == l.passed; });
    lines_.push_back({&streams, s});
    return lines_.back();
  }
  void mark(line& l) {
    l.marked = l.started;
    // Graphs hold what they hold.
    if (l.streams->is_captured(l.of)) {
      l.passed = l.started;
    } else {
      l.streams->report(l.of, new passing(*this, l));
    }
  }
  static void come(memory::copy_record* record) noexcept {
    auto* const p = static_cast<passing*>(record);
    if (auto const found = p->all.find(*p->streams, p->of); found != p->all.lines_.end())
      found->passed = std::max(found->passed, p->at);
    delete p;
  }

  std::vector<line> lines_;
};

}  // namespace atl::engine
