#pragma once

/// Subcommands of `atoll`. Each gets its own arguments, its name first, and returns the exit status.

namespace atl::tools {

int run_command(int argc, char** argv);
int info_command(int argc, char** argv);
int doctor_command(int argc, char** argv);
int picture_command(int argc, char** argv);

}  // namespace atl::tools
