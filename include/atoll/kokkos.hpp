#pragma once
// header check: needs <Kokkos_Core.hpp>

/// Kokkos Views over the memory of global pointers, parts of Views of other ranks, copies from and to them, and their
/// elements in kernels. Needs Kokkos 3.4 or newer; not part of upcxx.hpp.
///
/// Views made here are unmanaged: whoever allocated the memory keeps it until the last kernel and the last
/// copy are done with it. Kokkos does not know of copies, nor the library of kernels: fence() the instance of
/// the execution space that wrote the data before copying it, and wait for a copy (or its notification)
/// before launching kernels that use the data; or put the copy into the instance's stream (stream_of).
///
/// The namespace is atl::kokkos, since `atoll` is a function of the C library.
///
/// This is tested with Kokkos' Serial back end over shared heaps and simulated devices, and with its CUDA
/// back end on GPUs, where nvcc compiles the program. Its other back ends on devices are not provided for.

#include <atoll/extensions/kokkos/copy.hpp>
#include <atoll/extensions/kokkos/kernel_view.hpp>
#include <atoll/extensions/kokkos/shared_view.hpp>
#include <atoll/extensions/kokkos/spaces.hpp>
#include <atoll/extensions/kokkos/streams.hpp>
#include <atoll/extensions/kokkos/subview.hpp>
#include <atoll/extensions/kokkos/views.hpp>
