#pragma once

#include <upcxx/detail/config.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

template <typename... T>
struct type_list {};

}  // namespace upcxx::inline UPCXX_MODE::detail
