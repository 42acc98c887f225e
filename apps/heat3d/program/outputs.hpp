#pragma once

/// Files that a run writes, besides the results.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/files.hpp"
#include "exchanges/communicator.hpp"
#include "program/options.hpp"
#include "program/results.hpp"

namespace heat3d {

using apps::output_file;

/// All output files of rank 0; on other ranks nothing is open.
struct output_files {
  std::unique_ptr<results_file> results;
  std::unique_ptr<output_file> times;
  std::unique_ptr<output_file> dump;
  std::string python;  ///< interpreter that draws the slice

  /// Opens what was asked for and finds what draws, so that failure comes before the work.
  /// Throws file_problem.
  static output_files open(options const& o);
};

/// "step,max_s,rank0_s" and a row for each step.
void write_times(output_file& file, run_record const& record);

/// Bytes that rank 0 needs for what it gathers of the final field.
double gathered_bytes(options const& o);

/// Cells of each rank that gather_field() takes at a time: 64 MiB of all together.
std::int64_t gather_window(int ranks);

/// Gathers the whole field to rank 0, x fastest, where `whole` has room for it. It comes in windows of so many cells
/// of each rank, which are all that is in memory twice. Collective.
void gather_field(triple const& domain, process_grid const& grid, communicator& ranks,
                  std::span<double const> field, std::span<double> whole, std::int64_t window);

/// A plane of the field, gathered to rank 0.
struct plane {
  int axis;            ///< normal direction, 0 to 2
  std::int64_t index;  ///< of its cells in that direction
  std::int64_t width;
  std::int64_t height;
  std::vector<double> values;             ///< first remaining direction fastest; empty on other ranks
  std::vector<std::int64_t> cuts_across;  ///< borders between blocks, in the direction of the width
  std::vector<std::int64_t> cuts_up;
};
plane gather_plane(options const& o, process_grid const& grid, communicator& ranks,
                   std::span<double const> field);

/// Draws the plane to o.slice. Throws file_problem.
void draw(plane const& p, options const& o, std::string const& python);

}  // namespace heat3d
