#include "journal/outbox_store.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "journal/event_json.h"
#include "journal/subscriber_json.h"
#include "journal/subscriber_store.h"
#include "journal_sql.h"
#include "platform/read_rows.h"

namespace impresario::journal {

using domain::TimePoint;
using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::SqlArray;
using platform::Tx;

namespace {

constexpr std::array<std::string_view, 4> kStates{"pending", "in_flight", "published", "failed"};
/// Numbers of one look for the oldest.
constexpr int kPage = 2000;
/// What of a look is taken up: whoever tells it holds that in memory.
constexpr std::size_t kMostBytes = 1 << 20;
/// The same of what was given up.
constexpr int kMostFailed = 100;
/// So far is looked for the oldest event that somebody has not taken.
constexpr int kMostPages = 10;
/// No transaction takes longer.
constexpr std::chrono::minutes kLongestTransaction{1};

std::string like_pattern(const std::string& pattern) {
    std::string like;
    for (const char c : pattern) {
        if (c == '_' || c == '\\') like += '\\';
        like += c == '*' ? '%' : c;
    }
    return like;
}

void add_choice(Params& params, const EventChoice& choice) {
    SqlArray kinds;
    SqlArray types;
    for (const auto* topic : choice.topics) {
        if (!topic->kind.empty()) kinds.add(topic->kind);
        for (const auto type : topic->types) types.add(type);
    }
    SqlArray patterns;
    for (const auto& pattern : choice.types) patterns.add(like_pattern(pattern));
    SqlArray workflow_types;
    for (const auto& each : choice.workflow_types) workflow_types.add(each);
    params.add(std::move(kinds)).add(std::move(types)).add(std::move(patterns)).add(std::move(workflow_types));
}

/// What is chosen of the next page of the journal, and how far that has been looked at.
struct Found {
    std::vector<NumberedEvent> events;
    std::int64_t until = 0;
};
/// `of`: what its events have to be besides; its numbers say where to look.
Found find(Tx& tx, const Subscriber& subscriber, const Replay& of, int page, int most) {
    Found found;
    found.until = std::min(of.last, of.after + page);
    auto params = Params().add(of.after).add(found.until).add(most);
    params.add(subscriber.all_organizations() ? std::string() : subscriber.organization_id);
    add_choice(params, subscriber.choice);
    add_choice(params, of.choice);
    const auto rows = tx.exec(sql::chosen_events, params.add(of.since).add(of.until));
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < rows.size() && bytes < kMostBytes; ++i) {
        RowReader row(rows, i);
        found.events.push_back(read_numbered_event(row));
        bytes += found.events.back().payload.size();
    }
    // The page was not looked at to its end.
    if (found.events.size() < rows.size() || rows.size() >= static_cast<std::size_t>(most)) {
        found.until = found.events.back().number;
    } else if (rows.empty() && found.until < of.last) {
        found.until = StreamStore().skip(tx, found.until, of.last);
    }
    return found;
}
Replay between(std::int64_t after, std::int64_t last) {
    Replay all;
    all.after = after;
    all.last = last;
    return all;
}

SqlArray numbers(const std::vector<NumberedEvent>& events) {
    SqlArray array;
    for (const auto& event : events) array.add(event.number);
    return array;
}

/// Those of `events` that got a row from it are messages from now on.
std::size_t take_up(Tx& tx, const SubscriberId& id, std::vector<NumberedEvent> events,
                    const platform::Statement& statement, std::vector<Message>& into) {
    if (events.empty()) return 0;
    const auto rows = tx.exec(statement, Params().add(id).add(numbers(events)));
    std::vector<std::int64_t> taken;
    for (std::size_t i = 0; i < rows.size(); ++i) taken.push_back(RowReader(rows, i).integer());
    std::sort(taken.begin(), taken.end());
    for (auto& event : events)
        if (std::binary_search(taken.begin(), taken.end(), event.number)) into.push_back({std::move(event), {}});
    return taken.size();
}

/// Those that have their row in flight already; those whose event is not kept any more have failed.
void add_messages(Tx& tx, const Subscriber& subscriber, std::map<std::int64_t, MessageTries> tries, Claim& claim) {
    SqlArray wanted;
    for (const auto& [number, each] : tries) wanted.add(number);
    const auto events = tx.exec(sql::events_by_number, Params().add(std::move(wanted)));
    for (std::size_t i = 0; i < events.size(); ++i) {
        RowReader row(events, i);
        auto event = read_numbered_event(row);
        const auto found = tries.find(event.number);
        claim.messages.push_back({std::move(event), found->second});
        tries.erase(found);
    }
    std::vector<MessageResult> gone;
    for (const auto& [number, each] : tries)
        gone.push_back({number, MessageState::failed, each, {}, "its event is not kept any more", {}});
    if (!gone.empty()) OutboxStore().record(tx, subscriber.id, gone, claim.state);
}

/// Messages that wait for their turn.
void claim_waiting(Tx& tx, const Subscriber& subscriber, int most, Claim& claim) {
    const auto rows = tx.exec(sql::claim_messages, Params().add(subscriber.id).add(most).add(subscriber.ordered));
    if (rows.empty()) return;
    std::map<std::int64_t, MessageTries> tries;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        auto& each = tries[row.integer()];
        each.deliveries = row.small();
        each.failures = row.small();
        each.failing_since = row.maybe_time();
    }
    add_messages(tx, subscriber, tries, claim);
}

