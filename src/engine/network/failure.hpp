#pragma once

/// What is said when the network has not done what it was asked for.

#include <cstdint>
#include <string>

#include "transport/network_types.hpp"

namespace atl::engine {

class network_messages;

/// Ends the job: the event of an operation to or from `peer` was neither ok nor one that messages make good.
/// @param what  the operation with bytes and rank, such as "a put of 8 bytes to rank 1"
/// @param instead  how to do without operations of that sort, a sentence without its full stop
[[noreturn]] void operation_failed(network_messages& by, transport::outcome how, std::int32_t peer,
                                   std::string const& what, char const* instead);

inline constexpr char const* without_direct_transfers =
    "ATOLL_DIRECT_FROM=1TB leaves puts and gets to messages, ATOLL_TRANSPORTS to another network";
inline constexpr char const* without_network_atomics =
    "ATOLL_NETWORK_ATOMICS=no leaves atomic operations to processors, ATOLL_TRANSPORTS to another network";
inline constexpr char const* without_device_memory =
    "ATOLL_NETWORK_DEVICE_MEMORY=no takes device memory through host memory, ATOLL_TRANSPORTS through another network";
inline constexpr char const* without_that_network = "ATOLL_TRANSPORTS names another network";

}  // namespace atl::engine
