#include "subworkflows/content_pipeline/report.h"

#include <algorithm>
#include <cmath>

#include "platform/json_writer.h"

namespace impresario::subworkflows::content_pipeline {

using domain::CallbackStatus;
using platform::json_quoted;
using platform::JsonWriter;

namespace {

/// Reasons that the message of a failure names.
constexpr std::size_t kReasonsNamed = 3;

/// Three places, and 1 only for what is the same.
double shown(double similarity) { return similarity < 1 ? std::min(std::round(similarity * 1000) / 1000, 0.999) : 1.0; }

void write(JsonWriter& json, const Draft& draft) {
    json.open();
    json.field("key", draft.key).field("title", draft.title).field("slug", draft.slug);
    json.texts("summary", draft.summary);
    json.texts("keywords", draft.keywords);
    json.field("language", code(draft.language))
        .field("words", draft.words)
        .field("reading_minutes", draft.reading_minutes);
    if (draft.duplicate)
        json.field("duplicate_of", draft.duplicate->id.text())
            .field("duplicate_of_key", draft.duplicate->key)
            .field("similarity", shown(draft.duplicate->similarity));
    json.field("draft_id", draft.id.text());
    json.close();
}

std::string result_data(const Outcome& outcome) {
    JsonWriter json;
    json.open();
    json.open("drafts", '[');
    for (const auto& draft : outcome.drafts) write(json, draft);
    json.close(']');
    json.field("duplicates", std::count_if(outcome.drafts.begin(), outcome.drafts.end(),
                                           [](const Draft& draft) { return draft.duplicate.has_value(); }));
    json.close();
    return std::move(json).text();
}

domain::ItemOutcome item(const std::string& key, const Outcome& outcome) {
    domain::ItemOutcome item;
    item.key = key;
    JsonWriter json;
    json.open();
    json.field("key", key);
    const auto fault = std::find_if(outcome.failed.begin(), outcome.failed.end(),
                                    [&](const FailedItem& failed) { return failed.key == key; });
    item.failed = fault != outcome.failed.end();
    json.field("status", item.failed ? "failed" : "completed");
    if (item.failed) json.field("error", fault->fault.what);
    json.close();
    item.json = std::move(json).text();
    return item;
}

std::string reasons(const std::vector<FailedItem>& failed) {
    std::string text;
    for (std::size_t i = 0; i < std::min(failed.size(), kReasonsNamed); ++i)
        text += (i ? "; '" : "'") + failed[i].key + "' " + failed[i].fault.what;
    if (failed.size() > kReasonsNamed) text += "; and " + std::to_string(failed.size() - kReasonsNamed) + " more";
    return text;
}

domain::Callback nothing_went_well(const Outcome& outcome) {
    const auto count = outcome.failed.size();
    auto callback = failure(
        (count == 1 ? std::string("the document failed: ") : "all " + std::to_string(count) + " documents failed: ") +
            reasons(outcome.failed),
        std::any_of(outcome.failed.begin(), outcome.failed.end(),
                    [](const FailedItem& failed) { return failed.fault.can_mend; }));
    for (const auto& failed : outcome.failed)
        if (failed.fault.retry_after) callback.retry_after = std::max(callback.retry_after, failed.fault.retry_after);
    JsonWriter json;
    json.open();
    json.field("message", callback.error_message).field("retry_recommended", callback.retry_recommended);
    if (callback.retry_after) json.field("retry_after_seconds", callback.retry_after->count() / 1'000'000);
    json.open("items", '[');
    for (const auto& key : outcome.keys) json.element(item(key, outcome).json);
    json.close(']');
    json.close();
    callback.error_data = std::move(json).text();
    return callback;
}

}

domain::Callback report(const Outcome& outcome) {
    domain::Callback callback;
    if (outcome.drafts.empty()) {
        callback = nothing_went_well(outcome);
    } else {
        callback.result_data = result_data(outcome);
        if (!outcome.failed.empty()) {
            callback.status = CallbackStatus::partial;
            for (const auto& key : outcome.keys) callback.items.push_back(item(key, outcome));
        }
    }
    callback.items_processed = static_cast<std::int64_t>(outcome.drafts.size());
    callback.api_calls = outcome.fetches;
    return callback;
}

domain::Callback failure(std::string message, bool retry_recommended) {
    domain::Callback callback;
    callback.status = CallbackStatus::failed;
    callback.error_message = std::move(message);
    callback.retry_recommended = retry_recommended;
    return callback;
}

}
