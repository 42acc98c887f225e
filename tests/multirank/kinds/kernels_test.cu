// The same tests, compiled for CUDA.
#include "multirank/kinds/kernels_test.cpp"
