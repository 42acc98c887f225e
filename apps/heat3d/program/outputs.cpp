#include "program/outputs.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "python.hpp"

namespace heat3d {

output_files output_files::open(options const& o) {
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

std::vector<double> gather_field(triple const& domain, process_grid const& grid, communicator& ranks,
                                 std::span<double const> field) {
  auto const parts = ranks.gather(field);
  std::vector<double> whole;
  if (ranks.rank() != 0) return whole;
  whole.resize(domain[0] * domain[1] * domain[2]);
  for (int r = 0; r < ranks.size(); ++r) {
    auto const cells = make_block(domain, grid, r).cells;
    auto const* from = parts[r].data();
    for (auto z = cells.low[2]; z < cells.high[2]; ++z) {
      for (auto y = cells.low[1]; y < cells.high[1]; ++y) {
        std::copy_n(from, cells.extent()[0], whole.data() + position(domain, cells.low[0], y, z));
        from += cells.extent()[0];
      }
    }
  }
  return whole;
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
