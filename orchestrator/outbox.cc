#include "orchestrator/outbox.h"

#include <algorithm>

#include "journal/event_json.h"
#include "orchestrator/outbox_policy.h"
#include "orchestrator/subscriber_events.h"
#include "platform/json_writer.h"
#include "platform/log.h"
#include "platform/redact.h"
#include "priority_queue/queue_store.h"

namespace impresario::orchestrator {

namespace log = platform::log;
namespace asio = platform::asio;
using domain::TimePoint;
using journal::Message;
using journal::MessageResult;
using journal::MessageState;
using journal::NumberedEvent;
using journal::OutboxStore;
using journal::Subscriber;
using platform::Task;
using platform::Tx;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {
/// Without having been told that anything has changed, all of them are read this often.
constexpr seconds kReload{10};
/// The same while one of them is waited for.
constexpr milliseconds kSoon{900};
constexpr milliseconds kTroublePause{500};
/// How often is looked at how far they are behind, how far they have come is written down where nothing is theirs, and
/// what has ended is forgotten.
constexpr seconds kLook{2};
constexpr seconds kMoveOn{2};
constexpr seconds kForget{60};
/// Transactions for subscribers at once.
constexpr int kMostAtOnce = 2;
/// Between two looks for a subscriber of whose there was less than a batch, and for each that is told: all together
/// take no more of the database, however many they are.
constexpr milliseconds kPace{20};
constexpr milliseconds kPaceOfEach{4};
/// Numbers that a claim looks at: so many times a batch, up to so many where there is little of it.
constexpr int kPageOfBatch = 4;
constexpr int kLargestPage = 10000;
/// Whose backlogs are looked at in one job.
constexpr std::size_t kMostLookedAt = 10;
/// What has become of a batch is written down at least this often.
constexpr seconds kRecord{1};
constexpr std::string_view kExecution = "execution";

std::vector<domain::ExecutionId> executions_of(const std::vector<Message>& messages) {
    std::set<domain::ExecutionId> ids;
    for (const auto& message : messages)
        if (message.event.kind == kExecution) ids.insert(domain::ExecutionId{message.event.stream});
    return {ids.begin(), ids.end()};
}
}

webhooks::SignedPost post_of(const std::shared_ptr<const Subscriber>& subscriber, const NumberedEvent& event,
                             platform::Headers trace) {
    platform::JsonWriter body;
    body.open();
    body.field("type", event.type).field("timestamp", event.at).raw("data", journal::event_json(event));
    body.close();
    webhooks::SignedPost post;
    post.url = subscriber->url;
    post.secrets = std::shared_ptr<const platform::PeerSecrets>(subscriber, &subscriber->secrets);
    post.id = journal::event_key(event);
    post.headers = std::move(trace);
    post.body = std::move(body).text();
    post.deadline = std::chrono::duration_cast<milliseconds>(subscriber->timeout);
    return post;
}

Outbox::Outbox(Node& node, Hub& hub, OutboxSettings settings)
    : LeaderLoop(node, hub, "subscribers have to wait"),
      settings_(settings),
      subscribers_(node.keys()),
      tail_(node.executor(), node.database(), {}),
      database_(node.executor(), kMostAtOnce) {
    tail_.on_event = [this](const NumberedEvent& event) { hear(event); };
    tail_.on_moved = [this] { heard(); };
    tail_.on_lost = [this] {
        for (const auto& [id, line] : lines_) {
            line->behind = true;
            line->disturbed = true;
            line->nothing_until = 0;
        }
    };
}

void Outbox::spawn(Task<void> task, const char* what) {
    asio::co_spawn(node_.executor(), std::move(task), [what](const std::exception_ptr& failure) {
        if (!failure) return;
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& e) {
            log::error("a task of the outbox ended", {{"task", what}, {"error", e.what()}});
        }
    });
}

