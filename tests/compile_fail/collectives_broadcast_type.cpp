// expect: broadcast: T must be TriviallySerializable
#include <string>

#include <upcxx/upcxx.hpp>

void right() { upcxx::broadcast(1, 0); }
#ifndef CONTROL
void wrong() { upcxx::broadcast(std::string("text"), 0); }
#endif
