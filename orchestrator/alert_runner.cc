#include "orchestrator/alert_runner.h"

#include <algorithm>

#include "orchestrator/alert_reading_store.h"
#include "orchestrator/alert_readings.h"
#include "orchestrator/scheduler_store.h"
#include "platform/log.h"
#include "platform/writer.h"

namespace impresario::orchestrator {

namespace log = platform::log;
namespace asio = platform::asio;
using alerts::Alert;
using alerts::AlertStore;
using alerts::DeliveryResult;
using alerts::Message;
using alerts::Notification;
using alerts::Readings;
using domain::TimePoint;
using platform::Task;
using platform::Tx;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::chrono::minutes kForgetEvery{1};
/// Between two decisions, however much is told and settled.
constexpr milliseconds kLeastBetween{250};
constexpr int kMostSending = 8;
/// What is left of a lease for a message to be sent in, and answered.
constexpr std::chrono::seconds kSending{25};

/// What a rule has raised is remembered as its condition.
alerts::Condition condition_of(const alerts::AlertRow& row) {
    alerts::Condition condition;
    condition.rule = *row.rule;
    condition.labels = row.alert.labels;
    condition.phase = domain::value_in(alerts::kPhases, row.phase).value_or(alerts::Phase::firing);
    condition.since = row.alert.since;
    condition.clear_since = row.clear_since.value_or(TimePoint{});
    condition.value = row.value.value_or(0);
    condition.evidence = row.alert.evidence;
    condition.acknowledged = row.alert.acknowledged;
    return condition;
}

}

AlertRunner::AlertRunner(Node& node, Hub& hub, AlertSender& sender, const alerts::Settings& settings,
                         std::string hub_url, std::function<Readings()> others)
    : LeaderLoop(node, hub, "alerts have to wait"),
      sender_(sender),
      settings_(settings),
      hub_url_(std::move(hub_url)),
      others_(std::move(others)),
      database_(node.executor(), 1),
      sending_(node.executor(), kMostSending) {
    for (const auto& receiver : settings_.receivers) {
        if (const auto pace = alerts::pace_of(receiver.kind); pace > pace.zero()) pace_[receiver.name] = pace;
        if (alerts::keeps_incidents(receiver.kind)) keepers_.insert(receiver.name);
    }
}

void AlertRunner::stand_down() {
    node_.probe().show_alerts(std::nullopt);
    readings_.clear();
    failing_.clear();
    read_at_ = {};
    leads_since_ = domain::kNever;
    forget();
}

Task<steady_clock::duration> AlertRunner::turn() {
    if (!settings_.enabled) co_return settings_.every;
    const auto begun = steady_clock::now();
    if (begun - decided_at_ < kLeastBetween) co_return kLeastBetween - (begun - decided_at_);
    leads_since_ = std::min(leads_since_, node_.clock().now());
    if (begun - read_at_ >= settings_.every) {
        auto reading = read();
        readings_ = co_await std::move(reading);
        read_at_ = begun;
    }
    looking_ = false;
    decided_at_ = steady_clock::now();
    auto entering = database_.enter();
    auto entered = co_await std::move(entering);
    std::optional<platform::Semaphore::Place> place(std::move(entered));
    auto deciding = node_.database().transact(
        [this, epoch = hub_.epoch(), readings = readings_](Tx& tx) { return decide(tx, epoch, readings); });
    auto decided = co_await std::move(deciding);
    place.reset();
    node_.probe().show_alerts(decided.firing);
    receivers_failing_.clear();
    for (const auto& [name, state] : decided.plan.state.receivers)
        if (state.failing_since && sender_.find(name)) receivers_failing_[name] = *state.failing_since;
    for (auto& message : decided.messages)
        asio::co_spawn(node_.executor(), deliver(std::move(message), decided.not_after), asio::detached);
    for (const auto& each : decided.plan.lapsed)
        log::warn("a message about alerts was not taken, and there is nothing to say any more",
                  {{"receiver", each.notification.receiver}, {"error", each.error}});
    co_await housekeeping();
    if (looking_) co_return kLeastBetween;
    steady_clock::duration idle = settings_.every - (steady_clock::now() - read_at_);
    if (decided.wake) idle = std::min<steady_clock::duration>(idle, *decided.wake - node_.clock().now());
    co_return std::max<steady_clock::duration>(idle, kLeastBetween);
}

