// Of the hub: budgets and locks as the tables say, their steps, what SQL has spent, and what is learnt about costs.
#include <algorithm>

#include "orchestrator/budget_events.h"
#include "orchestrator/hub.h"
#include "platform/log.h"
#include "resource_manager/budget_store.h"
#include "resource_manager/estimate_store.h"
#include "resource_manager/ledger_store.h"
#include "resource_manager/provider_store.h"

namespace impresario::orchestrator {

using domain::TimePoint;
using platform::Task;
using platform::Tx;
using resource_manager::BudgetState;
using std::chrono::steady_clock;
namespace log = platform::log;

namespace {
/// Most lines of the inbox that are booked at once.
constexpr int kMostInbox = 500;
/// How long what is known of budgets of which hardly anything is used will do.
constexpr std::chrono::milliseconds kAmpleFor{50};

struct MovedSteps {
    BudgetState state;
    std::size_t before = 0;
};

/// On a database thread. Under the budgets' locks, so that whoever reads them sees what was told.
void tell_steps(Tx& tx, const std::vector<MovedSteps>& moved, const domain::NodeId& writer, TimePoint now) {
    std::vector<BudgetState> states;
    for (const auto& each : moved) states.push_back(each.state);
    resource_manager::BudgetStore().remember_steps(tx, states);
    for (const auto& [state, before] : moved) {
        const auto& steps = state.budget.steps;
        for (auto i = before; i < state.steps_on; ++i)
            append_budget_event(tx, state.budget.id, writer, domain::event::budget_step_begun,
                                step_payload(state, steps[i], now));
        for (auto i = std::min(before, steps.size()); i > state.steps_on; --i)
            append_budget_event(tx, state.budget.id, writer, domain::event::budget_step_ended,
                                step_payload(state, steps[i - 1], now));
    }
}
}

bool Hub::ample_budgets(TimePoint now) const {
    const auto& known = board_->budgets();
    return !known.empty() &&
           std::all_of(known.begin(), known.end(), [now](const auto& each) { return each.ample(now); });
}

/// What is booked is read anew each turn, as other nodes settle too; where all budgets are ample, less
/// often. Grants are checked against the rows once more (R17).
Task<void> Hub::refresh_budgets() {
    if (!node_.applier().budgets() && board_->budgets().empty()) co_return;
    const auto now = node_.clock().now();
    const auto asked_at = steady_clock::now();
    if (ample_budgets(now) && asked_at - budgets_read_at_ < kAmpleFor) co_return;
    budgets_read_at_ = asked_at;
    auto asked_budgets = node_.database().read([now](Tx& tx) { return resource_manager::BudgetStore().load(tx, now); });
    auto budgets = co_await std::move(asked_budgets);
    if (!board_) throw platform::DatabaseUnavailable("stepped down while loading");
    std::vector<MovedSteps> moved;
    for (auto& state : budgets) {
        const auto before = state.steps_on;
        if (resource_manager::move_steps(state, now)) moved.push_back({state, before});
    }
    if (!moved.empty()) {
        auto telling = node_.database().transact([moved, now, epoch = *lead_, id = node_.id()](Tx& tx) {
            SchedulerStore().fence(tx, epoch, id);
            tell_steps(tx, moved, id, now);
        });
        co_await std::move(telling);
        for (const auto& [state, before] : moved)
            log::info("a budget's steps have moved",
                      {{"budget", state.budget.name}, {"steps_on", state.steps_on}, {"before", before}});
        if (!board_) throw platform::DatabaseUnavailable("stepped down while loading");
    }
    board_->set_budgets(std::move(budgets));
}

/// Others take and release them at any time, so they are read anew each turn; a grant takes its own in its transaction.
Task<void> Hub::refresh_locks() {
    if (!board_->names_locks()) co_return;
    auto asked_locks = node_.database().read([](Tx& tx) { return schedules::LockStore().of_types(tx); });
    auto locks = co_await std::move(asked_locks);
    if (!board_) throw platform::DatabaseUnavailable("stepped down while loading");
    board_->set_locks(std::move(locks));
}

/// What SQL says was spent (protocol R21), and what it and callbacks say was used of providers (R19).
Task<void> Hub::book_inbox() {
    struct Waiting {
        bool money = false;
        bool usage = false;
    };
    auto looking = node_.database().read([](Tx& tx) {
        return Waiting{resource_manager::LedgerStore().any_reported(tx),
                       resource_manager::ProviderStore().any_uncounted(tx)};
    });
    const auto waiting = co_await std::move(looking);
    if (waiting.usage) co_await count_usage();
    if (!waiting.money || !lead_) co_return;
    auto booking = node_.database().transact([epoch = *lead_, id = node_.id()](Tx& tx) {
        SchedulerStore().fence(tx, epoch, id);
        const resource_manager::LedgerStore ledger;
        const auto lines = ledger.reported(tx, kMostInbox);
        if (!lines.empty()) ledger.book(tx, lines);
        return ledger.any_reported(tx);
    });
    // More than one turn books, or somebody holds an execution.
    const bool more = co_await std::move(booking);
    inbox_hinted_ = inbox_hinted_ || more;
}

/// Once: what was counted and is not known here is read by the next to lead, with the permits.
Task<void> Hub::count_usage() {
    if (!lead_) co_return;
    auto counting = node_.database().transact([epoch = *lead_, id = node_.id()](Tx& tx) {
        SchedulerStore().fence(tx, epoch, id);
        return resource_manager::ProviderStore().count_usage(tx, kMostInbox);
    });
    const auto counted = co_await std::move(counting);
    if (!board_) throw platform::DatabaseUnavailable("stepped down while counting usage");
    board_->charge_beyond(counted);
    // More than one turn counts.
    if (static_cast<int>(counted.size()) == kMostInbox) inbox_hinted_ = true;
}

/// For the next scheduler; what was learnt in the last minute may be lost.
Task<void> Hub::keep_estimates() {
    auto changed = board_->take_changed_estimates();
    if (changed.empty()) co_return;
    auto keeping = node_.database().transact([changed, epoch = *lead_, id = node_.id()](Tx& tx) {
        SchedulerStore().fence(tx, epoch, id);
        resource_manager::EstimateStore().keep(tx, changed);
    });
    co_await std::move(keeping);
}

}
