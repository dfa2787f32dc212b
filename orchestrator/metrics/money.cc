#include "orchestrator/metrics/money.h"

#include "orchestrator/board.h"

namespace impresario::orchestrator::metrics {

void Money::show(const Board& board, domain::TimePoint now) {
    for (const auto& each : board.budgets()) {
        const auto& name = each.budget.name;
        const std::string organization = each.budget.scope.organization_id;
        const auto balance = each.counted(now);
        budget.set({name, organization, "limit"}, usd(each.budget.limit));
        budget.set({name, organization, "settled"}, usd(balance.settled));
        budget.set({name, organization, "reserved"}, usd(balance.reserved));
        budget.set({name, organization, "suspense"}, usd(balance.suspense));
        budget.set({name, organization, "forecast"}, usd(resource_manager::forecast(each, now).at_end));
        steps.set({name, organization}, static_cast<double>(each.steps_on));
    }
    show_nothing();
}

void Money::show_nothing() {
    for (auto* gauge : {&budget, &steps}) gauge->drop_unset();
}

}
