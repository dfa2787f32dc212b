#pragma once
// What must be true of the tables once everything has ended, whatever went wrong on the way.

#include <map>
#include <string>
#include <vector>

#include "platform/database.h"
#include "tests/storm/receiver.h"

namespace impresario::storm {

/// Everything that is not as promised, in sentences; empty: all is well. `acknowledged`: execution ids by idempotency
/// key.
std::vector<std::string> audit(platform::Connection& connection,
                               const std::map<std::string, std::string>& acknowledged);

/// The tables against what the receiver has seen: one webhook id an attempt, nothing sent that no table tells of,
/// nothing begun twice, nothing sent again but what was refused.
std::vector<std::string> audit_requests(platform::Connection& connection, const std::map<std::string, Asked>& asked);

/// How what has not ended stands and what it waits for.
std::vector<std::string> unfinished(platform::Connection& connection, int most);

}
