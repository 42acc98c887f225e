#pragma once

/// What arrives, for those who make progress. Sending is in <atoll/engine/am.hpp>.

#include <atoll/engine/am.hpp>

namespace atl::engine {

/// Takes user-level messages that poll() finds. Set by the front end before start.
extern void (*message_sink)(message*);

/// Next request or reply, for user-level progress; runs engine-level messages on the way. Null if none.
/// `in_place`: it will be used soon, so it may stay where its sender put it and need not count as part
/// of private memory. Sets `moved` if any message was taken, engine-level ones included.
message* next_user_message(bool in_place, bool& moved);

/// Sends what was parked and goes on with all work that is open; true if anything moved.
/// Part of user-level progress.
bool advance();

}  // namespace atl::engine
