// Of the hub: how all stand by the fairness policy, written down for the other nodes and for explanations.
#include "orchestrator/hub.h"
#include "resource_manager/fairness_json.h"
#include "resource_manager/fairness_store.h"

namespace impresario::orchestrator {

using domain::TimePoint;
using platform::Tx;
using std::chrono::steady_clock;

void Hub::show_standings(TimePoint now) {
    const auto steady = steady_clock::now();
    if (!board_->shares()) standings_shown_.clear();
    if (!board_->shares() || steady - standings_shown_at_ < kShowEvery) return;
    standings_shown_at_ = steady;
    auto standings = resource_manager::standings_json(board_->shares()->standings(now));
    if (standings == standings_shown_) return;
    standings_shown_ = standings;
    show_others([standings, now](Tx& tx) { resource_manager::FairnessStore().write(tx, now, standings); },
                [this] { standings_shown_.clear(); });
}

}
