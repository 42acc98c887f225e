// Every form of completion with contiguous transfers (communication digest, chapter 10). They complete while
// the call is made.

#include "completion_forms_cases.hpp"
#include "completion_together_cases.hpp"

namespace multirank::forms {

using rma = testing::Types<rput_bulk, rget_value>;
INSTANTIATE_TYPED_TEST_SUITE_P(rma, completion_test, rma);

using more_rma = testing::Types<rput_value, rput_empty, rget_bulk, rget_empty>;
INSTANTIATE_TYPED_TEST_SUITE_P(rma, completion_together_test, more_rma);

}  // namespace multirank::forms
