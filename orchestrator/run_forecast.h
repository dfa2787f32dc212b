#pragma once
// What would stop an execution that starts at some later time, as far as it can be known now: nobody else spends
// anything meanwhile, and nothing is changed. Pure.

#include <optional>
#include <vector>

#include "domain/demand.h"
#include "domain/gate.h"
#include "resource_manager/budget_state.h"
#include "resource_manager/provider.h"
#include "resource_manager/provider_weather.h"
#include "subworkflows/catalogue.h"

namespace impresario::orchestrator {

class RunForecast {
  public:
    /// `type`: null where it is not registered. `demand`: what each of the runs asks. Borrows all but the budgets.
    RunForecast(const subworkflows::WorkflowType* type, const std::vector<subworkflows::PauseRecord>& pauses,
                const std::vector<resource_manager::Provider>& providers,
                const resource_manager::WeatherRecords& weather, std::vector<resource_manager::BudgetState> budgets,
                domain::Demand demand);

    /// What stops the run at this time; nullopt: nothing, and then what it costs counts for those that are asked about
    /// after it. To be asked in the order of their times.
    std::optional<domain::Gate> stops(domain::TimePoint at);

  private:
    std::optional<domain::Gate> stopped_by_type(domain::TimePoint at) const;
    std::optional<domain::Gate> stopped_by_provider(domain::TimePoint at) const;
    std::optional<domain::Gate> stopped_by_budget(domain::TimePoint at);

    const subworkflows::WorkflowType* type_;
    const std::vector<subworkflows::PauseRecord>& pauses_;
    const std::vector<resource_manager::Provider>& providers_;
    const resource_manager::WeatherRecords& weather_;
    std::vector<resource_manager::BudgetState> budgets_;
    domain::Demand demand_;
};

}
