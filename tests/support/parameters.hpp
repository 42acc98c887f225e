#pragma once

/// For tests that compare our declarations of a library with its own header.

namespace support {

/// How many parameters a function takes, by the type of a pointer to it. Lists agree when each parameter is the same
/// or points to structures proven alike.
template <class Result, class... Parameters>
consteval int parameters_of(Result (* /*function*/)(Parameters...)) {
  return sizeof...(Parameters);
}

}  // namespace support
