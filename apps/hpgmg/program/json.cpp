// The results as JSON.

#include <cmath>
#include <nlohmann/json.hpp>

#include "program/options.hpp"
#include "program/results.hpp"
#include "program/triad.hpp"

namespace hpgmg {
namespace {

using json = nlohmann::ordered_json;

json size_of(size_record const& size) {
  json residuals = json::array();
  for (auto const& step : size.history) residuals.push_back(step.norm);
  json levels = json::array();
  for (auto const& level : size.levels) {
    json phases = json::object();
    for (std::size_t p = 0; p < level.seconds.size(); ++p) {
      phases[name_of(static_cast<phase>(p))] = level.seconds[p];
    }
    levels.push_back(std::move(phases));
  }
  return {{"cells", size.cells},
          {"mean_s", size.mean_s},
          {"best_s", size.best_s},
          {"unknowns_per_s", size.unknowns() / size.mean_s},
          {"source_norm", size.source_norm},
          {"residual_norm", std::move(residuals)},
          {"bottom_iterations", size.bottom_iterations},
          {"solve_s", size.solve_s},
          {"levels", std::move(levels)}};
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
  json const whole{{"operator", name_of(run.what.op)},
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
                   {"build_s", run.build_s},
                   {"triad_bytes_per_s", run.triad_rate},
                   {"bytes_per_cell", bytes_per_cell(run.what)},
                   {"sweep_s", run.sweep_s},
                   {"largest_eigenvalue", run.largest_eigenvalue},
                   {"sizes", std::move(sizes)},
                   {"messages_by_bytes", messages_of(run)},
                   {"richardson_error", run.error},
                   {"richardson_order", run.order},
                   {"checked", run.checked},
                   {"passed", run.checked && run.passed()}};
  std::string const text = whole.dump(1) + "\n";
  file.write(text.data(), text.size());
  file.close();
}

}  // namespace hpgmg
