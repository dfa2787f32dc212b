#pragma once
// How the hub is, as 001 asks: one check for each thing that everything needs. Pure.
//
// Apart from liveness (the process answers) and readiness (work may be sent here): a hub that is degraded is alive and
// ready, and somebody should look at it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/time.h"
#include "orchestrator/stalled.h"
#include "resource_manager/throttle.h"

namespace impresario::orchestrator {

/// An endpoint whose breaker is not closed.
struct BrokenEndpoint {
    std::string workflow_type;
    std::string url;
    std::string detail;
};

/// What is looked at.
struct HealthView {
    domain::TimePoint at{};
    resource_manager::DatabaseReading database = {};
    /// Since when nobody has renewed the scheduler's lease.
    domain::Duration scheduler_silent{0};
    /// Names of nodes that have gone without a word and are not back.
    std::int64_t nodes_lost = 0;
    std::int64_t endpoints = 0;
    /// Some of those that are broken.
    std::vector<BrokenEndpoint> broken = {};
    std::int64_t broken_count = 0;
    /// Ready to start; of more than 100,000 so many.
    std::int64_t waiting = 0;
    std::int64_t active = 0;
    /// Active, and not heard of for a while.
    std::map<StallCause, std::int64_t> stalled = {};
    /// Critical alerts that fire: their summaries.
    std::vector<std::string> alerts = {};
};

struct HealthMarks {
    /// More that wait are more than usual (003: 500).
    std::int64_t queue_depth = 500;
    domain::Duration scheduler_silent = std::chrono::seconds{30};
    resource_manager::PressureLimits pressure = {};
};

struct HealthCheck {
    /// database, scheduler, nodes, endpoints, queue_depth, stalled_executions or alerts.
    std::string_view name;
    bool healthy = true;
    /// What is wrong, for people; "" where nothing is.
    std::string because = {};
};

struct Health {
    std::vector<HealthCheck> checks;
    bool healthy() const;
    /// "endpoints: …" of each check that is not healthy.
    std::vector<std::string> because() const;
};

Health check_health(const HealthView& view, const HealthMarks& marks);
/// Nothing is known of any but the database, because of that.
Health health_without_database(std::string because);
/// A check could not be made, because of that.
void not_known(Health& health, std::string_view check, std::string because);

}
