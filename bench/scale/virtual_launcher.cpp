#include "scale/virtual_launcher.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "bootstrap/host_identity.hpp"

namespace atl::scale {

namespace api = bootstrap::pmix_api;

namespace {

constexpr std::string_view host_key = "atoll.host";

/// The name without the library's prefix and a number behind it.
std::string_view kind_of(std::string_view key) {
  if (key.starts_with("atoll.")) key.remove_prefix(6);
  while (!key.empty() && (key.back() == '.' || (key.back() >= '0' && key.back() <= '9')))
    key.remove_suffix(1);
  return key;
}

api::value* new_value(std::uint16_t type) {
  auto* const made = static_cast<api::value*>(std::calloc(1, sizeof(api::value)));
  if (made == nullptr) throw std::bad_alloc();
  made->type = type;
  return made;
}

char* copy_of(void const* bytes, std::size_t n) {
  auto* const copy = static_cast<char*>(std::malloc(n));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, bytes, n);
  return copy;
}

/// What other launchers, and the user, have set for other jobs.
void clear_environment() {
  constexpr std::string_view of_jobs[] = {"ATOLL_", "UPCXX_", "GASNET_", "PMI",
                                          "SLURM_", "OMPI_",  "PALS_",   "FLUX_"};
  std::vector<std::string> names;
  for (char** each = environ; *each != nullptr; ++each) {
    std::string_view const line = *each;
    if (std::any_of(std::begin(of_jobs), std::end(of_jobs),
                    [&](auto prefix) { return line.starts_with(prefix); }))
      names.emplace_back(line.substr(0, line.find('=')));
  }
  for (std::string const& name : names) ::unsetenv(name.c_str());
}

}  // namespace

// ---- what was counted

asked_for rank_at_start::asked_of(char const* name) const {
  for (asked_for const& each : asked) {
    if (std::strcmp(each.name.data(), name) == 0) return each;
  }
  return {};
}

asked_for rank_at_start::asked_in_all() const {
  asked_for all{};
  for (asked_for const& each : asked) {
    all.times += each.times;
    all.bytes += each.bytes;
  }
  return all;
}

// ---- which ranks there are

virtual_launcher* virtual_launcher::here_ = nullptr;
std::size_t virtual_launcher::me_ = 0;

virtual_launcher::virtual_launcher(job_shape const& shape, std::size_t bytes) : shape_(shape), bytes_(bytes) {
  pthread_mutexattr_t of_lock;
  ::pthread_mutexattr_init(&of_lock);
  ::pthread_mutexattr_setpshared(&of_lock, PTHREAD_PROCESS_SHARED);
  ::pthread_mutex_init(&lock_, &of_lock);
  pthread_condattr_t of_condition;
  ::pthread_condattr_init(&of_condition);
  ::pthread_condattr_setpshared(&of_condition, PTHREAD_PROCESS_SHARED);
  ::pthread_cond_init(&changed_, &of_condition);

  std::int32_t const hosts = shape.hosts();
  for (std::int32_t const each : {0, 1, hosts - 1}) {
    if (each >= hosts || (played_hosts_ > 0 && hosts_[played_hosts_ - 1] >= each)) continue;
    hosts_[played_hosts_] = each;
    firsts_[played_hosts_++] = played_ranks_;
    played_ranks_ += static_cast<std::size_t>(ranks_of(each));
  }
  auto* const behind = reinterpret_cast<std::byte*>(this + 1);
  identities_ = reinterpret_cast<std::uint64_t*>(behind);
  records_ = reinterpret_cast<record*>(behind + sizeof(std::uint64_t) * static_cast<std::size_t>(hosts));
  for (std::int32_t h = 0; h < hosts; ++h)
    identities_[h] = bootstrap::own_host_identity(std::int64_t{h} * shape.per_host);
  std::vector<std::int32_t> const ranks = played();
  for (std::size_t i = 0; i < ranks.size(); ++i) records_[i].seen.rank = ranks[i];
}

