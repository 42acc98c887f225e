#include "table.hpp"

#include <array>
#include <cstdlib>
#include <span>

namespace atl::tools {
namespace {

std::string formatted(char const* format, double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

/// Three significant digits.
std::string digits(double value) {
  char const* const format = value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f";
  return formatted(format, value);
}

std::string speed_text(result const& r, double ns) {
  if (ns <= 0) return "";
  if (r.show == "rate") return digits(1e3 / ns) + " M/s";
  if (r.show == "bandwidth") return digits(static_cast<double>(r.bytes) / ns) + " GB/s";
  return "";
}

/// The machine's or message passing's figure, in the unit of the row.
std::string other_text(result const& r, double ns) {
  if (ns <= 0) return "";
  return r.show == "time" ? time_text(ns) : speed_text(r, ns);
}

/// One line: cells one after the other, each in the width of its column.
class line {
 public:
  explicit line(std::string_view suite) : suite_(suite) {}

  /// `width`: negative for text that begins on the left.
  void cell(int width, std::string_view text) {
    auto const room = static_cast<std::size_t>(std::abs(width));
    std::string const blanks(text.size() < room ? room - text.size() : 0, ' ');
    text_ += width < 0 ? std::string(text) + blanks : blanks + std::string(text);
    text_ += ' ';
  }
  /// Cells that not every suite has.
  void lines(std::string_view text) {
    if (!has_many_peers()) cell(6, text);
  }
  void peers_of(std::array<std::string, peers.size()> const& texts) {
    for (peer const each : columns()) cell(10, texts[static_cast<std::size_t>(each)]);
  }
  void goal_of(std::string_view text, std::string_view reached) {
    cell(has_many_peers() ? 17 : 12, text);
    cell(7, reached);
  }
  void print(std::FILE* to) {
    text_.erase(text_.find_last_not_of(' ') + 1);
    std::fprintf(to, "%s\n", text_.c_str());
  }

 private:
  bool has_many_peers() const { return columns().size() > 1; }
  std::span<peer const> columns() const {
    using enum peer;
    static constexpr std::array of_gpus{mpi, mpi_put, nvshmem, nvshmem_stream, nccl, ucx};
    static constexpr std::array of_hosts{mpi, ucx, ucx_am, ofi_rxm, ofi_msg};
    static constexpr std::array of_others{mpi};
    if (suite_ == "gpu") return of_gpus;
    if (suite_ == "net") return of_hosts;
    return of_others;
  }

  std::string_view suite_;
  std::string text_;
};

struct cells {
  std::string name, size, ranks, iterations, median, p10, p90, lines, speed, limit, share;
  std::array<std::string, peers.size()> others;
  std::string goal, reached;

  void print(std::FILE* to, std::string_view suite) const {
    line l(suite);
    l.cell(-50, name);
    l.cell(8, size);
    l.cell(5, ranks);
    l.cell(7, iterations);
    l.cell(9, median);
    l.cell(9, p10);
    l.cell(9, p90);
    l.lines(lines);
    l.cell(10, speed);
    l.cell(18, limit);
    l.cell(6, share);
    l.peers_of(others);
    l.goal_of(goal, reached);
    l.print(to);
  }
};

}  // namespace

std::string time_text(double ns) {
  if (ns < 1e3) return digits(ns) + " ns";
  if (ns < 1e6) return digits(ns / 1e3) + " us";
  if (ns < 1e9) return digits(ns / 1e6) + " ms";
  return digits(ns / 1e9) + " s";
}

void print_heading(std::FILE* to, std::string_view suite) {
  cells c{"operation", "size",  "ranks", "iters", "median", "p10",  "p90",
          "lines",     "speed", "limit", "share", {},       "goal", "reached"};
  for (std::size_t i = 0; i < peers.size(); ++i) c.others[i] = peers[i].title;
  c.print(to, suite);
}

void print_row(std::FILE* to, result const& r) {
  cells c;
  c.name = r.name;
  c.ranks = std::to_string(r.ranks);
  if (r.show == "value") {
    c.median = formatted("%.6g", r.value) + (r.unit.empty() ? "" : " ") + r.unit;
    // Long texts have the empty columns to themselves.
    if (c.name.size() > 50) {
      std::fprintf(to, "%s\n", c.name.c_str());
      c.name.clear();
    }
  } else {
    if (r.bytes > 0) c.size = size_text(r.bytes);
    c.iterations = std::to_string(r.iterations);
    c.median = (r.disturbed > 0 ? "~" : "") + time_text(r.median_ns);
    c.p10 = time_text(r.p10_ns);
    c.p90 = time_text(r.p90_ns);
    if (r.lines > 0) c.lines = formatted("%.2f", r.lines);
    c.speed = speed_text(r, r.median_ns);
    if (r.limit_ns > 0) {
      bool const of_lines = r.limit_name == "line";
      c.limit = r.limit_name + " " + (of_lines ? time_text(r.limit_ns) : other_text(r, r.limit_ns));
      if (!of_lines || r.show == "time") c.share = formatted("%.0f %%", r.share * 100);
    }
    for (std::size_t i = 0; i < peers.size(); ++i) c.others[i] = other_text(r, r.peer_ns[i]);
  }
  if (r.goals.empty()) c.print(to, r.suite);
  for (goal const& g : r.goals) {
    c.goal = g.text();
    c.reached = g.reached(r) ? "yes" : "no";
    c.print(to, r.suite);
    c = {};  // further goals have lines of their own
  }
  std::fflush(to);
}

}  // namespace atl::tools
