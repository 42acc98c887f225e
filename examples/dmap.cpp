// A distributed hash table in thirty lines, and a word count with it.
//
// Each rank keeps a part of the table in an ordinary container; whoever wants to look or change
// calls the owner.
//
//   atoll run -n 4 ./dmap

#include <cstdio>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

template <class Key, class Value>
class distributed_map {
  using part = std::unordered_map<Key, Value>;

 public:
  distributed_map() : part_(upcxx::world()) {}

  /// Runs `change(value, argument)` where the key lives. The future is ready when it has been done.
  template <class Change, class Argument>
  upcxx::future<> update(Key const& key, Change change, Argument const& argument) {
    return upcxx::rpc(
        owner(key),
        [change](upcxx::dist_object<part>& mine, Key const& k, Argument const& a) { change((*mine)[k], a); },
        part_, key, argument);
  }

  /// The value of `key`, or a default-constructed one.
  upcxx::future<Value> find(Key const& key) const {
    return upcxx::rpc(
        owner(key),
        [](upcxx::dist_object<part>& mine, Key const& k) {
          auto const found = mine->find(k);
          return found == mine->end() ? Value() : found->second;
        },
        part_, key);
  }

  part const& local_part() const { return *part_; }

 private:
  static int owner(Key const& key) {
    return static_cast<int>(std::hash<Key>()(key) % static_cast<std::size_t>(upcxx::rank_n()));
  }
  upcxx::dist_object<part> part_;
};

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();

  distributed_map<std::string, std::vector<int>> positions;
  std::vector<std::string> const words{"the", "sea", "is",   "wide", "and", "the",
                                       "sky", "is",  "blue", "the",  "end"};

  upcxx::future<> all = upcxx::make_future();
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto append = [](std::vector<int>& list, int position) { list.push_back(position); };
    all = upcxx::when_all(all, positions.update(words[i], append, static_cast<int>(i)));
  }
  all.wait();
  upcxx::barrier();

  auto const the = positions.find("the").wait();
  auto const missing = positions.find("moon").wait();
  bool correct = the.size() == static_cast<std::size_t>(3 * ranks) && missing.empty();
  std::size_t const distinct = upcxx::reduce_all(positions.local_part().size(), upcxx::op_fast_add).wait();
  correct = correct && distinct == 8;
  if (me == 0) {
    std::printf("\"the\" occurs %zu times in %d texts, which have %zu different words: %s\n", the.size(),
                ranks, distinct, correct ? "correct" : "WRONG");
  }
  upcxx::barrier();
  upcxx::finalize();
  return correct ? 0 : 1;
}