Task<void> Outbox::stop(steady_clock::duration longest) {
    LeaderLoop::stop();
    tail_.stop();
    for (const auto& [id, line] : lines_) line->wakeup.signal();
    const auto sends = [](const LinePtr& line) { return line->hands > 0; };
    const auto under_way = [&] {
        return std::any_of(closing_.begin(), closing_.end(), sends) ||
               std::any_of(lines_.begin(), lines_.end(), [&](const auto& each) { return sends(each.second); });
    };
    const auto until = steady_clock::now() + longest;
    while (under_way() && steady_clock::now() < until) co_await platform::pause_for(milliseconds{20});
}

void Outbox::close(const LinePtr& line) {
    line->open = false;
    line->wakeup.signal();
    closing_.push_back(line);
}

/// A database that is away is told of elsewhere; what it refuses somebody has to look at, and is told so once.
void Outbox::put_off(Line& line, const std::exception_ptr& failure) {
    const std::string& subscriber = line.subscriber->name;
    try {
        std::rethrow_exception(failure);
    } catch (const platform::StatementRefused& refused) {
        if (std::exchange(line.troubled, true)) return;
        log::warn("a subscriber's events have to wait: the database refuses what is to be written about them",
                  {{"subscriber", subscriber},
                   {"error", refused.what()},
                   {"next", "nothing is lost; it is tried again and again"}});
    } catch (const std::exception& e) {
        log::debug("a subscriber's events have to wait", {{"subscriber", subscriber}, {"error", e.what()}});
    }
}

void Outbox::close_all() {
    for (const auto& [id, line] : lines_) close(line);
    lines_.clear();
    tail_.rest();
    node_.probe().show_outbox({});
    backlogs_.clear();
}

void Outbox::stand_down() {
    if (epoch_) close_all();
    epoch_.reset();
    forget();
}

Task<steady_clock::duration> Outbox::turn() {
    if (epoch_ != hub_.epoch()) co_await begin_to_lead();
    if (!loaded_ || steady_clock::now() - loaded_at_ > kReload) co_await load();
    co_await housekeeping();
    co_return loaded_ ? seconds{1} : seconds{0};
}

/// What the one before had in flight may have arrived, or not: it is sent again.
Task<void> Outbox::begin_to_lead() {
    close_all();
    const auto epoch = hub_.epoch();
    auto taking = node_.database().transact([this, epoch](Tx& tx) {
        SchedulerStore().fence(tx, epoch, node_.id());
        OutboxStore().take_over(tx);
    });
    co_await std::move(taking);
    epoch_ = epoch;
    loaded_ = false;
}

Task<void> Outbox::load() {
    // Who asks for another reading meanwhile gets it.
    const bool late = std::exchange(loaded_, true);
    loaded_at_ = steady_clock::now();
    auto reading = node_.database().read([this](Tx& tx) { return subscribers_.list(tx, ""); });
    auto all = co_await std::move(reading);
    std::erase_if(all, [](const auto& known) { return known.subscriber.disabled.has_value(); });
    std::set<journal::SubscriberId> wanted;
    for (const auto& known : all) wanted.insert(known.subscriber.id);
    for (const auto& [id, line] : lines_)
        if (!wanted.contains(id)) close(line);
    std::erase_if(lines_, [](const auto& each) { return !each.second->open; });
    std::erase_if(closing_, [this](const LinePtr& line) { return !busy(*line); });
    for (auto& known : all) {
        const auto id = known.subscriber.id;
        const bool still = std::any_of(closing_.begin(), closing_.end(),
                                       [&](const LinePtr& each) { return each->subscriber->id == id; });
        if (still) {
            // Soon.
            loaded_at_ -= kReload - kSoon;
            continue;
        }
        auto& line = lines_[id];
        const bool fresh = !line;
        if (fresh) {
            line = std::make_shared<Line>(node_.executor(), *epoch_);
            line->state = known.state;
            // What was taken up in doubt before.
            line->doubtful = true;
        }
        const bool changed = fresh || line->subscriber->version != known.subscriber.version;
        const bool ordered = !fresh && line->subscriber->orders != known.subscriber.orders;
        if (changed) line->nothing_until = 0;
        // Somebody may have mended it.
        if (changed && !fresh) line->state.not_before.reset();
        if (ordered && known.state.failures == 0) {
            // Somebody has had its failures forgotten: it is tried at once.
            line->state.failures = 0;
            line->state.failing_since.reset();
            line->state.not_before.reset();
        }
        if (changed || ordered || late) {
            line->behind = true;
            line->disturbed = true;
            line->full = false;
            line->pace = {};
        }
        line->subscriber = std::make_shared<const Subscriber>(std::move(known.subscriber));
        if (fresh) spawn(serve(line), "tell a subscriber");
        line->wakeup.signal();
    }
    if (lines_.empty()) {
        tail_.rest();
    } else {
        tail_.want();
    }
}

