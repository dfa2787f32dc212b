// One word per idea: what C++ calls a thing, SQL calls it too.
#include <gtest/gtest.h>

#include "domain/execution.h"
#include "domain/gate.h"
#include "orchestrator/state_machine.h"
#include "tests/support/database.h"

namespace impresario {
namespace {

std::string check_of(testing::TestDatabase& db, const std::string& table, const std::string& column) {
    return db.value("select string_agg(pg_get_constraintdef(oid), ' ') from pg_constraint where conrelid = '" + table +
                    "'::regclass and contype = 'c' and pg_get_constraintdef(oid) like '%" + column + " = ANY%'");
}

TEST(Names, StatusesAreTheSameInSql) {
    testing::TestDatabase db;
    const auto check = check_of(db, "executions", "status");
    for (int i = 0; i < domain::kStatuses; ++i)
        EXPECT_NE(check.find("'" + std::string(name(static_cast<domain::Status>(i))) + "'"), std::string::npos)
            << check;
    const auto attempts = check_of(db, "executions", "attempt_state");
    for (const auto state :
         {domain::AttemptState::granted, domain::AttemptState::sending, domain::AttemptState::accepted,
          domain::AttemptState::unknown, domain::AttemptState::waiting_redelivery})
        EXPECT_NE(attempts.find("'" + std::string(name(state)) + "'"), std::string::npos);
    const auto states = check_of(db, "orchestrator_state", "state");
    for (int i = 0; i < orchestrator::kHubStates; ++i)
        EXPECT_NE(states.find("'" + std::string(name(static_cast<orchestrator::HubState>(i))) + "'"),
                  std::string::npos);
}

}
}
