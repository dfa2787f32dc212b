#include "orchestrator/alert_reading_store.h"

#include <map>

#include "orchestrator_sql.h"
#include "platform/json_text.h"
#include "platform/read_rows.h"

namespace impresario::orchestrator {

using alerts::Reading;
using platform::Params;
using platform::RowReader;
using platform::Statement;
using platform::Tx;

namespace {

constexpr std::int64_t kNewSeconds = 3600;

struct Asked {
    const Statement* statement;
    Params params = {};
};

/// By the name of the reading.
const std::map<std::string_view, Asked>& all() {
    static const std::map<std::string_view, Asked> asked{
        {"scheduler_silent_seconds", {&sql::read_scheduler_silence}},
        {"scheduler_changes", {&sql::read_scheduler_changes}},
        {"node_silent_seconds", {&sql::read_silent_nodes}},
        {"execution_timeout_percent", {&sql::read_slow_executions}},
        {"outbox_failed", {&sql::read_failed_messages}},
        {"subscriber_disabled_seconds", {&sql::read_disabled_subscribers}},
        {"promises_broken", {&sql::read_broken_promises}},
        {"dead_letters", {&sql::read_dead_letters, Params().add(std::optional<std::int64_t>{})}},
        {"dead_letters_new", {&sql::read_dead_letters, Params().add(kNewSeconds)}},
    };
    return asked;
}

}

const std::vector<std::string_view>& AlertReadingStore::names() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> found;
        for (const auto& [name, ignored] : all()) found.push_back(name);
        return found;
    }();
    return names;
}

std::vector<Reading> AlertReadingStore::read(Tx& tx, std::string_view name) const {
    const auto& asked = all().at(name);
    const auto rows = tx.exec(*asked.statement, asked.params);
    return platform::read_rows(rows, [](RowReader& row) {
        Reading reading;
        reading.labels = alerts::parse_labels(row.view());
        reading.value = row.real();
        reading.evidence = platform::json_strings(row.view());
        return reading;
    });
}

}
