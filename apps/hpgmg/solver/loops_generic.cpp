// Compiled for any processor.

#define HPGMG_LOOPS loops_generic
#include "solver/loops.inc"
