#pragma once

/// Which GPU a rank uses unless its program names another one. Read from /sys: a driver that is asked takes hundreds of milliseconds
/// to start, and networks are opened before anybody knows whether the program wants a GPU at all.

#include <string>
#include <vector>

namespace atl::transport {

/// Bus addresses ("0000:1b:00.0") of the GPUs among which a rank chooses, as their numbers go: NVIDIA's, else AMD's, in the order of the
/// bus, as far as this process may open them and CUDA_VISIBLE_DEVICES, or ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES, let them be seen. None where
/// these say by names that are no numbers (UUIDs, MIG) which they are, or where ATOLL_CUDA_DRIVER, ATOLL_HIP_DRIVER turn the kind off.
/// Intel's have no place here: their driver counts tiles as devices, which /sys does not show.
/// `root`: before /sys, /proc and /dev.
std::vector<std::string> usable_gpus(std::string const& root = "");

/// The one of them that device::auto_device_id gives a rank first; empty: there is none, or nobody knows.
std::string gpu_of_rank(int local_rank, std::string const& root = "");

}  // namespace atl::transport
