#include "orchestrator/intake.h"

#include <map>
#include <tuple>

#include "journal/event_store.h"
#include "orchestrator/queued_event.h"
#include "orchestrator_sql.h"

namespace impresario::orchestrator {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

namespace {

using KeyName = std::tuple<std::string, std::string, std::string, std::string>;
KeyName name_of(const IdempotencyKey& key) { return {key.organization_id, key.owner, key.route, key.key}; }

}

std::vector<IntakeReply> Intake::enqueue(Tx& tx, const std::vector<IntakeItem>& items) const {
    std::vector<IntakeReply> replies(items.size());

    // The first item of the batch with a key is its owner, if the database agrees.
    std::map<KeyName, std::size_t> owner;
    std::array<SqlArray, 7> a;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!items[i].key || !owner.emplace(name_of(*items[i].key), i).second) continue;
        a[0].add(items[i].key->organization_id);
        a[1].add(items[i].key->owner);
        a[2].add(items[i].key->route);
        a[3].add(items[i].key->key);
        a[4].add_bytes(items[i].key->body_sha256);
        a[5].add(items[i].status);
        a[6].add(items[i].answer);
    }
    std::map<KeyName, bool> ours;
    if (!owner.empty()) {
        const auto rows = tx.exec(sql::claim_idempotency_keys, Params().add(std::move(a)));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RowReader row(rows, i);
            std::string organization = row.text();
            std::string who = row.text();
            std::string route = row.text();
            std::string key = row.text();
            ours[{std::move(organization), std::move(who), std::move(route), std::move(key)}] = true;
        }
    }

    const priority_queue::QueueStore queue;
    std::vector<priority_queue::NewExecution> created;
    std::vector<domain::Event> events;
    std::array<SqlArray, 4> lost;
    bool any_lost = false;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto& item = items[i];
        const bool wins = !item.key || (owner.at(name_of(*item.key)) == i && ours.contains(name_of(*item.key)));
        if (!wins) {
            replies[i].replayed = true;
            any_lost = true;
            lost[0].add(item.key->organization_id);
            lost[1].add(item.key->owner);
            lost[2].add(item.key->route);
            lost[3].add(item.key->key);
            continue;
        }
        replies[i].status = item.status;
        replies[i].answer = item.answer;
        for (const auto& each : item.executions) {
            if (each.execution.attempt)
                queue.insert_granted(tx, each);
            else
                created.push_back(each);
            replies[i].created.push_back(each.execution);
            events.push_back(queued_event(each.execution));
        }
        events.insert(events.end(), item.events.begin(), item.events.end());
    }
    queue.insert(tx, created);
    journal::EventStore().append(tx, events, node_);

    if (any_lost) {
        const auto rows = tx.exec(sql::read_idempotency_keys, Params().add(std::move(lost)));
        struct Stored {
            std::string body_sha256;
            int status;
            std::string answer;
        };
        std::map<KeyName, Stored> stored;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RowReader row(rows, i);
            std::string organization = row.text();
            std::string who = row.text();
            std::string route = row.text();
            std::string key = row.text();
            Stored each{row.bytes(), row.small(), row.text()};
            stored[{std::move(organization), std::move(who), std::move(route), std::move(key)}] = std::move(each);
        }
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (!replies[i].replayed) continue;
            const auto found = stored.find(name_of(*items[i].key));
            if (found == stored.end())
                throw platform::DatabaseUnavailable("an idempotency key vanished while it was read; try again");
            replies[i].reused = found->second.body_sha256 != items[i].key->body_sha256;
            replies[i].status = found->second.status;
            replies[i].answer = found->second.answer;
        }
    }
    return replies;
}

std::size_t Intake::forget_old_keys(Tx& tx) const { return tx.exec(sql::forget_idempotency_keys).affected(); }

}
