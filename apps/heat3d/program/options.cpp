#include "program/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "backends/backend.hpp"
#include "exchanges/communicator.hpp"

namespace heat3d {
namespace {

/// Long options that the reference program spells with one dash, which is not a form that CLI11 knows.
constexpr char const* one_dash[] = {"T0", "dt", "sigma"};

std::vector<std::string> normalized(std::vector<std::string> words) {
  for (auto& word : words) {
    for (auto const* name : one_dash) {
      if (word.starts_with('-') && word.substr(1) == name) word.insert(0, 1, '-');
    }
  }
  return words;
}

/// Restrictions that involve several options or the build. Empty when all is well.
std::string contradiction(options const& o) {
  auto const& p = o.physics;
  if (!exchange_exists(o.exchange)) {
    return "--exchange " + o.exchange + ": unknown; this build has " + exchange_names();
  }
  if (!backend_exists(o.backend)) {
    return "--backend " + o.backend + ": unknown; this build has " + backend_names();
  }
  if (o.exchange == "mpi-cuda" && (!backend_on_device(o.backend) || o.backend == "device-sim")) {
    return "--exchange mpi-cuda: has device memory travel, so it needs a back end on CUDA devices";
  }
  if (exchange_stepping(o.exchange) == stepping::in_streams && !backend_on_device(o.backend)) {
    return "--exchange " + o.exchange +
           ": devices run steps by themselves, so it needs a back end on devices: " + backend_names(true);
  }
  if (exchange_stepping(o.exchange) == stepping::in_kernel && !backend_in_kernel(o.backend)) {
    return "--exchange " + o.exchange +
           ": one kernel runs all steps, which only --backend cuda has, and device-sim for tests";
  }
  for (double value : {p.t0, p.dt, p.q, p.sigma, p.power, p.amplitude}) {
    if (!std::isfinite(value)) return "T0, dt, q, sigma, P and --amplitude must be finite numbers";
  }
  if (p.dt <= 0) return "-dt must be greater than 0";
  if (p.q < 0) return "-q must not be negative";
  if (p.sigma < 0) return "-sigma must not be negative";
  for (auto const& c : o.probes) {
    for (int d = 0; d < 3; ++d) {
      if (c[d] >= 0 && c[d] < p.domain[d]) continue;
      return "--probe: cell index " + std::to_string(c[d]) + " in direction " + "xyz"[d] +
             " is outside 0 to " + std::to_string(p.domain[d] - 1);
    }
  }
  if (p.stop_after > p.last_step + 1) {
    return "--stop-after " + std::to_string(p.stop_after) + ": -N " + std::to_string(p.last_step) +
           " has no more than " + std::to_string(p.last_step + 1) + " updates";
  }
  auto const axis = o.slice_axis[0] - 'x';
  if (o.slice_index >= p.domain[axis]) {
    return "--slice-index " + std::to_string(o.slice_index) + " is outside 0 to " +
           std::to_string(p.domain[axis] - 1);
  }
  return {};
}

/// "a,b,c" as three numbers.
std::optional<triple> three_numbers(std::string const& text) {
  triple t{};
  char rest = 0;
  long long x = 0;
  long long y = 0;
  long long z = 0;
  if (std::sscanf(text.c_str(), "%lld,%lld,%lld%c", &x, &y, &z, &rest) != 3) return std::nullopt;
  t = {x, y, z};
  return t;
}

}  // namespace

parsed parse_options(int argc, char const* const* argv) {
  parsed result;
  auto& o = result.value;
  auto& p = o.physics;
  std::string grid;
  std::string mode;
  std::string start = "uniform";

  CLI::App app(
      "Heat conduction in a box, heated on one face and radiating from all, on many ranks.\n"
      "Run it as: atoll run -n 4 atoll-heat3d -X 200 -Y 200 -Z 200 -N 500",
      "atoll-heat3d");
  apps::prepare(app);

  auto* const physics = app.add_option_group("Problem (dimensionless)");
  auto const cells = CLI::Range(std::int64_t{1}, std::int64_t{1'000'000});
  physics->add_option("-X", p.domain[0], "Cells in x")->check(cells)->capture_default_str();
  physics->add_option("-Y", p.domain[1], "Cells in y")->check(cells)->capture_default_str();
  physics->add_option("-Z", p.domain[2], "Cells in z")->check(cells)->capture_default_str();
  physics->add_option("--T0", p.t0, "Initial temperature; also -T0")->capture_default_str();
  physics->add_option("--dt", p.dt, "Step width; also -dt")->capture_default_str();
  physics->add_option("-q", p.q, "Thermal transfer coefficient")->capture_default_str();
  physics->add_option("--sigma", p.sigma, "Radiation coefficient per exposed cell face; also -sigma")
      ->capture_default_str();
  physics->add_option("-P", p.power, "Power per cell of the face x = 0, on during the first half of the run")
      ->capture_default_str();
  physics->add_option("-N", p.last_step, "Last step; steps 0 to N are run")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  physics
      ->add_option("--stop-after", p.stop_after, "Run only the first updates of the N + 1, this many (all)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  physics->add_option("--init", start, "Initial field")
      ->check(CLI::IsMember({"uniform", "eigenmode"}))
      ->capture_default_str();
  auto const* const with_mode =
      physics->add_option("--mode", mode, "Half waves kx,ky,kz of the eigenmode (1,1,1)");
  auto const* const with_amplitude =
      physics->add_option("--amplitude", p.amplitude, "Amplitude of the eigenmode")->capture_default_str();

  auto* const run = app.add_option_group("Run");
  run->add_option("--grid", grid, "Ranks per direction nx,ny,nz (chosen from the number of ranks)");
  run->add_option("--exchange", o.exchange, "How halos travel: " + exchange_names())->capture_default_str();
  run->add_option("--backend", o.backend,
                  "What computes: " + backend_names() + "; on devices: " + backend_names(true))
      ->capture_default_str();
  run->add_option("--warmup", o.warmup, "Steps run and thrown away before the clock starts")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}))
      ->capture_default_str();
  auto const positive = CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000});
  run->add_option("-I", o.print_interval, "Steps between two printed lines")
      ->check(positive)
      ->capture_default_str();
  run->add_option("--reduce-interval", o.reduce_interval,
                  "Steps between two sums over all ranks, each of which is checked (those of printed lines)")
      ->check(positive);
  run->add_flag("--check,!--no-check", o.check, "Fail when the result is wrong (on)");
  run->add_flag("--keep-denormals", o.keep_denormals, "Do not flush numbers below 1e-308 to zero");

  auto* const output = app.add_option_group("Output");
  output->add_option("--results", o.results, "Add configuration, step times and checks to this SQLite file");
  output->add_option("--times", o.times, "Write the duration of each step to this CSV file");
  output->add_option("--slice", o.slice, "Draw a plane of the final field to this PNG file");
  auto const* const with_axis =
      output->add_option("--slice-axis", o.slice_axis, "Direction that the plane is normal to")
          ->check(CLI::IsMember({"x", "y", "z"}))
          ->capture_default_str();
  auto const* const with_index =
      output->add_option("--slice-index", o.slice_index, "Cell index of the plane (the middle)")
          ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}));
  output->add_option("--dump", o.dump, "Write the final field to this file: raw doubles, x fastest");
  output->add_option("--probe", o.probe_words, "Print the final value of cell x,y,z; may be repeated")
      ->expected(1)
      ->take_all();
  output->add_flag("--quiet", o.quiet, "Print the verdict only");

  if (!apps::read(app, normalized(apps::words_of(argc, argv)), result)) return result;

  auto const read = [&](char const* name, std::string const& text, std::int64_t least, auto store) {
    auto const three = three_numbers(text);
    if (!three || std::ranges::any_of(*three, [&](std::int64_t n) { return n < least || n > 1'000'000; })) {
      result.error = std::string(name) + " " + text + ": expected three numbers of at least " +
                     std::to_string(least) + ", as in " + name + " 1,2,2";
      return;
    }
    store(*three);
  };
  p.start = start == "uniform" ? initial::uniform : initial::eigenmode;
  if (!grid.empty()) {
    read("--grid", grid, 1, [&](triple const& t) {
      o.grid = {static_cast<int>(t[0]), static_cast<int>(t[1]), static_cast<int>(t[2])};
    });
  }
  if (!mode.empty()) read("--mode", mode, 0, [&](triple const& t) { p.mode = t; });
  for (auto const& word : o.probe_words) {
    read("--probe", word, 0, [&](triple const& t) { o.probes.push_back(t); });
  }
  // Nobody would see that they do nothing.
  auto const require = [&](CLI::Option const* given, bool met, char const* what) {
    if (given->count() > 0 && !met && result.error.empty())
      result.error = given->get_name() + ": does nothing without " + what;
  };
  require(with_mode, p.start == initial::eigenmode, "--init eigenmode");
  require(with_amplitude, p.start == initial::eigenmode, "--init eigenmode");
  require(with_axis, !o.slice.empty(), "--slice FILE");
  require(with_index, !o.slice.empty(), "--slice FILE");
  if (result.error.empty()) result.error = contradiction(o);
  return result;
}

}  // namespace heat3d