virtual_launcher* virtual_launcher::make(job_shape const& shape) {
  std::size_t const most_ranks = std::min<std::size_t>(static_cast<std::size_t>(shape.ranks),
                                                       most_hosts * static_cast<std::size_t>(shape.per_host));
  std::size_t const bytes = sizeof(virtual_launcher) +
                            sizeof(std::uint64_t) * static_cast<std::size_t>(shape.hosts()) +
                            sizeof(record) * most_ranks;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::runtime_error("no memory for " + std::to_string(most_ranks) + " ranks at start");
  ::unsetenv("ATOLL_HOST");  // of the host that this runs on
  return ::new (memory) virtual_launcher(shape, bytes);
}

void virtual_launcher::remove() noexcept { ::munmap(this, bytes_); }

std::int32_t virtual_launcher::ranks_of(std::int32_t host) const {
  return std::min(shape_.per_host, shape_.ranks - host * shape_.per_host);
}

std::vector<std::int32_t> virtual_launcher::played() const {
  std::vector<std::int32_t> all;
  for (std::size_t h = 0; h < played_hosts_; ++h) {
    for (std::int32_t r = 0; r < ranks_of(hosts_[h]); ++r) all.push_back(hosts_[h] * shape_.per_host + r);
  }
  return all;
}

std::size_t virtual_launcher::player_of(std::int32_t host) const {
  auto const end = hosts_.begin() + static_cast<std::ptrdiff_t>(played_hosts_);
  auto const found = std::find(hosts_.begin(), end, host);
  return found == end ? 1 : static_cast<std::size_t>(found - hosts_.begin());
}

std::size_t virtual_launcher::index_of(std::int32_t rank) const {
  return firsts_[player_of(host_of(rank))] + static_cast<std::size_t>(rank % shape_.per_host);
}

