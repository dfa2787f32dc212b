// What has ended long ago goes: how long what is kept, and what would go now.
#include "api/api.h"
#include "api/problem.h"
#include "api/turn.h"
#include "journal/retention_store.h"
#include "platform/json_writer.h"

namespace impresario::api {

using journal::RetentionStore;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

namespace {
/// A preview looks at what there is for so long.
constexpr std::chrono::seconds kLongestPreview{20};

std::optional<double> days(const std::optional<domain::Duration>& age) {
    if (!age) return std::nullopt;
    return std::chrono::duration<double>(*age).count() / 86400;
}

void write_policy(JsonWriter& json, const journal::RetentionPolicy& policy) {
    json.open("policy", '{');
    json.field("completed_days", days(policy.completed))
        .field("failed_days", days(policy.failed))
        .field("cancelled_days", days(policy.cancelled))
        .field("dead_days", days(policy.dead))
        .field("events_days", days(policy.events));
    json.close();
}
}

Task<HttpResponse> Api::show_retention(Call call) {
    if (!retention_) co_return problem(503, "not-ready", "this node is still starting");
    auto reading = node_.database().read([](Tx& tx) { return RetentionStore().standing(tx); });
    const auto standing = co_await std::move(reading);
    const bool all = call.caller.looks_after_all();
    JsonWriter json;
    json.open();
    write_policy(json, retention_->settings().policy);
    json.field("every_seconds", retention_->settings().every.count())
        .field("removed_executions", all ? std::optional(standing.executions) : std::nullopt)
        .field("removed_events", all ? std::optional(standing.events) : std::nullopt)
        .field("last_pass_at", standing.last_pass)
        .field("last_pass_seconds", standing.last_pass_seconds);
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::preview_retention(Call call) {
    if (!retention_) co_return problem(503, "not-ready", "this node is still starting");
    if (previewing_retention_)
        co_return problem(409, "under-way", "somebody looks at what would go already; ask again in a moment");
    const Turn turn(previewing_retention_);
    const auto organization = call.caller.scope();
    auto looking = retention_->preview(organization, kLongestPreview);
    const auto preview = co_await std::move(looking);
    JsonWriter json;
    json.open();
    write_policy(json, retention_->settings().policy);
    json.open("executions", '[');
    std::int64_t executions = 0;
    for (const auto& [of, count] : preview.executions) {
        json.open();
        json.field("organization_id", of.first.organization_id)
            .field("workflow_type", of.first.workflow_type)
            .field("status", domain::name(of.second))
            .field("executions", count);
        json.close();
        executions += count;
    }
    json.close(']');
    json.open("tables", '[');
    std::int64_t bytes = 0;
    for (const auto& [table, size] : preview.sizes) {
        json.open();
        json.field("table", table).field("rows", size.rows).field("bytes", size.bytes);
        json.close();
        bytes += size.bytes;
    }
    json.close(']');
    json.field("total_executions", executions)
        .field("total_bytes", bytes)
        .field("held", preview.held)
        .field("complete", !preview.cut);
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
