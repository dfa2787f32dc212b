#include "priority_queue/columns.h"

#include <map>
#include <memory>
#include <mutex>

#include "platform/gate_json.h"
#include "priority_queue/write_columns.h"

namespace impresario::priority_queue {

using domain::Execution;
using platform::SqlArray;

namespace {

struct Column {
    const char* name;
    /// Of the parameter's elements.
    const char* type;
    /// From the parameter's type to the column's.
    const char* cast;
    void (*add)(SqlArray&, const Execution&);
    bool (*same)(const Execution&, const Execution&);
};

template <class Value>
constexpr Column column(const char* name, const char* type, Value, const char* cast = "") {
    return {name, type, cast, [](SqlArray& array, const Execution& e) { array.add(Value{}(e)); },
            [](const Execution& a, const Execution& b) { return Value{}(a) == Value{}(b); }};
}

/// Text, or NULL where it is empty.
std::optional<std::string_view> filled(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

/// What the live attempt says, or NULL where there is none.
template <class Member>
auto of_attempt(const Execution& e, Member member) -> std::optional<std::decay_t<decltype((*e.attempt).*member)>> {
    if (!e.attempt) return std::nullopt;
    return (*e.attempt).*member;
}

using domain::LiveAttempt;

constexpr Column kColumns[] = {
    column("status", "text", [](const Execution& e) { return domain::name(e.status); }),
    column("priority", "smallint", [](const Execution& e) { return e.priority; }),
    column("scheduled_at", "timestamptz", [](const Execution& e) { return e.scheduled_at; }),
    column("ready", "boolean", [](const Execution& e) { return e.ready; }),
    column("ready_at", "timestamptz", [](const Execution& e) { return e.ready_at; }),
    column("due_at", "timestamptz", [](const Execution& e) { return e.due_at; }),
    column("started_at", "timestamptz", [](const Execution& e) { return e.started_at; }),
    column("completed_at", "timestamptz", [](const Execution& e) { return e.completed_at; }),
    column("timeout_at", "timestamptz", [](const Execution& e) { return e.timeout_at; }),
    column("retry_count", "integer", [](const Execution& e) { return e.retry_count; }),
    column("max_retries", "integer", [](const Execution& e) { return e.max_retries; }),
    column("attempts", "integer", [](const Execution& e) { return e.attempts; }),
    column("attempt_id", "uuid", [](const Execution& e) { return of_attempt(e, &LiveAttempt::id); }),
    column("attempt_state", "text",
           [](const Execution& e) {
               return e.attempt ? std::optional<std::string_view>(domain::name(e.attempt->state)) : std::nullopt;
           }),
    column("attempt_node", "uuid", [](const Execution& e) { return of_attempt(e, &LiveAttempt::node); }),
    column("granted_to", "uuid",
           [](const Execution& e) {
               const bool granted = e.attempt && e.attempt->state == domain::AttemptState::granted;
               return granted ? std::optional(e.attempt->node) : std::nullopt;
           }),
    column("fence", "integer", [](const Execution& e) { return e.attempt ? e.attempt->fence : 0; }),
    column("lease_until", "timestamptz", [](const Execution& e) { return of_attempt(e, &LiveAttempt::lease_until); }),
    column("granted_at", "timestamptz", [](const Execution& e) { return of_attempt(e, &LiveAttempt::granted_at); }),
    column("accepted_at", "timestamptz",
           [](const Execution& e) { return e.attempt ? e.attempt->accepted_at : std::nullopt; }),
    column("endpoint_id", "uuid", [](const Execution& e) { return of_attempt(e, &LiveAttempt::endpoint); }),
    column("deliveries", "integer", [](const Execution& e) { return e.attempt ? e.attempt->deliveries : 0; }),
    column("attempt_cost_microusd", "bigint",
           [](const Execution& e) { return e.attempt ? e.attempt->cost : std::nullopt; }),
    column("attempt_reserved_microusd", "bigint",
           [](const Execution& e) { return e.attempt ? e.attempt->reserved : std::nullopt; }),
    column("attempt_batch_percent", "smallint",
           [](const Execution& e) { return e.attempt ? e.attempt->thrift.smaller() : std::nullopt; }),
    column("attempt_cheaper", "boolean",
           [](const Execution& e) { return e.attempt && e.attempt->thrift.cheaper_variant; }),
    column("opening", "integer", [](const Execution& e) { return e.opening; }),
    column("last_seq", "integer", [](const Execution& e) { return e.last_seq; }),
    column("open_children", "integer", [](const Execution& e) { return e.open_children; }),
    column(
        "gate", "text",
        [](const Execution& e) { return e.gate ? std::optional(platform::gate_json(*e.gate)) : std::nullopt; },
        "::json"),
    column("gate_since", "timestamptz", [](const Execution& e) { return e.gate_since; }),
    column("reason", "text", [](const Execution& e) { return filled(e.reason); }),
    column("duration_ms", "bigint", [](const Execution& e) { return e.duration_ms; }),
    column("cost_microusd", "bigint", [](const Execution& e) { return e.cost; }),
    column("items_processed", "bigint", [](const Execution& e) { return e.items_processed; }),
    column(
        "progress", "text", [](const Execution& e) { return filled(e.progress); }, "::json"),
};
constexpr std::size_t kCount = std::size(kColumns);
static_assert(kCount == Columns().size());

/// update executions e set <columns> from unnest(<arrays>) as u(<columns>) where …
std::string text_for(const Columns& columns) {
    std::string sets = "updated_at = now()";
    std::string arrays = "$1::uuid[]";
    std::string names = "execution_id";
    int parameter = 1;
    for (std::size_t i = 0; i < kCount; ++i) {
        if (!columns[i]) continue;
        const auto& c = kColumns[i];
        sets += std::string(", ") + c.name + " = u." + c.name + c.cast;
        arrays += ", $" + std::to_string(++parameter) + "::" + c.type + "[]";
        names += std::string(", ") + c.name;
    }
    return "update executions e set " + sets + " from unnest(" + arrays + ") as u(" + names +
           ") where e.execution_id = u.execution_id";
}

}

Columns changed_columns(const Execution& before, const Execution& after) {
    Columns changed;
    for (std::size_t i = 0; i < kCount; ++i) changed[i] = !kColumns[i].same(before, after);
    return changed;
}

ColumnsWrite write_columns(Columns columns) {
    // Texts live as long as the process: connections know prepared statements by them.
    static std::mutex mutex;
    static std::map<unsigned long long, std::unique_ptr<const std::string>> texts;
    const std::lock_guard lock(mutex);
    // A handful of moves make nearly all of the changes; a set that is rarer than that shares the text of all columns.
    constexpr std::size_t kMostTexts = 64;
    if (texts.size() >= kMostTexts && !texts.contains(columns.to_ullong())) columns = every_column();
    auto& text = texts[columns.to_ullong()];
    if (!text) text = std::make_unique<const std::string>(text_for(columns));
    return {{"write_executions", *text}, columns};
}

platform::Params column_values(const Columns& columns, const std::vector<const Execution*>& rows) {
    platform::Params params;
    SqlArray ids;
    for (const auto* row : rows) ids.add(row->id);
    params.add(std::move(ids));
    for (std::size_t i = 0; i < kCount; ++i) {
        if (!columns[i]) continue;
        SqlArray values;
        for (const auto* row : rows) kColumns[i].add(values, *row);
        params.add(std::move(values));
    }
    return params;
}

}
