#include "platform/migrator.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace impresario::platform {

namespace {

bool exists(Tx& tx, std::string_view table) {
    const auto rows = tx.run("select to_regclass($1) is not null", Params().add(table));
    return RowReader(rows, 0).flag();
}

}

std::string Migration::why() const {
    std::string text;
    for (std::size_t at = 0; up.compare(at, 3, "-- ") == 0;) {
        const auto end = std::min(up.find('\n', at), up.size());
        if (!text.empty()) text += ' ';
        text += up.substr(at + 3, end - at - 3);
        at = std::min(end + 1, up.size());
    }
    const auto stop = text.find(". ");
    return stop == std::string::npos ? text : text.substr(0, stop + 1);
}

SchemaStatus Migrator::status(Tx& tx) const {
    if (!exists(tx, "schema_version")) return {};
    const auto rows = tx.run("select version, min_hub from schema_version");
    if (rows.empty()) return {};
    RowReader row(rows, 0);
    SchemaStatus status;
    status.version = row.small();
    status.min_hub = row.small();
    return status;
}

std::vector<std::pair<std::string, const Migration*>> Migrator::steps(int from, int target) const {
    std::vector<std::pair<std::string, const Migration*>> steps;
    for (const auto& migration : migrations_)
        if (migration.version > from && migration.version <= target) steps.emplace_back("up", &migration);
    for (auto at = migrations_.rbegin(); at != migrations_.rend(); ++at)
        if (at->version <= from && at->version > target) steps.emplace_back("down", &*at);
    return steps;
}

namespace {

/// How long a migration waits for a lock on a table. Whoever comes after it waits behind it, so it is less than the
/// patience of a hub's statement.
constexpr std::chrono::milliseconds kLockPatience{2000};
/// In between the hubs get on with what has gathered.
constexpr std::chrono::milliseconds kBetweenTries{1000};

void refuse_older_hubs(Tx& tx, int min_hub) {
    if (!exists(tx, "nodes")) return;
    const auto rows = tx.run(
        "select string_agg(name || ' (version ' || hub_version || ')', ', ' order by name) from nodes "
        "where hub_version < $1 and lease_until > clock_timestamp()",
        Params().add(min_hub));
    if (rows.null(0, 0)) return;
    throw OlderHubs("hubs older than version " + std::to_string(min_hub) +
                    " are running: " + RowReader(rows, 0).text());
}

std::string oldest_transaction(Connection& connection) {
    std::string found = "nobody has a transaction open any more";
    connection.autocommit([&](Tx& tx) {
        const auto rows = tx.run(
            "select 'process ' || pid || ' (' || coalesce(nullif(application_name, ''), 'nameless') || ') has had a "
            "transaction open for ' || date_trunc('milliseconds', clock_timestamp() - xact_start) from "
            "pg_stat_activity "
            "where datname = current_database() and xact_start is not null and pid <> pg_backend_pid() "
            "order by xact_start limit 1");
        if (!rows.empty()) found = RowReader(rows, 0).text();
    });
    return found;
}

}

bool Migrator::step(Tx& tx, int target, const std::function<void(std::string_view, const Migration&)>& told) const {
    tx.run("set local statement_timeout = 0");
    tx.run("set local lock_timeout = 0");
    // A key of our own, held to the end of the transaction.
    tx.run("select pg_advisory_xact_lock(7370726573617269)");
    tx.run(
        "create table if not exists schema_version (one boolean primary key default true check (one), version "
        "integer not null, min_hub integer not null)");
    tx.run("insert into schema_version (version, min_hub) values (0, 1) on conflict do nothing");
    const auto at = status(tx);
    const auto next = steps(at.version, target);
    if (next.empty()) return false;
    const auto& [direction, migration] = next.front();
    told(direction, *migration);
    tx.run("set local lock_timeout = " + std::to_string(kLockPatience.count()));
    const bool up = direction == "up";
    int min_hub = 1;
    for (const auto& each : migrations_)
        if (each.version <= (up ? migration->version : migration->version - 1))
            min_hub = std::max(min_hub, each.min_hub);
    const bool contract = min_hub > at.min_hub;
    if (contract) refuse_older_hubs(tx, min_hub);
    tx.run(up ? migration->up : migration->down);
    if (contract && exists(tx, "nodes")) {
        // Who has come meanwhile: nobody joins from here to the commit, which is near, because heartbeats wait for it.
        tx.run("lock table nodes in share row exclusive mode");
        refuse_older_hubs(tx, min_hub);
    }
    tx.run("update schema_version set version = $1, min_hub = $2",
           Params().add(up ? migration->version : migration->version - 1).add(min_hub));
    return true;
}

void Migrator::migrate(Connection& connection, int target,
                       const std::function<void(std::string_view, const Migration&)>& told,
                       const std::function<void(const std::string&)>& held_up,
                       std::chrono::milliseconds patience) const {
    using std::chrono::steady_clock;
    const Migration* said = nullptr;
    auto since = steady_clock::now();
    const auto tell = [&](std::string_view direction, const Migration& migration) {
        if (std::exchange(said, &migration) == &migration) return;
        since = steady_clock::now();
        told(direction, migration);
    };
    for (bool more = true; more;) {
        try {
            connection.transact([&](Tx& tx) { more = step(tx, target, tell); });
        } catch (const StatementRefused& refused) {
            const bool locked = refused.sqlstate == "55P03";
            if (!locked || steady_clock::now() - since > patience) throw;
            if (held_up) held_up(oldest_transaction(connection));
            std::this_thread::sleep_for(kBetweenTries);
        }
    }
}

}
