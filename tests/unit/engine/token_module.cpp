// A library that the token test loads, also as several copies.

extern "C" [[gnu::visibility("default")]] int module_answer(int x);
extern "C" [[gnu::visibility("default")]] int* module_state();

namespace {
int state = 0;
}

int module_answer(int x) { return x + ++state; }
int* module_state() { return &state; }
