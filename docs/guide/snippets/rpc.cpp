// Snippets of the pages on remote procedure calls and on serialization.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

std::vector<std::string> log_lines;

// [fields]
struct person {
  std::string name;
  int age = 0;
  UPCXX_SERIALIZED_FIELDS(name, age)
};
// [/fields]

// [values]
class circle {
 public:
  explicit circle(double radius)
      : radius_(radius), area_(3.14159265358979 * radius * radius) {}
  double area() const { return area_; }

 private:
  double radius_;
  double area_;  // not sent: the constructor computes it again

 public:
  UPCXX_SERIALIZED_VALUES(radius_)
};
// [/values]

// [custom]
struct sparse {
  std::map<int, double> entries;
  int size = 0;

  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& writer, sparse const& s) {
      writer.write(s.size);
      writer.write(s.entries.size());
      for (auto const& [index, value] : s.entries) {
        writer.write(index);
        writer.write(value);
      }
    }
    template <class Reader, class Storage>
    static sparse* deserialize(Reader& reader, Storage storage) {
      sparse* s = storage.construct();
      s->size = reader.template read<int>();
      auto const count = reader.template read<std::size_t>();
      for (std::size_t i = 0; i < count; ++i) {
        // One after the other: the order matters.
        int const index = reader.template read<int>();
        s->entries[index] = reader.template read<double>();
      }
      return s;
    }
  };
};
// [/custom]

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const right = (me + 1) % upcxx::rank_n();

  // [call]
  upcxx::future<int> sum = upcxx::rpc(
      right, [](int a, int b) { return a + b; }, 2, 3);
  UPCXX_ASSERT_ALWAYS(sum.wait() == 5);
  // [/call]

  // [forget]
  upcxx::rpc_ff(
      right, [](std::string const& line) { log_lines.push_back(line); },
      "from " + std::to_string(me));
  while (log_lines.empty()) upcxx::progress();  // the left neighbour's line
  // [/forget]

  // [future]
  int const far = (me + 2) % upcxx::rank_n();
  upcxx::future<int> relayed = upcxx::rpc(
      right,
      [](int next) { return upcxx::rpc(next, [] { return upcxx::rank_me(); }); },
      far);
  UPCXX_ASSERT_ALWAYS(relayed.wait() == far);
  // [/future]

  // [view]
  std::vector<double> const numbers(10000, 0.5);
  double const total =
      upcxx::rpc(
          right,
          [](upcxx::view<double>
                 values) {  // looks into the message: nothing is copied out
            double t = 0;
            for (double const v : values) t += v;
            return t;
          },
          upcxx::make_view(numbers))
          .wait();
  UPCXX_ASSERT_ALWAYS(total == 5000);
  // [/view]

  // [containers]
  std::map<std::string, std::vector<int>> table{{"a", {1, 2}}, {"b", {}}};
  auto const size = upcxx::rpc(
      right,
      [](std::map<std::string, std::vector<int>> const& t) { return t.size(); },
      table);
  UPCXX_ASSERT_ALWAYS(size.wait() == 2);
  // [/containers]

  person const older = upcxx::rpc(
                           right,
                           [](person p) {
                             ++p.age;
                             return p;
                           },
                           person{"Ada", 36})
                           .wait();
  UPCXX_ASSERT_ALWAYS(older.name == "Ada" && older.age == 37);
  UPCXX_ASSERT_ALWAYS(
      upcxx::rpc(
          right, [](circle c) { return c.area() > 12.5; }, circle(2))
          .wait());
  sparse s;
  s.entries = {{3, 1.5}, {900, 2.5}};
  s.size = 1000;
  UPCXX_ASSERT_ALWAYS(
      upcxx::rpc(
          right, [](sparse const& x) { return x.entries.at(900); }, s)
          .wait() == 2.5);
  upcxx::barrier();
  upcxx::finalize();
}
