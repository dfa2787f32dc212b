#include "orchestrator/output_store.h"

#include <set>

#include "domain/event.h"
#include "journal/event_store.h"
#include "orchestrator_sql.h"
#include "platform/json_writer.h"
#include "platform/read_rows.h"

namespace impresario::orchestrator {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

OutputReply OutputStore::append(Tx& tx, const domain::ExecutionId& execution, const domain::AttemptId& attempt,
                                const std::vector<OutputEntry>& entries, const domain::NodeId& writer) const {
    OutputReply reply;
    const auto held = tx.exec(sql::lock_for_output, Params().add(execution).add(attempt));
    if (held.empty()) return {OutputReply::Outcome::closed};
    RowReader row(held, 0);
    const auto organization = row.text();
    if (!row.flag()) return {OutputReply::Outcome::closed};
    const int number = row.small();
    int seq = row.small();
    const auto after = row.integer();
    const int said = row.small();

    std::set<std::string, std::less<>> known;
    SqlArray named;
    for (const auto& entry : entries)
        if (!entry.event_id.empty()) named.add(entry.event_id);
    if (named.size() > 0) {
        const auto before = tx.exec(sql::published_before, Params().add(execution).add(std::move(named)).add(after));
        for (std::size_t i = 0; i < before.size(); ++i) known.insert(RowReader(before, i).text());
    }
    std::vector<domain::Event> events;
    for (const auto& entry : entries) {
        // The same twice in one request is known as well.
        if (!entry.event_id.empty() && !known.insert(entry.event_id).second) {
            ++reply.known;
            continue;
        }
        domain::Event event;
        event.stream = execution.value;
        event.seq = ++seq;
        event.organization_id = organization;
        event.type = entry.type;
        event.payload = "{\"attempt\":" + std::to_string(number);
        if (!entry.event_id.empty()) event.payload += ",\"event_id\":" + platform::json_quoted(entry.event_id);
        event.payload += "," + entry.members + "}";
        events.push_back(std::move(event));
    }
    if (said + static_cast<int>(events.size()) > kMostOutput) return {OutputReply::Outcome::full};
    reply.written = static_cast<int>(events.size());
    if (events.empty()) return reply;
    tx.send(sql::count_output, Params().add(execution).add(seq));
    journal::EventStore().append(tx, events, writer);
    return reply;
}

std::vector<OutputEvent> OutputStore::read(Tx& tx, const domain::ExecutionId& execution, std::string_view type,
                                           int after, int most) const {
    const auto rows = tx.exec(sql::read_output, Params().add(execution).add(type).add(after).add(most));
    return platform::read_rows(rows, [](RowReader& row) {
        OutputEvent event;
        event.seq = row.small();
        event.at = row.time();
        event.payload = row.text();
        return event;
    });
}

}
