#pragma once

#include <string>

namespace apps {

/// The run cannot go on; the text says why and what to try.
struct failure {
  std::string text;
};

}  // namespace apps
