#include "orchestrator/run_forecast.h"

#include "orchestrator/switched_off.h"
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
    using resource_manager::Pause;
    const auto& name = demand_.lane.workflow_type;
    if (!type_) return Pause{name, std::string(kNotRegistered), "", std::nullopt}.check(demand_, at);
    for (const auto& pause : pauses_)
        if (pause.covers(*type_))
            if (auto gate =
                    Pause{pause.subject(), pause.reason, pause.by, pause.until, pause.condition}.check(demand_, at))
                return gate;
    if (!type_->enabled) return Pause{name, std::string(kSwitchedOff), "", std::nullopt}.check(demand_, at);
    if (type_->run_windows) return subworkflows::shut(*type_->run_windows, name, at);
    return std::nullopt;
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
