// A program of some 300 lines that uses what programs use: what compile_time.py compiles to stand for them.
// It also runs.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

// --- data that travel

struct particle {
  double position[3];
  double velocity[3];
  int species;
};

class molecule {
 public:
  molecule() = default;
  molecule(std::string name, std::vector<particle> parts)
      : name_(std::move(name)), parts_(std::move(parts)) {}

  std::string const& name() const { return name_; }
  std::size_t size() const { return parts_.size(); }
  void shift(double by) {
    for (particle& p : parts_) p.position[0] += by;
  }
  UPCXX_SERIALIZED_FIELDS(name_, parts_)

 private:
  std::string name_;
  std::vector<particle> parts_;
};

struct interval {
  interval(double from, double to) : low(from), high(to) {}
  double low;
  double high;
  UPCXX_SERIALIZED_VALUES(low, high)
};

void require(bool condition, char const* what) {
  if (condition) return;
  std::fprintf(stderr, "rank %d: wrong: %s\n", upcxx::rank_me(), what);
  std::abort();
}

upcxx::intrank_t next_rank() { return (upcxx::rank_me() + 1) % upcxx::rank_n(); }
upcxx::intrank_t previous_rank() { return (upcxx::rank_me() + upcxx::rank_n() - 1) % upcxx::rank_n(); }

// --- a distributed hash table

class directory {
 public:
  directory() : part_(upcxx::world()) {}

  upcxx::future<> insert(std::string const& key, molecule const& value) {
    return upcxx::rpc(
        owner(key),
        [](upcxx::dist_object<table>& part, std::string const& k, molecule const& v) { (*part)[k] = v; },
        part_, key, value);
  }

  upcxx::future<std::size_t> size_of(std::string const& key) const {
    return upcxx::rpc(
        owner(key),
        [](upcxx::dist_object<table> const& part, std::string const& k) {
          auto const found = part->find(k);
          return found == part->end() ? std::size_t{0} : found->second.size();
        },
        part_, key);
  }

  upcxx::future<std::vector<std::string>> names_at(upcxx::intrank_t rank) const {
    return upcxx::rpc(
        rank,
        [](upcxx::dist_object<table> const& part) {
          std::vector<std::string> names;
          for (auto const& [key, value] : *part) names.push_back(key + "/" + value.name());
          std::sort(names.begin(), names.end());
          return names;
        },
        part_);
  }

  std::size_t local_size() const { return part_->size(); }

 private:
  using table = std::unordered_map<std::string, molecule>;

  static upcxx::intrank_t owner(std::string const& key) {
    unsigned sum = 0;
    for (char const c : key) sum = sum * 31 + static_cast<unsigned char>(c);
    return static_cast<upcxx::intrank_t>(sum % static_cast<unsigned>(upcxx::rank_n()));
  }

  upcxx::dist_object<table> part_;
};

void use_directory() {
  directory all;
  upcxx::future<> inserted = upcxx::make_future();
  for (int i = 0; i < 8; ++i) {
    std::string const name = "m" + std::to_string(upcxx::rank_me()) + "." + std::to_string(i);
    inserted = upcxx::when_all(
        inserted, all.insert(name, molecule(name, std::vector<particle>(static_cast<std::size_t>(i)))));
  }
  inserted.wait();
  upcxx::barrier();
  require(all.size_of("m0.3").wait() == 3, "size of a molecule");
  std::size_t const total = upcxx::reduce_all(all.local_size(), upcxx::op_fast_add).wait();
  require(total == 8 * static_cast<std::size_t>(upcxx::rank_n()), "molecules in all");
  auto const counted = all.names_at(next_rank()).then([](std::vector<std::string> const& names) {
    return static_cast<long>(names.size());
  });
  require(counted.wait() >= 0, "names");
  upcxx::barrier();
}

// --- a one-dimensional stencil with one-sided exchange

class line {
 public:
  explicit line(std::size_t cells)
      : cells_(cells), old_(upcxx::new_array<double>(cells + 2)), shared_(old_), next_(cells + 2) {
    double* const u = old_.local();
    for (std::size_t i = 0; i < cells + 2; ++i) u[i] = upcxx::rank_me();
  }
  line(line const&) = delete;
  line& operator=(line const&) = delete;
  ~line() { upcxx::delete_array(old_); }

  void connect() {
    left_ = shared_.fetch(previous_rank()).wait();
    right_ = shared_.fetch(next_rank()).wait();
    upcxx::barrier();
  }

