#include <atoll/engine/job.hpp>

namespace atl::engine {

constinit job_info job;

}  // namespace atl::engine