/// Each for itself: a reading that cannot be taken keeps no other, and what is about it stays as it is.
Task<Readings> AlertRunner::read() {
    const auto now = node_.clock().now();
    Readings readings;
    if (const auto* board = hub_.board()) readings = read_board(*board, leads_since_, now);
    readings.merge(others_());
    std::set<std::string_view> wanted;
    for (const auto& rule : settings_.rules)
        if (rule.enabled) wanted.insert(rule.reading);
    for (const auto name : AlertReadingStore::names()) {
        if (!wanted.contains(name)) continue;
        const std::string reading(name);
        std::string trouble;
        try {
            auto asking = node_.database().read([reading](Tx& tx) { return AlertReadingStore().read(tx, reading); });
            readings[reading] = co_await std::move(asking);
            failing_.erase(reading);
        } catch (const platform::StatementRefused& refused) {
            trouble = refused.what();
        }
        if (trouble.empty()) continue;
        if (failing_.emplace(reading, now).second)
            log::warn("a reading for alerts cannot be taken",
                      {{"reading", reading}, {"error", trouble}, {"next", "what is about it stays as it is"}});
    }
    add_own_readings(readings, now);
    co_return readings;
}

void AlertRunner::add_own_readings(Readings& readings, TimePoint now) const {
    auto& readers = readings["reader_failing_seconds"];
    for (const auto& [reading, since] : failing_)
        readers.push_back({{{"reading", reading}}, domain::in_seconds(now - since)});
    auto& receivers = readings["receiver_failing_seconds"];
    for (const auto& [receiver, since] : receivers_failing_)
        receivers.push_back({{{"receiver", receiver}}, domain::in_seconds(now - since)});
}

/// What rules say, and what came from elsewhere: all that anybody may have to be told of, but for what has resolved.
std::vector<Alert> AlertRunner::take_over(Tx& tx, const Readings& readings, TimePoint now, Decided& decided) const {
    const AlertStore store;
    store.expire(tx);
    alerts::Conditions before;
    std::vector<Alert> all;
    for (const auto& row : store.open(tx)) {
        if (row.rule) {
            before.emplace(row.fingerprint, condition_of(row));
        } else {
            all.push_back(row.alert);
        }
    }
    auto evaluation = alerts::evaluate(settings_.rules, readings, before, now);
    store.write(tx, evaluation);
    decided.wake = evaluation.wake;
    for (auto& alert : evaluation.firing) all.push_back(std::move(alert));
    decided.firing = all.size();
    return all;
}

AlertRunner::Decided AlertRunner::decide(Tx& tx, std::int64_t epoch, const Readings& readings) const {
    const AlertStore store;
    Decided decided;
    decided.not_after = steady_clock::now() + alerts::kDeliveryLease - kSending;
    decided.now = SchedulerStore().fence(tx, epoch, node_.id());
    platform::write_as(tx, node_.id());
    auto all = take_over(tx, readings, decided.now, decided);
    if (settings_.receivers.empty()) return decided;
    const auto stored = store.notifier(tx);
    const auto before = known_receivers(tx, stored);
    auto needed = alerts::still_needed(before);
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto fingerprint = all[i].fingerprint();
        needed.erase(fingerprint);
        places.emplace(std::move(fingerprint), i);
    }
    for (auto& alert : store.resolved(tx, needed)) {
        places.emplace(alert.fingerprint(), all.size());
        all.push_back(std::move(alert));
    }
    const auto silences = store.silences(tx, false);
    decided.plan =
        alerts::plan({all, settings_.route, silences, settings_.inhibitions, pace_, keepers_}, before, decided.now);
    std::vector<std::pair<Notification, std::string>> sent;
    for (const auto& notification : decided.plan.send) {
        std::vector<Alert> theirs;
        for (const auto* named : {&notification.firing, &notification.resolved})
            for (const auto& fingerprint : *named)
                if (const auto place = places.find(fingerprint); place != places.end())
                    theirs.push_back(all[place->second]);
        const auto* receiver = sender_.find(notification.receiver);
        decided.messages.push_back(alerts::message_of(
            notification, theirs, receiver ? receiver->templates : alerts::MessageTemplates{}, hub_url_, decided.now));
        sent.emplace_back(notification, decided.messages.back().title());
    }
    store.record(tx, sent);
    for (const auto& each : decided.plan.lapsed) store.settle(tx, each.notification.id, "lapsed", each.error);
    store.write(tx, stored, decided.plan.state);
    decided.wake = domain::earlier(decided.wake, decided.plan.wake);
    return decided;
}

alerts::NotifierState AlertRunner::known_receivers(Tx& tx, const alerts::NotifierState& state) const {
    auto known = state;
    std::erase_if(known.receivers, [this](const auto& each) { return !sender_.find(each.first); });
    for (auto& [key, group] : known.groups)
        std::erase_if(group.told, [&](const auto& each) {
            if (sender_.find(each.first)) return false;
            if (each.second.delivery)
                AlertStore().settle(tx, each.second.delivery->notification.id, "lapsed",
                                    "there is no such receiver in the configuration any more");
            return true;
        });
    return known;
}

