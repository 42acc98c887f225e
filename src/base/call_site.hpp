#pragma once

/// Where in the program the library was called.

#include <cstddef>
#include <string>
#include <vector>

#include "base/symbols.hpp"

namespace atl {

/// Return addresses of the calling thread, innermost first.
std::vector<void*> return_addresses();

/// The functions of the program among `addresses`, innermost first: without those of this library, of the
/// standard libraries, and of what runs before main. At most `most`.
std::vector<code_line> program_lines(std::vector<void*> const& addresses, std::size_t most,
                                     code_names& names);

/// "  called from f(int) (stencil.cpp:42)\n  from main (stencil.cpp:80)\n", or nothing if no function of the
/// program is on the stack.
std::string call_site();

/// "f(int) (stencil.cpp:42)"
std::string to_string(code_line const& line);

}  // namespace atl
