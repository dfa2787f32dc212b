#include "orchestrator/alert_readings.h"

#include <algorithm>
#include <limits>

#include "resource_manager/budget_state.h"

namespace impresario::orchestrator {

using alerts::Labels;
using alerts::Reading;
using domain::TimePoint;

namespace {

/// Of fewer nothing can be said.
constexpr int kLeastEnded = 20;
constexpr int kFailedMinutes = 5;
constexpr int kRetryMinutes = 15;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

Labels lane_labels(const domain::Lane& lane) {
    return {{"organization", lane.organization_id}, {"workflow_type", lane.workflow_type}};
}

std::vector<Reading> queue_depth(const Board& board) {
    std::map<std::string, double> waiting;
    for (const auto& lane : board.lanes())
        waiting[lane.organization_id] += static_cast<double>(board.queue_length(lane).waiting);
    std::vector<Reading> readings;
    for (const auto& [organization, count] : waiting) readings.push_back({{{"organization", organization}}, count});
    return readings;
}

void ends(const Board& board, TimePoint since, TimePoint now, alerts::Readings& readings) {
    auto& failed = readings["failed_percent"];
    auto& rise = readings["retry_rise_percent"];
    const auto& recent = board.recent_ends();
    const auto known_for = [&](int minutes) { return now - since >= std::chrono::minutes{minutes + 1}; };
    auto lanes = recent.lanes();
    for (const auto& lane : board.lanes()) lanes.push_back(lane);
    std::sort(lanes.begin(), lanes.end());
    lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
    for (const auto& lane : lanes) {
        const auto count = recent.count(lane, 0, kFailedMinutes, now);
        if (count.ended() >= kLeastEnded) {
            failed.push_back(
                {lane_labels(lane), 100.0 * count.failed / count.ended(), recent.failed(lane, kFailedMinutes, now)});
        } else if (!known_for(kFailedMinutes)) {
            failed.push_back({lane_labels(lane), kUnknown});
        }
        const int before = recent.count(lane, kRetryMinutes + 1, 2 * kRetryMinutes, now).retried;
        const int lately = recent.count(lane, 0, kRetryMinutes, now).retried;
        if (!known_for(2 * kRetryMinutes)) {
            rise.push_back({lane_labels(lane), kUnknown});
        } else if (before >= kLeastEnded) {
            rise.push_back({lane_labels(lane), 100.0 * (lately - before) / before});
        }
    }
}

void budgets(const Board& board, TimePoint now, alerts::Readings& readings) {
    auto& used = readings["budget_used_percent"];
    auto& runs_short = readings["budget_short_seconds"];
    for (const auto& state : board.budgets()) {
        const auto& organization = state.budget.scope.organization_id;
        const Labels labels{{"organization", organization.empty() ? "default" : organization},
                            {"budget", state.budget.name}};
        const auto counted = static_cast<double>(state.counted(now).counted().value);
        const auto limit = static_cast<double>(state.budget.limit.value);
        used.push_back({labels, limit > 0 ? 100 * counted / limit : counted > 0 ? 100.0 : 0.0});
        const auto outlook = resource_manager::forecast(state, now);
        const auto turns = state.turns_at(now);
        if (outlook.reached_at && turns && *outlook.reached_at < *turns)
            runs_short.push_back({labels, domain::in_seconds(*turns - *outlook.reached_at)});
    }
}

void providers(const Board& board, TimePoint now, alerts::Readings& readings) {
    auto& used = readings["provider_used_percent"];
    auto& cooling = readings["provider_cooling_seconds"];
    std::map<std::pair<std::string, std::string>, double> most;
    for (const auto& each : board.meters().all()) {
        const auto capacity = static_cast<double>(each.meter->limit().capacity());
        if (capacity <= 0) continue;
        auto& percent = most[{each.provider, each.meter->limit().name}];
        percent = std::max(percent, 100 * static_cast<double>(each.meter->used(now)) / capacity);
    }
    for (const auto& [which, percent] : most)
        used.push_back({{{"organization", "default"}, {"provider", which.first}, {"limit", which.second}}, percent});
    for (const auto& [provider, weather] : board.meters().weather()) {
        const auto& record = weather.record();
        if (!weather.cooling(now) || !record.since) continue;
        cooling.push_back(
            {{{"organization", "default"}, {"provider", provider}}, domain::in_seconds(now - *record.since)});
    }
}

std::vector<Reading> breakers(const Board& board) {
    std::vector<Reading> readings;
    for (const auto& each : board.breakers()) {
        if (each.state == domain::BreakerState::closed) continue;
        auto labels = lane_labels(each.lane);
        labels["endpoint"] = each.endpoint.text();
        readings.push_back({std::move(labels), 1});
    }
    return readings;
}

}

alerts::Readings read_board(const Board& board, TimePoint since, TimePoint now) {
    alerts::Readings readings;
    readings["queue_depth"] = queue_depth(board);
    ends(board, since, now, readings);
    budgets(board, now, readings);
    providers(board, now, readings);
    readings["breaker_open"] = breakers(board);
    return readings;
}

std::vector<Reading> read_backlogs(const std::vector<Probe::Backlog>& backlogs) {
    std::vector<Reading> readings;
    for (const auto& each : backlogs)
        readings.push_back(
            {{{"organization", each.organization_id}, {"subscriber", each.subscriber}}, domain::in_seconds(each.lag)});
    return readings;
}

}