/// Whether there is something to be told once more, and the first of that, if there is to be any of it.
bool claim_replay(Tx& tx, const Subscriber& subscriber, int page, int most, Claim& claim) {
    const auto rows = tx.exec(sql::next_replay, Params().add(subscriber.id));
    if (rows.empty()) return false;
    if (most <= 0) return true;
    RowReader row(rows, 0);
    const auto id = row.integer();
    Replay replay;
    replay.after = row.integer();
    replay.last = row.integer();
    replay.failed = row.flag();
    replay.choice = stored_choice(row.view());
    replay.since = row.maybe_time();
    replay.until = row.maybe_time();
    std::int64_t until = replay.last;
    std::size_t count = 0;
    if (replay.failed) {
        const int some = std::min(most, kMostFailed);
        auto values = Params().add(subscriber.id).add(replay.after).add(replay.last).add(some);
        const auto taken = tx.exec(sql::take_up_failed, std::move(values));
        std::map<std::int64_t, MessageTries> tries;
        for (std::size_t i = 0; i < taken.size(); ++i) tries[RowReader(taken, i).integer()];
        count = tries.size();
        if (count == static_cast<std::size_t>(some)) until = tries.rbegin()->first;
        if (count > 0) add_messages(tx, subscriber, std::move(tries), claim);
    } else {
        auto found = find(tx, subscriber, replay, page, most);
        until = found.until;
        count = take_up(tx, subscriber.id, std::move(found.events), sql::take_up_again, claim.messages);
    }
    if (until >= replay.last) {
        tx.send(sql::end_replay, Params().add(id));
    } else {
        tx.send(sql::advance_replay, Params().add(id).add(until).add(static_cast<std::int64_t>(count)));
    }
    return true;
}

void claim_new(Tx& tx, const Subscriber& subscriber, const ClaimRequest& request, int most, Claim& claim) {
    const auto after = std::max(claim.state.position, request.nothing_until);
    auto until = after;
    if (after < request.last) {
        auto found = find(tx, subscriber, between(after, request.last), request.page, most);
        until = found.until;
        take_up(tx, subscriber.id, std::move(found.events), sql::take_up_messages, claim.messages);
    }
    claim.more = claim.more || until < request.last;
    if (until == claim.state.position) return;
    claim.state.position = until;
    tx.send(sql::set_position, Params().add(subscriber.id).add(until));
}

}

std::string_view name(MessageState state) { return kStates[static_cast<std::size_t>(state)]; }

std::optional<MessageState> parse_message_state(std::string_view text) {
    for (std::size_t i = 0; i < kStates.size(); ++i)
        if (kStates[i] == text) return static_cast<MessageState>(i);
    return std::nullopt;
}

void OutboxStore::take_over(Tx& tx) const { tx.exec(sql::take_over_messages); }

void OutboxStore::take_back(Tx& tx, const SubscriberId& id) const {
    // A claim whose commit was in doubt may still be on its way: it holds this.
    lock_state(tx, id);
    tx.exec(sql::take_back_messages, Params().add(id));
}

std::optional<SubscriberState> OutboxStore::lock_state(Tx& tx, const SubscriberId& id) const {
    const auto rows = tx.exec(sql::lock_subscriber_state, Params().add(id));
    if (rows.empty()) return std::nullopt;
    RowReader row(rows, 0);
    return read_subscriber_state(row);
}

