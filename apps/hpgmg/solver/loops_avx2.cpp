// Compiled for avx2.

#define HPGMG_LOOPS loops_avx2
#include "solver/loops.inc"
