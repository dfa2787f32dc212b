#include "alerts/reading.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace impresario::alerts {

namespace {

constexpr std::array<ReadingKind, 21> kKinds{{
    {"scheduler_silent_seconds", Unit::seconds, "",
     "since the scheduler last renewed its lease; read by every node, so that one that does not lead tells of it"},
    {"scheduler_changes", Unit::count, "", "how often another node took over within 15 minutes"},
    {"node_silent_seconds", Unit::seconds, "node", "since a node that has not left by itself was last heard of"},
    {"budget_used_percent", Unit::percent, "organization,budget", "settled and reserved of the limit of its window"},
    {"budget_short_seconds", Unit::seconds, "organization,budget",
     "how long before its reset a budget runs out at the pace of the last hour; only those that will"},
    {"failed_percent", Unit::percent, "organization,workflow_type",
     "failed and dead of all that ended within 5 minutes; only where at least 20 did"},
    {"retry_rise_percent", Unit::percent, "organization,workflow_type",
     "retries of the last 15 minutes above those of the 15 before; only where there were at least 20"},
    {"queue_depth", Unit::count, "organization", "executions that wait"},
    {"provider_used_percent", Unit::percent, "organization,provider,limit", "of a provider's limit in its window"},
    {"provider_cooling_seconds", Unit::seconds, "organization,provider",
     "for how long a provider that refuses has been in trouble; only those that are"},
    {"execution_timeout_percent", Unit::percent, "organization,workflow_type",
     "of its timeout that the longest running execution has used; evidence: the slow ones"},
    {"outbox_lag_seconds", Unit::seconds, "organization,subscriber", "age of the oldest event that waits to be told"},
    {"outbox_failed", Unit::count, "organization,subscriber", "events given up within an hour"},
    {"subscriber_disabled_seconds", Unit::seconds, "organization,subscriber",
     "since the hub switched off a subscriber that took nothing for too long"},
    {"dead_letters", Unit::count, "organization,workflow_type", "that nobody has decided about; evidence: the newest"},
    {"dead_letters_new", Unit::count, "organization,workflow_type", "within an hour; evidence: those"},
    {"breaker_open", Unit::count, "organization,workflow_type,endpoint", "1 while a breaker is open or half open"},
    {"promises_broken", Unit::count, "organization,workflow_type,promise",
     "found by fsck --repair: of each lane that it holds, until that is resumed; of no lane, within an hour"},
    {"anomaly_deviations", Unit::count, "organization,workflow_type,series",
     "robust standard deviations from what is usual at this hour of the week (baseline.h)"},
    {"reader_failing_seconds", Unit::seconds, "reading", "since a reading could last be taken"},
    {"receiver_failing_seconds", Unit::seconds, "receiver",
     "since a receiver of alerts last took something; only failing"},
}};

}

std::string value_text(double value, Unit unit) {
    if (!std::isfinite(value)) return std::isnan(value) ? "unknown" : value > 0 ? "infinite" : "-infinite";
    if (unit == Unit::seconds && value >= 0 && value < 1e9)
        return domain::human(std::chrono::duration_cast<domain::Duration>(std::chrono::duration<double>(value)));
    char text[64];
    const bool whole = std::fabs(value) >= 100 || std::fabs(value - std::round(value)) < 0.05;
    std::snprintf(text, sizeof text, std::fabs(value) >= 1e15 ? "%.3g" : whole ? "%.0f" : "%.1f", value);
    return text + std::string(unit == Unit::percent ? " %" : unit == Unit::seconds ? " s" : "");
}

std::span<const ReadingKind> reading_kinds() { return kKinds; }

const ReadingKind* find_reading(std::string_view name) {
    for (const auto& kind : kKinds)
        if (kind.name == name) return &kind;
    return nullptr;
}

}
