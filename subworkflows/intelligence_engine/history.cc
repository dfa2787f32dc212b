#include "subworkflows/intelligence_engine/history.h"

#include <algorithm>
#include <tuple>

namespace impresario::subworkflows::intelligence_engine {

using domain::TimePoint;
using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;

Windows windows_at(TimePoint now, int window_hours, int baseline_hours) {
    const TimePoint edge = now - hours{window_hours};
    return {{edge - hours{baseline_hours}, edge}, {edge, now}};
}

Parts divide(const TypeHistory& history, const Windows& windows) {
    Parts parts;
    for (const auto& execution : history.executions) {
        if (windows.window.contains(execution.at())) {
            parts.window.push_back(&execution);
        } else if (windows.baseline.contains(execution.at())) {
            parts.baseline.push_back(&execution);
        }
    }
    for (auto* part : {&parts.baseline, &parts.window})
        std::sort(part->begin(), part->end(), [](const Execution* a, const Execution* b) {
            return std::tuple(a->at(), a->id) < std::tuple(b->at(), b->id);
        });
    return parts;
}

TimePoint midnight(TimePoint at) { return floor<days>(at); }

int hour_of_day(TimePoint at) { return static_cast<int>(floor<hours>(at - midnight(at)).count()); }

bool weekend(TimePoint at) {
    const std::chrono::weekday day{floor<days>(at)};
    return day == std::chrono::Saturday || day == std::chrono::Sunday;
}

domain::MicroUsd add(domain::MicroUsd a, domain::MicroUsd b) { return std::min(a + b, domain::kMostMoney); }

std::optional<double> value_of(const Execution& execution, Metric metric) {
    if (!execution.completed()) return std::nullopt;
    switch (metric) {
        case Metric::cost:
            if (execution.cost) return static_cast<double>(execution.cost->value);
            break;
        case Metric::duration:
            if (execution.duration_ms) return static_cast<double>(*execution.duration_ms);
            if (execution.started_at && execution.completed_at)
                return std::max(0.0,
                                static_cast<double>((*execution.completed_at - *execution.started_at).count()) / 1e3);
            break;
        case Metric::cost_per_item:
            if (execution.cost && execution.items && *execution.items > 0)
                return static_cast<double>(execution.cost->value) / static_cast<double>(*execution.items);
            break;
    }
    return std::nullopt;
}

}
