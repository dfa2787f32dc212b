#pragma once
// Spans of what executions go through, told to an OpenTelemetry collector by OTLP/HTTP in JSON. Nothing waits for it:
// what does not fit into its memory is dropped and counted.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/execution.h"
#include "domain/gate.h"
#include "orchestrator/command.h"
#include "orchestrator/probe.h"
#include "platform/async.h"
#include "platform/clock.h"
#include "platform/http_client.h"
#include "platform/span_json.h"
#include "webhooks/attempt_store.h"

namespace impresario::orchestrator {

struct TracingSettings {
    /// Where OTLP/HTTP is taken, such as http://127.0.0.1:4318/v1/traces; empty: nothing is traced. A collector for
    /// rent may have its token in it.
    domain::Secret url;
    domain::Secret authorization;
    /// Of the executions that came without a trace; one that came with one is traced as that says.
    int sample_percent = 100;
    std::string service_name = "impresario";
    std::chrono::milliseconds every{2000};
    /// Of this program.
    std::string version;
};

/// A gate of a lane, closed from and to.
struct GateInterval {
    domain::GateKind kind = domain::GateKind::paused;
    domain::TimePoint from;
    domain::TimePoint to;
    /// Between the two.
    domain::Duration closed{0};
    int times = 1;
};

/// Closed gates of lanes within the last while. Pure.
class GateIntervals {
  public:
    void add(const domain::Lane& lane, const GateInterval& closed);
    /// Those within the two times, cut to them: of each gate from when it first closed to when it last opened.
    std::vector<GateInterval> within(const domain::Lane& lane, domain::TimePoint from, domain::TimePoint to) const;

  private:
    std::map<domain::Lane, std::deque<GateInterval>> lanes_;
};

/// Which trace an execution came with, as it is stored; those that came with none are left out.
using ReadTraces =
    std::function<platform::Task<std::map<domain::ExecutionId, std::string>>(std::vector<domain::ExecutionId>)>;

/// Network thread only.
class Tracer {
  public:
    Tracer(platform::asio::any_io_executor executor, platform::HttpClient& client, platform::Clock& clock, Probe& probe,
           ReadTraces read, TracingSettings settings, std::vector<platform::Attribute> resource);

    /// Whether the trace of an execution that came with this, or with nothing, is told.
    bool samples(const domain::ExecutionId& execution, const std::optional<platform::TraceContext>& came_with) const;

    /// It was planned and granted: how long it had waited, and for what.
    void granted(const domain::Execution& row, domain::TimePoint planned, domain::TimePoint now);
    /// A gate of its own has opened.
    void opened(const domain::Execution& row, const domain::Gate& gate, domain::TimePoint since, domain::TimePoint now);
    void gate_closed(const domain::Lane& lane, const GateInterval& closed) { gates_.add(lane, closed); }
    void delivered(const webhooks::DeliveryRecord& record);
    void attempt_over(const AttemptOver& over, domain::TimePoint now);
    /// `settled_from`: when its transaction was asked for; nullopt: it did not come so far. `parent`: what it came
    /// with.
    void called_back(const domain::ExecutionId& execution, const domain::AttemptId& attempt, std::string_view status,
                     int answered, domain::TimePoint begun, std::optional<domain::TimePoint> settled_from,
                     const std::optional<platform::TraceContext>& parent);
    void ended(const domain::Execution& row);

    platform::Task<void> run();
    /// Tells what it has, for so long.
    platform::Task<void> stop(std::chrono::steady_clock::duration longest);

  private:
    /// Its trace is known once it is told.
    struct Waiting {
        domain::ExecutionId execution;
        /// Whose parent is what the execution came with.
        bool root = false;
        std::optional<platform::TraceContext> came_with;
        platform::Span span;
    };
    void add(const domain::ExecutionId& execution, platform::Span span, bool root = false,
             std::optional<platform::TraceContext> came_with = std::nullopt);
    platform::Span span(std::string name, platform::SpanKind kind, domain::TimePoint start, domain::TimePoint end);
    platform::Task<void> tell(std::vector<Waiting> batch);
    platform::Task<bool> send(std::string body, std::size_t count);

    platform::HttpClient& client_;
    platform::Clock& clock_;
    Probe& probe_;
    ReadTraces read_;
    TracingSettings settings_;
    std::vector<platform::Attribute> resource_;
    platform::Wakeup wakeup_;
    std::deque<Waiting> waiting_;
    GateIntervals gates_;
    std::uint64_t random_ = 0;
    bool stopping_ = false;
    bool running_ = false;
    bool troubled_ = false;
};

}
