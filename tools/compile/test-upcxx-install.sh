#!/bin/sh
# Compiles and runs a small program in all modes with the installation that this script belongs to.
#   test-upcxx-install.sh [RANKS]
set -eu
bin=$(dirname "$(readlink -f "$0")")
ranks=${1:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/check.cpp" << 'END'
#include <cstdio>
#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const sum = upcxx::reduce_all(upcxx::rank_me() + 1, upcxx::op_fast_add).wait();
  int const next = upcxx::rpc((upcxx::rank_me() + 1) % upcxx::rank_n(), [] { return upcxx::rank_me(); }).wait();
  bool const good = sum == upcxx::rank_n() * (upcxx::rank_n() + 1) / 2 &&
                    next == (upcxx::rank_me() + 1) % upcxx::rank_n();
  if (upcxx::rank_me() == 0) std::printf("%d ranks: %s\n", upcxx::rank_n(), good ? "SUCCESS" : "FAILURE");
  upcxx::finalize();
  return good ? 0 : 1;
}
END
for codemode in opt debug; do
  for threadmode in seq par; do
    echo "codemode $codemode, threadmode $threadmode"
    "$bin/upcxx" -codemode=$codemode -threadmode=$threadmode "$work/check.cpp" -o "$work/check"
    "$bin/upcxx-run" -n "$ranks" "$work/check"
  done
done
