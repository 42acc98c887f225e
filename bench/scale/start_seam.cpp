// What the library calls when it starts and the model does instead: these functions take the place of src/bootstrap/pmix_library.cpp,
// src/bootstrap/late_ranks.cpp (none is late), src/bootstrap/keeper/post.cpp (no keeper is started) and src/transport/plugins.cpp. A start in full
// also links what sends messages that the model does not know; one that is sent ends the program.

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "bootstrap/keeper/post.hpp"
#include "bootstrap/late_ranks.hpp"
#include "bootstrap/pmix_api.hpp"
#include "engine/progress/messages.hpp"
#include "scale/counting_network.hpp"
#include "scale/virtual_launcher.hpp"
#include "transport/plugins.hpp"

namespace atl::bootstrap {

pmix_api::functions const& pmix_api::library() {
  using launcher = scale::virtual_launcher;
  static functions const of_model{
      [](proc* self, info*, std::size_t) {
        *self = {};
        self->rank = static_cast<std::uint32_t>(launcher::here().mine().rank);
        return success;
      },
      [](info const*, std::size_t) { return success; },
      [](proc const* of, char const* key, info const*, std::size_t, value** result) {
        return launcher::here().get(*of, key, result);
      },
      [](std::uint8_t scope, char const* key, value* content) {
        return launcher::here().put(scope, key, content->data.bo);
      },
      [] { return success; },
      [](proc const* among, std::size_t count, info const*, std::size_t) {
        return launcher::here().fence(among, count);
      },
      [](int status, char const*, proc*, std::size_t) -> pmix_api::status { std::_Exit(status); },
      [](status) -> char const* { return "the model's launcher has no such thing, or a rank has ended"; },
      []() -> char const* { return "of the model"; }};
  return of_model;
}

late_ranks::~late_ranks() = default;
void late_ranks::watch(std::int32_t, std::int32_t, std::vector<std::int32_t>, std::string,
                       std::function<void()>) {}

}  // namespace atl::bootstrap

namespace atl::keeping {

post open_post(std::string_view, std::string_view, std::string_view) { return {}; }
bool is_installed() { return true; }
std::string start_keeper(orders const&, int, std::vector<os::unique_fd> const&) { return {}; }
std::string words_of_ranks(std::vector<std::int32_t> const&) { return {}; }

}  // namespace atl::keeping

namespace atl::transport {
namespace {
constexpr std::string_view the_one_network[] = {"counting"};
}

std::span<std::string_view const> known_plugins() noexcept { return the_one_network; }

opened_network open_plugin(std::string_view, network_config const& config) {
  return {std::make_unique<scale::counting_network>(scale::virtual_launcher::here(), config.rank, 0, false),
          {}};
}

}  // namespace atl::transport

namespace atl::engine {
namespace {
[[noreturn]] void unknown(char const* what) { fatal("scale model", "the model does not know %s", what); }
}  // namespace

void am_begin_data(outgoing&, std::int32_t, std::size_t, pressure, std::size_t) {
  unknown("am_begin_data()");
}
void am_begin_unordered(outgoing&, std::int32_t, std::size_t, pressure, std::size_t) {
  unknown("am_begin_unordered()");
}
bool am_at_once(std::int32_t, function_token, void const*, std::size_t) noexcept { unknown("am_at_once()"); }
void am_short_unordered(std::int32_t, function_token, void const*, std::size_t) {
  unknown("am_short_unordered()");
}
void am_acknowledge(std::int32_t, function_token, void const*, std::size_t) { unknown("am_acknowledge()"); }

}  // namespace atl::engine
