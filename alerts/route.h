#pragma once
// Who is told of which alerts, how they are gathered, and how patiently: Alertmanager's tree.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "alerts/matcher.h"
#include "domain/definition_fault.h"
#include "domain/time.h"

namespace impresario::alerts {

/// Who else is told when nobody has acknowledged for so long.
struct Escalation {
    domain::Duration after{0};
    std::string receiver;
    friend bool operator==(const Escalation&, const Escalation&) = default;
};

/// What is not set is its parent's; the root's has these defaults.
struct Route {
    /// Name of a receiver. The root must have one.
    std::string receiver = {};
    /// The root has none: it takes what no child takes.
    Matchers matchers = {};
    /// The siblings after it are asked too.
    bool goes_on = false;
    /// Alerts with the same values of these labels are told together; "..." alone: of all labels, each by itself.
    std::optional<std::vector<std::string>> group_by = std::nullopt;
    /// The first message waits so long for more of its group. Default 30 s.
    std::optional<domain::Duration> group_wait = std::nullopt;
    /// Least time between two messages about a group that has changed. Default 5 min.
    std::optional<domain::Duration> group_interval = std::nullopt;
    /// What still fires, and nobody has acknowledged, is told again. Default 4 h.
    std::optional<domain::Duration> repeat_interval = std::nullopt;
    /// In the order of time.
    std::optional<std::vector<Escalation>> escalations = std::nullopt;
    /// The first that matches takes it.
    std::vector<Route> children = {};
};

/// A route with what it has from its parents.
struct Destination {
    std::string receiver;
    /// Which route, in words that stay the same while it does: {}/{severity="critical"}.
    std::string path;
    std::vector<std::string> group_by;
    domain::Duration group_wait = std::chrono::seconds{30};
    domain::Duration group_interval = std::chrono::minutes{5};
    domain::Duration repeat_interval = std::chrono::hours{4};
    std::vector<Escalation> escalations;
};

/// Where an alert goes: one at least, because the root takes what nobody else does.
std::vector<Destination> destinations(const Route& root, const Labels& labels);

/// The labels that an alert's group at a destination has in common.
Labels group_labels(const Destination& destination, const Labels& labels);

/// What is wrong, with pointers like "/children/0/group_wait". `receivers`: those that there are.
domain::DefinitionFaults faults_of(const Route& root, const std::set<std::string>& receivers);

inline constexpr int kDeepestRoute = 8;
inline constexpr std::size_t kMostRoutes = 500;

/// Seed 003's: critical pages, warnings go to Slack, what is slow is mailed, what is good to know too. Receivers
/// "page", "slack" and "email". Names only: the door makes "page" PagerDuty, a webhook or what there is, and where one
/// is not configured the next that is.
Route default_route();

}
