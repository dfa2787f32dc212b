#include "orchestrator/node.h"

#include "domain/need_amounts.h"
#include "orchestrator/node_events.h"
#include "platform/callback_json.h"
#include "platform/log.h"
#include "resource_manager/budget_store.h"
#include "resource_manager/fairness_store.h"
#include "resource_manager/ledger_store.h"
#include "resource_manager/price.h"
#include "resource_manager/weather_store.h"
#include "webhooks/callback_token.h"

namespace impresario::orchestrator {

using domain::AttemptState;
using domain::Execution;
using domain::ExecutionId;
using platform::Task;
using platform::Tx;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
namespace asio = platform::asio;
namespace log = platform::log;

namespace {
/// How long who asks about an execution that another transaction holds is kept waiting.
constexpr milliseconds kHeldPatience{4000};
/// How long an acceptance waits to be recorded with its callback.
constexpr milliseconds kCompany{10};
/// Who comes sooner after another does not come alone: a batch serves both better.
constexpr milliseconds kAlone{3};
/// Of one transaction.
constexpr std::size_t kMostCommands = 500;
/// Two, so that one transaction is worked on in the database while the replies of the other are handled here.
constexpr std::size_t kCommandLanes = 2;
/// Of command transactions. Nobody's slot waits for one: an endpoint has room again once its peer has answered.
constexpr milliseconds kCommandPace{9};

/// What the sub-workflow is told of it: calls and money by provider, or the money alone.
std::string reserved_json(const Execution& row, const subworkflows::WorkflowType& type) {
    const auto& attempt = *row.attempt;
    if (!attempt.reserved && type.needs.empty()) return {};
    platform::JsonWriter json;
    json.open('[');
    auto needs = domain::with_amounts(type.needs, row.need_amounts);
    if (attempt.reserved) needs = resource_manager::costing(std::move(needs), *attempt.reserved);
    for (const auto& need : needs) {
        json.open();
        json.field("provider", need.provider);
        if (need.calls > 0) json.field("calls", need.calls);
        if (need.tokens > 0) json.field("tokens", need.tokens);
        if (need.items > 0) json.field("items", need.items);
        if (need.cost.value > 0) json.field("cost_usd", domain::decimal(need.cost));
        json.close();
    }
    if (needs.empty()) {
        json.open();
        json.field("cost_usd", domain::decimal(*attempt.reserved));
        json.close();
    }
    json.close(']');
    return std::move(json).text();
}

std::string thrift_json(const domain::LiveAttempt& attempt, const subworkflows::WorkflowType& type) {
    const bool cheaper = attempt.thrift.cheaper_variant && type.cheaper_variant;
    if (!attempt.thrift.smaller() && !cheaper) return {};
    platform::JsonWriter json;
    json.open();
    json.field("batch_percent", attempt.thrift.batch_percent);
    if (cheaper) json.field("variant", "cheaper").raw("parameters", type.cheaper_variant->parameters);
    json.close();
    return std::move(json).text();
}

Deliver over_http(platform::HttpClient& client, platform::Clock& clock) {
    return [dispatcher = std::make_shared<webhooks::Dispatcher>(client, clock)](
               domain::Trigger trigger, domain::AttemptId attempt, int number,
               std::shared_ptr<const webhooks::Target> target) {
        return dispatcher->deliver(std::move(trigger), attempt, number, std::move(target));
    };
}
}

Node::Node(NodeParts parts, NodeSettings settings)
    : parts_(parts),
      settings_(std::move(settings)),
      id_(parts.ids.make<domain::NodeId>(parts.clock.now())),
      applier_(id_, parts.ids),
      intake_(id_),
      catalogue_store_(parts.keys),
      catalogue_(std::make_shared<subworkflows::Catalogue>()),
      providers_(std::make_shared<std::vector<resource_manager::Provider>>()),
      dispatch_(parts.deliver ? parts.deliver : over_http(parts.client, parts.clock)),
      commands_(
          parts.database, [this](Tx& tx, const std::vector<Command>& commands) { return applier_.apply(tx, commands); },
          [this](const std::vector<const Reply*>& replies) { committed(replies); }, kMostCommands, kCommandLanes,
          kCommandPace),
      intakes_(
          parts.database, [this](Tx& tx, const std::vector<IntakeItem>& items) { return intake_.enqueue(tx, items); },
          [this](const std::vector<const IntakeReply*>& replies) {
              for (const auto* reply : replies)
                  for (const auto& execution : reply->created) {
                      parts_.probe.enqueued(execution.lane, 1);
                      seen(execution);
                  }
          }),
      grants_wakeup_(parts.executor),
      catalogue_wakeup_(parts.executor),
      heartbeat_wakeup_(parts.executor) {}

Command Node::command(ExecutionId execution, Happening happening, std::optional<std::string> organization_id) {
    return Command{execution, std::move(happening), parts_.dice.unit(), catalogue_, std::move(organization_id)};
}

Task<Reply> Node::submit(ExecutionId execution, Happening happening, std::optional<std::string> organization_id) {
    const auto operation = operations_.begin();
    const auto until = steady_clock::now() + kHeldPatience;
    // However this ends, the delivery that is recorded with it is told.
    struct Telling {
        std::shared_ptr<Accepted> accepted;
        ~Telling() {
            if (!accepted) return;
            if (!accepted->recorded) accepted->recorded = false;
            accepted->timer.cancel();
        }
    } const telling{take_accepted(execution, happening)};
    const auto& accepted = telling.accepted;
    bool in_doubt = false;
    for (auto wait = milliseconds{2};; wait = std::min(wait * 2, milliseconds{100})) {
        try {
            Command asked = command(execution, happening, organization_id);
            if (accepted) asked.delivery = accepted->report;
            // Where money is booked they would wait for each other's balances: one lane takes more at once.
            auto submitting =
                commands_.submit(std::move(asked), applier_.budgets() ? 0 : std::hash<ExecutionId>{}(execution));
            Reply reply = co_await std::move(submitting);
            if (accepted && !reply.held) accepted->recorded = true;
            if (!reply.held || stopped_ || steady_clock::now() + wait > until) co_return reply;
        } catch (const platform::DatabaseInDoubt&) {
            in_doubt = true;
            break;
        }
        co_await platform::pause_for(wait);
    }
    // What may have been committed is not in anybody's memory: the scheduler starts again from the tables (R3).
    if (in_doubt && on_in_doubt) on_in_doubt();
    throw platform::DatabaseInDoubt("the connection broke during a commit");
}

Task<IntakeReply> Node::enqueue(IntakeItem item) {
    const auto operation = operations_.begin();
    if (auto alone = arrival(item)) {
        auto starting = start_at_once(*std::move(alone), item);
        if (auto started = co_await std::move(starting)) co_return *std::move(started);
    }
    bool in_doubt = false;
    try {
        IntakeReply reply = co_await intakes_.submit(std::move(item));
        co_return reply;
    } catch (const platform::DatabaseInDoubt&) {
        in_doubt = true;
    }
    if (in_doubt && on_in_doubt) on_in_doubt();
    throw platform::DatabaseInDoubt("the connection broke during a commit");
}

std::optional<Arrival> Node::arrival(const IntakeItem& item) {
    const auto now = steady_clock::now();
    const bool alone = now - std::exchange(arrived_at_, now) >= kAlone && intakes_.idle() && !starting_at_once_;
    if (!alone || !on_arrival || draining_ || item.executions.size() != 1) return std::nullopt;
    return on_arrival(item.executions.front().execution);
}

/// Inserted as granted: one commit, and its request leaves. nullopt: nothing of it has happened.
Task<std::optional<IntakeReply>> Node::start_at_once(Arrival arrival, IntakeItem item) {
    starting_at_once_ = true;
    const auto before = steady_clock::now();
    std::optional<IntakeReply> reply;
    bool in_doubt = false;
    item.executions.front().execution = arrival.grant.after;
    item.events = arrival.grant.events;
    try {
        auto inserting = parts_.database.transact([this, fence = arrival.fence, permits = arrival.grant.permits,
                                                   reservation = arrival.grant.reservation,
                                                   times = arrival.grant.lane_times, item](Tx& tx) {
            fence(tx);
            IntakeReply made = std::move(intake_.enqueue(tx, {item}).front());
            // The same request again makes nothing, and so it holds nothing.
            if (made.created.empty()) return made;
            if (times) LaneTimesStore().note(tx, {*times});
            if (reservation) {
                const auto at = item.executions.front().execution.attempt->granted_at;
                if (!resource_manager::LedgerStore().reserve(tx, {*reservation}, at).empty())
                    throw std::runtime_error("a budget has not enough left for it any more");
            }
            resource_manager::ProviderStore().charge(tx, permits);
            return made;
        });
        reply = co_await std::move(inserting);
    } catch (const platform::DatabaseInDoubt&) {
        in_doubt = true;
    } catch (const std::exception& e) {
        // Queued as all others it may go, and if not its caller is told why.
        log::info("not granted as it came", {{"execution_id", arrival.grant.after.id}, {"error", e.what()}});
    }
    starting_at_once_ = false;
    const bool started = reply && !reply->created.empty();
    arrival.done(started);
    if (started) {
        const Execution& row = arrival.grant.after;
        parts_.probe.enqueued(row.lane, 1);
        seen(row);
        auto& made = item.executions.front();
        priority_queue::ClaimableExecution granted{row, std::move(made.input), std::move(made.context),
                                                   row.attempt->granted_at, std::move(made.trace_context)};
        const auto last = last_moment(granted, before);
        deliver(std::move(granted), last);
    }
    if (!in_doubt) co_return reply;
    doubt_grants();
    if (on_in_doubt) on_in_doubt();
    throw platform::DatabaseInDoubt("the connection broke during a commit");
}

void Node::seen(const Execution& row) {
    if (on_row) on_row(row);
    if (domain::terminal(row.status)) {
        if (parts_.tracer) parts_.tracer->ended(row);
        if (const auto found = waiters_.find(row.id); found != waiters_.end())
            for (const auto& timer : found->second) timer->cancel();
    }
    if (leads && !leads()) notify_others("execution");
}

void Node::changed(const std::string& what) {
    hint(what);
    if (leads && !leads()) notify_others(what);
}

void Node::committed(const std::vector<const Reply*>& replies) {
    for (const auto* each : replies) {
        const Reply& reply = *each;
        for (const auto& other : reply.others) seen(other);
        if (reply.answer.problem == "illegal-move") {
            parts_.probe.illegal_move();
            log::error("an illegal move was refused", {{"detail", reply.answer.detail}});
        }
        if (reply.consumed && reply.after && on_consumed) on_consumed(*reply.after, *reply.consumed);
        if (reply.endpoint) {
            if (on_endpoint_news) on_endpoint_news(*reply.endpoint);
            if (reply.endpoint->learnt_deduplicates && learnt_.insert(reply.endpoint->endpoint).second)
                spawn(learn(reply.endpoint->endpoint), "learn");
        }
        parts_.probe.counted(reply.counts);
        for (const auto& over : reply.over)
            parts_.probe.attempt_over(over, catalogue_->find(over.lane), parts_.clock.now());
        for (const auto& news : reply.providers)
            if (news.retry_after) parts_.probe.refused(news.provider);
        if (on_provider_news)
            for (const auto& news : reply.providers) on_provider_news(news);
        if (reply.tells_usage && on_usage) on_usage();
        if (parts_.tracer)
            for (const auto& over : reply.over) parts_.tracer->attempt_over(over, parts_.clock.now());
        for (const auto& peer : reply.cancelled_peers) tell_cancelled(peer);
        if (!reply.unsettled.empty() && on_unsettled) on_unsettled(reply.unsettled);
        if (reply.after) seen(*reply.after);
    }
}

Task<void> Node::refresh_catalogue() {
    struct Loaded {
        subworkflows::Catalogue catalogue;
        std::vector<resource_manager::Provider> providers;
        bool budgets = false;
        resource_manager::WeatherRecords weather;
        std::optional<resource_manager::FairnessPolicy> fairness;
    };
    const auto known = catalogue_->version;
    auto asked_loaded = parts_.database.read([this, known](Tx& tx) -> std::optional<Loaded> {
        if (catalogue_store_.version(tx) == known) return std::nullopt;
        // The version is read first: what changes meanwhile is read again.
        Loaded read;
        read.catalogue = catalogue_store_.load(tx);
        read.providers = resource_manager::ProviderStore().load(tx);
        read.budgets = resource_manager::BudgetStore().any(tx);
        read.weather = resource_manager::WeatherStore().load(tx);
        read.fairness = resource_manager::FairnessStore().load(tx);
        return read;
    });
    auto loaded = co_await std::move(asked_loaded);
    // Two may read at once: the older reading must not win.
    if (!loaded || loaded->catalogue.version <= catalogue_->version) co_return;
    catalogue_ = std::make_shared<const subworkflows::Catalogue>(std::move(loaded->catalogue));
    const auto same = [](const resource_manager::Provider& a, const resource_manager::Provider& b) {
        return a.name == b.name && a.version == b.version;
    };
    if (!std::equal(providers_->begin(), providers_->end(), loaded->providers.begin(), loaded->providers.end(), same))
        providers_ = std::make_shared<const std::vector<resource_manager::Provider>>(std::move(loaded->providers));
    applier_.set_budgets(loaded->budgets);
    weather_ = std::move(loaded->weather);
    fairness_ = loaded->fairness
                    ? std::make_shared<const resource_manager::FairnessPolicy>(*std::move(loaded->fairness))
                    : nullptr;
    if (on_catalogue) on_catalogue();
    if (on_keys) on_keys();
}

std::shared_ptr<const webhooks::Target> Node::target(const domain::Lane& lane,
                                                     const domain::EndpointId& endpoint) const {
    const auto* type = catalogue_->find(lane);
    if (!type) return nullptr;
    const auto* at = type->endpoint(endpoint);
    if (!at) return nullptr;
    auto target = std::make_shared<webhooks::Target>();
    target->endpoint = endpoint;
    target->url = at->url;
    target->secrets = type->secrets;
    target->rules = {type->repeats_safely(endpoint), type->retry_rejected, type->unknown_statuses};
    return target;
}

platform::SteadyPoint Node::last_moment(const priority_queue::ClaimableExecution& granted,
                                        platform::SteadyPoint before) const {
    const auto left = granted.execution.attempt->lease_until - granted.now;
    const auto rest = std::min<steady_clock::duration>(std::chrono::seconds{5}, settings_.lease / 3);
    return before + std::chrono::duration_cast<steady_clock::duration>(left) - rest;
}

void Node::deliver(priority_queue::ClaimableExecution granted, platform::SteadyPoint last) {
    const auto& attempt = *granted.execution.attempt;
    sending_.insert({attempt.id, attempt.fence});
    if (steady_clock::now() >= last)
        return spawn(give_back(granted.execution.id, attempt.id, attempt.fence), "give back");
    ++deliveries_;
    spawn(deliver_one(std::move(granted)), "deliver");
}

/// It has not left here. Where it has passed to another by now, this changes nothing.
Task<void> Node::give_back(ExecutionId execution, domain::AttemptId attempt, int fence) {
    auto giving_back = insist(execution, NeverSent{attempt, fence});
    co_await std::move(giving_back);
    sending_.erase({attempt, fence});
}

Task<void> Node::deliver_one(priority_queue::ClaimableExecution granted) {
    struct Leaving {
        int& count;
        ~Leaving() { --count; }
    } leaving{deliveries_};
    const Execution& row = granted.execution;
    const auto attempt = *row.attempt;
    DeliveryReported done;
    done.attempt = attempt.id;
    done.fence = attempt.fence;
    done.endpoint = attempt.endpoint;
    const auto where = target(row.lane, attempt.endpoint);
    if (!where) {
        done.outcome = webhooks::EndpointFault{"the endpoint was removed while the request was about to leave"};
        done.record.execution = row.id;
        done.record.attempt = attempt.id;
        done.record.number = attempt.deliveries;
        done.record.at = parts_.clock.now();
        done.record.outcome = "endpoint";
    } else {
        domain::Trigger trigger;
        trigger.execution_id = row.id;
        trigger.organization_id = row.lane.organization_id;
        trigger.workflow_type = row.lane.workflow_type;
        trigger.priority = row.priority;
        trigger.input_data = std::move(granted.input);
        trigger.context = std::move(granted.context);
        trigger.deadline = row.timeout_at.value_or(granted.now);
        trigger.timeout_seconds = static_cast<int>((trigger.deadline - attempt.granted_at).count() / 1000000);
        trigger.callback_url = settings_.public_url + "/v1/callbacks/" + row.id.text();
        trigger.callback_token = webhooks::callback_token(parts_.keys, row.id, attempt.id);
        trigger.attempt = attempt.number;
        for (auto& [name, value] : trace_headers(row.id, platform::span_of(attempt.id), granted.trace_context))
            (name == "traceparent" ? trigger.traceparent : trigger.tracestate) = std::move(value);
        if (const auto* type = catalogue_->find(row.lane)) {
            trigger.reserved = reserved_json(row, *type);
            trigger.thrift = thrift_json(attempt, *type);
        }
        webhooks::Delivered delivered = co_await dispatch_(std::move(trigger), attempt.id, attempt.deliveries, where);
        parts_.probe.delivered(row.lane, delivered.outcome, delivered.record.duration);
        if (parts_.tracer) parts_.tracer->delivered(delivered.record);
        // Of a peer that has had enough nobody is told before its gate is closed.
        const bool taken = std::holds_alternative<webhooks::Accepted>(delivered.outcome) ||
                           std::holds_alternative<webhooks::Done>(delivered.outcome);
        if (taken && on_answered) on_answered(row.id, attempt.id);
        done.outcome = std::move(delivered.outcome);
        done.record = std::move(delivered.record);
        done.deduplicates = where->rules.deduplicates;
    }
    auto reporting = std::holds_alternative<webhooks::Accepted>(done.outcome) ? record_accepted(row.id, std::move(done))
                                                                              : insist(row.id, std::move(done));
    const bool recorded = co_await std::move(reporting);
    // As long as the row says that it is being sent, so does this.
    if (recorded) sending_.erase({attempt.id, attempt.fence});
}

/// Most callbacks follow the 202 within milliseconds.
Task<bool> Node::record_accepted(ExecutionId execution, DeliveryReported report) {
    const auto accepted =
        std::make_shared<Accepted>(Accepted{std::move(report), asio::steady_timer(parts_.executor, kCompany)});
    accepted_[execution] = accepted;
    co_await accepted->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (const auto found = accepted_.find(execution); found != accepted_.end() && found->second == accepted)
        accepted_.erase(found);
    while (accepted->taken && !accepted->recorded) {
        accepted->timer.expires_after(std::chrono::hours{1});
        co_await accepted->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    if (accepted->recorded.value_or(false)) co_return true;
    auto reporting = insist(execution, std::move(accepted->report));
    co_return co_await std::move(reporting);
}

/// Of a callback: the accepted delivery that waits for it, which is now its own to record.
std::shared_ptr<Node::Accepted> Node::take_accepted(const ExecutionId& execution, const Happening& happening) {
    const auto* received = std::get_if<CallbackReceived>(&happening);
    const auto found = received ? accepted_.find(execution) : accepted_.end();
    if (found == accepted_.end() || found->second->report.attempt != received->attempt) return nullptr;
    auto accepted = found->second;
    accepted_.erase(found);
    accepted->taken = true;
    return accepted;
}

/// Said until the database has it: it decides whether money is spent twice. False: the node stops before that.
Task<bool> Node::insist(ExecutionId execution, Happening happening) {
    for (auto wait = milliseconds{100}; !stopped_; wait = std::min(wait * 2, milliseconds{2000})) {
        bool recorded = true;
        try {
            auto reporting = submit(execution, happening);
            const Reply reply = co_await std::move(reporting);
            recorded = !reply.held;
        } catch (const std::exception&) {
            recorded = false;
        }
        if (recorded) co_return true;
        co_await platform::pause_for(wait);
    }
    co_return false;
}

Task<void> Node::learn(domain::EndpointId endpoint) {
    for (const auto& [lane, type] : catalogue_->types)
        if (const auto* known = type.endpoint(endpoint); known && (known->learnt_deduplicates || known->deduplicates))
            co_return;
    auto learning =
        parts_.database.transact([this, endpoint](Tx& tx) { catalogue_store_.learn_deduplicates(tx, endpoint); });
    co_await std::move(learning);
    log::info("endpoint deduplicates on webhook-id", {{"endpoint_id", endpoint}});
}

/// Best effort: DELETE on the endpoint's address, signed like a trigger with an empty body. A service built on the kit
/// stops; one that does not know the method answers 404 or 405 and runs on.
void Node::tell_cancelled(PeerCancelled peer) { spawn(tell_peer(std::move(peer)), "tell peer of cancellation"); }

Task<void> Node::tell_peer(PeerCancelled peer) {
    const auto where = target(peer.lane, peer.endpoint);
    if (!where) co_return;
    auto url = platform::parse_url(where->url);
    if (!url) co_return;
    const std::string id = peer.attempt.text();
    auto headers = platform::signed_headers(where->secrets, id, parts_.clock.now(), "");
    headers.emplace_back("impresario-execution-id", peer.execution.text());
    auto finding = find_trace_headers(peer.execution, peer.attempt);
    auto trace = co_await std::move(finding);
    std::move(trace.begin(), trace.end(), std::back_inserter(headers));
    auto telling = parts_.client.send("DELETE", *std::move(url), std::move(headers), "", milliseconds{5000});
    co_await std::move(telling);
}

bool Node::ask_status(ExecutionId execution, domain::AttemptId attempt, const domain::Lane& lane,
                      const domain::EndpointId& endpoint) {
    const auto* type = catalogue_->find(lane);
    const auto* known = type ? type->endpoint(endpoint) : nullptr;
    if (!known || known->status_url.empty()) return false;
    spawn(ask_status_of(execution, attempt, subworkflows::status_url_of(*known, execution), target(lane, endpoint)),
          "ask status");
    return true;
}

platform::Headers Node::trace_headers(const ExecutionId& execution, const platform::SpanId& parent,
                                      std::string_view trace_context) const {
    const auto came_with = platform::stored_trace_context(trace_context);
    const bool sampled =
        parts_.tracer ? parts_.tracer->samples(execution, came_with) : !came_with || came_with->sampled;
    platform::Headers headers;
    headers.emplace_back(
        "traceparent",
        platform::traceparent(came_with ? came_with->trace : platform::trace_of(execution), parent, sampled));
    if (came_with && !came_with->state.empty()) headers.emplace_back("tracestate", came_with->state);
    return headers;
}

Task<platform::Headers> Node::find_trace_headers(ExecutionId execution, domain::AttemptId attempt) {
    std::string trace_context;
    try {
        auto reading = parts_.database.read(
            [execution](Tx& tx) { return priority_queue::QueueStore().trace_contexts(tx, {execution}); });
        auto found = co_await std::move(reading);
        trace_context = std::move(found[execution]);
    } catch (const std::exception&) {
        // Then it goes without: the request matters more.
        co_return platform::Headers{};
    }
    co_return trace_headers(execution, platform::span_of(attempt), trace_context);
}

/// A callback in the answer is taken as one; `running` keeps the deadline away; anything else says that nothing runs
/// there, and the deadline counts.
Task<void> Node::ask_status_of(ExecutionId execution, domain::AttemptId attempt, std::string address,
                               std::shared_ptr<const webhooks::Target> where) {
    auto url = platform::parse_url(address);
    std::string answered;
    if (url) {
        platform::Headers headers;
        headers.emplace_back("webhook-id", attempt.text());
        if (!where->secrets.bearer.empty())
            headers.emplace_back("authorization", "Bearer " + where->secrets.bearer.reveal());
        for (const auto& [key, value] : where->secrets.headers) headers.emplace_back(key, value.reveal());
        auto finding = find_trace_headers(execution, attempt);
        auto trace = co_await std::move(finding);
        std::move(trace.begin(), trace.end(), std::back_inserter(headers));
        const platform::HttpOutcome outcome = co_await parts_.client.send("GET", *url, std::move(headers), "");
        if (const auto* answer = std::get_if<platform::HttpAnswer>(&outcome); answer && answer->status == 200)
            answered = answer->body;
    }
    auto callback = platform::parse_callback(answered);
    if (callback && (!callback->execution_id || *callback->execution_id == execution)) {
        CallbackReceived received;
        received.attempt = attempt;
        received.callback = *std::move(callback);
        received.sha256 = std::string(platform::view(platform::sha256(answered)));
        received.body = answered;
        auto settling = submit(execution, std::move(received));
        const auto reply = co_await std::move(settling);
        // It says that it runs and has run for as long as it may: its deadline is what it was.
        const bool out_of_time = reply.after && reply.after->attempt && reply.after->attempt->id == attempt &&
                                 reply.after->timeout_at && *reply.after->timeout_at <= parts_.clock.now();
        if (!out_of_time) co_return;
    }
    auto passing = submit(execution, DeadlinePassed{attempt});
    co_await std::move(passing);
}

void Node::record_event(std::string_view type, std::string payload) {
    spawn(record_event_of(std::string(type), std::move(payload)), "record event");
}

Task<void> Node::record_event_of(std::string type, std::string payload) {
    auto recording =
        parts_.database.transact([this, type, payload](Tx& tx) { append_node_event(tx, id_, type, payload); });
    co_await std::move(recording);
}

Task<void> Node::fetch_grants() {
    const auto before = steady_clock::now();
    auto asked_granted =
        parts_.database.read([id = id_](Tx& tx) { return priority_queue::QueueStore().granted_to(tx, id); });
    auto granted = co_await std::move(asked_granted);
    // What a node that drains does not begin goes to another.
    if (draining_) co_return;
    for (auto& each : granted) {
        const auto& attempt = *each.execution.attempt;
        if (!sending_.insert({attempt.id, attempt.fence}).second) continue;
        ++deliveries_;
        const auto last = last_moment(each, before);
        spawn(begin_and_deliver(std::move(each), last), "begin delivery");
    }
}

/// Commits that the request is about to leave, then sends it (protocol R5). Where that is in doubt it is said again,
/// until it is certain or too late; then the attempt is given back.
Task<void> Node::begin_and_deliver(priority_queue::ClaimableExecution granted, platform::SteadyPoint last) {
    struct Leaving {
        int& count;
        ~Leaving() { --count; }
    };
    const Leaving leaving{deliveries_};
    const auto id = granted.execution.id;
    const auto attempt = *granted.execution.attempt;
    std::optional<Reply> reply;
    do {
        try {
            auto asked_reply = submit(id, SendingBegun{attempt.id, attempt.fence, id_});
            reply = co_await std::move(asked_reply);
            if (reply->held) reply.reset();
        } catch (const std::exception&) {
            reply.reset();
        }
        if (!reply) co_await platform::pause_for(milliseconds{200});
    } while (!reply && !stopped_ && steady_clock::now() < last);
    if (reply && reply->answer.status == 200 && reply->after) {
        granted.execution = *reply->after;
        deliver(std::move(granted), last);
        co_return;
    }
    auto giving_back = give_back(id, attempt.id, attempt.fence);
    co_await std::move(giving_back);
}

void Node::doubt_grants() { spawn(give_back_unsent(), "give back what was not sent"); }

/// Several looks at the table, because the commit in doubt may still be on its way. A look counts once the database has
/// answered.
Task<void> Node::give_back_unsent() {
    for (const auto wait : {milliseconds{500}, milliseconds{5000}, milliseconds{15000}}) {
        std::optional<std::vector<priority_queue::LockedExecution>> rows;
        while (!rows) {
            co_await platform::pause_for(wait);
            if (stopped_) co_return;
            try {
                auto asked_rows =
                    parts_.database.read([id = id_](Tx& tx) { return priority_queue::QueueStore().sent_by(tx, id); });
                rows = co_await std::move(asked_rows);
            } catch (const std::exception&) {
                // Away: looking again.
            }
        }
        // A grant of this node whose commit was seen here may not have come back to it yet.
        for (const auto stamp = operations_.now(); operations_.settled() < stamp && !stopped_;)
            co_await platform::pause_for(milliseconds{20});
        for (const auto& row : *rows) {
            const auto& attempt = *row.execution.attempt;
            if (sends(attempt.id, attempt.fence)) continue;
            auto giving_back = insist(row.execution.id, NeverSent{attempt.id, attempt.fence});
            co_await std::move(giving_back);
        }
    }
}

Task<void> Node::await_end(ExecutionId execution, steady_clock::duration longest) {
    const auto timer = std::make_shared<asio::steady_timer>(parts_.executor, longest);
    waiters_[execution].push_back(timer);
    co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
    auto& list = waiters_[execution];
    std::erase(list, timer);
    if (list.empty()) waiters_.erase(execution);
}

void Node::notify_others(const std::string& what) {
    pending_notices_.insert(what);
    if (std::exchange(notice_planned_, true)) return;
    const auto send = [](Node* node) -> Task<void> {
        co_await platform::pause_for(milliseconds{10});
        node->notice_planned_ = false;
        const auto notices = std::exchange(node->pending_notices_, {});
        auto notifying = node->parts_.database.read([notices](Tx& tx) {
            for (const auto& notice : notices)
                tx.run("select pg_notify('orchestration_event', $1)", platform::Params().add(notice));
        });
        co_await std::move(notifying);
    };
    spawn(send(this), "notify");
}

void Node::spawn(Task<void> task, const char* what) {
    asio::co_spawn(parts_.executor, std::move(task), [what](const std::exception_ptr& failure) {
        if (!failure) return;
        try {
            std::rethrow_exception(failure);
        } catch (const platform::DatabaseUnavailable& e) {
            log::debug("put off, the database is away", {{"task", what}, {"error", e.what()}});
        } catch (const std::exception& e) {
            log::warn("a task failed", {{"task", what}, {"error", e.what()}});
        }
    });
}

void Node::start() {
    spawn(heartbeat_loop(), "heartbeat");
    spawn(catalogue_loop(), "catalogue");
    spawn(grants_loop(), "grants");
}

Task<void> Node::heartbeat() {
    const int pid = backend_pid();
    auto beating = parts_.database.transact([this, pid, draining = draining_](Tx& tx) {
        return SchedulerStore().heartbeat(tx, id_, settings_.name, draining, pid,
                                          static_cast<int>(settings_.lease.count()));
    });
    const int min_hub = co_await std::move(beating);
    if (min_hub > kHubVersion && !std::exchange(outdated_, true) && on_outdated) on_outdated(min_hub);
}

Task<void> Node::heartbeat_loop() {
    while (!stopped_) {
        bool well = true;
        try {
            co_await heartbeat();
        } catch (const std::exception&) {
            well = false;
        }
        co_await heartbeat_wakeup_.wait(well ? settings_.heartbeat : milliseconds{500});
    }
}

Task<void> Node::catalogue_loop() {
    while (!stopped_) {
        try {
            co_await refresh_catalogue();
        } catch (const platform::DatabaseUnavailable&) {
        } catch (const std::exception& e) {
            log::warn("the catalogue could not be read", {{"error", e.what()}});
        }
        co_await catalogue_wakeup_.wait(settings_.catalogue_poll);
    }
}

Task<void> Node::grants_loop() {
    while (!stopped_) {
        co_await grants_wakeup_.wait(std::chrono::seconds{1});
        if (stopped_) continue;
        try {
            co_await fetch_grants();
        } catch (const std::exception&) {
            // The next poll finds them.
        }
    }
}

std::size_t Node::clients_waiting() const {
    std::size_t count = 0;
    for (const auto& [execution, timers] : waiters_) count += timers.size();
    return count;
}

Task<void> Node::drain() {
    draining_ = true;
    const auto until = steady_clock::now() + settings_.drain;
    // Who waits for an end is answered with how things stand.
    for (const auto& [execution, timers] : waiters_)
        for (const auto& timer : timers) timer->cancel();
    // Others are to know at once that nothing may be given to this node.
    try {
        co_await heartbeat();
    } catch (const std::exception&) {
    }
    while ((deliveries_ > 0 || !commands_.idle() || !intakes_.idle()) && steady_clock::now() < until)
        co_await platform::pause_for(milliseconds{20});
    if (deliveries_ > 0)
        log::warn("requests were still under way at the end of the drain", {{"requests", deliveries_}});
    stopped_ = true;
    grants_wakeup_.signal();
    catalogue_wakeup_.signal();
    heartbeat_wakeup_.signal();
    try {
        auto leaving = parts_.database.transact([id = id_](Tx& tx) { SchedulerStore().leave(tx, id); });
        co_await std::move(leaving);
    } catch (const std::exception&) {
    }
}

}