void Outbox::hear(const NumberedEvent& event) {
    for (const auto& [id, line] : lines_) {
        if (line->behind || line->claiming) continue;
        const auto& subscriber = *line->subscriber;
        const bool its = (subscriber.all_organizations() || subscriber.organization_id == event.organization_id) &&
                         subscriber.choice.matches(event.kind, event.type, event.workflow_type);
        if (its) {
            line->behind = true;
            line->wakeup.signal();
        } else {
            line->nothing_until = event.number;
        }
    }
}

void Outbox::heard() {
    for (const auto& [id, line] : lines_) {
        if (line->behind) {
            line->wakeup.signal();
        } else if (!line->claiming) {
            line->nothing_until = std::max(line->nothing_until, tail_.position());
        }
    }
}

steady_clock::duration Outbox::idle_for(const Line& line) const {
    domain::Duration longest = kReload;
    const auto now = node_.clock().now();
    const auto until = [&](const std::optional<TimePoint>& at) {
        if (at && *at > now) longest = std::min(longest, *at - now);
    };
    until(line.state.not_before);
    until(line.next_due);
    steady_clock::duration idle = longest + milliseconds{1};
    if (const auto pace = line.pace - steady_clock::now(); pace > steady_clock::duration{0})
        idle = std::min(idle, pace);
    return idle;
}

/// Takes up what there is of a subscriber's, a batch at a time.
Task<void> Outbox::serve(LinePtr line) {
    while (leading(*line)) {
        const auto now = node_.clock().now();
        const bool failing = line->state.failures >= journal::kFailing;
        const int most = line->subscriber->ordered || failing ? 1 : line->subscriber->workers;
        const bool held = line->state.not_before && *line->state.not_before > now;
        const bool due = line->next_due && *line->next_due <= now;
        const bool wanted = due || (line->behind && tail_.ready() && !line->full);
        const bool paced = line->pace > steady_clock::now();
        if (line->doubtful && line->hands == 0 && !paced) {
            co_await take_back(line);
        } else if (wanted && !line->doubtful && !held && !paced && line->hands < most) {
            co_await take_up(line);
        } else {
            co_await line->wakeup.wait(idle_for(*line));
        }
    }
}

