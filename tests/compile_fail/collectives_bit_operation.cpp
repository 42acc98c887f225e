// expect: op_fast_bit_or: the type must be integral
#include <upcxx/upcxx.hpp>

void right() { upcxx::reduce_all(1, upcxx::op_fast_bit_or); }
#ifndef CONTROL
void wrong() { upcxx::reduce_all(1.5, upcxx::op_fast_bit_or); }
#endif
