#include "orchestrator/stalled.h"

#include <gtest/gtest.h>

namespace impresario::orchestrator {
namespace stalled_test {

using std::chrono::minutes;
using std::chrono::seconds;
const domain::TimePoint kNow{std::chrono::hours{500000}};

/// Taken by its endpoint an hour ago, with an hour left.
StallView running() {
    StallView view;
    auto& row = view.execution;
    row.lane = {"default", "work"};
    row.status = domain::Status::running;
    row.attempt = domain::LiveAttempt{};
    row.attempt->state = domain::AttemptState::accepted;
    row.attempt->lease_until = kNow - minutes{59};
    row.timeout_at = kNow + minutes{60};
    view.last_event_at = kNow - minutes{60};
    view.endpoint_url = "http://peer/";
    view.node_name = "n1";
    return view;
}

StallView waiting() {
    StallView view;
    view.execution.lane = {"default", "work"};
    view.execution.ready = true;
    view.last_event_at = kNow - minutes{60};
    return view;
}

std::string cause(const StallView& view) { return std::string(name(classify(view, kNow).cause)); }

TEST(Stalled, WhatItsPeerHasTakenHasLostItsCallback) {
    auto view = running();
    EXPECT_EQ(cause(view), "lost_callback");
    EXPECT_NE(classify(view, kNow).action.find("declare a status_url"), std::string::npos);
    view.has_status_url = true;
    EXPECT_NE(classify(view, kNow).action.find("its status URL is asked first"), std::string::npos);
    view.execution.attempt->state = domain::AttemptState::unknown;
    EXPECT_NE(classify(view, kNow).why.find("nobody knows whether http://peer/ has taken it"), std::string::npos);
    view.node_alive = false;
    EXPECT_EQ(cause(view), "lost_callback") << "after it was taken only the deadline rules";
}

TEST(Stalled, AHeldEndpointIsDeadUntilThen) {
    auto view = running();
    view.endpoint_stopped = "its breaker is open: 5 of 5 failed";
    view.endpoint_until = kNow + minutes{2};
    const auto stall = classify(view, kNow);
    EXPECT_EQ(stall.cause, StallCause::dead_endpoint);
    EXPECT_NE(stall.why.find("5 of 5 failed"), std::string::npos);
    EXPECT_NE(stall.why.find(domain::rfc3339(*view.endpoint_until)), std::string::npos);
    EXPECT_EQ(stall.command, "impresario endpoints list work");
}

TEST(Stalled, WithinAMinuteItsDeadlineIsWhatCounts) {
    auto view = running();
    view.endpoint_stopped = "held";
    view.execution.timeout_at = kNow + minutes{1};
    EXPECT_EQ(cause(view), "deadline_near");
    view.execution.timeout_at = kNow + minutes{1} + domain::Duration{1};
    EXPECT_EQ(cause(view), "dead_endpoint");
}

TEST(Stalled, WhatANodeDoesNotSendHasLostItsLease) {
    auto view = running();
    view.execution.status = domain::Status::dispatching;
    view.execution.attempt->state = domain::AttemptState::sending;
    EXPECT_NE(classify(view, kNow).why.find("does not send it"), std::string::npos);
    view.execution.attempt->lease_until = kNow + seconds{5};
    EXPECT_EQ(cause(view), "lost_callback");
    view.node_alive = false;
    EXPECT_EQ(cause(view), "lost_lease");
    EXPECT_NE(classify(view, kNow).why.find("n1 has gone"), std::string::npos);
}

TEST(Stalled, WhatWaitsIsStoppedByAGateOrByWhatGoesBeforeIt) {
    auto view = waiting();
    EXPECT_EQ(cause(view), "long_queue");
    view.gate = domain::Gate{domain::GateKind::budget, "b", "spent", {}, kNow + minutes{5}};
    EXPECT_EQ(cause(view), "closed_limiter");
    EXPECT_EQ(classify(view, kNow).why, "budget: spent");
    view.execution.gate = domain::Gate{domain::GateKind::key_concurrency, "k", "one runs", {}, std::nullopt};
    EXPECT_EQ(classify(view, kNow).why, "key_concurrency: one runs") << "its own says more";
}

TEST(Stalled, WhatIsDueAndWaitsForNobodyHasNotBeenTakenUp) {
    auto view = waiting();
    view.execution.ready = false;
    view.execution.due_at = kNow - minutes{30};
    EXPECT_EQ(cause(view), "not_taken_up");
    view.led = false;
    EXPECT_EQ(cause(view), "no_scheduler");
}

}
}