Task<void> Outbox::take_up(LinePtr line) {
    line->claiming = true;
    auto entering = database_.enter();
    const auto place = co_await std::move(entering);
    journal::ClaimRequest request;
    const auto subscriber = line->subscriber;
    const bool failing = line->state.failures >= journal::kFailing;
    request.most = failing ? 1 : subscriber->batch;
    const int least = subscriber->batch * kPageOfBatch;
    request.page = line->page = std::clamp(line->page, least, kLargestPage);
    request.last = tail_.ready() ? tail_.position() : 0;
    request.nothing_until = line->nothing_until;
    ++line->turn;
    request.replays_first = line->turn % 2 == 0;
    request.new_first = failing && line->turn % 4 < 2;
    line->disturbed = false;
    journal::Claim claim;
    Batch batch;
    std::exception_ptr trouble;
    try {
        auto claiming = node_.database().transact([this, epoch = line->epoch, subscriber, request](Tx& tx) {
            SchedulerStore().fence(tx, epoch, node_.id());
            auto claimed = OutboxStore().claim(tx, *subscriber, request);
            const auto executions = executions_of(claimed.messages);
            std::map<domain::ExecutionId, std::string> traces;
            if (!executions.empty()) traces = priority_queue::QueueStore().trace_contexts(tx, executions);
            return std::pair(std::move(claimed), std::move(traces));
        });
        std::tie(claim, batch.traces) = co_await std::move(claiming);
    } catch (const std::exception&) {
        trouble = std::current_exception();
    }
    line->claiming = false;
    line->pace = steady_clock::now() + std::max<steady_clock::duration>(kPace, kPaceOfEach * lines_.size());
    if (trouble) {
        put_off(*line, trouble);
        line->doubtful = true;
        line->behind = true;
        line->nothing_until = 0;
        line->pace = steady_clock::now() + kTroublePause;
        co_return;
    }
    line->troubled = false;
    if (claim.stale) {
        // What it is to be told is decided by what it says now.
        line->behind = true;
        line->nothing_until = 0;
        reload();
        co_return;
    }
    // The rest of its state is known better here.
    line->state.position = claim.state.position;
    line->full = claim.full && !line->disturbed;
    line->next_due = claim.next_due;
    line->behind = claim.more || line->disturbed || !tail_.ready() || tail_.position() > request.last;
    line->nothing_until = line->behind ? 0 : request.last;
    // The next look is as large as it has to be to find a batch.
    const bool found_enough = claim.messages.size() >= static_cast<std::size_t>(request.most);
    if (found_enough) line->pace = {};
    line->page = found_enough ? least : line->page * 4;
    if (claim.messages.empty()) co_return;
    ++line->hands;
    batch.messages = std::move(claim.messages);
    spawn(deliver(line, std::move(batch)), "tell a subscriber of a batch");
}

/// Nothing of its is under way here: what the table calls so was committed in doubt.
Task<void> Outbox::take_back(LinePtr line) {
    line->claiming = true;
    bool done = false;
    auto entering = database_.enter();
    const auto place = co_await std::move(entering);
    try {
        auto taking = node_.database().transact([this, id = line->subscriber->id, epoch = line->epoch](Tx& tx) {
            SchedulerStore().fence(tx, epoch, node_.id());
            OutboxStore().take_back(tx, id);
        });
        co_await std::move(taking);
        done = true;
    } catch (const std::exception&) {
        put_off(*line, std::current_exception());
    }
    line->claiming = false;
    if (done) {
        line->doubtful = false;
        line->next_due = node_.clock().now();
    } else {
        line->pace = steady_clock::now() + kTroublePause;
    }
}

/// What an answer means for the message, and for what is sent after it.
MessageResult Outbox::settle(Line& line, const Message& message, const webhooks::Posted& posted, Report& report) {
    const auto& subscriber = *line.subscriber;
    const auto verdict =
        after_delivery(subscriber, line.state, message.tries, posted.outcome, node_.clock().now(), node_.dice().unit());
    line.state = verdict.state;
    node_.probe().told(posted.outcome);

    MessageResult result{message.event.number, verdict.message, verdict.tries, verdict.due, {}, {}};
    if (verdict.message != MessageState::published) result.error = std::string(reason(posted.outcome));
    journal::MessageDelivery delivery;
    delivery.event = message.event.number;
    delivery.number = verdict.tries.deliveries;
    delivery.at = posted.at;
    delivery.duration = posted.duration;
    delivery.url = platform::shown_url(subscriber.url);
    delivery.address = posted.address;
    delivery.status = posted.status;
    delivery.outcome = std::string(name(posted.outcome));
    delivery.error = std::string(reason(posted.outcome));
    delivery.answer = posted.answer;
    result.delivery = std::move(delivery);

    namespace event = domain::event;
    if (verdict.message == MessageState::failed)
        log::warn("an event was given up",
                  {{"subscriber", subscriber.name},
                   {"event", journal::event_key(message.event)},
                   {"error", result.error},
                   {"next", "impresario subscribers replay " + subscriber.name + " --failed"}});
    if (verdict.began_to_fail) {
        report.events.emplace_back(event::subscriber_failing, line.state.last_error);
        log::warn("a subscriber takes no events", {{"subscriber", subscriber.name},
                                                   {"error", line.state.last_error},
                                                   {"next", "nothing is lost; it is tried again and again"}});
    }
    if (verdict.recovered) {
        report.events.emplace_back(event::subscriber_recovered, "");
        log::info("a subscriber takes events again", {{"subscriber", subscriber.name}});
    }
    if (verdict.disable && !report.disable && line.open) {
        report.disable = true;
        log::error("a subscriber has taken nothing for too long and is told no more",
                   {{"subscriber", subscriber.name},
                    {"error", line.state.last_error},
                    {"next", "mend it, then: impresario subscribers enable " + subscriber.name}});
    }
    return result;
}

