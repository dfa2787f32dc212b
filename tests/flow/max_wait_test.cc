// Nothing starves on the running program (protocol R16): of priority 0 under an unending stream of priority 100,
// measured at the receiver.
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr auto kMaxWait = seconds{2};
constexpr auto kService = milliseconds{250};
/// How many are there from the start: more than can go while the test looks.
constexpr int kStream = 150;

/// Answers each request after its service time, and notes when each began.
class Receiver {
  public:
    struct Start {
        std::string execution;
        steady_clock::time_point at;
    };

    std::string url() const { return peer_.url(); }
    std::vector<Start> starts() const {
        const std::lock_guard lock(mutex_);
        return starts_;
    }
    std::optional<steady_clock::time_point> started(const std::string& execution) const {
        for (const auto& each : starts())
            if (each.execution == execution) return each.at;
        return std::nullopt;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<Start> starts_;
    Peer peer_{[this](const Asked& asked) {
        const std::lock_guard lock(mutex_);
        starts_.push_back({asked.execution_id(), steady_clock::now()});
        Behaviour done{200, R"({"status":"completed","result_data":1})"};
        done.delay = kService;
        return done;
    }};
};

void enqueue_stream(const HubFixture& hub, const std::string& type) {
    Json executions = Json::array();
    for (int i = 0; i < kStream; ++i) executions.push_back({{"workflow_type", type}, {"priority", 100}});
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", {{"executions", executions}}).status, 201);
}

/// One at a time goes; of what began after it had waited max_wait at most the one that was granted just then came
/// first.
void goes_in_time(const Receiver& receiver, const std::string& rare, steady_clock::time_point enqueued) {
    ASSERT_TRUE(eventually([&] { return receiver.started(rare).has_value(); }, 60));
    const auto began = *receiver.started(rare);
    const auto starts = receiver.starts();
    int before = 0;
    int after_max_wait = 0;
    for (const auto& each : starts) {
        if (each.at >= began) continue;
        ++before;
        after_max_wait += each.at > enqueued + kMaxWait + milliseconds{100};
    }
    EXPECT_LT(starts.size(), static_cast<std::size_t>(kStream)) << "the stream has not ended";
    EXPECT_GE(began - enqueued, kMaxWait - milliseconds{100}) << "until then the score decides";
    EXPECT_LE(after_max_wait, 1) << before << " went before it";
}

TEST(MaxWait, R16OfAnotherLaneThatSharesAProviderIsKept) {
    HubFixture hub;
    Receiver receiver;
    ASSERT_EQ(hub.api("PUT", "/v1/providers/shared",
                      {{"limits", {{{"name", "at_once"}, {"of", "concurrency"}, {"limit", 1}}}}})
                  .status,
              201);
    const Json needs{{"call_estimates", {{{"provider", "shared"}, {"calls", 1}}}},
                     {"max_wait_seconds", kMaxWait.count()}};
    hub.register_type("stream", receiver.url(), {{"call_estimates", needs["call_estimates"]}});
    hub.register_type("rare", receiver.url(), needs);
    enqueue_stream(hub, "stream");
    ASSERT_TRUE(eventually([&] { return receiver.starts().size() >= 2; }));
    const auto enqueued = steady_clock::now();
    const auto rare = hub.enqueue("rare", {{"n", 1}}, {{"priority", 0}});
    goes_in_time(receiver, rare, enqueued);
}

TEST(MaxWait, OfItsOwnLaneIsKept) {
    HubFixture hub;
    Receiver receiver;
    hub.register_type("one", receiver.url(), {{"max_concurrency", 1}, {"max_wait_seconds", kMaxWait.count()}});
    const auto enqueued = steady_clock::now();
    const auto rare = [&] {
        // The first of the stream runs, the others are younger than what is rare.
        hub.enqueue("one", {{"n", 1}}, {{"priority", 100}});
        return hub.enqueue("one", {{"n", 1}}, {{"priority", 0}});
    }();
    enqueue_stream(hub, "one");
    goes_in_time(receiver, rare, enqueued);
}

/// What lacks the money of its batch waits apart, and what others of the batch would take is kept for it all the same.
TEST(MaxWait, OfABatchsBudgetIsKept) {
    HubFixture hub;
    Receiver receiver;
    Peer holder;
    const auto costs = [](const std::string& usd) {
        return Json{{"cost_estimate_usd", usd}, {"max_wait_seconds", kMaxWait.count()}};
    };
    hub.register_type("holds", holder.url(), costs("5"));
    hub.register_type("large", receiver.url(), costs("6"));
    hub.register_type("small", receiver.url(), costs("1"));
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"reason", "until there is a budget"}}).status, 200);
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "small"}, {"reason", "later"}}).status, 200);
    Json executions = {{{"workflow_type", "holds"}}, {{"workflow_type", "large"}}};
    for (int i = 0; i < 4; ++i) executions.push_back({{"workflow_type", "small"}});
    const auto batch = hub.api("POST", "/v1/executions/batch", {{"executions", executions}}).json();
    const std::string large = batch["executions"][1]["execution_id"];
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/batch",
                      {{"scope", {{"batch_id", batch["batch_id"]}}}, {"window", "batch"}, {"limit_usd", "10"}})
                  .status,
              201);
    ASSERT_EQ(hub.api("POST", "/v1/resume", Json::object()).status, 200);
    ASSERT_TRUE(holder.wait_for(1));
    ASSERT_TRUE(hub.await(large, [](const Json& e) { return e["waiting_for"].is_object(); }));
    // From then on the others may not take what is left.
    ASSERT_TRUE(eventually(
        [&] { return hub.get("/v1/executions/" + large + "/explain")["score"]["beyond_max_wait"] == true; }));
    ASSERT_EQ(hub.api("POST", "/v1/resume", {{"workflow_type", "small"}}).status, 200);
    const std::string small = batch["executions"][2]["execution_id"];
    EXPECT_TRUE(hub.await(small, [](const Json& e) {
        return e["waiting_for"].is_object() &&
               e["waiting_for"]["detail"].get<std::string>().find("kept for one") != std::string::npos;
    }));
    EXPECT_FALSE(receiver.started(small));
    // It cost less than was thought: 10 - 1 leaves room for it, and what it leaves is for the others.
    ASSERT_EQ(Peer::call_back(holder.asked()[0], {{"status", "completed"}, {"metrics", {{"cost_usd", "1"}}}}).status,
              200);
    EXPECT_EQ(hub.await_end(large)["status"], "completed");
    EXPECT_EQ(hub.await_end(small)["status"], "completed");
}

}
}
