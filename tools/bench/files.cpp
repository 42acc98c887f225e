#include "files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace atl::tools {
namespace {

using json = nlohmann::ordered_json;

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

/// Empty and zero members that mean "none" are left out.
json row_of(result const& r) {
  json row{{"suite", r.suite}, {"key", r.key}, {"name", r.name}, {"ranks", r.ranks}};
  auto const where_known = [&row](std::string const& name, double value) {
    if (value != 0) row[name] = value;
  };
  if (r.show == "value") {
    row["value"] = r.value;
    if (!r.unit.empty()) row["unit"] = r.unit;
  } else {
    row["bytes"] = r.bytes;
    row["iterations"] = r.iterations;
    row["blocks"] = r.blocks;
    row["disturbed"] = r.disturbed;
    row["median_ns"] = r.median_ns;
    row["p10_ns"] = r.p10_ns;
    row["p90_ns"] = r.p90_ns;
    row["mad_ns"] = r.deviation_ns;
    where_known("lines", r.lines);
    where_known("line_ns", r.line_ns);
    if (r.limit_ns > 0) {
      row["limit"] = r.limit_name;
      row["limit_ns"] = r.limit_ns;
      row["share"] = r.share;
    }
    for (std::size_t i = 0; i < peers.size(); ++i) where_known(field_of(i), r.peer_ns[i]);
    if (r.show == "bandwidth" && r.median_ns > 0) {
      row["gb_per_s"] = static_cast<double>(r.bytes) / r.median_ns;
    }
    if (r.show == "rate" && r.median_ns > 0) row["per_s"] = 1e9 / r.median_ns;
    row["samples_ns"] = r.samples;
  }
  if (!r.goals.empty()) {
    row["goal"] = goals_of(r);
    row["reached"] = reached(r);
  }
  return row;
}

/// In one line; what is no UTF-8, as names of processors may be, is replaced.
std::string text_of(json const& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

void check_writable(std::string const& file) {
  if (file.empty() || file == "-") return;
  std::FILE* const out = std::fopen(file.c_str(), "a");
  if (out == nullptr) throw std::runtime_error("cannot write " + file + ": " + std::strerror(errno));
  std::fclose(out);
}

void write_json(std::string const& file, configuration const& c, std::vector<result> const& results) {
  json settings = json::object();
  for (auto const& [name, value] : c) {
    if (!value.empty()) settings[name] = value;
  }
  // A line for each row, for people and for tools that compare lines.
  std::string text = "{\n\"configuration\": " + text_of(settings) + ",\n\"rows\": [\n";
  for (std::size_t i = 0; i < results.size(); ++i) {
    text += text_of(row_of(results[i])) + (i + 1 < results.size() ? ",\n" : "\n");
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
    text += (r.limit_ns > 0 ? '"' + r.limit_name + '"' + ',' + number(r.limit_ns) + ',' + number(r.share)
                            : ",,") +
            ',';
    for (double const ns : r.peer_ns) text += (ns > 0 ? number(ns) : "") + ',';
    text += (value ? number(r.value) : "") + ',' + r.unit + ',';
    text += r.goals.empty() ? "," : goals_of(r) + ',' + (reached(r) ? "yes" : "no");
    text += '\n';
  }
  write_whole(file, text);
}

}  // namespace atl::tools
