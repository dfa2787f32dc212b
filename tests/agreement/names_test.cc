// One word per idea: what C++ calls a thing, SQL calls it too.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "domain/execution.h"
#include "domain/gate.h"
#include "orchestrator/state_machine.h"
#include "tests/support/database.h"
#include "tests/support/files.h"

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

/// What stands between the bracket at `at` and the one that closes it.
std::string in_brackets(const std::string& text, std::size_t at) {
    bool quoted = false;
    int depth = 0;
    for (auto i = at; i < text.size(); ++i) {
        if (text[i] == '"' && text[i - 1] != '\\') quoted = !quoted;
        if (quoted) continue;
        if (text[i] == '(') ++depth;
        if (text[i] == ')' && --depth == 0) return text.substr(at, i - at);
    }
    return text.substr(at);
}

/// Fields that are logged, and a place of each.
std::map<std::string, std::string> logged_fields() {
    namespace fs = std::filesystem;
    std::map<std::string, std::string> fields;
    const std::regex call("log::(debug|info|warn|error|write)\\(");
    const std::regex field("\\{\"(\\w+)\",");
    for (const auto* room : {"alerts", "api", "cli", "domain", "journal", "orchestrator", "platform", "priority_queue",
                             "reports", "resource_manager", "schedules", "subworkflows", "webhooks"})
        for (const auto& entry : fs::recursive_directory_iterator(testing::kRoot / room)) {
            if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
            const auto text = testing::text_of(entry.path());
            for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
                const auto said = in_brackets(text, static_cast<std::size_t>(at->position() + at->length() - 1));
                for (std::sregex_iterator one(said.begin(), said.end(), field); one != end; ++one)
                    fields[(*one)[1]] = entry.path().string();
            }
        }
    return fields;
}

TEST(Names, FieldsOfTheLogAreThoseThatAreWrittenDown) {
    const auto page = testing::text_of(testing::kRoot / "docs/operations.md");
    const auto begin = page.find("\n## Logs\n");
    const auto section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
    std::set<std::string> listed;
    const std::regex row("\n\\|([^|]*)\\|");
    const std::regex name("`(\\w+)`");
    for (std::sregex_iterator at(section.begin(), section.end(), row), end; at != end; ++at) {
        const std::string cell = (*at)[1];
        for (std::sregex_iterator one(cell.begin(), cell.end(), name); one != end; ++one) listed.insert((*one)[1]);
    }
    const auto logged = logged_fields();
    EXPECT_GT(logged.size(), 50U);
    for (const auto& [field, place] : logged)
        EXPECT_TRUE(listed.contains(field)) << place << " logs " << field << ", which docs/operations.md does not list";
    // Said by platform/log itself.
    const std::set<std::string> of_each_line{"time", "level", "component", "message", "worker_id"};
    for (const auto& field : listed)
        EXPECT_TRUE(logged.contains(field) || of_each_line.contains(field)) << "nobody logs " << field;
    // 000, Observability decisions: those of its ideas that there are here have its names, and nothing else has.
    for (const auto* field : {"workflow_type", "attempts", "worker_id", "error", "latency_ms"})
        EXPECT_TRUE(listed.contains(field)) << field;
    for (const auto* another :
         {"workflow", "type", "lane", "attempt", "worker", "node", "node_id", "why", "reason_text", "err", "failure",
          "execution", "took", "seconds", "duration", "duration_ms", "ms"})
        EXPECT_FALSE(listed.contains(another)) << another << " is another word for one of 000's";
}

}
}
