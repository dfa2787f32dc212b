#pragma once
// What a report says, as values.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/lane.h"
#include "domain/money.h"
#include "domain/time.h"
#include "reports/ended.h"
#include "reports/period.h"

namespace impresario::reports {

/// What executions of one type have reported of a provider.
struct ProviderUse {
    domain::Lane lane;
    /// "": none was named.
    std::string provider;
    std::int64_t usages = 0;
    domain::MicroUsd cost{};
};

/// For how long a gate of a lane was closed.
struct GateTime {
    domain::Lane lane;
    /// As domain::name(GateKind).
    std::string gate;
    std::string subject;
    double seconds = 0;
};

/// Failures that are of one kind.
struct Failure {
    domain::Lane lane;
    std::string fingerprint;
    std::string reason;
    /// One of them.
    std::string error;
    std::int64_t count = 0;
    /// Some of the executions.
    std::vector<std::string> executions = {};
};

struct AlertSeen {
    std::string name;
    std::string severity;
    std::string summary;
    domain::TimePoint since{};
    /// nullopt: it still fired when the report was made.
    std::optional<domain::TimePoint> until = std::nullopt;
    std::vector<std::string> executions = {};
};

struct BudgetUse {
    /// "": of all.
    std::string organization_id;
    std::string name;
    /// day, week, month, rolling or batch.
    std::string window;
    domain::MicroUsd limit{};
    /// In all windows that have to do with the period.
    domain::MicroUsd settled{};
    /// The most that counted in one of them.
    domain::MicroUsd peak{};
    std::int64_t windows = 0;

    double peak_percent() const {
        return limit.value > 0 ? 100.0 * static_cast<double>(peak.value) / static_cast<double>(limit.value) : 0;
    }
};

/// Where things go from here; of the past nothing is forecast.
struct BudgetOutlook {
    std::string organization_id;
    std::string name;
    domain::MicroUsd limit{};
    domain::MicroUsd counted{};
    domain::MicroUsd at_end{};
    std::optional<domain::TimePoint> reached_at = std::nullopt;
    std::optional<domain::TimePoint> resets_at = std::nullopt;
};
struct QueueOutlook {
    domain::Lane lane;
    std::int64_t waiting = 0;
    /// At the pace of the period; nullopt: nothing has ended in it.
    std::optional<double> seconds = std::nullopt;
};
struct Outlook {
    std::vector<BudgetOutlook> budgets;
    std::vector<QueueOutlook> queues;
};

/// A change of a limit or a budget that the numbers speak for.
struct Proposal {
    /// What it is about: "budget day of default".
    std::string subject;
    std::string now;
    std::string proposed;
    /// The numbers behind it, for people.
    std::string because;
    /// As it would be typed, to see what it would do.
    std::string command;
};

struct Report {
    Kind kind = Kind::daily;
    std::string zone = "UTC";
    Period period;
    domain::TimePoint made_at{};
    /// "": of all.
    std::string organization_id = {};
    /// What ended before that is gone, and is not counted.
    std::optional<domain::TimePoint> known_from = std::nullopt;
    /// Whether what closed gates, and what fired, is still kept of all of the period.
    bool gates_known = true;
    bool alerts_known = true;
    std::map<domain::Lane, Ended> lanes = {};
    std::vector<ProviderUse> providers = {};
    /// The longest first.
    std::vector<GateTime> gates = {};
    /// The most frequent first.
    std::vector<Failure> failures = {};
    std::vector<AlertSeen> alerts = {};
    std::vector<BudgetUse> budgets = {};
    std::optional<Outlook> outlook = std::nullopt;
    /// Of a weekly one.
    std::vector<Proposal> proposals = {};

    Ended total() const;
    /// As far as it had passed when the report was made.
    double period_seconds() const;
};

}
