#include "journal/subscriber_store.h"

#include "journal/subscriber_json.h"
#include "journal_sql.h"
#include "platform/log.h"
#include "platform/peer_secrets_json.h"

namespace impresario::journal {

using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::Tx;

namespace {
std::string context_of(const std::string& organization_id, const std::string& name) {
    return "subscriber/" + organization_id + "/" + name;
}
}

SubscriberState read_subscriber_state(RowReader& row) {
    SubscriberState state;
    state.position = row.integer();
    state.failures = row.small();
    state.failing_since = row.maybe_time();
    state.not_before = row.maybe_time();
    state.published = row.integer();
    state.failed = row.integer();
    state.last_published = row.maybe_time();
    state.last_error = row.text();
    return state;
}

std::optional<SubscriberStore::Known> SubscriberStore::read(const Rows& rows, std::size_t i) const {
    RowReader row(rows, i);
    const auto id = row.id<SubscriberId>();
    const auto organization = row.text();
    const auto name = row.text();
    auto parsed = parse_subscriber(row.view(), nullptr);
    const auto secrets = keys_.open(row.view(), context_of(organization, name));
    if (!parsed || !secrets) {
        platform::log::error(
            "a subscriber cannot be read and is told nothing",
            {{"subscriber", name},
             {"error", secrets ? "its definition is not understood" : "its secrets were sealed under another hub key"},
             {"next", secrets ? "put it anew" : "give the hub its old key as well, or put it anew"}});
        return std::nullopt;
    }
    Known known{*std::move(parsed), {}};
    auto& [subscriber, state] = known;
    subscriber.id = id;
    subscriber.organization_id = organization;
    subscriber.name = name;
    subscriber.secrets = platform::stored_peer_secrets(*secrets);
    subscriber.version = row.small();
    subscriber.orders = row.small();
    subscriber.updated_at = row.time();
    subscriber.updated_by = row.text();
    const auto disabled_at = row.maybe_time();
    Subscriber::Disabled disabled{disabled_at.value_or(domain::TimePoint{}), row.text(), row.text()};
    if (disabled_at) subscriber.disabled = std::move(disabled);
    state = read_subscriber_state(row);
    return known;
}

std::vector<SubscriberStore::Known> SubscriberStore::list(Tx& tx, const std::string& organization_id) const {
    const auto rows = tx.exec(sql::list_subscribers, Params().add(organization_id));
    std::vector<Known> all;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (auto known = read(rows, i)) all.push_back(*std::move(known));
    return all;
}

std::optional<SubscriberStore::Known> SubscriberStore::find(Tx& tx, const std::string& organization_id,
                                                            const std::string& name) const {
    const auto rows = tx.exec(sql::find_subscriber, Params().add(organization_id).add(name));
    return rows.empty() ? std::nullopt : read(rows, 0);
}

std::optional<SubscriberStore::Known> SubscriberStore::lock(Tx& tx, const std::string& organization_id,
                                                            const std::string& name) const {
    // Read by a statement of its own: what the lock was waited for is seen.
    if (tx.exec(sql::lock_subscriber, Params().add(organization_id).add(name)).empty()) return std::nullopt;
    return find(tx, organization_id, name);
}

std::int64_t SubscriberStore::count(Tx& tx, const std::string& organization_id) const {
    const auto rows = tx.exec(sql::count_subscribers, Params().add(organization_id));
    return RowReader(rows, 0).integer();
}

std::string SubscriberStore::sealed(const Subscriber& subscriber) const {
    return keys_.seal(platform::peer_secrets_json(subscriber.secrets),
                      context_of(subscriber.organization_id, subscriber.name));
}

bool SubscriberStore::create(Tx& tx, const Subscriber& subscriber) const {
    auto values = Params().add(subscriber.organization_id).add(subscriber.name).add(definition_json(subscriber));
    values.add(sealed(subscriber)).add(subscriber.updated_by);
    return !tx.exec(sql::create_subscriber, std::move(values)).empty();
}

void SubscriberStore::change(Tx& tx, const Subscriber& subscriber) const {
    auto values = Params().add(subscriber.id).add(definition_json(subscriber)).add(sealed(subscriber));
    tx.exec(sql::change_subscriber, values.add(subscriber.updated_by));
}

void SubscriberStore::remove(Tx& tx, const SubscriberId& id) const {
    tx.exec(sql::delete_subscriber, Params().add(id));
}

bool SubscriberStore::disable(Tx& tx, const SubscriberId& id, const std::string& by, const std::string& reason) const {
    return tx.exec(sql::disable_subscriber, Params().add(id).add(by).add(reason)).affected() > 0;
}

void SubscriberStore::announce(Tx& tx, const SubscriberId& id) const {
    tx.exec(sql::announce_subscriber, Params().add(id));
}

void SubscriberStore::enable(Tx& tx, const SubscriberId& id) const {
    tx.send(sql::forget_failures, Params().add(id));
    announce(tx, id);
    tx.exec(sql::enable_subscriber, Params().add(id));
}

std::optional<int> next_subscriber_seq(Tx& tx, const SubscriberId& id) {
    const auto rows = tx.exec(sql::next_subscriber_seq, Params().add(id));
    if (rows.empty()) return std::nullopt;
    return RowReader(rows, 0).small();
}

}