Task<void> Outbox::deliver(LinePtr line, Batch batch) {
    std::string trouble;
    try {
        co_await deliver_batch(line, batch);
    } catch (const std::exception& e) {
        trouble = e.what();
    }
    if (!trouble.empty()) {
        log::error("a batch of events was not told to its end",
                   {{"subscriber", line->subscriber->name}, {"error", trouble}, {"next", "it is told again"}});
        line->doubtful = true;
    }
    line->full = false;
    --line->hands;
    line->wakeup.signal();
}

/// What is told of an execution belongs to its trace, below the span of its first opening.
platform::Headers Outbox::trace_headers(const Batch& batch, const NumberedEvent& event) const {
    if (event.kind != kExecution) return {};
    const domain::ExecutionId execution{event.stream};
    const auto found = batch.traces.find(execution);
    return node_.trace_headers(execution, platform::span_of(execution, 1),
                               found == batch.traces.end() ? "" : std::string_view(found->second));
}

/// One after the other. Where the subscriber is held meanwhile, the rest waits for its turn.
Task<void> Outbox::deliver_batch(LinePtr line, const Batch& batch) {
    const auto& messages = batch.messages;
    Report report;
    auto recorded = steady_clock::now();
    bool held = false;
    for (const auto& message : messages) {
        const auto& until = line->state.not_before;
        held = held || report.disable || !leading(*line) || (until && *until > node_.clock().now());
        if (held) {
            report.results.push_back({message.event.number, MessageState::pending, message.tries, {}, {}, {}});
            continue;
        }
        auto post = post_of(line->subscriber, message.event, trace_headers(batch, message.event));
        auto posting = webhooks::post_signed(node_.client(), node_.clock(), std::move(post));
        const auto posted = co_await std::move(posting);
        auto result = settle(*line, message, posted, report);
        // In order, what comes after it has to wait for it.
        held = line->subscriber->ordered && result.state == MessageState::pending;
        report.results.push_back(std::move(result));
        // What the peer has been told, and whom else that stops, is written down before it is long ago.
        if (steady_clock::now() - recorded < kRecord || &message == &messages.back()) continue;
        auto recording = record(line, std::exchange(report, Report{}));
        held = !co_await std::move(recording) || held;
        recorded = steady_clock::now();
    }
    auto recording = record(line, std::move(report));
    const bool done = co_await std::move(recording);
    if (!done) line->doubtful = true;
}

Task<void> Outbox::write_down(const LinePtr& line, const Report& report) {
    auto entering = database_.enter();
    const auto place = co_await std::move(entering);
    auto writing = node_.database().transact([this, epoch = line->epoch, subscriber = line->subscriber, report,
                                              state = line->state, open = line->open](Tx& tx) {
        SchedulerStore().fence(tx, epoch, node_.id());
        const OutboxStore store;
        const auto locked = store.lock_state(tx, subscriber->id);
        if (!locked) return;
        // Somebody may have switched it off since this batch was taken up.
        if (!store.record(tx, subscriber->id, report.results, open ? state : *locked) || !open) return;
        for (const auto& [type, why] : report.events)
            append_subscriber_event(tx, *subscriber, node_.id(), type, "hub", why);
        const auto why = "it has taken nothing for too long: " + state.last_error;
        if (report.disable && subscribers_.disable(tx, subscriber->id, "hub", why))
            append_subscriber_event(tx, *subscriber, node_.id(), domain::event::subscriber_disabled, "hub", why);
    });
    co_await std::move(writing);
}

