#include "table.hpp"

#include <array>

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

struct column {
  char const* title;
  int width;  ///< negative: to the left
};

constexpr std::array columns{
    column{"operation", -50}, column{"size", 8},    column{"ranks", 5}, column{"iters", 7},
    column{"median", 9},      column{"p10", 9},     column{"p90", 9},   column{"lines", 6},
    column{"speed", 10},      column{"limit", 18},  column{"share", 6}, column{"MPI", 10},
    column{"goal", 12},       column{"reached", 7},
};

void print_cells(std::FILE* to, std::array<std::string, columns.size()> const& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    char buffer[128];
    std::snprintf(buffer, sizeof buffer, "%*s ", columns[i].width, cells[i].c_str());
    line += buffer;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  std::fprintf(to, "%s\n", line.c_str());
}

}  // namespace

std::string time_text(double ns) {
  if (ns < 1e3) return digits(ns) + " ns";
  if (ns < 1e6) return digits(ns / 1e3) + " us";
  if (ns < 1e9) return digits(ns / 1e6) + " ms";
  return digits(ns / 1e9) + " s";
}

void print_heading(std::FILE* to) {
  std::array<std::string, columns.size()> cells;
  for (std::size_t i = 0; i < columns.size(); ++i) cells[i] = columns[i].title;
  print_cells(to, cells);
}

void print_row(std::FILE* to, result const& r) {
  std::array<std::string, columns.size()> cells;
  cells[0] = r.name;
  cells[2] = std::to_string(r.ranks);
  if (r.show == "value") {
    cells[4] = formatted("%.6g", r.value) + (r.unit.empty() ? "" : " ") + r.unit;
    // Long texts have the empty columns to themselves.
    if (cells[0].size() > 50) {
      std::fprintf(to, "%s\n", cells[0].c_str());
      cells[0].clear();
    }
  } else {
    if (r.bytes > 0) cells[1] = size_text(r.bytes);
    cells[3] = std::to_string(r.iterations);
    cells[4] = (r.disturbed > 0 ? "~" : "") + time_text(r.median_ns);
    cells[5] = time_text(r.p10_ns);
    cells[6] = time_text(r.p90_ns);
    if (r.lines > 0) cells[7] = formatted("%.2f", r.lines);
    cells[8] = speed_text(r, r.median_ns);
    if (r.limit_ns > 0) {
      bool const line = r.limit_name == "line";
      cells[9] = r.limit_name + " " + (line ? time_text(r.limit_ns) : other_text(r, r.limit_ns));
      if (!line || r.show == "time") cells[10] = formatted("%.0f %%", r.share * 100);
    }
    cells[11] = other_text(r, r.mpi_ns);
  }
  if (r.wanted) {
    cells[12] = r.wanted->text();
    cells[13] = r.reached() ? "yes" : "no";
  }
  print_cells(to, cells);
  std::fflush(to);
}

}  // namespace atl::tools
