#include "orchestrator/run_forecast.h"

#include "orchestrator/lane_limiters.h"
#include "resource_manager/limiter.h"

namespace impresario::orchestrator {

using domain::Gate;
using domain::GateKind;
using domain::TimePoint;

RunForecast::RunForecast(const subworkflows::WorkflowType* type, const std::vector<subworkflows::PauseRecord>& pauses,
                         const std::vector<resource_manager::Provider>& providers,
                         const resource_manager::WeatherRecords& weather,
                         std::vector<resource_manager::BudgetState> budgets, domain::Demand demand)
    : type_(type),
      pauses_(pauses),
      providers_(providers),
      weather_(weather),
      budgets_(std::move(budgets)),
      demand_(std::move(demand)) {}

std::optional<Gate> RunForecast::stops(TimePoint at) {
    if (auto gate = stopped_by_type(at)) return gate;
    if (auto gate = stopped_by_provider(at)) return gate;
    return stopped_by_budget(at);
}

std::optional<Gate> RunForecast::stopped_by_type(TimePoint at) const {
    for (const auto& pause : pauses_of(demand_.lane, type_, pauses_))
        if (auto gate = pause.check(demand_, at)) return gate;
    if (!type_ || !type_->run_windows) return std::nullopt;
    return subworkflows::shut(*type_->run_windows, demand_.lane.workflow_type, at);
}

std::optional<Gate> RunForecast::stopped_by_provider(TimePoint at) const {
    if (const auto never = resource_manager::never_fits(providers_, demand_.needs))
        return Gate{GateKind::provider, demand_.needs.front().provider, *never, {}, std::nullopt};
    for (const auto& need : demand_.needs) {
        const auto weather = weather_.find(need.provider);
        if (weather == weather_.end() || !weather->second.cooling_until || *weather->second.cooling_until <= at)
            continue;
        return Gate{GateKind::provider,
                    need.provider,
                    "cooling until " + domain::rfc3339(*weather->second.cooling_until),
                    {},
                    weather->second.cooling_until,
                    true};
    }
    return std::nullopt;
}

std::optional<Gate> RunForecast::stopped_by_budget(TimePoint at) {
    std::vector<resource_manager::BudgetState*> concerned;
    for (auto& state : budgets_) {
        if (!state.budget.scope.share(demand_)) continue;
        // Its steps end when its window turns.
        resource_manager::move_steps(state, at);
        if (auto gate = resource_manager::BudgetLimit{&state, {}}.check(demand_, at)) return gate;
        if (demand_.importance != domain::Importance::critical)
            if (auto gate = resource_manager::BudgetPriority{&state}.check(demand_, at)) return gate;
        concerned.push_back(&state);
    }
    for (auto* state : concerned) {
        resource_manager::Balance spent;
        spent.settled = *state->budget.scope.share(demand_);
        state->book(resource_manager::window_at(state->budget.window, at), spent);
    }
    return std::nullopt;
}

}
