#include "journal/subscriber_json.h"

#include <nlohmann/json.hpp>

#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "platform/peer_secrets_json.h"

namespace impresario::journal {

using domain::DefinitionFaults;
using domain::Duration;
using platform::DefinitionReader;
using Tree = nlohmann::json;

namespace {

constexpr std::size_t kMostNames = 50;

template <class Take>
void read_names(DefinitionReader& members, const char* member, Take take) {
    const Tree* list = members.find(member);
    if (!list || list->is_null()) return;
    if (!list->is_array() || list->size() > kMostNames)
        return members.wrong(member, "must be a list of at most " + std::to_string(kMostNames) + " names");
    for (const auto& each : *list) {
        const auto fault = each.is_string() ? take(each.get<std::string>()) : std::string("must hold names");
        if (!fault.empty()) members.wrong(member, fault);
    }
}

std::int64_t seconds(Duration length) { return std::chrono::duration_cast<std::chrono::seconds>(length).count(); }

}

void read_choice(DefinitionReader& members, EventChoice& into) {
    read_names(members, "topics", [&](const std::string& name) -> std::string {
        const auto* topic = find_topic(name);
        if (!topic) return "knows no " + name + "; there are " + topic_names();
        into.topics.push_back(topic);
        return {};
    });
    read_names(members, "types", [&](const std::string& pattern) -> std::string {
        const auto fault = pattern_fault(pattern);
        if (!fault.empty()) return pattern + " " + std::string(fault);
        into.types.push_back(pattern);
        return {};
    });
    read_names(members, "workflow_types", [&](const std::string& name) -> std::string {
        into.workflow_types.push_back(name);
        return {};
    });
}

std::string choice_json(const EventChoice& choice) {
    Tree tree = Tree::object();
    for (const auto* topic : choice.topics) tree["topics"].push_back(topic->name);
    if (!choice.types.empty()) tree["types"] = choice.types;
    if (!choice.workflow_types.empty()) tree["workflow_types"] = choice.workflow_types;
    return tree.dump();
}

EventChoice stored_choice(std::string_view text) {
    EventChoice choice;
    const auto tree = Tree::parse(text, nullptr, false);
    if (!tree.is_object()) return choice;
    DefinitionFaults faults;
    DefinitionReader members(tree, "", faults);
    read_choice(members, choice);
    return choice;
}

domain::Result<Subscriber, DefinitionFaults> parse_subscriber(std::string_view body, const Subscriber* existing) {
    DefinitionFaults faults;
    const auto storable = platform::storable_json(body);
    const auto tree = storable ? Tree::parse(storable->text, nullptr, false) : Tree(Tree::value_t::discarded);
    if (!tree.is_object()) return DefinitionFaults{{"", "must be a JSON object"}};
    Subscriber subscriber;
    if (existing) subscriber.secrets = existing->secrets;
    DefinitionReader members(tree, "", faults);
    members.text("url", subscriber.url);
    platform::read_peer_secrets(members, subscriber.secrets);
    read_choice(members, subscriber.choice);
    members.flag("ordered", subscriber.ordered);
    members.whole("batch_size", subscriber.batch);
    members.whole("workers", subscriber.workers);
    members.whole("attempts", subscriber.attempts);
    members.seconds("backoff_seconds", subscriber.backoff);
    members.seconds("backoff_max_seconds", subscriber.backoff_longest);
    members.seconds("timeout_seconds", subscriber.timeout);
    if (const Tree* after = members.find("disable_after_seconds")) {
        subscriber.disable_after.reset();
        if (!after->is_null()) members.seconds("disable_after_seconds", subscriber.disable_after.emplace());
    }
    // What is shown can be given back.
    for (const char* shown : {"name",
                              "has_bearer",
                              "signing_secret_count",
                              "header_names",
                              "version",
                              "updated_at",
                              "updated_by",
                              "health",
                              "disabled",
                              "failures",
                              "failing_since",
                              "not_before",
                              "last_error",
                              "published",
                              "last_published_at",
                              "pending",
                              "in_flight",
                              "failed",
                              "replays",
                              "oldest_waiting_at",
                              "lag_seconds"})
        members.find(shown);
    members.nothing_else();
    const auto more = faults_of(subscriber);
    faults.insert(faults.end(), more.begin(), more.end());
    if (!faults.empty()) return faults;
    return subscriber;
}

domain::Result<ReplayRequest, DefinitionFaults> parse_replay(std::string_view body) {
    DefinitionFaults faults;
    const auto storable = platform::storable_json(body);
    const auto tree = storable ? Tree::parse(storable->text, nullptr, false) : Tree(Tree::value_t::discarded);
    if (!tree.is_object()) return DefinitionFaults{{"", "must be a JSON object"}};
    ReplayRequest request;
    DefinitionReader members(tree, "", faults);
    std::string event;
    members.text("event", event);
    if (!event.empty()) {
        request.event = parse_event_key(event);
        if (!request.event) members.wrong("event", "must be a webhook-id, as in evt_01a2…_4");
    }
    members.flag("failed", request.failed);
    members.time("since", request.since);
    members.time("until", request.until);
    read_choice(members, request.choice);
    const auto& choice = request.choice;
    const bool chooses = !choice.topics.empty() || !choice.types.empty() || !choice.workflow_types.empty();
    members.nothing_else();
    if (faults.empty()) {
        const int ways = (request.event ? 1 : 0) + (request.failed ? 1 : 0) + (request.since ? 1 : 0);
        if (ways != 1) members.wrong("since", "or event or failed must say what is told once more, one of the three");
        if (!request.since && (chooses || request.until)) members.wrong("since", "is missing: from when on");
        if (request.since && request.until && *request.until <= *request.since)
            members.wrong("until", "must be later than since");
    }
    if (!faults.empty()) return faults;
    return request;
}

std::string definition_json(const Subscriber& subscriber) {
    platform::JsonWriter json;
    json.open();
    json.field("url", subscriber.url);
    const auto choice = choice_json(subscriber.choice);
    const auto chosen = platform::json_members(choice);
    for (const auto& member : chosen) json.raw(member.key, member.value);
    json.field("ordered", subscriber.ordered)
        .field("batch_size", subscriber.batch)
        .field("workers", subscriber.workers)
        .field("attempts", subscriber.attempts)
        .field("backoff_seconds", seconds(subscriber.backoff))
        .field("backoff_max_seconds", seconds(subscriber.backoff_longest))
        .field("timeout_seconds", seconds(subscriber.timeout));
    json.field("disable_after_seconds",
               subscriber.disable_after ? std::optional(seconds(*subscriber.disable_after)) : std::nullopt);
    json.close();
    return std::move(json).text();
}

}