void virtual_launcher::become(std::int32_t rank) {
  here_ = this;
  me_ = index_of(rank);
  clear_environment();
  ::setenv("ATOLL_BOOTSTRAP", "pmix", 1);
  ::setenv("PMIX_NAMESPACE", "atoll-scale-model", 1);
  ::setenv("PMIX_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("ATOLL_CRASH_REPORTS", "no", 1);
  ::setenv("UPCXX_SHARED_HEAP_SIZE", "1MB", 1);
}

void virtual_launcher::end() noexcept {
  ::pthread_mutex_lock(&lock_);
  over_ = true;
  ::pthread_cond_broadcast(&changed_);
  ::pthread_mutex_unlock(&lock_);
}

void virtual_launcher::carry(std::int32_t, packet* what) {
  ++mine().sent;
  what->drop();
}

// ---- the service

void virtual_launcher::spend(picoseconds time) {
  for (picoseconds& each : mine().clock) each += time;
}

virtual_launcher::thing const* virtual_launcher::find(std::int32_t rank, char const* key) const {
  record const& theirs = records_[index_of(rank)];
  for (std::uint32_t i = 0; i < theirs.left; ++i) {
    if (std::strcmp(theirs.things[i].key, key) == 0) return &theirs.things[i];
  }
  return nullptr;
}

api::status virtual_launcher::get(api::proc const& of, char const* key, api::value** result) {
  if (of.rank == api::rank_wildcard) {
    if (std::strcmp(key, api::key_job_size) == 0) {
      *result = new_value(api::type_uint32);
      (*result)->data.uint32 = static_cast<std::uint32_t>(shape_.ranks);
      return api::success;
    }
    if (std::strcmp(key, api::key_local_peers) != 0) return api::not_found;
    std::int32_t const host = host_of(mine().rank);
    std::string list;
    for (std::int32_t r = 0; r < ranks_of(host); ++r)
      list += (r == 0 ? "" : ",") + std::to_string(host * shape_.per_host + r);
    *result = new_value(api::type_string);
    (*result)->data.text = copy_of(list.c_str(), list.size() + 1);
    return api::success;
  }
  auto const rank = static_cast<std::int32_t>(of.rank);
  thing const* const found = rank >= 0 && rank < shape_.ranks ? find(rank, key) : nullptr;
  if (found == nullptr) return api::not_found;
  char* const bytes = copy_of(found->blob, found->bytes);
  // What each host's ranks have left of themselves, by the same function; the byte in front is the library's.
  std::uint64_t const& identity = identities_[host_of(rank)];
  if (key == host_key && found->bytes == 1 + sizeof identity)
    std::memcpy(bytes + 1, &identity, sizeof identity);
  *result = new_value(api::type_byte_object);
  (*result)->data.bo = {bytes, found->bytes};

  std::string_view const kind = kind_of(key);
  for (asked_for& each : mine().asked) {
    if (each.name[0] == '\0') kind.copy(each.name.data(), each.name.size() - 1);
    if (kind.substr(0, each.name.size() - 1) != each.name.data()) continue;
    ++each.times;
    each.bytes += found->bytes - 1;
    break;
  }
  spend(collected_is_got);
  return api::success;
}

api::status virtual_launcher::put(std::uint8_t scope, char const* key, api::byte_object what) {
  record& own = records_[me_];
  if (own.left == most_left || std::strlen(key) >= sizeof own.things[0].key || what.size > longest)
    return api::not_found;
  thing& made = own.things[own.left];
  std::strcpy(made.key, key);
  std::memcpy(made.blob, what.bytes, what.size);
  made.bytes = static_cast<std::uint32_t>(what.size);
  ++own.left;
  own.seen.left_bytes += what.size - 1;
  if (scope != api::scope_local) own.collected += std::strlen(key) + what.size + collected_header;
  ++own.seen.requests;
  spend(server_answers);
  ::pthread_mutex_lock(&lock_);
  ++of_hosts_[own_player()].requests;
  ::pthread_mutex_unlock(&lock_);
  return api::success;
}

/// When its server has answered all requests.
times virtual_launcher::end_of_meeting(meeting_place& host) {
  times when = host.latest;
  for (picoseconds& each : when) each += static_cast<picoseconds>(host.requests) * server_busy;
  host.requests = 0;
  host.latest = {};
  return when;
}

times virtual_launcher::end_of_job_meeting() {
  auto const hosts = static_cast<std::uint64_t>(shape_.hosts());
  times when{};
  std::uint64_t bytes = 0;
  for (std::size_t h = 0; h < played_hosts_; ++h) {
    times const here = end_of_meeting(of_hosts_[h]);
    for (std::size_t n = 0; n < when.size(); ++n) when[n] = std::max(when[n], here[n]);
    std::uint64_t of_host = 0;
    auto const ranks = static_cast<std::size_t>(ranks_of(hosts_[h]));
    for (std::size_t i = firsts_[h]; i < firsts_[h] + ranks; ++i)
      of_host += std::exchange(records_[i].collected, 0);
    bytes += of_host * (h == 1 ? hosts - played_hosts_ + 1 : 1);
  }
  for (std::uint64_t together = 1; together < hosts; together *= 2) {
    for (std::size_t n = 0; n < when.size(); ++n) {
      costs const& c = networks[n];
      auto const message = [&](std::uint64_t size) {
        return c.latency + 2 * c.overhead + std::max(c.gap, static_cast<picoseconds>(size) * c.per_byte);
      };
      when[n] += message(bytes * together / hosts) + message(bytes);
    }
    // Up go what the halves of each pair have; down all of it to each.
    bytes_between_ += bytes / 2;
  }
  bytes_between_ += (hosts - 1) * bytes;
  return when;
}

api::status virtual_launcher::fence(api::proc const* among, std::size_t count) {
  bool const job = count == 1 && among->rank == api::rank_wildcard;
  rank_at_start& own = mine();
  ++own.requests;
  ++(job ? own.job_meetings : own.host_meetings);
  spend(server_answers);
  ::pthread_mutex_lock(&lock_);
  meeting_place& host = of_hosts_[own_player()];
  ++host.requests;
  for (std::size_t n = 0; n < own.clock.size(); ++n) host.latest[n] = std::max(host.latest[n], own.clock[n]);
  meeting_place& place = job ? job_ : host;
  std::uint64_t const held = place.held;
  if (++place.there == (job ? played_ranks_ : count)) {
    place.there = 0;
    ++place.held;
    place.over = job ? end_of_job_meeting() : end_of_meeting(host);
    ::pthread_cond_broadcast(&changed_);
  }
  while (place.held == held && !over_) ::pthread_cond_wait(&changed_, &lock_);
  own.clock = place.over;
  bool const all_well = !over_;
  ::pthread_mutex_unlock(&lock_);
  return all_well ? api::success : api::not_found;
}

}  // namespace atl::scale
