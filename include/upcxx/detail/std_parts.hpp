#pragma once

/// The small parts of <memory>, <iterator> and <functional> that public headers name: addressof,
/// construct_at, destroy_at, to_address, allocator, iterator traits and concepts, distance, begin and end,
/// hash, less and its like, and the declarations of reference_wrapper, unique_ptr and filesystem::path.
///
/// libstdc++ has them in headers of their own. The three whole headers bring streams, locales and
/// std::shared_ptr with them and would cost every file of every program a third of a second (GCC 12, -O0).

#include <type_traits>  // defines _GLIBCXX_RELEASE, where that is the library

#if defined(_GLIBCXX_RELEASE)
#include <bits/allocator.h>
#include <bits/functional_hash.h>
#include <bits/ptr_traits.h>
#include <bits/range_access.h>
#include <bits/stl_construct.h>
#include <bits/stl_function.h>
#include <bits/stl_iterator_base_funcs.h>
#include <bits/stl_iterator_base_types.h>

// Only declared, in the words of the library: their own headers bring streams, and whoever has such an object
// has included them.
namespace std _GLIBCXX_VISIBILITY(default) {
  _GLIBCXX_BEGIN_NAMESPACE_VERSION
  template <typename, typename>
  class unique_ptr;
  template <typename>
  struct default_delete;
  namespace filesystem {
#if _GLIBCXX_USE_CXX11_ABI
  // Not with the library's macro, which names the namespace again without "inline": Clang warns of that.
  inline namespace __cxx11 __attribute__((__abi_tag__("cxx11"))) {
    class path;
  }
#else
  class path;
#endif
  }  // namespace filesystem
  _GLIBCXX_END_NAMESPACE_VERSION
}  // namespace )
#else
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#endif
