// expect: a callback cannot return a view, nor what contains one
#include <array>
#include <optional>
#include <vector>

#include <upcxx/rpc.hpp>
#include <upcxx/view.hpp>

struct whole_again {
  static constexpr int numbers[] = {1, 2, 3};
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer&, whole_again const&) {}
    template <typename Reader, typename Storage>
    static std::vector<int>* deserialize(Reader&, Storage storage) {
      return storage.construct();
    }
  };
};

void test() {
  int numbers[3] = {};
  auto const view = upcxx::make_view(numbers, numbers + 3);
  // Views inside arguments live as long as the call, and what says itself what arrives is believed.
  upcxx::rpc(
      0,
      [](std::vector<upcxx::view<int>>, std::pair<int, upcxx::view<int>>) {
        return std::array<whole_again, 2>();
      },
      std::vector(2, view), std::pair(1, view));
#ifndef CONTROL
  upcxx::rpc(0, [] {
    return std::pair(3, std::optional(upcxx::make_view(whole_again::numbers, whole_again::numbers + 3)));
  });
#endif
}
