// Of decide: what happens to an execution, as movements of its attempt's money.
#include <algorithm>

#include "domain/need_amounts.h"
#include "orchestrator/draft.h"
#include "resource_manager/price.h"

namespace impresario::orchestrator {

using domain::AttemptState;
using domain::Callback;
using domain::LiveAttempt;
using domain::MicroUsd;
using resource_manager::Movement;
using resource_manager::MovementKind;

namespace {

/// What `cost` is of which provider: as the callback says, else as its type expects.
domain::Demand spent(Draft& draft, MicroUsd cost, const Callback* callback) {
    domain::Demand demand;
    demand.lane = draft.row().lane;
    demand.batch = draft.row().batch;
    demand.cost = cost;
    if (callback)
        for (const auto& usage : callback->usage) {
            if (!usage.cost || usage.provider.empty()) continue;
            const auto same = [&](const domain::Need& need) { return need.provider == usage.provider; };
            auto need = std::find_if(demand.needs.begin(), demand.needs.end(), same);
            if (need == demand.needs.end()) {
                demand.needs.push_back({usage.provider});
                need = std::prev(demand.needs.end());
            }
            need->cost = need->cost + *usage.cost;
        }
    if (demand.needs.empty() && draft.at().type) {
        auto needs = domain::with_amounts(draft.at().type->needs, draft.row().need_amounts);
        demand.needs = resource_manager::costing(std::move(needs), cost);
    }
    return demand;
}

void book(Draft& draft, MovementKind kind, const domain::AttemptId& attempt, int ordinal, domain::Demand demand,
          domain::TimePoint pinned_at, bool estimated = false) {
    draft.decision().money.push_back(
        {Movement{kind, draft.row().id, attempt, ordinal, std::move(demand), estimated}, pinned_at});
}

/// Whether there is anything to book.
bool budgeted(const Draft& draft, const LiveAttempt& attempt) {
    return attempt.reserved.has_value() || draft.at().budgets;
}

void move_held(Draft& draft, MovementKind kind) {
    const auto& attempt = *draft.row().attempt;
    if (!attempt.reserved) return;
    book(draft, kind, attempt.id, attempt.fence, spent(draft, {}, nullptr), attempt.granted_at);
}

}

void release_money(Draft& draft) { move_held(draft, MovementKind::release); }
void suspend_money(Draft& draft) { move_held(draft, MovementKind::suspend); }

void top_up_money(Draft& draft, MicroUsd so_far, const Callback& callback) {
    const auto& attempt = *draft.row().attempt;
    if (!budgeted(draft, attempt)) return;
    book(draft, MovementKind::top_up, attempt.id, draft.row().last_seq + 1, spent(draft, so_far, &callback),
         attempt.granted_at);
}

namespace {
/// It has taken no more than its grant, whatever the tables say: it tells nothing but a cost, which was reserved from
/// what its type declares or has learnt, and falls on its providers as that did.
bool within_grant(const Draft& draft, std::optional<MicroUsd> reserved, MicroUsd cost, const Callback& callback) {
    const auto* type = draft.at().type;
    if (!callback.usage.empty() || !type || !reserved || cost > *reserved) return false;
    const auto& needs = type->needs;
    if (needs.size() == 1 && callback.api_calls.value_or(0) > needs.front().calls) return false;
    return type->cost_estimate ||
           std::any_of(needs.begin(), needs.end(), [](const auto& need) { return need.cost > MicroUsd{0}; });
}
}

void charge_usage(Draft& draft, const domain::AttemptId& attempt, std::optional<MicroUsd> reserved,
                  std::optional<MicroUsd> cost, const Callback& callback) {
    if (within_grant(draft, reserved, cost.value_or(MicroUsd{}), callback)) return;
    auto needs = spent(draft, cost.value_or(MicroUsd{}), &callback).needs;
    for (auto& need : needs) need = {need.provider, 0, 0, 0, cost ? need.cost : MicroUsd{}};
    for (const auto& usage : callback.usage) {
        if (usage.provider.empty()) continue;
        const auto same = [&](const domain::Need& need) { return need.provider == usage.provider; };
        auto need = std::find_if(needs.begin(), needs.end(), same);
        if (need == needs.end()) need = needs.insert(needs.end(), {usage.provider});
        need->calls += usage.api_calls;
        need->tokens += usage.tokens;
    }
    // Of several nobody knows which was called.
    if (callback.usage.empty() && needs.size() == 1) needs.front().calls = callback.api_calls.value_or(0);
    for (auto& need : needs)
        if (need.calls > 0 || need.tokens > 0 || need.cost > MicroUsd{0})
            draft.decision().charges.push_back(
                {draft.row().id, attempt, draft.row().lane, draft.row().limit_keys, std::move(need)});
}

void settle_money(Draft& draft, const LiveAttempt& attempt, std::optional<MicroUsd> cost, const Callback& callback) {
    if (!budgeted(draft, attempt)) return;
    book(draft, MovementKind::settle, attempt.id, 0, spent(draft, cost.value_or(MicroUsd{}), &callback),
         attempt.granted_at, !cost);
}

void settle_closed(Draft& draft, std::string_view outcome) {
    const auto& attempt = *draft.row().attempt;
    if (!budgeted(draft, attempt)) return;
    const bool not_there = attempt.state == AttemptState::granted ||
                           attempt.state == AttemptState::waiting_redelivery || outcome == "rejected";
    // It may have run, and on: what is held is no less than what it has said until now.
    const bool estimated = !not_there && attempt.reserved;
    book(draft, MovementKind::settle, attempt.id, 0, spent(draft, attempt.cost.value_or(MicroUsd{}), nullptr),
         attempt.granted_at, estimated);
}

void correct_money(Draft& draft, const domain::AttemptId& attempt, MicroUsd cost, const Callback& callback) {
    if (!draft.at().budgets) return;
    book(draft, MovementKind::correct, attempt, draft.row().last_seq + 1, spent(draft, cost, &callback), draft.now());
}

std::optional<MicroUsd> cost_in(const Callback& callback) {
    if (callback.cost) return callback.cost;
    std::optional<MicroUsd> sum;
    for (const auto& each : callback.usage)
        if (each.cost) sum = sum.value_or(MicroUsd{}) + *each.cost;
    return sum;
}

std::optional<std::int64_t> tokens_in(const Callback& callback) {
    std::optional<std::int64_t> sum;
    for (const auto& each : callback.usage) sum = sum.value_or(0) + each.tokens;
    return sum;
}

}
