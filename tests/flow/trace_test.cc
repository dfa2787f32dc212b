// Traces on the running program: the context goes through every hop, and a collector is told, whoever is slow or away.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kSpan = "00f067aa0ba902b7";

Reply enqueue(const HubFixture& hub, const std::string& type, const std::string& traceparent,
              const std::string& tracestate = "") {
    std::vector<std::pair<std::string, std::string>> headers{{"traceparent", traceparent}};
    if (!tracestate.empty()) headers.emplace_back("tracestate", tracestate);
    return hub.api("POST", "/v1/executions", {{"workflow_type", type}}, headers);
}

TEST(Trace, TheContextGoesOnToTheSubWorkflowAndItsChildren) {
    Peer peer;
    HubFixture hub;
    hub.register_type("t", peer.url());
    const auto id = enqueue(hub, "t", "00-" + kTrace + "-" + kSpan + "-01", "vendor=1").json()["execution_id"];
    ASSERT_TRUE(peer.wait_for(1));
    const auto first = peer.asked()[0];
    EXPECT_EQ(first.headers.at("traceparent").substr(0, 36), "00-" + kTrace + "-");
    EXPECT_NE(first.headers.at("traceparent").substr(36, 16), kSpan) << "the attempt is a span of its own";
    EXPECT_EQ(first.headers.at("traceparent").substr(52), "-01");
    EXPECT_EQ(first.headers.at("tracestate"), "vendor=1");
    // Over a kill: the retry of what it calls back belongs to the same trace.
    hub.hub->kill();
    hub.start();
    Peer::call_back(first,
                    {{"status", "partial"},
                     {"items", {{{"key", "a"}, {"status", "failed"}}, {{"key", "b"}, {"status", "completed"}}}}});
    hub.database.run("update executions set due_at = now() where due_at is not null");
    ASSERT_TRUE(peer.wait_for(2));
    EXPECT_NE(peer.asked()[1].execution_id(), id);
    EXPECT_EQ(peer.asked()[1].headers.at("traceparent").substr(3, 32), kTrace);

    // What is none is not passed on, and nobody is refused for it.
    EXPECT_EQ(enqueue(hub, "t", "00-nonsense").status, 201);
    ASSERT_TRUE(peer.wait_for(3));
    auto own = peer.asked()[2].execution_id();
    std::erase(own, '-');
    EXPECT_EQ(peer.asked()[2].headers.at("traceparent").substr(3, 32), own);
    EXPECT_FALSE(peer.asked()[2].headers.contains("tracestate"));
    // Whoever does not want it traced is not traced further on.
    enqueue(hub, "t", "00-" + kTrace + "-" + kSpan + "-00");
    ASSERT_TRUE(peer.wait_for(4));
    EXPECT_EQ(peer.asked()[3].headers.at("traceparent").substr(52), "-00");
}

TEST(Trace, WhatSubscribersAreToldOfAnExecutionGoesWithItsTrace) {
    Peer peer([](const Asked&) { return done(); });
    Peer subscriber([](const Asked&) { return Behaviour{200, "{}"}; });
    const HubFixture hub;
    hub.register_type("t", peer.url());
    ASSERT_EQ(
        hub.api("PUT", "/v1/subscribers/all", {{"url", subscriber.url()}, {"types", {"execution.completed"}}}).status,
        201);
    enqueue(hub, "t", "00-" + kTrace + "-" + kSpan + "-01", "vendor=1");
    ASSERT_TRUE(subscriber.wait_for(1));
    const auto told = subscriber.asked()[0];
    EXPECT_EQ(told.headers.at("traceparent").substr(0, 36), "00-" + kTrace + "-");
    EXPECT_NE(told.headers.at("traceparent").substr(36, 16), kSpan);
    EXPECT_EQ(told.headers.at("traceparent").substr(52), "-01");
    EXPECT_EQ(told.headers.at("tracestate"), "vendor=1");

    const auto own = hub.enqueue("t");
    ASSERT_TRUE(subscriber.wait_for(2));
    auto trace = own;
    std::erase(trace, '-');
    EXPECT_EQ(subscriber.asked()[1].headers.at("traceparent").substr(3, 32), trace);
}

/// Takes spans.
class Collector {
  public:
    explicit Collector(Behaviour behaviour = {200, "{}"}) : peer_([behaviour](const Asked&) { return behaviour; }) {}
    std::string config() const { return "[tracing]\nurl = \"" + peer_.url("/v1/traces") + "\"\n"; }
    std::multimap<std::string, Json> spans() const {
        std::multimap<std::string, Json> found;
        for (const auto& asked : peer_.asked()) {
            if (asked.json.is_discarded()) throw std::runtime_error("no JSON: " + asked.body);
            for (const auto& span : asked.json["resourceSpans"][0]["scopeSpans"][0]["spans"])
                found.emplace(span["name"], span);
        }
        return found;
    }
    /// Waits for a span of that name.
    Json await(const std::string& name) const {
        eventually([&] { return spans().contains(name); });
        const auto all = spans();
        const auto found = all.find(name);
        return found == all.end() ? Json(nullptr) : found->second;
    }
    Peer& peer() { return peer_; }

  private:
    Peer peer_;
};

std::string attribute(const Json& span, const std::string& key) {
    for (const auto& each : span["attributes"])
        if (each["key"] == key) return each["value"].begin().value();
    return "";
}

