#pragma once

/// What programs of ranks are told by `atoll bench`: words of the form name=value.

#include <cstddef>
#include <string>
#include <vector>

#include "harness/group.hpp"

namespace atl::bench {

struct option {
  std::string name;
  std::string value;  ///< empty if there is no '='
};

option option_of(std::string const& word);

/// Words apart by commas.
std::vector<std::string> split(std::string const& text);
/// Numbers of bytes apart by commas.
std::vector<std::size_t> sizes_of(std::string const& text);

/// How to measure: blocks, block_us, give_up_us. False: it is another option.
bool take_measuring(group_config& config, option const& given);

}  // namespace atl::bench
