#include "resource_manager/budget_store.h"

#include <algorithm>
#include <array>

#include "platform/read_rows.h"
#include "resource_manager/budget_json.h"
#include "resource_manager_sql.h"

namespace impresario::resource_manager {

using domain::BudgetId;
using domain::TimePoint;
using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::SqlArray;
using platform::Tx;

BudgetState read_budget(RowReader& row) {
    BudgetState state;
    Budget& budget = state.budget;
    budget.id = row.id<BudgetId>();
    budget.name = row.text();
    budget.scope.organization_id = row.text();
    budget.scope.provider = row.text();
    budget.scope.workflow_type = row.text();
    budget.scope.batch = row.maybe_id<domain::BatchId>();
    budget.window.unit = parse_window_unit(row.view()).value_or(WindowUnit::day);
    budget.window.zone = row.text();
    budget.window.reset_hour = row.small();
    budget.window.first_weekday = row.small();
    budget.window.hours = row.small();
    budget.limit = domain::MicroUsd{row.integer()};
    budget.hard = row.flag();
    budget.steps = stored_steps(row.view());
    budget.version = row.small();
    budget.updated_at = row.time();
    budget.updated_by = row.text();
    budget.reason = row.text();
    state.steps_on = static_cast<std::size_t>(row.integer());
    const auto start = row.maybe_time();
    const auto end = row.maybe_time();
    if (start && end) state.steps_window = {*start, *end};
    state.approved_until = row.maybe_time();
    return state;
}

void read_balances(const Rows& rows, std::vector<BudgetState>& states) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto id = row.id<BudgetId>();
        BudgetWindow window;
        window.start = row.time();
        window.end = row.time();
        Balance balance;
        balance.settled = domain::MicroUsd{row.integer()};
        balance.reserved = domain::MicroUsd{row.integer()};
        balance.suspense = domain::MicroUsd{row.integer()};
        const auto state =
            std::find_if(states.begin(), states.end(), [&](const auto& each) { return each.budget.id == id; });
        if (state != states.end()) state->windows.push_back({window, balance});
    }
}

std::vector<BudgetState> BudgetStore::load(Tx& tx, TimePoint now) const {
    const auto budgets = tx.ask(sql::load_budgets);
    const auto balances = tx.exec(sql::load_balances, Params().add(now));
    auto states = platform::read_rows(budgets(), read_budget);
    read_balances(balances, states);
    return states;
}

bool BudgetStore::any(Tx& tx) const {
    const auto rows = tx.exec(sql::any_budget);
    return RowReader(rows, 0).flag();
}

std::optional<int> BudgetStore::put(Tx& tx, const Budget& budget) const {
    Params params;
    params.add(budget.id)
        .add(budget.name)
        .add_or_null(budget.scope.organization_id)
        .add_or_null(budget.scope.provider)
        .add_or_null(budget.scope.workflow_type)
        .add(budget.scope.batch)
        .add(name(budget.window.unit))
        .add(budget.window.zone)
        .add(budget.window.reset_hour)
        .add(budget.window.first_weekday)
        .add(budget.window.hours)
        .add(budget.limit)
        .add(budget.hard)
        .add(steps_json(budget.steps))
        .add(budget.updated_by)
        .add(budget.reason)
        .add(definition_json(budget));
    const auto rows = tx.exec(sql::put_budget, params);
    if (rows.empty()) return std::nullopt;
    return RowReader(rows, 0).small();
}

bool BudgetStore::retire(Tx& tx, const BudgetId& id, const std::string& by, const std::string& reason) const {
    return tx.exec(sql::retire_budget, Params().add(id).add(by).add(reason)).affected() > 0;
}

std::vector<DefinitionVersion> BudgetStore::versions(Tx& tx, const std::string& name,
                                                     const std::string& organization_id, bool also_for_all) const {
    return read_versions(tx.exec(sql::list_budget_versions, Params().add(name).add(organization_id).add(also_for_all)));
}

std::optional<BudgetStore::Place> BudgetStore::next_seq(Tx& tx, const BudgetId& id) const {
    const auto rows = tx.exec(sql::next_budget_seq, Params().add(id));
    if (rows.empty()) return std::nullopt;
    RowReader row(rows, 0);
    Place place;
    place.seq = row.small();
    place.organization_id = row.text();
    return place;
}

void BudgetStore::remember_steps(Tx& tx, const std::vector<BudgetState>& states) const {
    if (states.empty()) return;
    std::array<SqlArray, 4> a;
    for (const auto& each : states) {
        a[0].add(each.budget.id);
        a[1].add(static_cast<std::int64_t>(each.steps_on));
        a[2].add(each.steps_window.start);
        a[3].add(each.steps_window.end);
    }
    tx.send(sql::remember_steps, Params().add(std::move(a)));
}

bool BudgetStore::approve(Tx& tx, const BudgetId& id, TimePoint until, const std::string& by) const {
    return tx.exec(sql::approve_budget, Params().add(id).add(until).add(by)).affected() > 0;
}

}
