#include "result.hpp"

#include "statistics.hpp"

namespace atl::tools {

result evaluate(bench::record const& record) {
  result r;
  r.suite = record.get("suite");
  r.key = record.get("key");
  r.name = record.get("name");
  r.ranks = static_cast<int>(record.number("ranks"));
  if (record.kind == "value") {
    r.show = "value";
    r.value = record.number("value");
    r.unit = record.get("unit");
    return r;
  }
  r.mpi_key = record.get("peer");
  r.show = record.get("show");
  r.limit_name = record.get("limit");
  r.bytes = static_cast<std::size_t>(record.number("bytes"));
  r.iterations = static_cast<std::size_t>(record.number("iterations"));
  r.disturbed = static_cast<std::size_t>(record.number("disturbed"));
  r.samples = record.numbers("ns");
  r.blocks = r.samples.size();
  r.median_ns = median(r.samples);
  r.p10_ns = quantile(r.samples, 0.1);
  r.p90_ns = quantile(r.samples, 0.9);
  r.deviation_ns = median_deviation(r.samples);
  auto const lines = record.numbers("line_ns");
  auto const limits = record.numbers("limit_ns");
  r.line_ns = median(lines);
  r.lines = median_ratio(r.samples, lines);
  if (!limits.empty()) {
    r.limit_ns = median(limits);
    r.share = median_ratio(limits, r.samples);
  } else if (!lines.empty() && r.limit_name != "none") {
    r.limit_ns = r.line_ns;
    r.share = median_ratio(lines, r.samples);
  }
  return r;
}

std::string size_text(std::size_t bytes) {
  char const* unit = "B";
  for (char const* const next : {"KiB", "MiB", "GiB"}) {
    if (bytes < 1024 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return std::to_string(bytes) + " " + unit;
}

}  // namespace atl::tools
