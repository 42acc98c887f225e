#pragma once

/// `upcxx::optional` is the standard's, with its companions.

#include <optional>
#include <utility>

#include <upcxx/detail/config.hpp>

namespace upcxx::inline UPCXX_MODE {

using std::bad_optional_access;
using std::in_place;
using std::in_place_t;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;

}  // namespace upcxx::inline UPCXX_MODE
