#include "resource_manager/provider_store.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "resource_manager/provider_json.h"
#include "resource_manager_sql.h"

namespace impresario::resource_manager {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

std::vector<Provider> ProviderStore::load(Tx& tx) const {
    std::vector<Provider> providers;
    const auto rows = tx.exec(sql::load_providers);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        Provider provider;
        provider.name = row.text();
        provider.limits = stored_limits(row.view());
        provider.version = row.small();
        provider.updated_at = row.time();
        provider.updated_by = row.text();
        provider.reason = row.text();
        providers.push_back(std::move(provider));
    }
    return providers;
}

Provider ProviderStore::put(Tx& tx, Provider provider) const {
    Params params;
    params.add(provider.name).add(limits_json(provider)).add(provider.updated_by).add(provider.reason);
    const auto rows = tx.exec(sql::put_provider, params);
    RowReader row(rows, 0);
    provider.version = row.small();
    provider.updated_at = row.time();
    return provider;
}

bool ProviderStore::remove(Tx& tx, const std::string& name, const std::string& by, const std::string& reason) const {
    return tx.exec(sql::delete_provider, Params().add(name).add(by).add(reason)).affected() > 0;
}

std::vector<DefinitionVersion> ProviderStore::versions(Tx& tx, const std::string& name) const {
    return read_versions(tx.exec(sql::list_provider_versions, Params().add(name)));
}

void ProviderStore::charge(Tx& tx, const std::vector<PermitRecord>& permits) const {
    if (permits.empty()) return;
    std::array<SqlArray, 6> a;
    // What many have in common stands there once.
    std::array<SqlArray, 7> shapes;
    using Shape = std::tuple<domain::Lane, domain::TimePoint, std::vector<domain::Need>>;
    std::map<Shape, std::int64_t> known;
    for (const auto& each : permits) {
        const auto [at, added] = known.try_emplace(Shape{each.lane, each.lease_until, each.needs},
                                                   static_cast<std::int64_t>(known.size()) + 1);
        a[0].add(each.attempt);
        a[1].add(each.fence);
        a[2].add(each.execution);
        a[3].add(each.delivery);
        a[4].add_bigint(at->second);
        a[5].add_or_null(each.limit_keys);
        if (!added) continue;
        auto& providers = shapes[5];
        auto& amounts = shapes[6];
        shapes[0].add(each.lane.organization_id);
        shapes[1].add(each.lane.workflow_type);
        shapes[2].add(each.lease_until);
        shapes[3].add(static_cast<std::int64_t>(providers.size()) + 1);
        shapes[4].add(static_cast<std::int64_t>(each.needs.size()));
        for (const auto& need : each.needs) providers.add(need.provider);
        for (const auto& need : each.needs) amounts.add_bigint(need.calls);
        for (const auto& need : each.needs) amounts.add_bigint(need.tokens);
        for (const auto& need : each.needs) amounts.add_bigint(need.items);
        for (const auto& need : each.needs) amounts.add_bigint(need.cost.value);
    }
    tx.send(sql::charge_permits, Params().add(std::move(a)).add(std::move(shapes)));
}

void ProviderStore::give_back(Tx& tx, const std::vector<Unsent>& unsent) const {
    if (unsent.empty()) return;
    std::array<SqlArray, 2> a;
    for (const auto& each : unsent) {
        a[0].add(each.attempt);
        a[1].add(each.fence);
    }
    tx.send(sql::give_back_permits, Params().add(std::move(a)));
}

void ProviderStore::charge_usage(Tx& tx, const std::vector<UsageCharge>& charges) const {
    // Twice in a batch is once, with the later word: both tell all until then.
    std::map<std::pair<domain::AttemptId, std::string>, UsageCharge> latest;
    for (const auto& each : charges) {
        const auto [at, first] = latest.try_emplace({each.attempt, each.need.provider}, each);
        if (first) continue;
        auto& need = at->second.need;
        need.calls = std::max(need.calls, each.need.calls);
        need.tokens = std::max(need.tokens, each.need.tokens);
        need.cost = std::max(need.cost, each.need.cost);
    }
    if (latest.empty()) return;
    std::array<SqlArray, 9> a;
    for (const auto& [of, each] : latest) {
        a[0].add(each.execution);
        a[1].add(each.attempt);
        a[2].add(each.need.provider);
        a[3].add(each.lane.organization_id);
        a[4].add(each.lane.workflow_type);
        a[5].add_or_null(each.limit_keys);
        a[6].add_bigint(each.need.calls);
        a[7].add_bigint(each.need.tokens);
        a[8].add_bigint(each.need.cost.value);
    }
    tx.send(sql::charge_usage, Params().add(std::move(a)));
}

namespace {
LoadedPermit read_permit(RowReader& row) {
    LoadedPermit permit;
    permit.lane.organization_id = row.text();
    permit.lane.workflow_type = row.text();
    permit.need.provider = row.text();
    permit.need.calls = row.integer();
    permit.need.tokens = row.integer();
    permit.need.items = row.integer();
    permit.need.cost = domain::MicroUsd{row.integer()};
    permit.ended_at = row.maybe_time();
    permit.limit_keys = row.text();
    return permit;
}

void read_beyond(const platform::Rows& rows, std::vector<LoadedPermit>& into) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        into.push_back(read_permit(row));
        into.back().beyond = true;
    }
}
}

bool ProviderStore::any_uncounted(Tx& tx) const {
    const auto rows = tx.exec(sql::any_uncounted_usage);
    return RowReader(rows, 0).flag();
}

std::vector<LoadedPermit> ProviderStore::count_usage(Tx& tx, int most) const {
    std::vector<LoadedPermit> counted;
    const auto rows = tx.exec(sql::count_usage_charges, Params().add(most));
    read_beyond(rows, counted);
    return counted;
}

std::vector<LoadedPermit> ProviderStore::permits(Tx& tx) const {
    std::vector<LoadedPermit> permits;
    const auto read = [&](const platform::Rows& rows, bool live) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RowReader row(rows, i);
            auto permit = read_permit(row);
            if (live) {
                permit.execution = row.id<domain::ExecutionId>();
                permit.attempt = row.id<domain::AttemptId>();
                permit.fence = row.small();
                permit.lease_until = row.time();
            }
            permits.push_back(std::move(permit));
        }
    };
    const auto live = tx.exec(sql::load_live_permits);
    read(live, true);
    const auto closed = tx.exec(sql::load_closed_permits);
    read(closed, false);
    const auto beyond = tx.exec(sql::load_usage_charges);
    read_beyond(beyond, permits);
    return permits;
}

std::size_t ProviderStore::forget_permits(Tx& tx) const {
    return tx.exec(sql::forget_permits).affected() + tx.exec(sql::forget_usage_charges).affected();
}

}
