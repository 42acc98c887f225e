// Every form of completion with calls (communication digest, chapter 10). They complete when the reply comes.

#include "completion_forms_cases.hpp"
#include "completion_together_cases.hpp"

namespace multirank::forms {

using calls = testing::Types<rpc_int>;
INSTANTIATE_TYPED_TEST_SUITE_P(calls, completion_test, calls);

using more_calls = testing::Types<rpc_void>;
INSTANTIATE_TYPED_TEST_SUITE_P(calls, completion_together_test, more_calls);

}  // namespace multirank::forms
