#include "platform/migrator.h"

#include <algorithm>

namespace impresario::platform {

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
    const auto exists = tx.run("select to_regclass('schema_version') is not null");
    if (!RowReader(exists, 0).flag()) return {};
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

void Migrator::migrate(Connection& connection, int target,
                       const std::function<void(std::string_view, const Migration&)>& told) const {
    for (;;) {
        bool done = false;
        connection.transact([&](Tx& tx) {
            // A key of our own, held to the end of the transaction.
            tx.run("set local statement_timeout = 0");
            tx.run("set local lock_timeout = 0");
            tx.run("select pg_advisory_xact_lock(7370726573617269)");
            tx.run(
                "create table if not exists schema_version (one boolean primary key default true check (one), version "
                "integer not null, min_hub integer not null)");
            tx.run("insert into schema_version (version, min_hub) values (0, 1) on conflict do nothing");
            const auto at = status(tx);
            const auto next = steps(at.version, target);
            if (next.empty()) {
                done = true;
                return;
            }
            const auto& [direction, migration] = next.front();
            told(direction, *migration);
            const bool up = direction == "up";
            tx.run(up ? migration->up : migration->down);
            int min_hub = 1;
            for (const auto& each : migrations_)
                if (each.version <= (up ? migration->version : migration->version - 1))
                    min_hub = std::max(min_hub, each.min_hub);
            tx.run("update schema_version set version = $1, min_hub = $2",
                   Params().add(up ? migration->version : migration->version - 1).add(min_hub));
        });
        if (done) return;
    }
}

}
