// Of the board: whose turn it is by the shares of a policy, as turns go by.
#include "orchestrator/board.h"

namespace impresario::orchestrator {

void Board::set_fairness(const std::shared_ptr<const resource_manager::FairnessPolicy>& policy) {
    if (!policy) {
        shares_.reset();
        charges_.clear();
        for (auto& [id, live] : live_) live.charge.reset();
    } else if (!shares_) {
        shares_.emplace(*policy);
    } else if (shares_->policy().version != policy->version) {
        if (shares_->policy().measure != policy->measure)
            for (auto& [id, live] : live_) live.charge.reset();
        shares_->set_policy(*policy);
    }
}

void Board::see_shares(Plan& plan, bool whole_turn) {
    if (!shares_ || !plan.fair) return;
    if (whole_turn) shares_->attend(plan.fair->contenders);
    charges_ = std::move(plan.fair->charges);
}

void Board::charge_share(const domain::Execution& granted) {
    const auto charge = charges_.find(granted.id);
    if (charge == charges_.end()) return;
    if (shares_) {
        const auto now = now_();
        shares_->charge(granted.lane, charge->second, now);
        if (const auto live = live_.find(granted.id); live != live_.end()) {
            live->second.charge = charge->second;
            live->second.charged_at = now;
        }
    }
    charges_.erase(charge);
}

void Board::correct_share(const domain::ExecutionId& execution, double amount) {
    const auto live = live_.find(execution);
    if (live == live_.end()) return;
    const auto charged = std::exchange(live->second.charge, std::nullopt);
    if (charged && shares_) shares_->correct(live->second.lane, *charged, amount, live->second.charged_at);
}

}
