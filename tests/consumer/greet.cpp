#include <upcxx/upcxx.hpp>

int greetings(int from) { return from + 1000; }