Claim OutboxStore::claim(Tx& tx, const Subscriber& subscriber, const ClaimRequest& request) const {
    Claim claim;
    const auto state = lock_state(tx, subscriber.id);
    const auto version = tx.exec(sql::subscriber_version, Params().add(subscriber.id));
    claim.stale = !state || version.empty() || RowReader(version, 0).small() != subscriber.version;
    if (claim.stale) return claim;
    claim.state = *state;
    const auto is_full = [&] {
        const auto rows = tx.exec(sql::open_messages, Params().add(subscriber.id));
        RowReader row(rows, 0);
        const bool full = row.flag();
        claim.next_due = row.maybe_time();
        // In order, what waits goes first, all of it.
        return full || (subscriber.ordered && claim.next_due);
    };
    const auto room = [&] { return request.most - static_cast<int>(claim.messages.size()); };
    const bool waiting_first = subscriber.ordered || !request.new_first;
    if (waiting_first) claim_waiting(tx, subscriber, room(), claim);
    claim.full = is_full();
    bool replays = false;
    if (!claim.full && request.replays_first) replays = claim_replay(tx, subscriber, request.page, room(), claim);
    if (!claim.full && room() > 0) {
        claim_new(tx, subscriber, request, room(), claim);
    } else {
        claim.more = std::max(claim.state.position, request.nothing_until) < request.last;
    }
    if (!claim.full && !request.replays_first) replays = claim_replay(tx, subscriber, request.page, room(), claim);
    claim.more = claim.more || replays || claim.full;
    if (!waiting_first && room() > 0) {
        claim_waiting(tx, subscriber, room(), claim);
        is_full();
    }
    const auto before = [](const Message& a, const Message& b) { return a.event.number < b.event.number; };
    std::sort(claim.messages.begin(), claim.messages.end(), before);
    return claim;
}

bool OutboxStore::record(Tx& tx, const SubscriberId& id, const std::vector<MessageResult>& results,
                         const SubscriberState& state) const {
    std::array<SqlArray, 7> messages;
    for (const auto& result : results) {
        messages[0].add(result.event);
        messages[1].add(name(result.state));
        messages[2].add(result.tries.deliveries);
        messages[3].add(result.tries.failures);
        messages[4].add(result.tries.failing_since);
        messages[5].add(result.due);
        messages[6].add(result.error);
    }
    const auto moved = tx.exec(sql::record_messages, Params().add(id).add(std::move(messages)));
    if (moved.empty()) return false;
    std::set<std::int64_t> recorded;
    for (std::size_t i = 0; i < moved.size(); ++i) recorded.insert(RowReader(moved, i).integer());
    std::array<SqlArray, 10> requests;
    std::int64_t published = 0;
    std::int64_t failed = 0;
    for (const auto& result : results) {
        if (!recorded.contains(result.event)) continue;
        published += result.state == MessageState::published ? 1 : 0;
        failed += result.state == MessageState::failed ? 1 : 0;
        if (!result.delivery) continue;
        const auto& delivery = *result.delivery;
        requests[0].add(delivery.event);
        requests[1].add(delivery.number);
        requests[2].add(delivery.at);
        requests[3].add(static_cast<std::int64_t>(delivery.duration.count()));
        requests[4].add(delivery.url);
        requests[5].add(delivery.address);
        requests[6].add(delivery.status);
        requests[7].add(delivery.outcome);
        requests[8].add(delivery.error);
        requests[9].add(delivery.answer);
    }
    if (requests[0].size() > 0) tx.send(sql::record_deliveries, Params().add(id).add(std::move(requests)));
    tx.exec(sql::record_subscriber, Params()
                                        .add(id)
                                        .add(state.failures)
                                        .add(state.failing_since)
                                        .add(state.not_before)
                                        .add(published)
                                        .add(failed)
                                        .add(state.last_published)
                                        .add(state.last_error));
    return true;
}

void OutboxStore::move_on(Tx& tx, const std::vector<Moved>& moved) const {
    SqlArray ids;
    SqlArray until;
    SqlArray versions;
    for (const auto& each : moved) {
        ids.add(each.id);
        until.add(each.position);
        versions.add(each.version);
    }
    tx.exec(sql::move_positions, Params().add(std::move(ids)).add(std::move(until)).add(std::move(versions)));
}

bool OutboxStore::forget(Tx& tx, domain::Duration age) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    std::int64_t gone = static_cast<std::int64_t>(tx.exec(sql::forget_messages, Params().add(seconds)).affected());
    gone += static_cast<std::int64_t>(tx.exec(sql::forget_message_deliveries, Params().add(seconds)).affected());
    const auto deleted = tx.exec(sql::forget_deleted);
    gone += RowReader(deleted, 0).integer();
    tx.exec(sql::forget_subscribers);
    return gone > 0;
}

std::optional<TimePoint> OutboxStore::oldest(Tx& tx, const Subscriber& subscriber, std::int64_t position) const {
    const auto open = tx.exec(sql::oldest_open, Params().add(subscriber.id));
    if (!open.empty()) return RowReader(open, 0).time();
    const auto latest = StreamStore().last_event(tx, std::numeric_limits<std::int64_t>::max());
    for (int i = 0; i < kMostPages && position < latest; ++i) {
        const auto found = find(tx, subscriber, between(position, latest), kPage, 1);
        if (!found.events.empty()) return found.events.front().at;
        position = found.until;
    }
    const auto next = tx.exec(sql::event_from, Params().add(position + 1));
    if (next.empty()) return std::nullopt;
    RowReader row(next, 0);
    row.skip();
    return row.time();
}

