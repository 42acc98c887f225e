#pragma once

/// The few PMIx declarations that we use, written from the published PMIx standard (version 4),
/// so that neither headers nor libraries of PMIx are needed to build. A test compares them with <pmix.h>
/// where that is installed.

#include <cstddef>
#include <cstdint>

namespace atl::bootstrap::pmix_api {

using status = int;
inline constexpr status success = 0;
inline constexpr status not_found = -46;

inline constexpr std::uint32_t rank_wildcard = UINT32_MAX - 1;
inline constexpr std::uint8_t scope_local = 1;
inline constexpr std::uint8_t scope_global = 3;

inline constexpr std::uint16_t type_bool = 1;
inline constexpr std::uint16_t type_string = 3;
inline constexpr std::uint16_t type_uint16 = 13;
inline constexpr std::uint16_t type_uint32 = 14;
inline constexpr std::uint16_t type_byte_object = 27;

inline constexpr char const* key_job_size = "pmix.job.size";
inline constexpr char const* key_local_peers = "pmix.lpeers";
inline constexpr char const* key_refresh_cache = "pmix.get.refresh";
inline constexpr char const* key_collect_data = "pmix.collect";

struct proc {
  char nspace[256];
  std::uint32_t rank;
};

struct byte_object {
  char* bytes;
  std::size_t size;
};

struct value {
  std::uint16_t type;
  union {
    bool flag;
    char* text;
    std::uint16_t uint16;
    std::uint32_t uint32;
    byte_object bo;
    void* largest[3];  ///< the biggest member of the standard's union has three words
  } data;
};

struct info {
  char key[512];
  std::uint32_t flags;
  value content;
};

/// Entry points of libpmix, found by name.
struct functions {
  status (*init)(proc* self, info* infos, std::size_t count);
  status (*finalize)(info const* infos, std::size_t count);
  status (*get)(proc const* of, char const* key, info const* infos, std::size_t count, value** result);
  status (*put)(std::uint8_t scope, char const* key, value* content);
  status (*commit)();
  status (*fence)(proc const* procs, std::size_t count, info const* infos, std::size_t info_count);
  status (*abort)(int status, char const* message, proc* procs, std::size_t count);
  char const* (*error_string)(status code);
  char const* (*version)();
};

/// Those of libpmix, which is opened at the first call and stays. Throws startup_error. (bench/scale has a launcher of its own in its place.)
functions const& library();

}  // namespace atl::bootstrap::pmix_api
