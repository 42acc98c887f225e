// Our declarations of PMIx against the library's own header.

#include "bootstrap/pmix_api.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

#include <cstddef>
#include <type_traits>

#include "support/parameters.hpp"

namespace {

namespace api = atl::bootstrap::pmix_api;
using support::parameters_of;

template <class Ours, class Theirs>
constexpr bool same_size = sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);

static_assert(same_size<api::proc, pmix_proc_t> && offsetof(api::proc, rank) == offsetof(pmix_proc_t, rank));
static_assert(same_size<api::byte_object, pmix_byte_object_t> &&
              offsetof(api::byte_object, size) == offsetof(pmix_byte_object_t, size));
static_assert(same_size<api::value, pmix_value_t> &&
              offsetof(api::value, data) == offsetof(pmix_value_t, data));
static_assert(same_size<api::info, pmix_info_t> &&
              offsetof(api::info, flags) == offsetof(pmix_info_t, flags) &&
              offsetof(api::info, content) == offsetof(pmix_info_t, value));
static_assert(std::is_same_v<api::status, pmix_status_t>);
static_assert(std::is_same_v<std::uint8_t, pmix_scope_t>);

TEST(pmix_api, constants_are_those_of_the_header) {
  EXPECT_EQ(api::success, PMIX_SUCCESS);
  EXPECT_EQ(api::not_found, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(api::rank_wildcard, PMIX_RANK_WILDCARD);
  EXPECT_EQ(api::scope_local, PMIX_LOCAL);
  EXPECT_EQ(api::type_bool, PMIX_BOOL);
  EXPECT_EQ(api::scope_global, PMIX_GLOBAL);
  EXPECT_EQ(api::type_string, PMIX_STRING);
  EXPECT_EQ(api::type_uint16, PMIX_UINT16);
  EXPECT_EQ(api::type_uint32, PMIX_UINT32);
  EXPECT_EQ(api::type_byte_object, PMIX_BYTE_OBJECT);
  EXPECT_STREQ(api::key_job_size, PMIX_JOB_SIZE);
  EXPECT_STREQ(api::key_local_peers, PMIX_LOCAL_PEERS);
  EXPECT_STREQ(api::key_collect_data, PMIX_COLLECT_DATA);
  EXPECT_STREQ(api::key_refresh_cache, PMIX_GET_REFRESH_CACHE);
}

TEST(pmix_api, functions_take_as_many_parameters) {
  EXPECT_EQ(parameters_of(decltype(api::functions::init){}), parameters_of(&PMIx_Init));
  EXPECT_EQ(parameters_of(decltype(api::functions::finalize){}), parameters_of(&PMIx_Finalize));
  EXPECT_EQ(parameters_of(decltype(api::functions::get){}), parameters_of(&PMIx_Get));
  EXPECT_EQ(parameters_of(decltype(api::functions::put){}), parameters_of(&PMIx_Put));
  EXPECT_EQ(parameters_of(decltype(api::functions::commit){}), parameters_of(&PMIx_Commit));
  EXPECT_EQ(parameters_of(decltype(api::functions::fence){}), parameters_of(&PMIx_Fence));
  EXPECT_EQ(parameters_of(decltype(api::functions::abort){}), parameters_of(&PMIx_Abort));
  EXPECT_TRUE((std::is_same_v<decltype(api::functions::error_string), decltype(&PMIx_Error_string)>));
  EXPECT_TRUE((std::is_same_v<decltype(api::functions::version), decltype(&PMIx_Get_version)>));
  EXPECT_TRUE((std::is_same_v<decltype(api::functions::commit), decltype(&PMIx_Commit)>));
}

}  // namespace
