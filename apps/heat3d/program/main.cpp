// atoll-heat3d: heat conduction in a box on many ranks. docs/guide/heat3d.md tells how to use it,
// docs/design/heat3d.md how it works.
//
// Exit status: 0 when the run is right, 1 when a check failed, 2 when it could not be done.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

#include "backends/accelerator.hpp"
#include "backends/stretches.hpp"
#include "common/program.hpp"
#include "exchanges/communicator.hpp"
#include "program/console.hpp"
#include "program/denormals.hpp"
#include "program/driver.hpp"
#include "program/memory.hpp"
#include "program/options.hpp"
#include "program/outputs.hpp"

namespace heat3d {
namespace {

constexpr apps::program self("atoll-heat3d", "use a smaller domain or more ranks");

double quantile(std::vector<double> sorted, double at) {
  return sorted[static_cast<std::size_t>(std::lround(at * static_cast<double>(sorted.size() - 1)))];
}

/// Fills in what is known after the run.
void summarize(run_record& record, driver const& run, communicator& ranks) {
  record.step_rank0_s = run.step_seconds();
  record.step_max_s = record.step_rank0_s;
  constexpr std::size_t piece = 4096;
  for (std::size_t i = 0; i < record.step_max_s.size(); i += piece) {
    ranks.max(std::span(record.step_max_s).subspan(i, std::min(piece, record.step_max_s.size() - i)));
  }
  // Rank 0's steps add up to the whole; the slowest rank's of each do not,
  // since ranks are slow at different times.
  auto sorted = record.step_rank0_s;
  std::ranges::sort(sorted);
  record.median_s = quantile(sorted, 0.5);
  record.p10_s = quantile(sorted, 0.1);
  record.p90_s = quantile(sorted, 0.9);
  auto const& phases = run.phases();
  double share = phases.communicating() / phases.total;
  ranks.sum({&share, 1});
  record.comm_share = share / record.ranks;
  record.seconds = phases.total;
  record.cells_per_s =
      static_cast<double>(record.physics.cell_n() * record.physics.update_n()) / record.seconds;
  record.mean = run.final_mean();
}

/// What `make` returns, or nothing on every rank when one of them has no memory for it; rank 0 has said so.
template <class Make>
auto make_on_all(communicator& ranks, char const* what, Make make) {
  decltype(make()) made;
  bool failed = false;
  try {
    made = make();
  } catch (std::bad_alloc const&) {
    failed = true;
  }
  if (!ranks.any(failed)) return made;
  if (ranks.rank() == 0) {
    self.complain(std::string("memory does not suffice for ") + what +
                  "; use a smaller domain or more hosts");
  }
  return decltype(make()){};
}

/// Gathers and writes what was asked for of the final field. Collective.
bool write_field(options const& o, run_record const& record, communicator& ranks, backend const& engine,
                 block const& own, output_files& files, console const& out) {
  if (o.dump.empty() && o.slice.empty() && o.probes.empty()) return true;
  struct fields {
    std::vector<double> mine;
    std::vector<double> whole;       ///< on rank 0, if it is wanted
    std::vector<double> on_its_way;  ///< as much as that is at a time
  };
  auto const room = make_on_all(ranks, "the final field", [&] {
    auto made = std::make_unique<fields>();
    made->mine.resize(own.cells.cell_n());
    if (ranks.rank() == 0 && !o.dump.empty()) {
      made->whole.resize(o.physics.cell_n());
      made->on_its_way.resize((ranks.size() + 1) * gather_window(ranks.size()));
    }
    return made;
  });
  if (!room) return false;
  auto const release = [](std::vector<double>& values) { std::vector<double>().swap(values); };
  release(room->on_its_way);  // there was room when all ranks could still be told
  auto const& field = room->mine;
  engine.store(room->mine);
  bool good = true;
  for (auto const& c : o.probes) {
    double value = 0;  // adding zeros changes no bit of the one value
    if (std::ranges::all_of(std::array{0, 1, 2},
                            [&](int d) { return c[d] >= own.cells.low[d] && c[d] < own.cells.high[d]; })) {
      auto const& low = own.cells.low;
      value = field[position(own.extent(), c[0] - low[0], c[1] - low[1], c[2] - low[2])];
    }
    ranks.sum({&value, 1});
    out.probe(c, value);
  }
  if (!o.dump.empty()) {
    gather_field(o.physics.domain, record.grid, ranks, field, room->whole, gather_window(ranks.size()));
    good = self.on_rank_0(ranks, [&] {
      files.dump->write(room->whole.data(), room->whole.size() * sizeof(double));
      files.dump->close();
    }) && good;
    release(room->whole);
  }
  if (!o.slice.empty()) {
    auto const plane = gather_plane(o, record.grid, ranks, field);
    good = self.on_rank_0(ranks, [&] { draw(plane, o, files.python); }) && good;
  }
  return good;
}

/// Memory for back ends on devices, from the communication library where it offers some.
std::unique_ptr<device_memory> make_device_memory(options const& o, block const& own, communicator& ranks) {
  if (!backend_on_device(o.backend)) return nullptr;
  if (auto memory = ranks.open_device(device_bytes(own))) {
    if (o.backend != "device-sim" && memory->name().starts_with("simulated")) {
      throw failure{
          "--backend " + o.backend + " computes on a device, and the library plays the one of rank " +
          std::to_string(ranks.rank()) + " (ATOLL_SIM_DEVICES): unset that, or take --backend device-sim"};
    }
    return memory;
  }
#ifdef HEAT3D_HAS_CUDA
  if (o.backend != "device-sim") return make_cuda_memory(ranks.rank());
#endif
  throw failure{"--backend " + o.backend + " needs an exchange of the library, such as rma"};
}

/// The back end, or nothing on every rank.
std::unique_ptr<backend> make_engine(options const& o, process_grid const& grid, block const& own,
                                     communicator& ranks, device_memory* device) {
  auto const problem = memory_problem(o.physics.domain, grid, ranks, device != nullptr, gathered_bytes(o));
  if (ranks.any(problem.has_value())) {
    if (problem) self.complain(*problem);
    return nullptr;
  }
  return make_on_all(ranks, "the fields", [&] {
    return make_backend(o.backend,
                        {own, o.physics.domain, device, exchange_on_device(o.exchange), !o.keep_denormals});
  });
}

/// How planes travel: step by step, or in stretches of steps, in streams or by a kernel.
struct exchange {
  std::unique_ptr<halo_exchange> halos;
  std::unique_ptr<stream_planes> planes;
  std::unique_ptr<kernel_exchange> kernel;
  std::unique_ptr<stretch_runner> stretches;

