// Every form of completion with every operation of this group (communication digest, chapter 10).

#include "completion_forms_cases.hpp"

namespace multirank::forms {
INSTANTIATE_TYPED_TEST_SUITE_P(copies, completion_test, copies);
}
