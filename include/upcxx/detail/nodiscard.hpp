#pragma once

/// What the compiler says of results that are dropped.

/// A future. Functions that return it only for some completions return nothing for others, and there is no warning then.
#define ATOLL_NODISCARD_FUTURE                                                                                \
  [[nodiscard(                                                                                                \
      "nobody would learn when this is complete: wait() for the future, keep it, or ask for another kind of " \
      "completion, such as operation_cx::as_promise")]]
/// Memory.
#define ATOLL_NODISCARD_MEMORY [[nodiscard("nobody could free this memory: keep the pointer")]]
/// A completion object.
#define ATOLL_NODISCARD_REQUEST \
  [[nodiscard("a request for completion asks for nothing until an operation is given it")]]
