// Of the board: whose turn it is by the shares of a policy, as turns go by.
#include "orchestrator/board.h"

namespace impresario::orchestrator {

void Board::set_fairness(const std::shared_ptr<const resource_manager::FairnessPolicy>& policy) {
    if (!policy) {
        shares_.reset();
        charges_.clear();
    } else if (!shares_) {
        shares_.emplace(*policy);
    } else if (shares_->policy().version != policy->version) {
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
    if (shares_) shares_->charge(granted.lane, charge->second, now_());
    charges_.erase(charge);
}

}
