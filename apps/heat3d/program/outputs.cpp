#include "program/outputs.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "python.hpp"

namespace heat3d {

output_files output_files::open(options const& o) {
  apps::expect_different(
      {{"--results", o.results}, {"--times", o.times}, {"--dump", o.dump}, {"--slice", o.slice}});
  output_files files;
  if (!o.results.empty()) files.results = std::make_unique<results_file>(o.results);
  if (!o.times.empty()) files.times = std::make_unique<output_file>("--times", o.times);
  if (!o.dump.empty()) files.dump = std::make_unique<output_file>("--dump", o.dump);
  if (!o.slice.empty()) {
    // The picture replaces an older one only when it is complete, so only the folder is tried here.
    auto const slash = o.slice.rfind('/');
    auto const folder = slash == std::string::npos ? "." : slash == 0 ? "/" : o.slice.substr(0, slash);
    auto const* const target = access(o.slice.c_str(), F_OK) == 0 ? o.slice.c_str() : folder.c_str();
    if (access(target, W_OK) != 0) throw file_problem{"--slice " + o.slice + ": " + std::strerror(errno)};
    try {
      files.python = atl::plotting::interpreter();
      atl::plotting::script("slice.py");
    } catch (atl::plotting::problem const& p) {
      throw file_problem{"--slice: " + p.text};
    }
  }
  return files;
}

void write_times(output_file& file, run_record const& record) {
  std::string text = "step,max_s,rank0_s\n";
  char line[96];
  for (std::size_t t = 0; t < record.step_max_s.size(); ++t) {
    std::snprintf(line, sizeof line, "%zu,%.9f,%.9f\n", t, record.step_max_s[t], record.step_rank0_s[t]);
    text += line;
  }
  file.write(text.data(), text.size());
  file.close();
}

double gathered_bytes(options const& o) {
  auto const& n = o.physics.domain;
  auto const cells = static_cast<double>(o.physics.cell_n());
  auto const of_plane = cells / static_cast<double>(n[o.slice_axis[0] - 'x']);
  constexpr double parts_and_plane = 2;
  // One after the other.
  return sizeof(double) *
         std::max(o.dump.empty() ? 0 : cells, o.slice.empty() ? 0 : parts_and_plane * of_plane);
}

std::int64_t gather_window(int ranks) {
  constexpr std::int64_t all = 8 << 20;
  return std::clamp<std::int64_t>(all / ranks, 1 << 10, 1 << 16);
}

void gather_field(triple const& domain, process_grid const& grid, communicator& ranks,
                  std::span<double const> field, std::span<double> whole, std::int64_t window) {
  auto const cells_of = [&](int r) { return make_block(domain, grid, r).cells; };
  std::int64_t longest = 0;
  for (int r = 0; r < ranks.size(); ++r) longest = std::max(longest, cells_of(r).cell_n());
  for (std::int64_t from = 0; from < longest; from += window) {
    auto const size = static_cast<std::int64_t>(field.size());
    auto const shown = std::clamp<std::int64_t>(size - from, 0, window);
    auto const parts = ranks.gather(field.subspan(std::min(from, size), shown));
    for (int r = 0; r < static_cast<int>(parts.size()); ++r) {
      auto const& part = parts[r];
      auto const cells = cells_of(r);
      auto const nx = cells.extent()[0];
      auto const ny = cells.extent()[1];
      // Row by row: a window may begin and end inside of one.
      for (std::int64_t done = 0; done < static_cast<std::int64_t>(part.size());) {
        auto const at = from + done;
        auto const x = at % nx;
        auto const count = std::min(nx - x, static_cast<std::int64_t>(part.size()) - done);
        auto const to =
            position(domain, cells.low[0] + x, cells.low[1] + at / nx % ny, cells.low[2] + at / nx / ny);
        std::copy_n(part.data() + done, count, whole.data() + to);
        done += count;
      }
    }
  }
}

plane gather_plane(options const& o, process_grid const& grid, communicator& ranks,
                   std::span<double const> field) {
  auto const& domain = o.physics.domain;
  plane p{o.slice_axis[0] - 'x', o.slice_index, 0, 0, {}, {}, {}};
  if (p.index < 0) p.index = domain[p.axis] / 2;
  int const first = p.axis == 0 ? 1 : 0;
  int const second = p.axis == 2 ? 1 : 2;
  p.width = domain[first];
  p.height = domain[second];

  int rank_step = 1;
  for (int d = 0; d < 3; ++d) {
    for (int i = 1; i < grid[d]; ++i) {
      auto const border = make_block(domain, grid, i * rank_step).cells.low[d];
      if (d == first) p.cuts_across.push_back(border);
      if (d == second) p.cuts_up.push_back(border);
    }
    rank_step *= grid[d];
  }

  // Calls `use` with a block's part of the plane: position in the block, position in the plane.
  auto const visit = [&](block const& b, auto const& use) {
    if (p.index < b.cells.low[p.axis] || p.index >= b.cells.high[p.axis]) return;
    for (auto j = b.cells.low[second]; j < b.cells.high[second]; ++j) {
      for (auto i = b.cells.low[first]; i < b.cells.high[first]; ++i) {
        triple at{};
        at[p.axis] = p.index - b.cells.low[p.axis];
        at[first] = i - b.cells.low[first];
        at[second] = j - b.cells.low[second];
        use(position(b.extent(), at[0], at[1], at[2]), i + p.width * j);
      }
    }
  };
  std::vector<double> mine;
  visit(make_block(domain, grid, ranks.rank()),
        [&](std::int64_t in_block, std::int64_t) { mine.push_back(field[in_block]); });
  auto const parts = ranks.gather(mine);
  if (ranks.rank() != 0) return p;
  p.values.resize(p.width * p.height);
  for (int r = 0; r < ranks.size(); ++r) {
    std::size_t next = 0;
    visit(make_block(domain, grid, r),
          [&](std::int64_t, std::int64_t in_plane) { p.values[in_plane] = parts[r][next++]; });
  }
  return p;
}

void draw(plane const& p, options const& o, std::string const& python) {
  // The values travel in a file without a name, which is gone with the process that holds it.
  int const file = memfd_create("heat3d-slice", MFD_CLOEXEC);
  auto const* data = reinterpret_cast<char const*>(p.values.data());
  auto left = p.values.size() * sizeof(double);
  while (file >= 0 && left > 0) {
    auto const n = ::write(file, data, left);
    if (n <= 0) break;
    data += n;
    left -= static_cast<std::size_t>(n);
  }
  if (file < 0 || left > 0) {
    auto const error = errno;
    if (file >= 0) ::close(file);
    throw file_problem{"--slice " + o.slice + ": no memory for the plane: " + std::strerror(error)};
  }
  lseek(file, 0, SEEK_SET);
  auto const& n = o.physics.domain;
  auto const title = "Temperature at " + o.slice_axis + " = " + std::to_string(p.index) + " after " +
                     std::to_string(o.physics.update_n()) + " steps, " + std::to_string(n[0]) + " x " +
                     std::to_string(n[1]) + " x " + std::to_string(n[2]) + " cells" +
                     (p.cuts_across.empty() && p.cuts_up.empty() ? "" : "\n(dashed: borders between ranks)");
  auto const axes = std::string(p.axis == 0 ? "y" : "x") + (p.axis == 2 ? "y" : "z");
  std::vector<std::string> words = {"--output", o.slice,
                                    "--width",  std::to_string(p.width),
                                    "--height", std::to_string(p.height),
                                    "--axes",   axes,
                                    "--title",  title};
  words.emplace_back("--cuts-across");
  for (auto at : p.cuts_across) words.push_back(std::to_string(at));
  words.emplace_back("--cuts-up");
  for (auto at : p.cuts_up) words.push_back(std::to_string(at));
  auto const status = atl::plotting::run(python, atl::plotting::script("slice.py"), words, file);
  ::close(file);
  if (status != 0) throw file_problem{"--slice " + o.slice + ": not drawn"};
}

}  // namespace heat3d