TEST(Trace, ACollectorIsToldWhatAnExecutionWentThrough) {
    Collector collector;
    Peer peer;
    HubFixture hub(collector.config());
    hub.register_type("t", peer.url());
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "t"}, {"reason", "a while"}}).status, 200);
    const std::string id = enqueue(hub, "t", "00-" + kTrace + "-" + kSpan + "-01").json()["execution_id"];
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["waiting_for"].is_object(); }));
    ASSERT_EQ(hub.api("POST", "/v1/resume", {{"workflow_type", "t"}}).status, 200);
    ASSERT_TRUE(peer.wait_for(1));
    const auto asked = peer.asked()[0];
    ASSERT_EQ(Peer::call_back(asked, {{"status", "completed"}, {"metrics", {{"cost_usd", "0.25"}}}}).status, 200);
    const auto whole = collector.await("execution t");
    const auto attempt = collector.await("attempt");
    const auto queue = collector.await("queue");
    const auto gate = collector.await("gate paused");
    const auto plan = collector.await("plan");
    const auto deliver = collector.await("deliver");
    const auto callback = collector.await("callback");
    const auto settle = collector.await("settle");
    for (const auto& each : {whole, attempt, queue, gate, plan, deliver, callback, settle}) {
        ASSERT_TRUE(each.is_object());
        EXPECT_EQ(each["traceId"], kTrace);
        EXPECT_LE(each["startTimeUnixNano"].get<std::string>(), each["endTimeUnixNano"].get<std::string>());
    }
    EXPECT_EQ(whole["parentSpanId"], kSpan);
    EXPECT_EQ(attempt["parentSpanId"], whole["spanId"]);
    EXPECT_EQ(attempt["spanId"], asked.headers.at("traceparent").substr(36, 16))
        << "the sub-workflow's spans are below it";
    EXPECT_EQ(queue["parentSpanId"], whole["spanId"]);
    EXPECT_EQ(gate["parentSpanId"], queue["spanId"]);
    EXPECT_EQ(plan["parentSpanId"], whole["spanId"]);
    EXPECT_EQ(deliver["parentSpanId"], attempt["spanId"]);
    EXPECT_EQ(callback["parentSpanId"], attempt["spanId"]);
    EXPECT_EQ(settle["parentSpanId"], callback["spanId"]);
    EXPECT_EQ(attribute(whole, "impresario.execution_id"), id);
    EXPECT_EQ(attribute(whole, "impresario.cost_usd"), "0.250000");
    EXPECT_EQ(attribute(deliver, "http.response.status_code"), "202");
    EXPECT_EQ(whole["status"]["code"], 1);
    std::set<std::string> ids;
    for (const auto& [name, span] : collector.spans()) EXPECT_TRUE(ids.insert(span["spanId"]).second) << name;
    const auto sent = collector.peer().asked()[0];
    EXPECT_EQ(sent.headers.at("content-type"), "application/json");
    EXPECT_EQ(sent.json["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"], "impresario");
}

TEST(Trace, WhatIsNotSampledIsNotTold) {
    Collector collector;
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    HubFixture hub(collector.config() + "sample_percent = 0\n");
    hub.register_type("t", peer.url());
    hub.register_type("u", peer.url());
    hub.await_end(hub.enqueue("t"));
    EXPECT_EQ(peer.asked()[0].headers.at("traceparent").substr(52), "-00");
    // Whoever comes with a trace decides himself.
    enqueue(hub, "u", "00-" + kTrace + "-" + kSpan + "-01");
    EXPECT_TRUE(collector.await("execution u").is_object());
    EXPECT_EQ(collector.spans().count("execution t"), 0U);
}

TEST(Trace, ACollectorThatIsAwayOrSilentStopsNothing) {
    Behaviour silent;
    silent.silent = true;
    Collector collector(silent);
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    HubFixture hub(collector.config());
    hub.register_type("t", peer.url());
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(hub.await_end(hub.enqueue("t"))["status"], "completed");
    EXPECT_LT(seconds_since(begun), 5 * patience());
    EXPECT_TRUE(collector.peer().wait_for(1)) << "it was asked";
    EXPECT_EQ(hub.hub->terminate(), 0) << "and is not waited for";
}

TEST(Trace, WhatTheCollectorRefusesIsCountedAndSaid) {
    Collector collector({400, "{}"});
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    HubFixture hub(collector.config());
    hub.register_type("t", peer.url());
    hub.await_end(hub.enqueue("t"));
    EXPECT_TRUE(eventually([&] {
        const auto metrics = hub.api("GET", "/metrics").body;
        return metrics.find("impresario_trace_spans_total{outcome=\"dropped\"}") != std::string::npos &&
               metrics.find("impresario_trace_spans_total{outcome=\"dropped\"} 0\n") == std::string::npos;
    }));
    EXPECT_NE(hub.hub->log().find("the trace collector does not take spans"), std::string::npos);
    // Of a partial success the rest counts.
    collector.peer().set_script([](const Asked&) {
        return Behaviour{200, R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"too many"}})"};
    });
    hub.await_end(hub.enqueue("t"));
    EXPECT_TRUE(eventually([&] {
        return hub.api("GET", "/metrics").body.find("impresario_trace_spans_total{outcome=\"rejected\"} 2") !=
               std::string::npos;
    }));
}

}
}