/// Said until the database has it, as long as this node leads. False: what was sent is sent again by who leads next.
Task<bool> Outbox::record(LinePtr line, Report report) {
    if (report.results.empty()) co_return true;
    for (auto wait = milliseconds{100};; wait = std::min(wait * 2, milliseconds{2000})) {
        std::exception_ptr trouble;
        bool fenced = false;
        try {
            co_await write_down(line, report);
        } catch (const Fenced&) {
            fenced = true;
        } catch (const std::exception&) {
            trouble = std::current_exception();
        }
        if (fenced) co_return false;
        if (!trouble) break;
        put_off(*line, trouble);
        if (!hub_.leads() || hub_.epoch() != line->epoch) co_return false;
        co_await platform::pause_for(wait);
    }
    for (const auto& result : report.results) {
        if (result.state != MessageState::pending) continue;
        const auto due = result.due.value_or(node_.clock().now());
        line->next_due = std::min(line->next_due.value_or(due), due);
    }
    if (report.disable) reload();
    co_return true;
}

/// What is not urgent, each in its own time.
Task<void> Outbox::housekeeping() {
    const auto now = steady_clock::now();
    const auto epoch = *epoch_;
    if (now - looked_at_ > kLook) {
        looked_at_ = now;
        co_await look_at_backlogs();
    }
    if (now - moved_at_ > kMoveOn) {
        moved_at_ = now;
        std::vector<OutboxStore::Moved> moved;
        for (const auto& [id, line] : lines_) {
            if (line->behind || line->claiming || line->nothing_until <= line->state.position) continue;
            line->state.position = line->nothing_until;
            moved.push_back({id, line->nothing_until, line->subscriber->version});
        }
        if (!moved.empty()) {
            auto writing = node_.database().transact([this, epoch, moved](Tx& tx) {
                SchedulerStore().fence(tx, epoch, node_.id());
                OutboxStore().move_on(tx, moved);
            });
            co_await std::move(writing);
        }
    }
    if (now - forgot_at_ > kForget) {
        auto forgetting = node_.database().transact([this, epoch](Tx& tx) {
            SchedulerStore().fence(tx, epoch, node_.id());
            return OutboxStore().forget(tx, settings_.keep);
        });
        const bool more = co_await std::move(forgetting);
        if (!more) forgot_at_ = now;
    }
}

Task<void> Outbox::look_at_backlogs() {
    std::vector<LinePtr> behind;
    for (const auto& [id, line] : lines_)
        if (line->behind || line->hands > 0 || line->next_due) behind.push_back(line);
    std::map<journal::SubscriberId, TimePoint> waiting_since;
    while (!behind.empty()) {
        const auto some = std::min(behind.size(), kMostLookedAt);
        const std::vector<LinePtr> few(behind.end() - static_cast<std::ptrdiff_t>(some), behind.end());
        behind.resize(behind.size() - some);
        std::vector<std::pair<std::shared_ptr<const Subscriber>, std::int64_t>> asked;
        for (const auto& line : few) asked.emplace_back(line->subscriber, line->state.position);
        auto entering = database_.enter();
        const auto place = co_await std::move(entering);
        auto reading = node_.database().read([asked](Tx& tx) {
            std::vector<std::optional<TimePoint>> oldest;
            for (const auto& [subscriber, position] : asked)
                oldest.push_back(OutboxStore().oldest(tx, *subscriber, position));
            return oldest;
        });
        const auto oldest = co_await std::move(reading);
        for (std::size_t i = 0; i < few.size(); ++i)
            if (oldest[i]) waiting_since[few[i]->subscriber->id] = *oldest[i];
    }
    const auto now = node_.clock().now();
    std::vector<Probe::Backlog> shown;
    for (const auto& [id, line] : lines_) {
        const auto since = waiting_since.find(id);
        const auto lag =
            since == waiting_since.end() ? domain::Duration{0} : std::max(now - since->second, domain::Duration{0});
        shown.push_back({line->subscriber->organization_id, line->subscriber->name, lag,
                         line->state.failures >= journal::kFailing});
    }
    node_.probe().show_outbox(shown);
    backlogs_ = std::move(shown);
}

}
