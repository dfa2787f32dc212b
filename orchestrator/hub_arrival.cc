// An execution that finds nothing before it is granted by the transaction that inserts it: one commit less until its
// request leaves.

#include "orchestrator/hub.h"

namespace impresario::orchestrator {

using domain::Execution;

/// The plan decides as in every turn, for a queue with the newcomer in it. Its slot is taken before the commit, so that
/// a turn that begins meanwhile does not give it away; while a turn is under way nobody knows what that will take.
std::optional<Arrival> Hub::admit(const Execution& row) {
    if (!idle_ || !lead_ || !board_ || rebuild_ || stopping_ || lost_contact() || !row.claimable()) return std::nullopt;
    const auto now = node_.clock().now();
    const auto load = loads();
    const auto idlest =
        std::min_element(load.begin(), load.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (idlest->first != node_.id()) return std::nullopt;

    // Another node may write just now that one has ended, and anybody may take a lock; only a turn's transaction sees to
    // that.
    if (const auto* type = node_.catalogue()->find(row.lane); type && (type->cool_down || !type->lock.empty()))
        return std::nullopt;

    board_->observe(row);
    auto input = board_->plan_input(1);
    input.newcomer = row;
    Plan planned = plan(std::move(input), now);
    std::optional<Decision> granted;
    if (!planned.grants.empty() && planned.grants.front().execution == row.id) {
        Circumstances circumstances;
        circumstances.type = node_.catalogue()->find(row.lane);
        circumstances.now = now;
        granted = decide_grant(row, terms(planned.grants.front(), node_.id(), now), circumstances);
    }
    if (!granted) {
        board_->forget(row.id);
        return std::nullopt;
    }
    board_->observe(granted->after);
    board_->see_shares(planned, false);
    board_->charge(granted->after, planned.grants.front().demand);
    ++arriving_;

    Arrival arrival;
    arrival.fence = [epoch = *lead_, node = node_.id()](platform::Tx& tx) {
        SchedulerStore().insist_on_lead(tx, epoch, node);
    };
    arrival.done = [this, after = granted->after, now](bool started) {
        --arriving_;
        if (!board_) return;
        if (!started) {
            board_->take_back(after.id);
            return;
        }
        move(HubState::dispatching, node_.clock().now(), "granting 1 that has just come");
        node_.probe().dispatched(after.lane, domain::Duration{0});
        node_.probe().granted(1);
        if (auto* tracer = node_.tracer()) tracer->granted(after, now, node_.clock().now());
        last_execution_ = now;
        wake();
    };
    arrival.grant = *std::move(granted);
    return arrival;
}

}