OutboxStore::Backlog OutboxStore::backlog(Tx& tx, const Subscriber& subscriber, const SubscriberState& state) const {
    const auto rows = tx.exec(sql::backlog, Params().add(subscriber.id));
    RowReader row(rows, 0);
    Backlog backlog;
    backlog.pending = row.integer();
    backlog.in_flight = row.integer();
    backlog.failed = row.integer();
    backlog.replays = row.integer();
    backlog.oldest = oldest(tx, subscriber, state.position);
    return backlog;
}

std::vector<MessageRow> OutboxStore::messages(Tx& tx, const SubscriberId& id, std::optional<MessageState> state,
                                              std::optional<std::int64_t> before, int most) const {
    auto params = Params().add(id);
    params.add(state ? std::optional(std::string(name(*state))) : std::nullopt).add(before).add(most);
    const auto rows = tx.exec(sql::list_messages, params);
    return platform::read_rows(rows, [](RowReader& row) {
        MessageRow message;
        message.event = read_numbered_event(row);
        message.state = parse_message_state(row.view()).value_or(MessageState::pending);
        message.tries.deliveries = row.small();
        message.tries.failures = row.small();
        message.tries.failing_since = row.maybe_time();
        message.due = row.maybe_time();
        message.error = row.text();
        message.created = row.time();
        message.ended = row.maybe_time();
        return message;
    });
}

std::vector<DeliveryRow> OutboxStore::deliveries(Tx& tx, const SubscriberId& id, std::optional<std::int64_t> before,
                                                 int most) const {
    const auto rows = tx.exec(sql::list_message_deliveries, Params().add(id).add(before).add(most));
    return platform::read_rows(rows, [](RowReader& row) {
        DeliveryRow each;
        each.id = row.integer();
        NumberedEvent event;
        event.stream = row.id<domain::Id<struct StreamTag>>().value;
        event.seq = row.small();
        if (event.seq > 0) each.webhook_id = event_key(event);
        each.type = row.text();
        auto& delivery = each.delivery;
        delivery.event = row.integer();
        delivery.number = row.small();
        delivery.at = row.time();
        delivery.duration = domain::Duration{row.integer()};
        delivery.url = row.text();
        delivery.address = row.text();
        if (const auto status = row.maybe_integer()) delivery.status = static_cast<int>(*status);
        delivery.outcome = row.text();
        delivery.error = row.text();
        delivery.answer = row.text();
        return each;
    });
}

void OutboxStore::replay(Tx& tx, const SubscriberId& id, const Replay& replay) const {
    auto values = Params().add(id).add(replay.after).add(replay.last).add(replay.failed);
    values.add(choice_json(replay.choice)).add(replay.since).add(replay.until).add(replay.by);
    tx.exec(sql::put_replay, values);
}

std::int64_t OutboxStore::replay_failed(Tx& tx, const SubscriberId& id, const std::string& by) const {
    const auto rows = tx.exec(sql::count_failed, Params().add(id));
    RowReader row(rows, 0);
    const auto count = row.integer();
    Replay of;
    of.last = row.integer();
    of.failed = true;
    of.by = by;
    if (count > 0) replay(tx, id, of);
    return count;
}

std::optional<std::int64_t> OutboxStore::replay_one(Tx& tx, const Subscriber& subscriber,
                                                    const std::array<std::uint8_t, 16>& stream, int seq) const {
    auto values = Params().add(subscriber.id).add(domain::Id<struct StreamTag>{stream}).add(seq);
    values.add(subscriber.all_organizations() ? std::string() : subscriber.organization_id);
    const auto rows = tx.exec(sql::replay_one, values);
    RowReader row(rows, 0);
    if (row.integer() == 0) return std::nullopt;
    return row.integer();
}

std::int64_t OutboxStore::number_before(Tx& tx, TimePoint at) const {
    at -= kLongestTransaction;
    std::int64_t low = 1;
    std::int64_t high = StreamStore().last_event(tx, std::numeric_limits<std::int64_t>::max()) + 1;
    while (low < high) {
        const auto middle = low + (high - low) / 2;
        const auto rows = tx.exec(sql::event_from, Params().add(middle));
        if (rows.empty()) {
            high = middle;
            continue;
        }
        RowReader row(rows, 0);
        const auto number = row.integer();
        if (row.time() >= at) {
            high = middle;
        } else {
            low = number + 1;
        }
    }
    return low - 1;
}

}
