#pragma once

/// What a program says about itself.

#include <string>

namespace atl::tools {

/// Lines "UPCXXKey: value" from the program at `path`. Empty if it has none: not compiled with the library's
/// headers, or no ELF file of this machine's word size.
std::string program_facts(std::string const& path);

}  // namespace atl::tools