  bool send() const { return halos == nullptr || halos->sends(); }
};

/// Nothing on every rank where memory is short.
std::optional<exchange> make_exchange(options const& o, block const& own, communicator& ranks,
                                      backend& engine, device_memory* device) {
  constexpr char const* what = "the halos";
  exchange made;
  if (auto const steps = exchange_stepping(o.exchange); steps != stepping::by_host) {
    if (steps == stepping::in_streams) {
      made.planes = make_on_all(ranks, what, [&] { return ranks.make_stream_planes(own, *device); });
      if (made.planes) made.stretches = engine.make_stretches(*made.planes);
    } else {
      made.kernel = make_on_all(ranks, what, [&] { return ranks.make_kernel_exchange(own, *device); });
      if (made.kernel) made.stretches = engine.make_stretches(*made.kernel);
    }
    return made.stretches ? std::optional(std::move(made)) : std::nullopt;
  }
  auto* const planes = exchange_on_device(o.exchange) ? device : nullptr;
  made.halos = make_on_all(ranks, what, [&] { return ranks.make_exchange(own, planes); });
  if (!made.halos) return std::nullopt;
  char const* const fault = planes == nullptr ? std::getenv("ATOLL_HEAT3D_FAULT") : nullptr;
  made.halos = with_fault(std::move(made.halos), fault != nullptr ? fault : "", own);
  return made;
}

int simulate(options const& o, communicator& ranks) {
  auto const grid = o.grid.value_or(choose_grid(o.physics.domain, ranks.size()));
  if (auto const problem = grid_problem(o.physics.domain, grid, ranks.size())) {
    if (ranks.rank() == 0) self.complain(*problem);
    return 2;
  }
  output_files files;
  if (!self.on_rank_0(ranks, [&] { files = output_files::open(o); })) return 2;

  apps::core_watch const cores;
  auto const own = make_block(o.physics.domain, grid, ranks.rank());
  auto const device = make_device_memory(o, own, ranks);
  auto const engine = make_engine(o, grid, own, ranks, device.get());
  if (!engine) return 2;
  auto const moves = make_exchange(o, own, ranks, *engine, device.get());
  if (!moves) return 2;

  run_record record;
  record.physics = o.physics;
  record.grid = grid;
  record.ranks = ranks.size();
  auto const with = [&](void (communicator::*combine)(std::span<double>)) {
    return [&ranks, combine](double mine) {
      (ranks.*combine)({&mine, 1});
      return mine;
    };
  };
  record.where = apps::find_placement(apps::seat::of_this_process(ranks.rank()), with(&communicator::max),
                                      with(&communicator::sum));
  record.exchange = o.exchange;
  record.backend = o.backend;
  record.warmup = o.warmup;
  record.reduce_interval = o.reduce_interval > 0 ? o.reduce_interval : o.print_interval;
  record.checked = o.check && moves->send();
  if (device) {
    record.devices = device_n(*device, ranks);
    record.device = device->name();
  }

  console out(o, ranks.rank());
  out.configuration(record, own);
  driver run = moves->stretches ? driver(o.physics, own, ranks, *engine, *moves->stretches)
                                : driver(o.physics, own, ranks, *engine, *moves->halos);
  run.is_reduced = [&](std::int64_t step) { return o.is_reduced(step); };
  run.is_printed = [&](std::int64_t step) { return o.is_printed(step); };
  run.on_report = [&](report const& r) { out.line(r); };
  run.on_step = [&](std::int64_t step, double elapsed) { out.live(step, elapsed); };
  run.warm_up(o.warmup);
  run.run();
  summarize(record, run, ranks);
  record.waited = cores.waited();
  ranks.max({&record.waited, 1});
  if (record.checked) {
    record.checks = run.verify();
    record.residual = run.energy().residual();
    // Sums may differ between ranks in their last bit, so one rank's verdict counts.
    bool const failed = ranks.rank() == 0 && !std::ranges::all_of(record.checks, &check_result::passed);
    record.passed = !ranks.any(failed);
  }

  out.summary(record, run.phases(), engine->bytes_per_cell());
  // What took the time of the run first: the field takes memory, and may take more than there is. Each by itself: one file that cannot be
  // written is no reason to lose another.
  bool good = self.on_rank_0(ranks, [&] {
    if (files.results) files.results->add(record);
  });
  good = self.on_rank_0(ranks, [&] {
    if (files.times) write_times(*files.times, record);
  }) && good;
  good = write_field(o, record, ranks, *engine, own, files, out) && good;
  out.checks(record);
  good = self.on_rank_0(ranks, [] { console::flush(); }) && good;
  if (!good) return 2;
  return record.checked && !record.passed ? 1 : 0;
}

int run_program(int argc, char** argv) {
  auto words = parse_options(argc, argv);
  auto const& o = words.value;
  // Help and complaints are printed by one rank, so the ranks must know who they are even then.
  auto library = o.exchange;
  if (words.error.empty() && apps::program::started_by_atoll()) {
    // Without a library each rank would take itself for the only one, too.
    if (o.exchange.starts_with("mpi")) words.error = self.needs_mpirun("--exchange " + o.exchange);
    if (o.exchange.starts_with("mpi") || o.exchange == "none") library = "rma";
  }
  auto const ranks = make_communicator(library, &argc, &argv);
  if (words.error.empty() && o.exchange == "none" && ranks->size() > 1) {
    words.error = "--exchange none: the job has several ranks; use rma, or start one";
  }
  return self.run(ranks->rank(), words, [&] {
    if (!o.keep_denormals) flush_denormals();
    return simulate(o, *ranks);
  });
}

}  // namespace
}  // namespace heat3d

int main(int argc, char** argv) {
  return heat3d::self.guard([&] { return heat3d::run_program(argc, argv); });
}
