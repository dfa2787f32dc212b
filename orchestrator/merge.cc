// decide_parent: how the parts of a partial result come together again (protocol R12).
#include <map>

#include "orchestrator/decide.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::orchestrator {

using domain::Status;
using platform::JsonWriter;

namespace {

struct Item {
    std::string key;
    std::string json;
    bool failed = false;
};

std::vector<Item> items_of(const std::string& json) {
    std::vector<Item> items;
    for (const auto element : platform::json_elements(json)) {
        Item item;
        if (const auto key = platform::json_member(element, "key")) item.key = platform::json_string(*key);
        if (const auto status = platform::json_member(element, "status"))
            item.failed = platform::json_string(*status) == "failed";
        item.json = std::string(element);
        items.push_back(std::move(item));
    }
    return items;
}

std::string item_json(const std::string& key, bool failed, const priority_queue::ChildResult& child) {
    JsonWriter json;
    json.open();
    json.field("key", key).field("status", failed ? "failed" : "completed").field("execution_id", child.id.text());
    if (failed && !child.error_data.empty()) json.raw("error", child.error_data);
    json.close();
    return std::move(json).text();
}

}

std::optional<Decision> decide_orphans(const domain::Execution& before) {
    if (!domain::terminal(before.status) || before.open_children == 0) return std::nullopt;
    Decision decision;
    decision.after = before;
    decision.after.open_children = 0;
    decision.changed = true;
    return decision;
}

Decision decide_parent(const domain::Execution& before, const std::vector<priority_queue::ChildResult>& children,
                       const priority_queue::ResultRecord& own, const Circumstances& circumstances) {
    Decision decision;
    decision.after = before;
    if (before.status != Status::running || before.attempt || before.open_children == 0) return decision;
    domain::Execution& row = decision.after;

    int open = 0;
    for (const auto& child : children)
        if (!domain::terminal(child.status)) ++open;
    if (open > 0) return decision;

    auto items = items_of(own.items);
    std::map<std::string, Item*> by_key;
    for (auto& item : items) by_key[item.key] = &item;
    Status end = Status::completed;
    std::string reason;
    for (const auto& child : children) {
        const auto told = items_of(child.items);
        const bool good = child.status == Status::completed;
        if (!good) {
            end = child.status;
            reason = child.reason;
        }
        if (told.empty()) {
            // The child said nothing about single items: its end is theirs.
            for (auto& item : items)
                if (item.failed) {
                    item.failed = !good;
                    item.json = item_json(item.key, !good, child);
                }
            continue;
        }
        for (const auto& news : told)
            if (const auto found = by_key.find(news.key); found != by_key.end()) {
                found->second->failed = news.failed;
                found->second->json = news.json;
            }
        // Whom it did not mention ended as it did.
        if (good)
            for (auto& item : items)
                if (item.failed &&
                    std::none_of(told.begin(), told.end(), [&](const Item& each) { return each.key == item.key; })) {
                    item.failed = false;
                    item.json = item_json(item.key, false, child);
                }
    }

    const auto moved = move_to(row, end);
    if (!moved) return decision;
    row.open_children = 0;
    row.completed_at = circumstances.now;
    row.reason = end == Status::completed ? "" : reason;
    if (const auto ran = row.ran_ms(circumstances.now)) row.duration_ms = ran;
    decision.changed = true;
    decision.ended = true;

    std::size_t failed = 0;
    JsonWriter merged;
    merged.open('[');
    for (const auto& item : items) {
        merged.element(item.json);
        if (item.failed) ++failed;
    }
    merged.close(']');
    priority_queue::ResultRecord result = own;
    result.execution = row.id;
    result.opening = row.opening;
    result.items = std::move(merged).text();
    for (const auto& child : children)
        if (child.status != Status::completed && !child.error_data.empty()) result.error_data = child.error_data;
    decision.result = std::move(result);

    JsonWriter payload;
    payload.open();
    payload.field("items", static_cast<std::int64_t>(items.size()))
        .field("failed", static_cast<std::int64_t>(failed))
        .field("children", static_cast<std::int64_t>(children.size()));
    if (!row.reason.empty()) payload.field("reason", row.reason);
    if (row.duration_ms) payload.field("duration_ms", *row.duration_ms);
    payload.close();
    domain::Event event;
    event.stream = row.id.value;
    event.seq = ++row.last_seq;
    event.organization_id = row.lane.organization_id;
    event.type = "execution." + std::string(name(end));
    event.payload = std::move(payload).text();
    decision.events.push_back(std::move(event));

    if (end == Status::dead) {
        priority_queue::DeadLetter letter;
        letter.execution = row.id;
        letter.opening = row.opening;
        letter.lane = row.lane;
        letter.reason = row.reason;
        letter.error = std::to_string(failed) + " of " + std::to_string(items.size()) + " items failed";
        letter.fingerprint = error_fingerprint(row.lane.workflow_type, row.reason, letter.error);
        letter.attempts = row.attempts;
        decision.dead_letter = std::move(letter);
    }
    return decision;
}

}
