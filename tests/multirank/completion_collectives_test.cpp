// Every form of completion with collectives (communication digest, chapter 10).
// They complete in later progress.

#include "completion_forms_cases.hpp"
#include "completion_together_cases.hpp"

namespace multirank::forms {

using collectives = testing::Types<reduce_all_value>;
INSTANTIATE_TYPED_TEST_SUITE_P(collectives, completion_test, collectives);

using more_collectives = testing::Types<barrier_op, broadcast_value, broadcast_bulk, reduce_one_value,
                                        reduce_all_bulk, reduce_one_bulk>;
INSTANTIATE_TYPED_TEST_SUITE_P(collectives, completion_together_test, more_collectives);

}  // namespace multirank::forms
