#include "resource_manager/fairness_json.h"

#include <nlohmann/json.hpp>

#include "platform/definition_json.h"
#include "platform/json_writer.h"

namespace impresario::resource_manager {

using domain::DefinitionFaults;
using nlohmann::json;
using platform::DefinitionReader;

namespace {

void read_shares(const json& value, std::vector<FairShare>& shares, DefinitionFaults& faults) {
    if (!value.is_array()) {
        faults.push_back({"/shares", "must be an array"});
        return;
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
        const auto place = "/shares/" + std::to_string(i);
        if (!value[i].is_object()) {
            faults.push_back({place, "must be an object"});
            continue;
        }
        DefinitionReader members(value[i], place, faults);
        FairShare share;
        members.text("organization_id", share.organization_id);
        members.text("workflow_type", share.workflow_type);
        members.real("weight", share.weight);
        members.real("minimum_percent", share.minimum_percent);
        members.nothing_else();
        shares.push_back(std::move(share));
    }
}

void read_policy(const json& body, FairnessPolicy& policy, DefinitionReader& members, DefinitionFaults& faults) {
    const char* measures = "dollars, tokens, seconds or starts";
    std::string measure;
    members.text("measure", measure);
    if (const auto known = parse_fair_measure(measure)) {
        policy.measure = *known;
    } else if (!body.contains("measure")) {
        members.wrong("measure", std::string("is missing: ") + measures);
    } else {
        members.wrong("measure", std::string("must be ") + measures);
    }
    if (const json* shares = members.find("shares")) {
        read_shares(*shares, policy.shares, faults);
    } else {
        members.wrong("shares", "is missing; [] gives everybody the same weight");
    }
}

double real(const json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::optional<double> maybe_real(const json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string text(const json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

void write_share(platform::JsonWriter& writer, const FairShare& share) {
    writer.field("organization_id", share.organization_id);
    if (!share.workflow_type.empty()) writer.field("workflow_type", share.workflow_type);
    writer.field("weight", share.weight).field("minimum_percent", share.minimum_percent);
}

}

domain::Result<FairnessPolicy, DefinitionFaults> parse_fairness(std::string_view given) {
    DefinitionFaults faults;
    const json body = platform::definition_tree(given, faults);
    if (!faults.empty()) return faults;
    DefinitionReader members(body, "", faults);
    FairnessPolicy policy;
    read_policy(body, policy, members, faults);
    members.text("reason", policy.reason);
    if (policy.reason.size() > 1000) members.wrong("reason", "must be at most 1000 bytes");
    // What the hub shows may be sent back and is passed over.
    for (const char* shown : {"version", "updated_at", "updated_by", "window_seconds", "at", "standing"})
        members.find(shown);
    members.nothing_else();
    if (faults.empty()) faults = check(policy);
    if (!faults.empty()) return faults;
    return policy;
}

std::string shares_json(const FairnessPolicy& policy) {
    platform::JsonWriter writer;
    writer.open('[');
    for (const auto& share : policy.shares) {
        writer.open();
        write_share(writer, share);
        writer.close();
    }
    writer.close(']');
    return std::move(writer).text();
}

std::string fairness_json(const FairnessPolicy& policy) {
    platform::JsonWriter writer;
    writer.open();
    writer.field("measure", name(policy.measure)).raw("shares", shares_json(policy));
    writer.close();
    return std::move(writer).text();
}

std::optional<FairnessPolicy> stored_fairness(std::string_view given) {
    DefinitionFaults faults;
    const json body = json::parse(given, nullptr, false);
    if (!body.is_object()) return std::nullopt;
    DefinitionReader members(body, "", faults);
    FairnessPolicy policy;
    read_policy(body, policy, members, faults);
    members.nothing_else();
    if (!faults.empty() || !check(policy).empty()) return std::nullopt;
    return policy;
}

std::string standings_json(const std::vector<FairStanding>& standings) {
    platform::JsonWriter writer;
    writer.open('[');
    for (const auto& each : standings) {
        writer.open();
        write_share(writer, each.share);
        writer.field("waiting", each.waiting)
            .field("asked_percent", each.asked_percent)
            .field("started", each.started)
            .field("had_percent", each.had_percent)
            .field("below_minimum", each.below_minimum)
            .field("behind", each.behind);
        writer.close();
    }
    writer.close(']');
    return std::move(writer).text();
}

std::vector<FairStanding> stored_standings(std::string_view given) {
    std::vector<FairStanding> all;
    const json body = json::parse(given, nullptr, false);
    if (!body.is_array()) return all;
    for (const auto& each : body) {
        if (!each.is_object()) continue;
        FairStanding standing;
        standing.share.organization_id = text(each, "organization_id");
        standing.share.workflow_type = text(each, "workflow_type");
        standing.share.weight = real(each, "weight");
        standing.share.minimum_percent = real(each, "minimum_percent");
        standing.waiting = each.value("waiting", false);
        standing.asked_percent = maybe_real(each, "asked_percent");
        standing.started = real(each, "started");
        standing.had_percent = maybe_real(each, "had_percent");
        standing.below_minimum = each.value("below_minimum", false);
        standing.behind = real(each, "behind");
        all.push_back(std::move(standing));
    }
    return all;
}

}
