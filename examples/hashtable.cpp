// A distributed hash table of numbers with puts, gets and atomics only: its owners take no part.
//
// Open addressing: a key is claimed by an atomic compare-and-exchange, its value is put beside it. Operations
// are chains of futures, so a rank may have thousands in flight.
//
//   atoll run -n 4 ./hashtable [keys per rank]

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <upcxx/upcxx.hpp>

using number = std::uint64_t;

class hash_table {
 public:
  /// Collective; `places` of each rank.
  explicit hash_table(std::size_t places)
      : places_(places),
        atomics_({upcxx::atomic_op::load, upcxx::atomic_op::compare_exchange}),
        keys_(upcxx::new_array<number>(places)),
        values_(upcxx::new_array<number>(places)) {
    for (std::size_t i = 0; i < places; ++i) {
      keys_->local()[i] = empty;
    }
    upcxx::barrier();
    for (int r = 0; r < upcxx::rank_n(); ++r) {  // everybody's addresses, once
      bases_.push_back({keys_.fetch(r).wait(), values_.fetch(r).wait()});
    }
  }
  /// Collective.
  void destroy() {
    upcxx::barrier();
    upcxx::delete_array(*keys_);
    upcxx::delete_array(*values_);
    atomics_.destroy();
  }

  upcxx::future<> insert(number key, number value, number step = 0) {
    place const here = find_place(key, step);
    return atomics_.compare_exchange(here.key, empty, key, std::memory_order_relaxed)
        .then([this, here, key, value, step](number before) {
          bool const ours = before == empty || before == key;
          return ours ? upcxx::rput(value, here.value) : insert(key, value, step + 1);
        });
  }
  /// The value, or `missing`. Not at the same time as insertions.
  upcxx::future<number> find(number key, number step = 0) {
    place const here = find_place(key, step);
    return atomics_.load(here.key, std::memory_order_relaxed).then([this, here, key, step](number found) {
      if (found == key) return upcxx::rget(here.value);
      return found == empty ? upcxx::make_future(missing) : find(key, step + 1);
    });
  }

  static constexpr number missing = ~number{0};

 private:
  struct place {
    upcxx::global_ptr<number> key;
    upcxx::global_ptr<number> value;
  };
  place find_place(number key, number step) const {
    number const hash = key * 0x9e3779b97f4a7c15u;
    place const& base = bases_[(hash >> 32) % bases_.size()];
    auto const index = static_cast<std::ptrdiff_t>((hash + step) % places_);
    return {base.key + index, base.value + index};
  }

  static constexpr number empty = 0;
  std::size_t places_;
  upcxx::atomic_domain<number> atomics_;
  upcxx::dist_object<upcxx::global_ptr<number>> keys_;
  upcxx::dist_object<upcxx::global_ptr<number>> values_;
  std::vector<place> bases_;
};

int main(int argc, char** argv) {
  upcxx::init();
  auto const count = static_cast<number>(argc > 1 ? std::atoi(argv[1]) : 5000);
  auto const me = static_cast<number>(upcxx::rank_me());
  auto const ranks = static_cast<number>(upcxx::rank_n());
  {
    hash_table table(3 * count);
    upcxx::future<> all = upcxx::make_future();
    for (number i = 1; i <= count; ++i) {
      all = upcxx::when_all(all, table.insert(me * count + i, i * i));
    }
    all.wait();
    upcxx::barrier();

    long wrong = 0;  // look for what the right neighbour inserted
    all = upcxx::make_future();
    for (number i = 1; i <= count; ++i) {
      all = upcxx::when_all(all, table.find((me + 1) % ranks * count + i).then([&wrong, i](number value) {
        wrong += value != i * i;
      }));
    }
    all.wait();
    wrong += table.find(ranks * count + 1).wait() != hash_table::missing;
    wrong = upcxx::reduce_all(wrong, upcxx::op_fast_add).wait();
    if (me == 0) {
      std::printf("%ju keys on %ju ranks: %s\n", static_cast<std::uintmax_t>(count * ranks),
                  static_cast<std::uintmax_t>(ranks), wrong == 0 ? "all found" : "WRONG");
    }
    table.destroy();
    if (wrong != 0) std::exit(1);
  }
  upcxx::finalize();
}
