#pragma once

/// The network interfaces of this host, with an entry for each address.

#include <ifaddrs.h>

#include <memory>

namespace atl::os {

/// Null: the system does not tell.
inline std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> own_interfaces() {
  ifaddrs* list = nullptr;
  return {::getifaddrs(&list) == 0 ? list : nullptr, &::freeifaddrs};
}

}  // namespace atl::os
