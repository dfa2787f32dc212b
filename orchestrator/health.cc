#include "orchestrator/health.h"

#include <algorithm>
#include <numeric>

namespace impresario::orchestrator {

namespace {

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
    return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

std::string in_whole_seconds(domain::Duration duration) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) + " s";
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const auto& part : parts) text += (text.empty() ? "" : "; ") + part;
    return text;
}

std::string database(const HealthView& view, const HealthMarks& marks) {
    const auto pressed = resource_manager::pressure(view.database, marks.pressure);
    if (pressed.load < 1) return "";
    return pressed.what + ": " + std::to_string(pressed.value) + ", the limit is " + std::to_string(pressed.limit);
}

std::string scheduler(const HealthView& view, const HealthMarks& marks) {
    if (view.scheduler_silent < marks.scheduler_silent) return "";
    return "nobody has scheduled for " + in_whole_seconds(view.scheduler_silent);
}

std::string nodes(const HealthView& view) {
    if (view.nodes_lost == 0) return "";
    return counted(view.nodes_lost, "node has", "nodes have") + " not been heard of and did not leave";
}

std::string endpoints(const HealthView& view) {
    if (view.broken_count == 0) return "";
    std::vector<std::string> parts;
    for (const auto& each : view.broken)
        parts.push_back(each.workflow_type + " at " + each.url + (each.detail.empty() ? "" : " (" + each.detail + ")"));
    return std::to_string(view.broken_count) + " of " + counted(view.endpoints, "endpoint has", "endpoints have") +
           " a breaker that is not closed: " + joined(parts);
}

std::string queue_depth(const HealthView& view, const HealthMarks& marks) {
    if (view.waiting < marks.queue_depth) return "";
    return counted(view.waiting, "execution waits", "executions wait") + ", " + std::to_string(marks.queue_depth) +
           " are many";
}

std::string stalled_executions(const HealthView& view) {
    std::vector<std::string> parts;
    std::int64_t sum = 0;
    for (const auto& [cause, count] : view.stalled) {
        // Those that wait their turn, or for what another check is about.
        if (cause == StallCause::closed_limiter || cause == StallCause::long_queue) continue;
        parts.push_back(std::string(name(cause)) + " " + std::to_string(count));
        sum += count;
    }
    if (sum == 0) return "";
    return counted(sum, "execution has", "executions have") + " not been heard of for long: " + joined(parts);
}

}

bool Health::healthy() const {
    return std::all_of(checks.begin(), checks.end(), [](const auto& check) { return check.healthy; });
}

std::vector<std::string> Health::because() const {
    std::vector<std::string> all;
    for (const auto& check : checks)
        if (!check.healthy) all.push_back(std::string(check.name) + ": " + check.because);
    return all;
}

Health check_health(const HealthView& view, const HealthMarks& marks) {
    Health health;
    const auto add = [&](std::string_view name, std::string because) {
        const bool healthy = because.empty();
        health.checks.push_back({name, healthy, std::move(because)});
    };
    add("database", database(view, marks));
    add("scheduler", scheduler(view, marks));
    add("nodes", nodes(view));
    add("endpoints", endpoints(view));
    add("queue_depth", queue_depth(view, marks));
    add("stalled_executions", stalled_executions(view));
    add("alerts", joined(view.alerts));
    return health;
}

Health health_without_database(std::string because) {
    Health health;
    for (const auto& check : check_health({}, {}).checks)
        health.checks.push_back({check.name, false, "not known without the database"});
    health.checks.front().because = std::move(because);
    return health;
}

void not_known(Health& health, std::string_view check, std::string because) {
    for (auto& each : health.checks) {
        if (each.name != check) continue;
        each.healthy = false;
        each.because = std::move(because);
    }
}

}
