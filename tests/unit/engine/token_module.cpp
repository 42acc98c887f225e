// A library that the token test loads, also as several copies and in two builds.

extern "C" [[gnu::visibility("default")]] int module_answer(int x);
extern "C" [[gnu::visibility("default")]] int* module_state();

namespace {
int state = FIRST_STATE;
}

int module_answer(int x) { return x + ++state; }
int* module_state() { return &state; }
