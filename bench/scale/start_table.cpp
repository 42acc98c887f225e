#include "scale/start_table.hpp"

#include <cstddef>
#include <cstdio>
#include <utility>

#include "scale/csv.hpp"

namespace atl::scale {
namespace {

unsigned long long ull(std::uint64_t n) { return n; }

double milliseconds(start_tally const& t, std::string const& network) {
  return 1e-9 * static_cast<double>(t.time[static_cast<std::size_t>(find_network(network) - networks)]);
}

}  // namespace

start_table::start_table(std::vector<std::string> of_networks, std::string const& file)
    : networks_(std::move(of_networks)),
      file_(open_csv(file,
                     "network,ranks,per_host,sent,meetings,exchanges,launcher_messages,launcher_bytes,steps,"
                     "requests,read,read_bytes,leader_read_bytes,heap_leader,heap_other,time_ms")) {
  std::printf("%8s %5s %6s %9s %9s %9s %6s %9s %9s %9s %9s %9s %9s %9s", "ranks", "host", "sent", "meetings",
              "exchanges", "launcher", "steps", "MB", "requests", "read", "read B", "leader B", "heap B",
              "other B");
  for (std::string const& each : networks_) std::printf(" %9s ms", each.c_str());
  std::printf(" %7s\n", "took s");
}

void start_table::line(job_shape const& shape, start_tally const& t, double took) {
  rank_at_start const& other = t.other(shape);
  asked_for const read = other.asked_in_all();
  auto const of_leader = t.first().asked_in_all().bytes;
  std::printf("%8d %5d %6llu %9llu %9llu %9llu %6llu %9.3f %9llu %9llu %9llu %9llu %9zu %9zu", shape.ranks,
              shape.per_host, ull(t.sent), ull(t.meetings), ull(t.exchanges), ull(t.of_launcher),
              ull(t.steps), 1e-6 * static_cast<double>(t.of_launcher_bytes), ull(other.requests),
              ull(read.times), ull(read.bytes), ull(of_leader), t.first().heap, other.heap);
  for (std::string const& each : networks_) std::printf(" %12.2f", milliseconds(t, each));
  std::printf(" %7.1f\n", took);
  std::fflush(stdout);
  if (!file_.is_open()) return;
  for (std::string const& each : networks_)
    file_ << each << ',' << shape.ranks << ',' << shape.per_host << ',' << t.sent << ',' << t.meetings << ','
          << t.exchanges << ',' << t.of_launcher << ',' << t.of_launcher_bytes << ',' << t.steps << ','
          << other.requests << ',' << read.times << ',' << read.bytes << ',' << of_leader << ','
          << t.first().heap << ',' << other.heap << ',' << milliseconds(t, each) << '\n';
  file_.flush();
}

}  // namespace atl::scale
