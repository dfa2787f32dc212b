#include "orchestrator/tracer.h"

#include <algorithm>

#include "platform/dice.h"
#include "platform/log.h"
#include "platform/redact.h"
#include "webhooks/outcome.h"

namespace impresario::orchestrator {

using domain::Execution;
using domain::ExecutionId;
using domain::TimePoint;
using platform::Span;
using platform::SpanKind;
using platform::SpanStatus;
using platform::Task;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
namespace log = platform::log;

namespace {

/// Spans kept until they are told; more are dropped.
constexpr std::size_t kMostWaiting = 20'000;
constexpr std::size_t kMostAtOnce = 500;
constexpr int kTries = 5;
constexpr seconds kFirstPause{1};
constexpr seconds kLongestPause{30};
constexpr milliseconds kDeadline{10'000};
/// Of a lane.
constexpr std::size_t kMostGates = 256;

std::vector<platform::Attribute> about(const Execution& row) {
    return {{"impresario.execution_id", row.id.text()},
            {"impresario.organization_id", row.lane.organization_id},
            {"impresario.workflow_type", row.lane.workflow_type}};
}

std::optional<domain::Duration> asked_to_wait(const platform::HttpAnswer& answer, TimePoint now) {
    return webhooks::retry_after(answer.header("retry-after"), now);
}

bool worth_another_try(int status) { return status == 429 || status == 502 || status == 503 || status == 504; }

}

void GateIntervals::add(const domain::Lane& lane, const GateInterval& closed) {
    auto& known = lanes_[lane];
    // Each turn adds a little to the same.
    if (!known.empty() && known.back().kind == closed.kind && closed.from <= known.back().to) {
        known.back().to = std::max(known.back().to, closed.to);
        return;
    }
    known.push_back(closed);
    if (known.size() > kMostGates) known.pop_front();
}

std::vector<GateInterval> GateIntervals::within(const domain::Lane& lane, TimePoint from, TimePoint to) const {
    std::vector<GateInterval> found;
    const auto known = lanes_.find(lane);
    if (known == lanes_.end()) return found;
    for (const auto& each : known->second) {
        if (each.from >= to || each.to <= from) continue;
        GateInterval cut{each.kind, std::max(each.from, from), std::min(each.to, to)};
        cut.closed = cut.to - cut.from;
        const auto same =
            std::find_if(found.begin(), found.end(), [&](const auto& one) { return one.kind == cut.kind; });
        if (same == found.end()) {
            found.push_back(cut);
            continue;
        }
        same->to = cut.to;
        same->closed += cut.closed;
        ++same->times;
    }
    return found;
}

Tracer::Tracer(platform::asio::any_io_executor executor, platform::HttpClient& client, platform::Clock& clock,
               Probe& probe, ReadTraces read, TracingSettings settings, std::vector<platform::Attribute> resource)
    : client_(client),
      clock_(clock),
      probe_(probe),
      read_(std::move(read)),
      settings_(std::move(settings)),
      resource_(std::move(resource)),
      wakeup_(executor),
      random_(platform::entropy_seed()) {
    resource_.insert(resource_.begin(), {"service.name", settings_.service_name});
}

bool Tracer::samples(const ExecutionId& execution, const std::optional<platform::TraceContext>& came_with) const {
    if (came_with) return came_with->sampled;
    // The random end of the trace id decides, so that every node says the same of it.
    std::uint64_t random = 0;
    for (std::size_t i = 9; i < 16; ++i) random = random << 8 | execution.value[i];
    return random * 100 < (std::uint64_t{1} << 56) * static_cast<std::uint64_t>(settings_.sample_percent);
}

Span Tracer::span(std::string name, SpanKind kind, TimePoint start, TimePoint end) {
    Span made;
    // xorshift: an id needs to be different, not secret.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    for (std::size_t i = 0; i < made.id.size(); ++i) made.id[i] = static_cast<std::uint8_t>(random_ >> (8 * i));
    made.name = std::move(name);
    made.kind = kind;
    made.start = start;
    made.end = end;
    return made;
}

void Tracer::add(const ExecutionId& execution, Span span, bool root, std::optional<platform::TraceContext> came_with) {
    if (waiting_.size() >= kMostWaiting) return probe_.spans("dropped", 1);
    waiting_.push_back({execution, root, std::move(came_with), std::move(span)});
    if (waiting_.size() >= kMostAtOnce) wakeup_.signal();
}

void Tracer::granted(const Execution& row, TimePoint planned, TimePoint now) {
    const auto parent = platform::span_of(row.id, row.opening);
    const auto since = row.ready_at.value_or(row.created_at);
    auto queued = span("queue", SpanKind::internal, since, now);
    queued.parent = parent;
    queued.attributes = about(row);
    queued.attributes.emplace_back("impresario.priority", std::int64_t{row.priority});
    const auto waits = queued.id;
    add(row.id, std::move(queued));
    for (const auto& each : gates_.within(row.lane, since, now)) {
        auto gate = span("gate " + std::string(name(each.kind)), SpanKind::internal, each.from, each.to);
        gate.parent = waits;
        gate.attributes = {{"impresario.gate", std::string(name(each.kind))},
                           {"impresario.gate.of", "lane"},
                           {"impresario.gate.times", std::int64_t{each.times}},
                           {"impresario.gate.closed_ms", std::int64_t{each.closed.count() / 1000}}};
        add(row.id, std::move(gate));
    }
    auto plan = span("plan", SpanKind::internal, planned, now);
    plan.parent = parent;
    if (row.attempt) plan.attributes = {{"impresario.attempt", std::int64_t{row.attempt->number}}};
    add(row.id, std::move(plan));
}

void Tracer::opened(const Execution& row, const domain::Gate& gate, TimePoint since, TimePoint now) {
    auto closed = span("gate " + std::string(name(gate.kind)), SpanKind::internal, since, now);
    closed.parent = platform::span_of(row.id, row.opening);
    closed.attributes = {{"impresario.gate", std::string(name(gate.kind))},
                         {"impresario.gate.of", "execution"},
                         {"impresario.gate.subject", gate.subject}};
    add(row.id, std::move(closed));
}

void Tracer::delivered(const webhooks::DeliveryRecord& record) {
    auto sent = span("deliver", SpanKind::client, record.at, record.at + record.duration);
    sent.parent = platform::span_of(record.attempt);
    sent.attributes = {{"http.request.method", "POST"},
                       // What follows may be a secret.
                       {"url.full", platform::shown_url(record.url)},
                       {"impresario.delivery", std::int64_t{record.number}},
                       {"impresario.outcome", record.outcome}};
    if (record.status) sent.attributes.emplace_back("http.response.status_code", std::int64_t{*record.status});
    if (!record.address.empty()) sent.attributes.emplace_back("network.peer.address", record.address);
    if (record.outcome != "accepted" && record.outcome != "done") {
        sent.status = SpanStatus::error;
        sent.message = record.error;
        sent.attributes.emplace_back("error.type", record.outcome);
    }
    add(record.execution, std::move(sent));
}

void Tracer::attempt_over(const AttemptOver& over, TimePoint now) {
    auto attempt = span("attempt", SpanKind::producer, over.granted_at, now);
    attempt.id = platform::span_of(over.attempt);
    attempt.parent = platform::span_of(over.execution, over.opening);
    attempt.attributes = {{"impresario.attempt_id", over.attempt.text()},
                          {"impresario.attempt", std::int64_t{over.number}},
                          {"impresario.outcome", over.outcome}};
    if (over.outcome != "completed" && over.outcome != "partial" && over.outcome != "cancelled") {
        attempt.status = SpanStatus::error;
        attempt.message = over.detail;
    }
    add(over.execution, std::move(attempt));
}

void Tracer::called_back(const ExecutionId& execution, const domain::AttemptId& attempt, std::string_view status,
                         int answered, TimePoint begun, std::optional<TimePoint> settled_from,
                         const std::optional<platform::TraceContext>& parent) {
    const auto now = clock_.now();
    auto callback = span("callback", SpanKind::server, begun, now);
    callback.parent = platform::span_of(attempt);
    callback.attributes = {{"http.request.method", "POST"},
                           {"http.route", "/v1/callbacks/{execution_id}"},
                           {"http.response.status_code", std::int64_t{answered}},
                           {"impresario.callback", std::string(status)}};
    if (answered >= 500) callback.status = SpanStatus::error;
    const auto id = callback.id;
    add(execution, std::move(callback), false, parent);
    if (!settled_from) return;
    auto settle = span("settle", SpanKind::internal, *settled_from, now);
    settle.parent = id;
    add(execution, std::move(settle));
}

void Tracer::ended(const Execution& row) {
    auto whole = span("execution " + row.lane.workflow_type, SpanKind::server, row.created_at,
                      row.completed_at.value_or(clock_.now()));
    whole.id = platform::span_of(row.id, row.opening);
    whole.attributes = about(row);
    whole.attributes.emplace_back("impresario.status", std::string(domain::name(row.status)));
    whole.attributes.emplace_back("impresario.priority", std::int64_t{row.priority});
    whole.attributes.emplace_back("impresario.attempts", std::int64_t{row.attempts});
    if (!row.reason.empty()) whole.attributes.emplace_back("impresario.reason", row.reason);
    if (row.cost) whole.attributes.emplace_back("impresario.cost_usd", domain::decimal(*row.cost));
    if (row.batch) whole.attributes.emplace_back("impresario.batch_id", row.batch->text());
    if (row.status == domain::Status::completed) whole.status = SpanStatus::ok;
    if (row.status == domain::Status::failed || row.status == domain::Status::dead) {
        whole.status = SpanStatus::error;
        whole.message = row.reason;
    }
    add(row.id, std::move(whole), true);
}

Task<void> Tracer::run() {
    running_ = true;
    while (!stopping_ || !waiting_.empty()) {
        if (waiting_.size() < kMostAtOnce && !stopping_) co_await wakeup_.wait(settings_.every);
        std::vector<Waiting> batch;
        while (!waiting_.empty() && batch.size() < kMostAtOnce) {
            batch.push_back(std::move(waiting_.front()));
            waiting_.pop_front();
        }
        if (batch.empty()) continue;
        const auto count = batch.size();
        try {
            auto telling = tell(std::move(batch));
            co_await std::move(telling);
        } catch (const std::exception& e) {
            probe_.spans("dropped", count);
            log::debug("spans were dropped", {{"spans", count}, {"error", e.what()}});
        }
    }
    running_ = false;
}

Task<void> Tracer::stop(steady_clock::duration longest) {
    stopping_ = true;
    wakeup_.signal();
    const auto until = steady_clock::now() + longest;
    while (running_ && steady_clock::now() < until) co_await platform::pause_for(milliseconds{5});
}

/// Which trace each belongs to is read for all of them at once, beside the work.
Task<void> Tracer::tell(std::vector<Waiting> batch) {
    std::vector<ExecutionId> ids;
    for (const auto& each : batch) ids.push_back(each.execution);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    auto reading = read_(std::move(ids));
    const auto traces = co_await std::move(reading);
    std::vector<Span> spans;
    for (auto& each : batch) {
        const auto found = traces.find(each.execution);
        const auto came_with = found == traces.end() ? std::nullopt : platform::stored_trace_context(found->second);
        if (!samples(each.execution, came_with)) continue;
        auto& span = each.span;
        span.trace = came_with ? came_with->trace : platform::trace_of(each.execution);
        if (came_with) span.state = came_with->state;
        if (each.root && came_with) span.parent = came_with->parent;
        // A sub-workflow that traces itself says within which of its spans it called back.
        if (each.came_with && each.came_with->trace == span.trace) span.parent = each.came_with->parent;
        spans.push_back(std::move(span));
    }
    if (spans.empty()) co_return;
    const auto count = spans.size();
    auto sending = send(platform::spans_json(spans, resource_, settings_.version), count);
    const bool taken = co_await std::move(sending);
    if (!taken) probe_.spans("dropped", count);
}

Task<bool> Tracer::send(std::string body, std::size_t count) {
    const auto url = platform::parse_url(settings_.url.reveal());
    if (!url) co_return false;
    auto secrets = platform::secrets_of_url(settings_.url);
    secrets.push_back(settings_.authorization);
    domain::Duration pause = kFirstPause;
    std::string error;
    for (int i = 0; i < kTries; ++i) {
        platform::Headers headers{{"content-type", "application/json"}};
        if (!settings_.authorization.empty()) headers.emplace_back("authorization", settings_.authorization.reveal());
        auto sending = client_.send("POST", *url, std::move(headers), body, kDeadline);
        const auto outcome = co_await std::move(sending);
        std::optional<domain::Duration> asked;
        if (const auto* answer = std::get_if<platform::HttpAnswer>(&outcome)) {
            if (answer->status >= 200 && answer->status < 300) {
                const auto partial = platform::partial_success(answer->body);
                const auto rejected =
                    partial ? std::min<std::size_t>(count, static_cast<std::size_t>(partial->rejected)) : 0;
                if (rejected > 0) {
                    probe_.spans("rejected", rejected);
                    log::warn("the trace collector has not taken all spans",
                              {{"rejected", rejected}, {"error", platform::redacted(partial->message, secrets)}});
                }
                probe_.spans("told", count - rejected);
                if (std::exchange(troubled_, false)) log::info("the trace collector takes spans again", {});
                co_return true;
            }
            error = "it answered " + std::to_string(answer->status);
            if (!worth_another_try(answer->status)) break;
            asked = asked_to_wait(*answer, clock_.now());
        } else if (const auto* unsent = std::get_if<platform::NotSent>(&outcome)) {
            error = unsent->detail;
        } else {
            error = std::get<platform::NoAnswer>(outcome).detail;
        }
        if (stopping_) break;
        co_await platform::pause_for(std::chrono::duration_cast<milliseconds>(
            std::min<domain::Duration>(std::max(pause, asked.value_or(domain::Duration{0})), kLongestPause)));
        pause = std::min<domain::Duration>(pause * 2, kLongestPause);
    }
    if (!std::exchange(troubled_, true))
        log::warn("the trace collector does not take spans; they are dropped until it does",
                  {{"url", url->origin()}, {"error", error}, {"next", "see tracing.url of the configuration"}});
    co_return false;
}

}
