// Of explain: what somebody can do about a closed gate, with the command for it where there is one.
#include <algorithm>
#include <charconv>

#include "domain/money.h"
#include "orchestrator/explain.h"
#include "orchestrator/switched_off.h"

namespace impresario::orchestrator {

using domain::GateKind;

namespace {

std::string number(const domain::Gate& gate, std::string_view key) {
    for (const auto& [name, value] : gate.numbers)
        if (name == key) return value;
    return {};
}

/// The definition of a type with one member changed.
std::string put_type(const std::string& type, const std::string& change) {
    return "impresario types show " + type + " --json | jq '" + change + "' | impresario types put " + type + " -";
}

/// The limit that its numbers name, and one more.
std::string one_more(const domain::Gate& gate) {
    const auto limit = number(gate, "limit");
    const bool whole =
        !limit.empty() && limit.size() < 10 && limit.find_first_not_of("0123456789") == std::string::npos;
    return whole ? std::to_string(std::stoll(limit) + 1) : std::string{};
}

Change of_pause(const domain::Gate& gate, const Situation& s) {
    const auto& lane = s.execution.lane;
    const std::string wait = gate.opens_at ? "wait until " + domain::rfc3339(*gate.opens_at) + ", or " : std::string();
    if (gate.detail.starts_with(kNotRegistered))
        return {"register the workflow type " + lane.workflow_type,
                "impresario types put " + lane.workflow_type + " -"};
    if (gate.detail.starts_with(kSwitchedOff))
        return {"switch the workflow type on", put_type(lane.workflow_type, ".enabled = true")};
    if (gate.subject == lane.workflow_type)
        return {wait + "resume the workflow type", "impresario resume " + lane.workflow_type};
    if (gate.subject == lane.organization_id) return {wait + "resume the organization", "impresario resume"};
    if (gate.subject == "everything") return {wait + "resume everything", {}};
    return {wait + "resume the provider", "impresario resume --provider " + gate.subject};
}

Change of_endpoint(const domain::Gate& gate, const Situation& s) {
    const auto& type = s.execution.lane.workflow_type;
    if (!number(gate, "in_flight").empty())
        return {
            "wait for the next answer; an endpoint that answers well is given more at a time, up to its max_in_flight",
            {}};
    if (gate.subject == type) return {"give the workflow type an endpoint", "impresario types put " + type + " -"};
    const std::string wait = gate.opens_at ? "wait until " + domain::rfc3339(*gate.opens_at) + ", or mend" : "mend";
    return {wait + " what is wrong with the endpoint and put the definition again, which forgets the hold",
            "impresario types show " + type + " --json | impresario types put " + type + " -"};
}

Change of_breaker(const domain::Gate& gate, const Situation& s) {
    const auto& type = s.execution.lane.workflow_type;
    if (gate.subject == type) return {"wait for the one that tries the endpoint now", {}};
    const auto endpoint = s.endpoints.find(gate.subject);
    const std::string wait = gate.opens_at ? "wait until " + domain::rfc3339(*gate.opens_at) + ", or reset" : "reset";
    return {wait + " the breaker of " + gate.subject,
            "impresario endpoints reset " + type + " " +
                (endpoint == s.endpoints.end() ? std::string("ENDPOINT_ID") : endpoint->second.text())};
}

Change of_provider(const domain::Gate& gate) {
    const auto space = gate.subject.find(' ');
    const auto provider = gate.subject.substr(0, space);
    const auto limit = space == std::string::npos ? std::string() : gate.subject.substr(space + 1);
    // How the provider does, rather than a limit of ours.
    if (limit.empty() || limit.starts_with("("))
        return {(gate.opens_at ? "wait until " + domain::rfc3339(*gate.opens_at) : "wait for those under way") +
                    ", or reset what was learnt of the provider " + provider,
                "impresario providers reset " + provider};
    const std::string wait = gate.opens_at ? "wait until " + domain::rfc3339(*gate.opens_at) + ", or raise" : "raise";
    return {wait + " the limit " + limit + " of the provider " + provider,
            "impresario providers show " + provider + "; impresario providers put " + provider + " @limits.json"};
}

/// Its subject is the provider, the limit and the key.
Change of_key_limit(const domain::Gate& gate) {
    const auto space = gate.subject.find(' ');
    const auto provider = gate.subject.substr(0, space);
    const auto limit = gate.subject.substr(space + 1, gate.subject.find(' ', space + 1) - space - 1);
    const bool of_others = !number(gate, "kept").empty();
    std::string what = gate.opens_at ? "wait until " + domain::rfc3339(*gate.opens_at) + ", or " : std::string();
    what += (of_others ? "raise the limit " : "raise per_key.ceiling of the limit ") + limit;
    return {what + " of the provider " + provider,
            "impresario providers show " + provider + "; impresario providers put " + provider + " @limits.json"};
}

/// Where it opens by itself.
std::string wait_or(const domain::Gate& gate) {
    return gate.opens_at ? "wait until " + domain::rfc3339(*gate.opens_at) + ", or " : std::string();
}

/// The least limit that lets it go: there is room for it, and the step that stops it ends. As its numbers say
/// (resource_manager/budget_limit.cc).
std::string enough_of_budget(const domain::Gate& gate) {
    const auto amount = [&](std::string_view key) {
        const auto read = domain::parse_money(number(gate, key));
        return read ? read->amount : domain::kMostMoney;
    };
    const auto counted = amount("settled") + amount("reserved") + amount("suspense");
    auto enough = counted + amount("asks");
    // A billion: so that no sum below overflows. Whoever has more needs no advice.
    constexpr domain::MicroUsd kMost{1'000'000'000'000'000};
    if (enough > kMost) return {};
    int percent = 0;
    const auto text = number(gate, "undone_below_percent");
    std::from_chars(text.data(), text.data() + text.size(), percent);
    // It ends below that part of the limit.
    if (percent > 0) enough = std::max(enough, domain::MicroUsd{counted.value * 100 / percent + 1});
    // As people write it.
    constexpr std::int64_t kCent = 10'000;
    return domain::decimal({(enough.value + kCent - 1) / kCent * kCent});
}

Change of_budget(const domain::Gate& gate) {
    const auto& name = gate.subject;
    const std::string wait = wait_or(gate);
    // Its step asks somebody (resource_manager/budget_limit.cc).
    if (gate.detail.ends_with("approves going on"))
        return {wait + "approve going on with the budget " + name, "impresario budgets approve " + name};
    const auto enough = enough_of_budget(gate);
    return {wait + "raise the limit of the budget " + name + (enough.empty() ? "" : " to at least " + enough + " USD") +
                ": " + gate.detail,
            "impresario budgets show " + name + "; impresario budgets put " + name + " @budget.json"};
}

}

Change what_opens(const GateRun& run, const Situation& s) {
    auto gate = run.gate;
    // It has opened, or is about to be found closed for longer: nobody can wait for what has gone.
    if (gate.opens_at && *gate.opens_at <= s.at) gate.opens_at.reset();
    const auto& type = s.execution.lane.workflow_type;
    const auto more = one_more(gate);
    switch (gate.kind) {
        case GateKind::paused:
            return of_pause(gate, s);
        case GateKind::lock:
            return {wait_or(gate) + "have it released: it is " + gate.detail, "impresario locks show " + gate.subject};
        case GateKind::concurrency:
            return {"wait until one of those that run has ended, or raise max_concurrency of the workflow type",
                    more.empty() ? "" : put_type(type, ".max_concurrency = " + more)};
        case GateKind::key_concurrency:
            return {
                "wait until one of those with the same key has ended, or raise concurrency_key_limit of the workflow "
                "type",
                more.empty() ? "" : put_type(type, ".concurrency_key_limit = " + more)};
        case GateKind::execution_interval:
            return {wait_or(gate) + "lower execution_interval_seconds of the workflow type",
                    put_type(type, ".execution_interval_seconds = null")};
        case GateKind::cool_down:
            return {wait_or(gate) + "lower cool_down_seconds of the workflow type",
                    put_type(type, ".cool_down_seconds = null")};
        case GateKind::maintenance_window:
            return {wait_or(gate) + "change run_windows of the workflow type", put_type(type, ".run_windows = null")};
        case GateKind::endpoint:
            return of_endpoint(gate, s);
        case GateKind::breaker:
            return of_breaker(gate, s);
        case GateKind::key_limit:
            return of_key_limit(gate);
        case GateKind::provider:
            return of_provider(gate);
        case GateKind::budget:
            return of_budget(gate);
        case GateKind::memory:
            return {
                "wait until others that reserve memory have ended, lower memory_mb of the workflow type, or raise "
                "memory.total_mb of the configuration",
                put_type(type, ".memory_mb = null")};
        case GateKind::database:
            return {"relieve the database: it opens by itself once the pressure is below half of its limit", {}};
        default:
            break;
    }
    // A gate says itself what opens it.
    return {wait_or(gate) + "see to " + std::string(name(gate.kind)) + " " + gate.subject + ": " + gate.detail, {}};
}

}
