#include "priority_queue/ended_store.h"

#include "platform/read_rows.h"
#include "priority_queue_sql.h"

namespace impresario::priority_queue {

using domain::ExecutionId;
using domain::Family;
using domain::FamilyMember;
using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::SqlArray;
using platform::Tx;

namespace {
/// Members come one family after the other, its first member first.
std::vector<Family> read(const Rows& rows) {
    std::vector<Family> families;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto root = row.id<ExecutionId>();
        const auto created = row.time();
        FamilyMember member;
        member.id = row.id<ExecutionId>();
        member.status = domain::parse_status(row.view()).value_or(domain::Status::queued);
        member.ended = row.maybe_time();
        member.held = row.flag();
        member.last_event = row.integer();
        if (families.empty() || families.back().members.front().id != root) families.push_back({created, {}});
        families.back().members.push_back(std::move(member));
    }
    return families;
}
}

std::vector<std::string> EndedStore::organizations(Tx& tx) const {
    const auto rows = tx.exec(sql::list_organizations);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < rows.size(); ++i) all.push_back(RowReader(rows, i).text());
    return all;
}

std::vector<Family> EndedStore::families(Tx& tx, const std::string& organization_id, const Place& after,
                                         domain::TimePoint before, int most) const {
    auto values = Params().add(organization_id).add(after.created).add(after.id).add(before).add(most);
    return read(tx.exec(sql::families, values));
}

std::vector<Family> EndedStore::lock(Tx& tx, const std::vector<ExecutionId>& firsts) const {
    tx.send(sql::lock_families, Params().add(SqlArray::of(firsts)));
    return read(tx.exec(sql::families_of, Params().add(SqlArray::of(firsts))));
}

void EndedStore::remove(Tx& tx, const std::vector<ExecutionId>& executions) const {
    tx.send(sql::remove_inputs, Params().add(SqlArray::of(executions)));
    tx.send(sql::remove_results, Params().add(SqlArray::of(executions)));
    tx.send(sql::remove_dead_letters, Params().add(SqlArray::of(executions)));
    tx.exec(sql::remove_executions, Params().add(SqlArray::of(executions)));
}

std::vector<EndedStore::Count> EndedStore::counts(Tx& tx, const std::vector<ExecutionId>& executions) const {
    const auto rows = tx.exec(sql::family_counts, Params().add(SqlArray::of(executions)));
    return platform::read_rows(rows, [](RowReader& row) {
        Count count;
        count.lane.organization_id = row.text();
        count.lane.workflow_type = row.text();
        count.status = domain::parse_status(row.view()).value_or(domain::Status::completed);
        count.executions = row.integer();
        return count;
    });
}

std::vector<EndedStore::Size> EndedStore::sizes(Tx& tx, const std::vector<ExecutionId>& executions) const {
    const auto rows = tx.exec(sql::family_sizes, Params().add(SqlArray::of(executions)));
    return platform::read_rows(rows, [](RowReader& row) {
        Size size;
        size.table = row.text();
        size.rows = row.integer();
        size.bytes = row.integer();
        return size;
    });
}

}
