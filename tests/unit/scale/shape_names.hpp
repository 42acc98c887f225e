#pragma once

#include <string>

#include <gtest/gtest.h>

#include "scale/job_shape.hpp"

namespace atl::scale {

inline std::string name_of_shape(testing::TestParamInfo<job_shape> const& of) {
  return std::to_string(of.param.ranks) + "_by_" + std::to_string(of.param.per_host);
}

}  // namespace atl::scale