  void step() {
    double* const u = old_.local();
    upcxx::future<> const sent =
        upcxx::when_all(upcxx::rput(u[1], left_ + static_cast<std::ptrdiff_t>(cells_ + 1)),
                        upcxx::rput(u + cells_, right_, 1));
    sent.wait();
    upcxx::barrier();
    for (std::size_t i = 1; i <= cells_; ++i) next_[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
    upcxx::barrier();
    std::copy(next_.begin() + 1, next_.end() - 1, u + 1);
  }

  double sum() const {
    double own = 0;
    for (std::size_t i = 1; i <= cells_; ++i) own += old_.local()[i];
    return upcxx::reduce_all(own, upcxx::op_fast_add).wait();
  }

 private:
  std::size_t cells_;
  upcxx::global_ptr<double> old_;
  upcxx::dist_object<upcxx::global_ptr<double>> shared_;
  upcxx::global_ptr<double> left_;
  upcxx::global_ptr<double> right_;
  std::vector<double> next_;
};

void use_line() {
  line u(64);
  u.connect();
  double const before = u.sum();
  for (int i = 0; i < 20; ++i) u.step();
  double const after = u.sum();
  require(after - before < 1e-9 && before - after < 1e-9, "conservation");
  upcxx::barrier();
}

// --- remote completion, promises, local calls

int notified = 0;

void use_completions() {
  upcxx::global_ptr<int> const mine = upcxx::new_array<int>(16);
  upcxx::dist_object<upcxx::global_ptr<int>> const all(mine);
  upcxx::global_ptr<int> const there = all.fetch(next_rank()).wait();
  std::vector<int> data(16);
  for (int i = 0; i < 16; ++i) data[static_cast<std::size_t>(i)] = i;

  upcxx::promise<> sent;
  upcxx::rput(
      data.data(), there, data.size(),
      upcxx::operation_cx::as_promise(sent) | upcxx::remote_cx::as_rpc([](int n) { notified += n; }, 1));
  sent.finalize().wait();
  while (notified == 0) upcxx::progress();

  std::vector<int> back(16);
  auto const [source, operation] =
      upcxx::rput(data.data(), there, 16, upcxx::source_cx::as_future() | upcxx::operation_cx::as_future());
  upcxx::when_all(source, operation).wait();
  upcxx::rget(there, back.data(), back.size()).wait();
  require(back == data, "what came back");
  int const last = upcxx::rget(there + 15).then([](int v) { return v * 2; }).wait();
  require(last == 30, "the last element");

  upcxx::persona& self = upcxx::current_persona();
  require(self.lpc([&] { return back.size(); }).wait() == 16, "a local call");
  self.lpc_ff([] { notified = 0; });
  while (notified != 0) upcxx::progress();
  upcxx::copy(there, back.data(), 16).wait();
  upcxx::barrier();
  upcxx::delete_array(mine);
}

// --- calls with views and containers

void use_calls() {
  std::vector<double> values(100, 1.5);
  double const sum = upcxx::rpc(
                         next_rank(),
                         [](upcxx::view<double> v) {
                           double total = 0;
                           for (double const x : v) total += x;
                           return total;
                         },
                         upcxx::make_view(values))
                         .wait();
  require(sum == 150, "sum of a view");

  std::map<int, std::string> const names{{1, "one"}, {2, "two"}};
  auto const merged = upcxx::rpc(
      next_rank(),
      [](std::map<int, std::string> all, std::pair<int, std::string> const& more) {
        all.insert(more);
        return all;
      },
      names, std::pair<int, std::string>(3, "three"));
  require(merged.wait().size() == 3, "merged names");

  double const width =
      upcxx::rpc(
          previous_rank(), [](interval const& i, float scale) { return (i.high - i.low) * scale; },
          interval(1, 3), 2.0f)
          .wait();
  require(width == 4, "width");

  molecule water("water", std::vector<particle>(3));
  water.shift(1);
  upcxx::future<std::string, std::size_t> const described =
      upcxx::rpc(
          next_rank(), [](molecule const& m) { return m.name(); }, water)
          .then([](std::string const& name) { return upcxx::make_future(name, name.size()); });
  require(described.result<1>() == 5 || described.wait<1>() == 5, "description");

  for (int i = 0; i < 4; ++i)
    upcxx::rpc_ff(
        next_rank(), [](int n) { notified += n; }, i);
  while (notified != 6) upcxx::progress();
  upcxx::barrier();
}

// --- teams and collectives

void use_teams() {
  upcxx::team& near = upcxx::local_team();
  int const members = upcxx::reduce_all(1, upcxx::op_fast_add, near).wait();
  require(members == near.rank_n(), "members");
  int const most = upcxx::reduce_one(upcxx::rank_me(), upcxx::op_fast_max, 0).wait();
  require(upcxx::rank_me() != 0 || most == upcxx::rank_n() - 1, "the greatest rank");
  std::vector<int> numbers(5, upcxx::rank_me());
  upcxx::broadcast(numbers.data(), numbers.size(), 0).wait();
  require(numbers.back() == 0, "broadcast numbers");
  double const shared =
      upcxx::broadcast(upcxx::rank_me() == 0 ? 2.5 : 0.0, 0, near.rank_n() > 0 ? upcxx::world() : near)
          .wait();
  require(shared == 2.5, "broadcast value");
  upcxx::barrier_async(near).wait();
}

}  // namespace

int main() {
  upcxx::init();
  use_directory();
  use_line();
  use_completions();
  use_calls();
  use_teams();
  upcxx::barrier();
  if (upcxx::rank_me() == 0) std::printf("all right on %d ranks\n", upcxx::rank_n());
  upcxx::finalize();
}
