#include "journal/outbox_store.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "journal/event_json.h"
#include "journal/subscriber_json.h"
#include "journal_sql.h"

namespace impresario::journal {

using domain::TimePoint;
using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::SqlArray;
using platform::Tx;

namespace {

constexpr std::array<std::string_view, 4> kStates{"pending", "in_flight", "published", "failed"};
/// Events of one look at the journal.
constexpr int kPage = 2000;
/// A subscriber of which so many are open gets no new ones.
constexpr std::int64_t kMostOpen = 1000;
/// Numbers and times are in the same order but for transactions that take long: so far is looked back.
constexpr std::int64_t kLookBack = 1000;

std::string like_pattern(const std::string& pattern) {
    std::string like;
    for (const char c : pattern) {
        if (c == '_' || c == '\\') like += '\\';
        like += c == '*' ? '%' : c;
    }
    return like;
}

/// $5 to $9 of the statements that choose.
Params& add_choice(Params& params, const Subscriber& subscriber, const EventChoice& choice) {
    params.add(subscriber.all_organizations() ? std::string() : subscriber.organization_id);
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
    return params.add(std::move(kinds)).add(std::move(types)).add(std::move(patterns)).add(std::move(workflow_types));
}

/// What is chosen of the next page of the journal, and how far that has been looked at.
struct Found {
    std::vector<NumberedEvent> events;
    std::int64_t until = 0;
};
Found find(Tx& tx, const Subscriber& subscriber, const EventChoice& choice, std::int64_t after, std::int64_t last,
           int most) {
    Found found;
    auto params = Params().add(after).add(last).add(kPage).add(most);
    const auto rows = tx.exec(sql::chosen_events, add_choice(params, subscriber, choice));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        found.events.push_back(read_numbered_event(row));
    }
    if (found.events.size() >= static_cast<std::size_t>(most)) {
        found.until = found.events.back().number;
        return found;
    }
    const auto end = tx.exec(sql::end_of_page, Params().add(after).add(last).add(kPage));
    found.until = RowReader(end, 0).integer();
    return found;
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

SubscriberState read_state(const Rows& rows) {
    RowReader row(rows, 0);
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

/// Messages that wait for their turn; those whose event is not kept any more have failed.
void claim_waiting(Tx& tx, const Subscriber& subscriber, int most, Claim& claim) {
    const auto rows = tx.exec(sql::claim_messages, Params().add(subscriber.id).add(most).add(subscriber.ordered));
    if (rows.empty()) return;
    std::map<std::int64_t, MessageTries> tries;
    SqlArray wanted;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto number = row.integer();
        wanted.add(number);
        auto& each = tries[number];
        each.deliveries = row.small();
        each.failures = row.small();
        each.failing_since = row.maybe_time();
    }
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

bool claim_replay(Tx& tx, const Subscriber& subscriber, int most, Claim& claim) {
    const auto rows = tx.exec(sql::next_replay, Params().add(subscriber.id));
    if (rows.empty()) return false;
    RowReader row(rows, 0);
    const auto id = row.integer();
    const auto position = row.integer();
    const auto last = row.integer();
    const auto choice = stored_choice(row.view());
    auto found = find(tx, subscriber, choice, position, last, most);
    // What the subscriber has not chosen is not told again either.
    const auto unwanted = [&](const NumberedEvent& event) {
        return !subscriber.choice.matches(event.kind, event.type, event.workflow_type);
    };
    std::erase_if(found.events, unwanted);
    const auto count = take_up(tx, subscriber.id, std::move(found.events), sql::take_up_again, claim.messages);
    if (found.until >= last) {
        tx.send(sql::end_replay, Params().add(id));
    } else {
        tx.send(sql::advance_replay, Params().add(id).add(found.until).add(static_cast<std::int64_t>(count)));
    }
    return true;
}

void claim_new(Tx& tx, const Subscriber& subscriber, const ClaimRequest& request, int most, Claim& claim) {
    const auto after = std::max(claim.state.position, request.nothing_until);
    auto until = after;
    if (after < request.last) {
        auto found = find(tx, subscriber, subscriber.choice, after, request.last, most);
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
    tx.exec(sql::take_back_messages, Params().add(id));
}

std::optional<SubscriberState> OutboxStore::lock_state(Tx& tx, const SubscriberId& id) const {
    const auto rows = tx.exec(sql::lock_subscriber_state, Params().add(id));
    if (rows.empty()) return std::nullopt;
    return read_state(rows);
}

Claim OutboxStore::claim(Tx& tx, const Subscriber& subscriber, const ClaimRequest& request) const {
    Claim claim;
    const auto state = lock_state(tx, subscriber.id);
    if (!state) return claim;
    claim.state = *state;
    const auto open = [&] {
        const auto rows = tx.exec(sql::open_messages, Params().add(subscriber.id));
        RowReader row(rows, 0);
        const auto count = row.integer();
        claim.next_due = row.maybe_time();
        return count;
    };
    const auto room = [&] { return request.most - static_cast<int>(claim.messages.size()); };
    const bool waiting_first = subscriber.ordered || !request.new_first;
    if (waiting_first) claim_waiting(tx, subscriber, room(), claim);
    // In order, what waits goes first, all of it; and who has too much open is not given more.
    claim.full = open() >= kMostOpen || (subscriber.ordered && claim.next_due);
    if (!claim.full && room() > 0 && request.replays_first) claim.more = claim_replay(tx, subscriber, room(), claim);
    if (!claim.full && room() > 0) {
        claim_new(tx, subscriber, request, room(), claim);
    } else {
        claim.more = claim.more || std::max(claim.state.position, request.nothing_until) < request.last;
    }
    if (!claim.full && room() > 0 && !request.replays_first)
        claim.more = claim_replay(tx, subscriber, room(), claim) || claim.more;
    if (!waiting_first && room() > 0) {
        claim_waiting(tx, subscriber, room(), claim);
        open();
    }
    const auto before = [](const Message& a, const Message& b) { return a.event.number < b.event.number; };
    std::sort(claim.messages.begin(), claim.messages.end(), before);
    return claim;
}

void OutboxStore::record(Tx& tx, const SubscriberId& id, const std::vector<MessageResult>& results,
                         const SubscriberState& state) const {
    std::array<SqlArray, 7> messages;
    std::array<SqlArray, 10> requests;
    std::int64_t published = 0;
    std::int64_t failed = 0;
    for (const auto& result : results) {
        published += result.state == MessageState::published ? 1 : 0;
        failed += result.state == MessageState::failed ? 1 : 0;
        messages[0].add(result.event);
        messages[1].add(name(result.state));
        messages[2].add(result.tries.deliveries);
        messages[3].add(result.tries.failures);
        messages[4].add(result.tries.failing_since);
        messages[5].add(result.due);
        messages[6].add(result.error);
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
    const bool any = requests[0].size() > 0;
    tx.send(sql::record_messages, Params().add(id).add(std::move(messages)));
    if (any) tx.send(sql::record_deliveries, Params().add(id).add(std::move(requests)));
    tx.exec(sql::record_subscriber, Params()
                                        .add(id)
                                        .add(state.failures)
                                        .add(state.failing_since)
                                        .add(state.not_before)
                                        .add(published)
                                        .add(failed)
                                        .add(state.last_published)
                                        .add(state.last_error));
}

void OutboxStore::move_on(Tx& tx, const std::vector<std::pair<SubscriberId, std::int64_t>>& positions) const {
    SqlArray ids;
    SqlArray until;
    for (const auto& [id, position] : positions) {
        ids.add(id);
        until.add(position);
    }
    tx.exec(sql::move_positions, Params().add(std::move(ids)).add(std::move(until)));
}

bool OutboxStore::forget(Tx& tx, domain::Duration age) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    const auto messages = tx.exec(sql::forget_messages, Params().add(seconds)).affected();
    return tx.exec(sql::forget_message_deliveries, Params().add(seconds)).affected() + messages > 0;
}

OutboxStore::Backlog OutboxStore::backlog(Tx& tx, const Subscriber& subscriber, const SubscriberState& state) const {
    const auto rows = tx.exec(sql::backlog, Params().add(subscriber.id));
    RowReader row(rows, 0);
    Backlog backlog;
    backlog.pending = row.integer();
    backlog.in_flight = row.integer();
    backlog.failed = row.integer();
    backlog.oldest = row.maybe_time();
    backlog.replays = row.integer();
    if (backlog.oldest) return backlog;
    const auto found =
        find(tx, subscriber, subscriber.choice, state.position, std::numeric_limits<std::int64_t>::max(), 1);
    if (!found.events.empty()) backlog.oldest = found.events.front().at;
    return backlog;
}

std::vector<MessageRow> OutboxStore::messages(Tx& tx, const SubscriberId& id, std::optional<MessageState> state,
                                              std::optional<std::int64_t> before, int most) const {
    auto params = Params().add(id);
    params.add(state ? std::optional(std::string(name(*state))) : std::nullopt).add(before).add(most);
    const auto rows = tx.exec(sql::list_messages, params);
    std::vector<MessageRow> messages;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
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
        messages.push_back(std::move(message));
    }
    return messages;
}

std::vector<DeliveryRow> OutboxStore::deliveries(Tx& tx, const SubscriberId& id, std::optional<std::int64_t> before,
                                                 int most) const {
    const auto rows = tx.exec(sql::list_message_deliveries, Params().add(id).add(before).add(most));
    std::vector<DeliveryRow> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        DeliveryRow each;
        each.id = row.integer();
        NumberedEvent event;
        event.stream = row.id<domain::Id<struct StreamTag>>().value;
        event.seq = row.small();
        each.webhook_id = event_key(event);
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
        all.push_back(std::move(each));
    }
    return all;
}

void OutboxStore::replay(Tx& tx, const SubscriberId& id, const Replay& replay) const {
    auto values = Params().add(id).add(replay.after).add(replay.last).add(choice_json(replay.choice));
    tx.exec(sql::put_replay, values.add(replay.by));
}

std::size_t OutboxStore::retry_failed(Tx& tx, const SubscriberId& id) const {
    return tx.exec(sql::retry_failed_messages, Params().add(id)).affected();
}

bool OutboxStore::replay_one(Tx& tx, const Subscriber& subscriber, const std::array<std::uint8_t, 16>& stream,
                             int seq) const {
    auto values = Params().add(subscriber.id).add(domain::Id<struct StreamTag>{stream}).add(seq);
    values.add(subscriber.all_organizations() ? std::string() : subscriber.organization_id);
    return tx.exec(sql::replay_one, values).affected() > 0;
}

std::int64_t OutboxStore::number_before(Tx& tx, TimePoint at) const {
    const auto latest = StreamStore().last_event(tx, std::numeric_limits<std::int64_t>::max());
    std::int64_t low = 1;
    std::int64_t high = latest + 1;
    // The first from which on all are later, as far as they are in the order of their times.
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
    auto params = Params().add(std::max<std::int64_t>(low - kLookBack, 0)).add(low).add(low - 1).add(at);
    const auto rows = tx.exec(sql::number_before, params);
    return std::max<std::int64_t>(RowReader(rows, 0).integer(), 0);
}

}
