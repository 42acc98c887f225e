// Snippets of the page on distributed objects.
#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>

#include <upcxx/upcxx.hpp>

// [table]
class phone_book {
  using part = std::unordered_map<std::string, long>;

 public:
  upcxx::future<> insert(std::string const& name, long number) {
    return upcxx::rpc(
        owner(name),
        [](upcxx::dist_object<part>& here, std::string const& n, long value) {
          (*here)[n] = value;
        },
        part_, name, number);
  }
  upcxx::future<long> find(std::string const& name) {
    return upcxx::rpc(
        owner(name),
        [](upcxx::dist_object<part>& here, std::string const& n) {
          auto const found = here->find(n);
          return found == here->end() ? -1L : found->second;
        },
        part_, name);
  }

 private:
  static int owner(std::string const& name) {
    return static_cast<int>(std::hash<std::string>()(name) %
                            static_cast<std::size_t>(upcxx::rank_n()));
  }
  upcxx::dist_object<part> part_{part()};
};
// [/table]

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();

  // [construct]
  upcxx::dist_object<int> number(100 + me);  // collective; does not synchronise
  *number += 1;                              // my instance
  upcxx::barrier();
  int const theirs = number.fetch((me + 1) % ranks).wait();
  UPCXX_ASSERT_ALWAYS(theirs == 101 + (me + 1) % ranks);
  // [/construct]
  upcxx::barrier();  // everybody has fetched before somebody's value changes

  // [argument]
  upcxx::rpc(
      0, [](upcxx::dist_object<int>& here, int value) { *here += value; }, number,
      me)
      .wait();
  // [/argument]
  upcxx::barrier();
  UPCXX_ASSERT_ALWAYS(me != 0 || *number == 101 + ranks * (ranks - 1) / 2);

  // [use]
  phone_book book;
  book.insert("rank " + std::to_string(me), 1000 + me).wait();
  upcxx::barrier();
  UPCXX_ASSERT_ALWAYS(book.find("rank 0").wait() == 1000);
  UPCXX_ASSERT_ALWAYS(book.find("nobody").wait() == -1);
  upcxx::barrier();  // before the book goes: others may still ask
  // [/use]
  upcxx::finalize();
}
