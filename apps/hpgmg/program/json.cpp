// The results as JSON.

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/host.hpp"
#include "program/options.hpp"
#include "program/results.hpp"
#include "program/triad.hpp"
#include "version.hpp"

namespace hpgmg {
namespace {

using json = nlohmann::ordered_json;

/// For each level the seconds of each phase.
json phases_of(size_record const& size, std::array<double, phase_n> level_record::*seconds) {
  json levels = json::array();
  for (auto const& level : size.levels) {
    json phases = json::object();
    for (std::size_t p = 0; p < phase_n; ++p) {
      phases[name_of(static_cast<phase>(p))] = (level.*seconds)[p];
    }
    levels.push_back(std::move(phases));
  }
  return levels;
}

json size_of(size_record const& size) {
  json residuals = json::array();
  for (auto const& step : size.history) residuals.push_back(step.norm);
  return {{"cells", size.cells},
          {"mean_s", size.mean_s},
          {"best_s", size.best_s},
          {"unknowns_per_s", size.unknowns() / size.mean_s},
          {"source_norm", size.source_norm},
          {"residual_norm", std::move(residuals)},
          {"bottom_iterations", size.bottom_iterations},
          {"solve_s", size.solve_s},
          {"levels", phases_of(size, &level_record::seconds)},
          {"levels_least", phases_of(size, &level_record::least)},
          {"levels_most", phases_of(size, &level_record::most)}};
}

json transfers_of(run_record const& run) {
  json transfers = json::array();
  for (auto const& t : run.transfers) {
    json messages = json::object();
    json most = json::object();
    for (std::size_t form = 0; form < message_form_n; ++form) {
      messages[name_of(message_forms[form])] = t.traffic.messages[form];
      most[name_of(message_forms[form])] = t.traffic.most_messages[form];
    }
    transfers.push_back({{"level", t.level},
                         {"operation", t.operation},
                         {"messages", std::move(messages)},
                         {"most_messages", std::move(most)},
                         {"doubles", t.traffic.doubles},
                         {"most_doubles", t.traffic.most_doubles},
                         {"local_regions", t.traffic.local_regions}});
  }
  return transfers;
}

json checks_of(run_record const& run) {
  json checks = json::array();
  for (auto const& c : run.checks) {
    checks.push_back({{"name", c.name},
                      {"value", c.value},
                      {"expected", c.expected},
                      {"tolerance", c.tolerance},
                      {"passed", c.passed()}});
  }
  return checks;
}

/// For each form a list of [at least so many bytes, messages, bytes in all].
json messages_of(run_record const& run) {
  json forms = json::object();
  for (std::size_t form = 0; form < message_form_n; ++form) {
    json bins = json::array();
    auto const& histogram = run.messages[form];
    for (std::size_t bin = 0; bin < histogram.messages.size(); ++bin) {
      if (histogram.messages[bin] == 0) continue;
      bins.push_back({std::ldexp(1.0, static_cast<int>(bin)), histogram.messages[bin], histogram.bytes[bin]});
    }
    forms[name_of(message_forms[form])] = std::move(bins);
  }
  return forms;
}

}  // namespace

void write_json(apps::output_file& file, run_record const& run) {
  json sizes = json::array();
  for (auto const& size : run.sizes) sizes.push_back(size_of(size));
  // Not a number is written as null.
  json const whole{{"date", apps::utc_now()},
                   {"version", apps::version},
                   {"commit", apps::commit_id},
                   {"host", apps::host_name()},
                   {"placement", run.where.text},
                   {"cores", run.cores},
                   {"operator", name_of(run.what.op)},
                   {"smoother", name_of(run.what.smooth)},
                   {"cycle", name_of(run.what.start)},
                   {"order", name_of(run.what.order)},
                   {"periodic", run.what.periodic},
                   {"helmholtz", run.what.helmholtz},
                   {"comm", run.communication},
                   {"ranks", run.ranks},
                   {"threads", run.what.threads},
                   {"box", run.levels.front().box},
                   {"boxes_per_rank", run.what.boxes_per_rank},
                   {"cells", run.levels.front().cells},
                   {"boxes", run.levels.front().boxes},
                   {"most_boxes", run.most_boxes},
                   {"warmup", run.warmup},
                   {"build_s", run.build_s},
                   {"triad_bytes_per_s", run.triad_rate},
                   {"bytes_per_cell", bytes_per_cell(run.what)},
                   {"sweep_s", run.sweep_s},
                   {"largest_eigenvalue", run.largest_eigenvalue},
                   {"sizes", std::move(sizes)},
                   {"transfers", transfers_of(run)},
                   {"messages_by_bytes", messages_of(run)},
                   {"richardson_error", run.error},
                   {"richardson_order", run.order},
                   {"checked", run.checked},
                   {"checks", checks_of(run)},
                   {"passed", run.checked && run.passed()}};
  std::string const text = whole.dump(1) + "\n";
  file.write(text.data(), text.size());
  file.close();
}

}  // namespace hpgmg
