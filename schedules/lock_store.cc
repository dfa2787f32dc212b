#include "schedules/lock_store.h"

#include "platform/read_rows.h"
#include "schedules_sql.h"

namespace impresario::schedules {

using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::SqlArray;
using platform::Tx;

namespace {
std::vector<Lock> read_locks(const Rows& rows) {
    return platform::read_rows(rows, [](RowReader& row) {
        Lock lock;
        lock.name = row.text();
        lock.owner = row.text();
        lock.token = row.integer();
        lock.acquired_at = row.time();
        lock.held_until = row.time();
        lock.held = row.flag();
        lock.execution = row.maybe_id<domain::ExecutionId>();
        return lock;
    });
}

std::optional<Lock> first_lock(const Rows& rows) {
    auto locks = read_locks(rows);
    if (locks.empty()) return std::nullopt;
    return std::move(locks.front());
}
}

std::optional<std::int64_t> LockStore::acquire(Tx& tx, const LockName& lock, const std::string& owner,
                                               const domain::ApiKeyId& key, int seconds) const {
    tx.send(sql::hurry);
    const auto rows = tx.exec(
        sql::acquire_lock, Params().add(lock.organization_id).add(lock.name).add(owner).add(key.text()).add(seconds));
    return RowReader(rows, 0).maybe_integer();
}

bool LockStore::renew(Tx& tx, const LockName& lock, const domain::ApiKeyId& key, std::int64_t token,
                      int seconds) const {
    tx.send(sql::hurry);
    const auto rows = tx.exec(
        sql::renew_lock, Params().add(lock.organization_id).add(lock.name).add(key.text()).add(token).add(seconds));
    return RowReader(rows, 0).flag();
}

bool LockStore::release(Tx& tx, const LockName& lock, const domain::ApiKeyId& key, std::int64_t token) const {
    tx.send(sql::hurry);
    const auto rows =
        tx.exec(sql::release_lock, Params().add(lock.organization_id).add(lock.name).add(key.text()).add(token));
    return RowReader(rows, 0).flag();
}

std::optional<Lock> LockStore::take_away(Tx& tx, const LockName& lock) const {
    tx.send(sql::hurry);
    return first_lock(tx.exec(sql::break_lock, Params().add(lock.organization_id).add(lock.name)));
}

std::optional<Lock> LockStore::find(Tx& tx, const LockName& lock) const {
    return first_lock(tx.exec(sql::get_lock, Params().add(lock.organization_id).add(lock.name)));
}

std::set<domain::ExecutionId> LockStore::take(Tx& tx, const std::vector<TypeLock>& locks) const {
    std::set<domain::ExecutionId> without;
    if (locks.empty()) return without;
    const auto names = [](const auto& some) {
        std::array<SqlArray, 2> both;
        for (const auto& each : some) {
            both[0].add(each.lock.organization_id);
            both[1].add(each.lock.name);
        }
        return both;
    };
    std::set<LockName> ours;
    const auto tried = tx.exec(sql::try_locks, Params().add(names(locks)));
    for (std::size_t i = 0; i < tried.size(); ++i) {
        RowReader row(tried, i);
        LockName name;
        name.organization_id = row.text();
        name.name = row.text();
        ours.insert(std::move(name));
    }
    std::vector<TypeLock> free;
    SqlArray executions;
    SqlArray attempts;
    SqlArray owners;
    for (const auto& each : locks) {
        without.insert(each.execution);
        // The first of each has it.
        if (ours.erase(each.lock) == 0) continue;
        free.push_back(each);
        executions.add(each.execution);
        attempts.add(each.attempt);
        owners.add(each.owner);
    }
    if (free.empty()) return without;
    const auto taken =
        tx.exec(sql::take_locks,
                Params().add(names(free)).add(std::move(executions)).add(std::move(attempts)).add(std::move(owners)));
    for (std::size_t i = 0; i < taken.size(); ++i) without.erase(RowReader(taken, i).id<domain::ExecutionId>());
    return without;
}

std::vector<HeldLock> LockStore::of_types(Tx& tx) const {
    const auto rows = tx.exec(sql::locks_of_types);
    return platform::read_rows(rows, [](RowReader& row) {
        HeldLock each;
        each.lock.organization_id = row.text();
        each.lock.name = row.text();
        each.owner = row.text();
        each.held_until = row.time();
        return each;
    });
}

std::vector<Lock> LockStore::list(Tx& tx, const std::string& organization_id) const {
    return read_locks(tx.exec(sql::list_locks, Params().add(organization_id)));
}

}
