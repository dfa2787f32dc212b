// What follows from an answer to a message.
#include "orchestrator/outbox_policy.h"

#include <gtest/gtest.h>

namespace impresario::orchestrator {
namespace outbox_policy_test {

using domain::TimePoint;
using journal::kFailing;
using journal::MessageState;
using journal::MessageTries;
using journal::Subscriber;
using journal::SubscriberState;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using webhooks::Accepted;
using webhooks::EndpointFault;
using webhooks::Overload;
using webhooks::Rejected;
using webhooks::Transient;
using webhooks::Unknown;

const TimePoint kNow{hours{500'000}};

struct Line {
    Subscriber subscriber;
    SubscriberState state;
    MessageTries tries;
    TimePoint now = kNow;

    OutboxVerdict after(const webhooks::DeliveryOutcome& outcome) {
        auto verdict = after_delivery(subscriber, state, tries, outcome, now, 0);
        state = verdict.state;
        tries = verdict.tries;
        return verdict;
    }
};

TEST(OutboxPolicy, WhatIsTakenIsPublishedAndForgetsTheFailures) {
    Line line;
    line.state.failures = kFailing;
    line.state.failing_since = kNow - hours{1};
    line.state.not_before = kNow - seconds{1};
    line.state.last_error = "refused";
    const auto verdict = line.after(Accepted{});
    EXPECT_EQ(verdict.message, MessageState::published);
    EXPECT_TRUE(verdict.recovered);
    EXPECT_FALSE(verdict.hold);
    EXPECT_EQ(line.state.failures, 0);
    EXPECT_FALSE(line.state.failing_since || line.state.not_before);
    EXPECT_EQ(line.state.last_published, kNow);
    EXPECT_EQ(line.state.published, 1);
    EXPECT_EQ(line.state.last_error, "");
    EXPECT_EQ(line.after(webhooks::Done{"{}"}).message, MessageState::published) << "whatever the answer says";
}

TEST(OutboxPolicy, OneFailureIsTheMessagesAndSeveralAreTheSubscribers) {
    Line line;
    auto verdict = line.after(Transient{"status 500", {}});
    EXPECT_EQ(verdict.message, MessageState::pending);
    EXPECT_FALSE(verdict.hold);
    ASSERT_TRUE(verdict.due);
    EXPECT_GE(*verdict.due - kNow, seconds{5});
    EXPECT_LE(*verdict.due - kNow, seconds{7});
    EXPECT_FALSE(verdict.began_to_fail);
    line.after(Unknown{"no answer"});
    verdict = line.after(Transient{"status 500", {}});
    EXPECT_TRUE(verdict.began_to_fail);
    EXPECT_TRUE(verdict.hold);
    EXPECT_TRUE(line.state.not_before);
    EXPECT_EQ(line.tries.failures, 3);
    // From now on it is not the message's fault.
    verdict = line.after(Transient{"status 500", {}});
    EXPECT_FALSE(verdict.began_to_fail);
    EXPECT_FALSE(verdict.due);
    EXPECT_EQ(line.tries.failures, 3);
    EXPECT_EQ(line.tries.deliveries, 4);
}

TEST(OutboxPolicy, WhoIsDownForDaysLosesNothing) {
    Line line;
    line.subscriber.attempts = 1;
    line.subscriber.disable_after.reset();
    for (int i = 0; i < 1000; ++i) {
        const auto verdict = line.after(Transient{"connection refused", {}});
        ASSERT_EQ(verdict.message, MessageState::pending);
        ASSERT_FALSE(verdict.disable);
        if (i > 20)
            ASSERT_EQ(*line.state.not_before - line.now,
                      std::chrono::duration_cast<domain::Duration>(minutes{5}) * 11 / 10)
                << "it is not left alone for longer than the longest, and its jitter";
        line.now = line.state.not_before.value_or(line.now + seconds{5});
    }
    EXPECT_EQ(line.state.failed, 0);
}

TEST(OutboxPolicy, AMessageIsGivenUpOnlyWhenOthersAreTaken) {
    Line line;
    line.subscriber.attempts = 2;
    line.after(Rejected{"status 422"});
    EXPECT_EQ(line.after(Rejected{"status 422"}).message, MessageState::pending) << "nothing else was taken";
    line.state.last_published = kNow - hours{1};
    EXPECT_EQ(line.after(Transient{"status 500", {}}).message, MessageState::pending) << "nothing since it failed";
    EXPECT_EQ(line.after(Rejected{"status 422"}).message, MessageState::failed) << "it was looked at";
    EXPECT_EQ(line.state.failed, 1);
    line.state.last_published = kNow + seconds{1};
    line.state.failures = 0;
    EXPECT_EQ(line.after(Transient{"status 500", {}}).message, MessageState::failed) << "others were taken";
}

TEST(OutboxPolicy, InOrderARefusedMessageIsGivenUpAndTroubleNever) {
    Line line;
    line.subscriber.ordered = true;
    line.subscriber.attempts = 2;
    EXPECT_TRUE(line.after(Rejected{"status 422"}).hold) << "nothing goes before it";
    EXPECT_EQ(line.after(Rejected{"status 422"}).message, MessageState::failed);
    line = Line{};
    line.subscriber.ordered = true;
    line.subscriber.attempts = 2;
    for (int i = 0; i < 10; ++i) {
        // What is told once more goes before it.
        line.state.last_published = line.now += seconds{1};
        line.state.failures = 0;
        ASSERT_EQ(line.after(Transient{"status 500", {}}).message, MessageState::pending);
    }
}

TEST(OutboxPolicy, WhatThePeerAsksForIsGranted) {
    Line line;
    const auto verdict = line.after(Overload{"status 429", minutes{10}});
    EXPECT_TRUE(verdict.hold);
    EXPECT_EQ(line.state.not_before, kNow + minutes{10});
    EXPECT_EQ(line.tries.failures, 0);
    line = Line{};
    EXPECT_EQ(line.after(Transient{"status 503", minutes{10}}).due, kNow + minutes{10});
    line = Line{};
    EXPECT_TRUE(line.after(EndpointFault{"status 404"}).hold);
    EXPECT_EQ(line.tries.failures, 0) << "the address is wrong, not the message";
}

TEST(OutboxPolicy, WhoTakesNothingForTooLongIsDisabled) {
    Line line;
    line.subscriber.disable_after = hours{1};
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(line.after(EndpointFault{"status 404"}).disable);
    line.now += hours{1};
    EXPECT_TRUE(line.after(EndpointFault{"status 404"}).disable);
    // A few lost requests after a quiet week are no week of failures.
    line = Line{};
    line.subscriber.disable_after = hours{1};
    line.state.last_published = kNow - hours{168};
    for (int i = 0; i < kFailing; ++i) EXPECT_FALSE(line.after(EndpointFault{"status 404"}).disable);
}

}
}
