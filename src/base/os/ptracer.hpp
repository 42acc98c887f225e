#pragma once

/// Who may read this process' memory where Yama restricts that to ancestors (ptrace_scope 1, as Ubuntu has it).

#include <sys/prctl.h>
#include <sys/types.h>

#ifndef PR_SET_PTRACER  // Linux 3.4; not in every C library
#define PR_SET_PTRACER 0x59616d61
#endif

namespace atl::os {

/// The process `ancestor` and all its descendants may (0: nobody). Without Yama the call is refused, and all
/// processes of the same user may anyway.
inline void let_read_memory(pid_t ancestor) noexcept {
  ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(ancestor), 0, 0, 0);
}
/// All processes may that could without Yama: those of the same user.
inline void let_anybody_read_memory() noexcept { ::prctl(PR_SET_PTRACER, ~0UL, 0, 0, 0); }

}  // namespace atl::os
