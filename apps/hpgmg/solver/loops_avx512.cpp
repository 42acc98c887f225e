// Compiled for avx512.

#define HPGMG_LOOPS loops_avx512
#include "solver/loops.inc"
