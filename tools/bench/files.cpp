#include "files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace atl::tools {
namespace {

void write_whole(std::string const& file, std::string const& text) {
  std::FILE* const out = file == "-" ? stdout : std::fopen(file.c_str(), "w");
  bool good = out != nullptr && std::fputs(text.c_str(), out) >= 0;
  if (out != nullptr) good = (out == stdout ? std::fflush(out) : std::fclose(out)) == 0 && good;
  if (!good) throw std::runtime_error("cannot write " + file + ": " + std::strerror(errno));
}

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  return buffer;
}

std::string quoted(std::string const& text) {
  std::string result = "\"";
  for (char const c : text) {
    char buffer[8];
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
      result += buffer;
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// Writes one object; empty and zero members that mean "none" are left out.
class object {
 public:
  object& text(char const* name, std::string const& value) {
    if (!value.empty()) raw(name, quoted(value));
    return *this;
  }
  object& figure(char const* name, double value) { return raw(name, number(value)); }
  object& optional_figure(char const* name, double value) { return value != 0 ? figure(name, value) : *this; }
  object& raw(char const* name, std::string const& value) {
    text_ += (text_.size() > 1 ? ", " : "") + quoted(name) + ": " + value;
    return *this;
  }
  std::string done() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

std::string field_of(std::size_t peer) { return std::string(peers[peer].name) + "_ns"; }

std::string goals_of(result const& r) {
  std::string text;
  for (goal const& g : r.goals) {
    if (!text.empty()) text += "; ";
    text += g.text();
  }
  return text;
}

/// All of them.
bool reached(result const& r) {
  return std::all_of(r.goals.begin(), r.goals.end(), [&r](goal const& g) { return g.reached(r); });
}

std::string json_of(result const& r) {
  object o;
  o.text("suite", r.suite).text("key", r.key).text("name", r.name).figure("ranks", r.ranks);
  if (r.show == "value") {
    o.figure("value", r.value).text("unit", r.unit);
  } else {
    o.figure("bytes", static_cast<double>(r.bytes)).figure("iterations", static_cast<double>(r.iterations));
    o.figure("blocks", static_cast<double>(r.blocks)).figure("disturbed", static_cast<double>(r.disturbed));
    o.figure("median_ns", r.median_ns).figure("p10_ns", r.p10_ns).figure("p90_ns", r.p90_ns);
    o.figure("mad_ns", r.deviation_ns)
        .optional_figure("lines", r.lines)
        .optional_figure("line_ns", r.line_ns);
    if (r.limit_ns > 0) o.text("limit", r.limit_name).figure("limit_ns", r.limit_ns).figure("share", r.share);
    for (std::size_t i = 0; i < peers.size(); ++i) o.optional_figure(field_of(i).c_str(), r.peer_ns[i]);
    if (r.show == "bandwidth" && r.median_ns > 0)
      o.figure("gb_per_s", static_cast<double>(r.bytes) / r.median_ns);
    if (r.show == "rate" && r.median_ns > 0) o.figure("per_s", 1e9 / r.median_ns);
    std::string samples;
    for (double const s : r.samples) samples += (samples.empty() ? "" : ", ") + number(s);
    o.raw("samples_ns", "[" + samples + "]");
  }
  if (!r.goals.empty()) {
    o.text("goal", goals_of(r)).raw("reached", reached(r) ? "true" : "false");
  }
  return o.done();
}

}  // namespace

void check_writable(std::string const& file) {
  if (file.empty() || file == "-") return;
  std::FILE* const out = std::fopen(file.c_str(), "a");
  if (out == nullptr) throw std::runtime_error("cannot write " + file + ": " + std::strerror(errno));
  std::fclose(out);
}

void write_json(std::string const& file, configuration const& c, std::vector<result> const& results) {
  object settings;
  for (auto const& [name, value] : c) settings.text(name.c_str(), value);
  std::string text = "{\n\"configuration\": " + settings.done() + ",\n\"rows\": [\n";
  for (std::size_t i = 0; i < results.size(); ++i) {
    text += json_of(results[i]) + (i + 1 < results.size() ? ",\n" : "\n");
  }
  write_whole(file, text + "]\n}\n");
}

void write_csv(std::string const& file, std::vector<result> const& results) {
  std::string text =
      "suite,key,bytes,ranks,iterations,blocks,disturbed,median_ns,p10_ns,p90_ns,mad_ns,"
      "lines,line_ns,limit,limit_ns,share,";
  for (std::size_t i = 0; i < peers.size(); ++i) text += field_of(i) + ',';
  text += "value,unit,goal,reached\n";
  for (result const& r : results) {
    bool const value = r.show == "value";
    text += r.suite + ',' + r.key + ',' + std::to_string(r.bytes) + ',' + std::to_string(r.ranks) + ',' +
            std::to_string(r.iterations) + ',' + std::to_string(r.blocks) + ',' +
            std::to_string(r.disturbed) + ',';
    for (double const figure : {r.median_ns, r.p10_ns, r.p90_ns, r.deviation_ns, r.lines, r.line_ns}) {
      text += (figure > 0 ? number(figure) : "") + ',';
    }
    // The one field that may hold a comma.
    text +=
        (r.limit_ns > 0 ? quoted(r.limit_name) + ',' + number(r.limit_ns) + ',' + number(r.share) : ",,") +
        ',';
    for (double const ns : r.peer_ns) text += (ns > 0 ? number(ns) : "") + ',';
    text += (value ? number(r.value) : "") + ',' + r.unit + ',';
    text += r.goals.empty() ? "," : goals_of(r) + ',' + (reached(r) ? "yes" : "no");
    text += '\n';
  }
  write_whole(file, text);
}

}  // namespace atl::tools
