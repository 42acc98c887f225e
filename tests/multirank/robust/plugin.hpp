#pragma once

// Built twice: as a library that the program is linked with, and as one that it opens at run time.

extern "C" {
/// Sends a lambda of this library to `rank` and returns the answer: argument * 10 + rank + PLUGIN_OFFSET.
int plugin_rpc(int rank, int argument);
/// The same with a function of this library, a functor with state, a completion and a chain of two hops.
int plugin_many(int rank, int argument);
/// a + b + PLUGIN_OFFSET, without any communication.
int plugin_add(int a, int b);
}