/// A few at once; whoever comes too late, or has stood still meanwhile, sends nothing: others may have.
Task<DeliveryResult> AlertRunner::send(Message message, steady_clock::time_point not_after) {
    auto entering = sending_.enter();
    const auto place = co_await std::move(entering);
    if (steady_clock::now() > not_after)
        co_return DeliveryResult{DeliveryResult::Kind::failed, {}, "too many others left before it"};
    DeliveryResult result;
    try {
        auto sending = sender_.send(std::move(message), not_after);
        result = co_await std::move(sending);
    } catch (const std::exception& e) {
        result = {DeliveryResult::Kind::failed, {}, e.what()};
    }
    co_return result;
}

Task<void> AlertRunner::deliver(Message message, steady_clock::time_point not_after) {
    ++under_way_;
    struct Under {
        int& count;
        ~Under() { --count; }
    } const under{under_way_};
    const auto notification = message.notification;
    auto sending = send(std::move(message), not_after);
    const auto result = co_await std::move(sending);
    node_.probe().alert_sent(notification.receiver, name(result.kind));
    const bool taken = result.kind == DeliveryResult::Kind::delivered;
    if (!taken || !result.error.empty())
        log::warn(taken ? "not everybody has been told of alerts" : "a message about alerts was not taken",
                  {{"receiver", notification.receiver},
                   {"kind", name(notification.kind)},
                   {"error", result.error},
                   {"next", result.kind == DeliveryResult::Kind::refused
                                ? "it is not tried like this again before the next repetition"
                                : "it is tried again"}});
    std::string trouble;
    try {
        auto settling = settle(notification, result);
        co_await std::move(settling);
    } catch (const std::exception& e) {
        trouble = e.what();
    }
    // Not written down it counts as perhaps taken, later.
    if (!trouble.empty()) log::debug("what became of a message was not written down", {{"error", trouble}});
    look();
}

Task<void> AlertRunner::settle(Notification notification, DeliveryResult result) {
    auto entering = database_.enter();
    const auto place = co_await std::move(entering);
    auto settling = node_.database().transact(
        [this, epoch = hub_.epoch(), notification, result, unit = node_.dice().unit()](Tx& tx) {
            const AlertStore store;
            const auto now = SchedulerStore().fence(tx, epoch, node_.id());
            const auto before = store.notifier(tx, notification.group, notification.receiver);
            auto after = before;
            store.settle(tx, notification.id, name(result.kind), result.error);
            if (alerts::settle(after, notification, result, now, unit)) store.write(tx, before, after);
        });
    co_await std::move(settling);
}

Task<void> AlertRunner::housekeeping() {
    if (steady_clock::now() - forgot_at_ < kForgetEvery) co_return;
    auto forgetting = node_.database().transact([this, epoch = hub_.epoch()](Tx& tx) {
        SchedulerStore().fence(tx, epoch, node_.id());
        return AlertStore().forget(tx, settings_.keep);
    });
    const auto gone = co_await std::move(forgetting);
    if (gone == 0) forgot_at_ = steady_clock::now();
}

Task<void> AlertRunner::drain(steady_clock::duration longest) {
    stop();
    const auto until = steady_clock::now() + longest;
    while (under_way_ > 0 && steady_clock::now() < until) co_await platform::pause_for(milliseconds{20});
}

Task<DeliveryResult> AlertRunner::test(std::string receiver, std::string by) {
    Alert alert;
    alert.labels = {{"alertname", "test"}, {"severity", "info"}};
    alert.summary = "A test of this receiver";
    alert.description = "Asked for by " + by + ". Nothing is wrong.";
    alert.command = "impresario alerts receivers";
    alert.since = node_.clock().now();
    Notification notification;
    notification.id = alerts::fingerprint({{"test", domain::rfc3339(alert.since)}, {"receiver", receiver}});
    notification.receiver = receiver;
    notification.group = "test";
    notification.group_labels = alert.labels;
    notification.incident = notification.id;
    notification.firing = {alert.fingerprint()};
    const std::vector<Alert> alerts{alert};
    const auto* known = sender_.find(receiver);
    const auto templates = known ? known->templates : alerts::MessageTemplates{};
    auto message = alerts::message_of(notification, alerts, templates, hub_url_, alert.since);
    const auto not_after = steady_clock::now() + kSending;
    auto sending = sender_.send(std::move(message), not_after);
    const auto result = co_await std::move(sending);
    if (!known || known->kind != alerts::ReceiverKind::pagerduty || result.kind != DeliveryResult::Kind::delivered)
        co_return result;
    // Nobody is to be left with an incident.
    alert.ends_at = alert.since;
    notification.id = alerts::fingerprint({{"over", notification.id}});
    notification.kind = alerts::NotificationKind::resolved;
    std::swap(notification.firing, notification.resolved);
    const std::vector<Alert> over{alert};
    auto closing = sender_.send(alerts::message_of(notification, over, templates, hub_url_, alert.since), not_after);
    co_return co_await std::move(closing);
}

}
