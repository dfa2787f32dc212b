// Of explain: what the fairness policy has to do with it.
#include <algorithm>
#include <cstdio>

#include "orchestrator/explain.h"
#include "orchestrator/fair_order.h"

namespace impresario::orchestrator {

using resource_manager::FairStanding;

namespace {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

std::string standing_text(const std::string& who, const FairStanding& standing, const FairView& fair) {
    std::string text = who + " with weight " + number(standing.share.weight);
    if (standing.asked_percent) text += " is to have " + number(*standing.asked_percent) + " %";
    text += standing.had_percent
                ? " and had " + number(*standing.had_percent) + " % of what was contested in the last minute"
                : ", and nothing was contested in the last minute";
    if (standing.below_minimum) {
        text += ", less than its minimum of " + number(standing.share.minimum_percent) + " %: it goes first";
    } else if (standing.behind > 0) {
        text += ", " + number(standing.behind) + " " + std::string(name(fair.measure)) + " behind the foremost";
    } else if (standing.waiting) {
        text += ": none is ahead of it, so others go first";
    }
    return text;
}

}

std::string shares_say(const Situation& s, Standing standing, const std::vector<GateRun>& blockers) {
    if (!s.fair || standing == Standing::not_due) return {};
    // What is its own does not depend on the others.
    if (standing == Standing::stopped && !waits_for_shared(blockers.front().gate)) return {};
    const auto& lane = s.execution.lane;
    auto text = "by shares of " + std::string(name(s.fair->measure)) + " " +
                standing_text("its organization " + lane.organization_id, s.fair->organization, *s.fair);
    // Of one who has all of its organization nothing is to be said.
    const auto& type = s.fair->type;
    if (type.asked_percent.value_or(100) < 100)
        text += ", and of that " + standing_text("its type " + lane.workflow_type, type, *s.fair);
    return text;
}

Change more_share(const Situation& s) {
    // The one that is further ahead keeps it waiting.
    const bool type = s.fair->type.asked_percent.value_or(100) < 100 && s.fair->organization.behind > 0;
    return {
        "give its " + std::string(type ? "type " : "organization ") +
            (type ? s.execution.lane.workflow_type : s.execution.lane.organization_id) +
            " more weight in the fairness policy",
        "impresario fairness show; impresario fairness preview @fairness.json; impresario fairness put @fairness.json"};
}

}
