#pragma once

/// What a program was compiled as, written into it. Included last by upcxx.hpp.
///
/// Facts, one "UPCXXKey: value" a line, in an ELF note: `upcxx-run -info program` prints them, and the
/// library compares those of all loaded modules. They lie in a section group, of which the linker keeps one
/// for each module; every object file refers to a symbol of its mode's group. Where files of several modes
/// meet, the reference of those whose group was dropped cannot be resolved, and the linker prints the
/// symbol's name: the message.

#include <upcxx/detail/config.hpp>

#if defined(__ELF__) && !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)

#define ATOLL_TEXT_OF(x) #x
#define ATOLL_TEXT(x) ATOLL_TEXT_OF(x)

#ifdef UPCXX_THREADMODE
#define ATOLL_THREADMODE_TEXT "par"
#else
#define ATOLL_THREADMODE_TEXT "seq"
#endif
#ifdef UPCXX_CODEMODE
#define ATOLL_CODEMODE_TEXT "opt"
#else
#define ATOLL_CODEMODE_TEXT "debug"
#endif

#if defined(UPCXX_NETWORK_UDP)
#define ATOLL_NETWORK_TEXT "UDP"
#elif defined(UPCXX_NETWORK_IBV)
#define ATOLL_NETWORK_TEXT "IBV"
#elif defined(UPCXX_NETWORK_ARIES)
#define ATOLL_NETWORK_TEXT "ARIES"
#elif defined(UPCXX_NETWORK_MPI)
#define ATOLL_NETWORK_TEXT "MPI"
#elif defined(UPCXX_NETWORK_OFI)
#define ATOLL_NETWORK_TEXT "OFI"
#elif defined(UPCXX_NETWORK_UCX)
#define ATOLL_NETWORK_TEXT "UCX"
#else
#define ATOLL_NETWORK_TEXT "SMP"
#endif

#ifdef UPCXX_KIND_CUDA
#define ATOLL_CUDA_TEXT "UPCXXKindCUDA: " ATOLL_TEXT(UPCXX_KIND_CUDA) "\\nUPCXXCUDAEnabled: 1\\n"
#else
#define ATOLL_CUDA_TEXT "UPCXXCUDAEnabled: 0\\n"
#endif
#ifdef UPCXX_KIND_HIP
#define ATOLL_HIP_TEXT "UPCXXKindHIP: " ATOLL_TEXT(UPCXX_KIND_HIP) "\\nUPCXXHIPEnabled: 1\\n"
#else
#define ATOLL_HIP_TEXT "UPCXXHIPEnabled: 0\\n"
#endif
#ifdef UPCXX_KIND_ZE
#define ATOLL_ZE_TEXT "UPCXXKindZE: " ATOLL_TEXT(UPCXX_KIND_ZE) "\\nUPCXXZEEnabled: 1\\n"
#else
#define ATOLL_ZE_TEXT "UPCXXZEEnabled: 0\\n"
#endif

#define ATOLL_MODE_SYMBOL \
  "upcxx_error__files_of_one_program_differ_in_codemode_or_threadmode__this_one_is_" ATOLL_TEXT(UPCXX_MODE)

namespace upcxx::inline UPCXX_MODE::detail {

/// Never called: carries the assembly text. It is in a function, because link-time optimisation makes one of
/// the equal functions of many files, but would put text at file level together, and symbols with it. Where
/// functions of several modes are put together, the condition keeps the second from defining its symbol
/// beside the first.
[[gnu::used, gnu::noinline, gnu::visibility("hidden")]] inline void identity() {
  // The first note is in the group; the second, of each file, only refers to it.
  __asm__(".ifndef .Latoll_identity\n"
          ".set .Latoll_identity, 1\n"
          ".pushsection .note.upcxx.facts, \"aG\", %note, upcxx_identity, comdat\n"
          ".balign 4\n"
          ".globl " ATOLL_MODE_SYMBOL "\n"
          ".hidden " ATOLL_MODE_SYMBOL "\n" ATOLL_MODE_SYMBOL ":\n"
          ".long 6, 1f - 0f, 1\n"
          ".asciz \"UPCXX\"\n"
          ".balign 4\n"
          "0: .ascii \"UPCXXVersion: " ATOLL_TEXT(UPCXX_VERSION) "\\n"
          "UPCXXSpecVersion: " ATOLL_TEXT(UPCXX_SPEC_VERSION) "\\n"
          "UPCXXNetwork: " ATOLL_NETWORK_TEXT "\\n"
          "UPCXXThreadMode: " ATOLL_THREADMODE_TEXT "\\n"
          "UPCXXCodeMode: " ATOLL_CODEMODE_TEXT "\\n"
          ATOLL_CUDA_TEXT ATOLL_HIP_TEXT ATOLL_ZE_TEXT
          "UPCXXCompilerVersion: " __VERSION__ "\\n\"\n"
          "1: .balign 4\n"
          ".popsection\n"
          ".endif\n"
          ".pushsection .note.upcxx.file, \"a\", %note\n"
          ".balign 4\n"
          ".hidden " ATOLL_MODE_SYMBOL "\n"
          ".long 6, 4, 2\n"
          ".asciz \"UPCXX\"\n"
          ".balign 4\n"
          ".long " ATOLL_MODE_SYMBOL " - .\n"
          ".popsection\n");
}

}  // namespace upcxx::inline UPCXX_MODE::detail

#undef ATOLL_TEXT_OF
#undef ATOLL_TEXT
#undef ATOLL_THREADMODE_TEXT
#undef ATOLL_CODEMODE_TEXT
#undef ATOLL_NETWORK_TEXT
#undef ATOLL_CUDA_TEXT
#undef ATOLL_HIP_TEXT
#undef ATOLL_ZE_TEXT
#undef ATOLL_MODE_SYMBOL

#endif
