// The one file that knows hwloc. Builds without it get the other half.

#include "base/error.hpp"
#include "topology/topology.hpp"

#ifdef ATOLL_HAS_HWLOC

#include <hwloc.h>

#include <memory>

namespace atl::tools {
namespace {

std::vector<cpu_group> groups_of(hwloc_topology_t machine, hwloc_obj_type_t type, char const* name,
                                 std::vector<int> const& usable) {
  std::vector<cpu_group> groups;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(machine, type, nullptr); object != nullptr;
       object = hwloc_get_next_obj_by_type(machine, type, object)) {
    cpu_group group;
    group.name = format("%s %u", name,
                        object->os_index == HWLOC_UNKNOWN_INDEX ? object->logical_index : object->os_index);
    for (int const cpu : usable) {
      if (hwloc_bitmap_isset(object->cpuset, static_cast<unsigned>(cpu)) != 0) group.cpus.push_back(cpu);
    }
    if (!group.cpus.empty()) groups.push_back(std::move(group));
  }
  // Where the system hides a level, as some virtual machines do, the machine is one of it, and each thread a core.
  if (groups.empty() && type == HWLOC_OBJ_CORE) {
    for (int const cpu : usable) groups.push_back({name, {cpu}});
  } else if (groups.empty()) {
    groups.push_back({std::string(name) + " 0", usable});
  }
  return groups;
}

}  // namespace

topology read_topology(std::vector<int> const& usable) {
  topology result;
  hwloc_topology_t machine = nullptr;
  if (hwloc_topology_init(&machine) != 0) {
    result.source = "hwloc cannot be initialised";
    return result;
  }
  std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)> const held(machine, &hwloc_topology_destroy);
  if (hwloc_topology_load(machine) != 0) {
    result.source = "hwloc cannot read the machine";
    return result;
  }
  result.known = true;
  result.source = "hwloc " HWLOC_VERSION;
  result.sockets = groups_of(machine, HWLOC_OBJ_PACKAGE, "socket", usable);
  result.numa_nodes = groups_of(machine, HWLOC_OBJ_NUMANODE, "numa", usable);
  result.cores = groups_of(machine, HWLOC_OBJ_CORE, "core", usable);
  return result;
}

}  // namespace atl::tools

#else

namespace atl::tools {

topology read_topology(std::vector<int> const&) {
  topology result;
  result.source = "this build has no hwloc (Debian: libhwloc-dev)";
  return result;
}

}  // namespace atl::tools

#endif
