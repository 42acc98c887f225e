// The results as JSON.

#include <array>
#include <charconv>
#include <cmath>

#include "program/options.hpp"
#include "program/results.hpp"
#include "program/triad.hpp"

namespace hpgmg {
namespace {

/// Writes values with their names; brackets are balanced by their scopes.
class json_text {
 public:
  void open(char bracket, char const* name = nullptr) {
    key(name);
    text_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  /// Not a number is null.
  void value(char const* name, double number) {
    key(name);
    if (!std::isfinite(number)) {
      text_ += "null";
      return;
    }
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text_.append(digits.data(), end);
  }
  void value(char const* name, std::string const& word) {
    key(name);
    text_ += '"' + word + '"';  // our own names, which need no escapes
  }
  void flag(char const* name, bool is) {
    key(name);
    text_ += is ? "true" : "false";
  }
  void numbers(char const* name, std::vector<double> const& list) {
    open('[', name);
    for (double const number : list) value(nullptr, number);
    close(']');
  }
  [[nodiscard]] std::string const& text() const { return text_; }

 private:
  void key(char const* name) {
    if (!first_) text_ += ',';
    first_ = false;
    if (name != nullptr) text_ += std::string("\n\"") + name + "\": ";
  }

  std::string text_;
  bool first_ = true;
};

void write_size(json_text& out, size_record const& size) {
  out.open('{');
  out.value("cells", size.cells);
  out.value("mean_s", size.mean_s);
  out.value("best_s", size.best_s);
  out.value("unknowns_per_s", size.unknowns() / size.mean_s);
  out.value("source_norm", size.source_norm);
  std::vector<double> residuals;
  for (auto const& step : size.history) residuals.push_back(step.norm);
  out.numbers("residual_norm", residuals);
  out.value("bottom_iterations", size.bottom_iterations);
  out.numbers("solve_s", size.solve_s);
  out.open('[', "levels");
  for (auto const& level : size.levels) {
    out.open('{');
    for (std::size_t p = 0; p < level.seconds.size(); ++p) {
      out.value(name_of(static_cast<phase>(p)), level.seconds[p]);
    }
    out.close('}');
  }
  out.close(']');
  out.close('}');
}

void write_messages(json_text& out, run_record const& run) {
  out.open('{', "messages_by_bytes");
  for (std::size_t form = 0; form < message_form_n; ++form) {
    out.open('[', name_of(message_forms[form]));
    auto const& histogram = run.messages[form];
    for (std::size_t bin = 0; bin < histogram.messages.size(); ++bin) {
      if (histogram.messages[bin] == 0) continue;
      out.numbers(nullptr,
                  {std::ldexp(1.0, static_cast<int>(bin)), histogram.messages[bin], histogram.bytes[bin]});
    }
    out.close(']');
  }
  out.close('}');
}

}  // namespace

void write_json(apps::output_file& file, run_record const& run) {
  json_text out;
  out.open('{');
  out.value("operator", name_of(run.what.op));
  out.value("smoother", name_of(run.what.smooth));
  out.value("cycle", name_of(run.what.start));
  out.value("order", name_of(run.what.order));
  out.flag("periodic", run.what.periodic);
  out.flag("helmholtz", run.what.helmholtz);
  out.value("comm", run.communication);
  out.value("ranks", run.ranks);
  out.value("threads", run.what.threads);
  out.value("box", run.levels.front().box);
  out.value("boxes_per_rank", run.what.boxes_per_rank);
  out.value("build_s", run.build_s);
  out.value("triad_bytes_per_s", run.triad_rate);
  out.value("bytes_per_cell", bytes_per_cell(run.what));
  out.value("sweep_s", run.sweep_s);
  out.numbers("largest_eigenvalue", run.largest_eigenvalue);
  out.open('[', "sizes");
  for (auto const& size : run.sizes) write_size(out, size);
  out.close(']');
  write_messages(out, run);
  out.value("richardson_error", run.error);
  out.value("richardson_order", run.order);
  out.flag("checked", run.checked);
  out.flag("passed", run.checked && run.passed());
  out.close('}');
  std::string const text = out.text() + "\n";
  file.write(text.data(), text.size());
  file.close();
}

}  // namespace hpgmg
