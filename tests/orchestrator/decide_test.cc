#include "orchestrator/decide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "orchestrator/provider_news.h"
#include "platform/callback_json.h"
#include "platform/json_text.h"

namespace impresario::orchestrator {
namespace decide_test {

using domain::AttemptState;
using domain::CallbackStatus;
using domain::Duration;
using domain::Execution;
using domain::Status;
using domain::TimePoint;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kStart{std::chrono::hours{500000}};

/// One execution and everything that has been written about it, played through decide.
class Story {
  public:
    Story() {
        type.lane = {"default", "seo"};
        type.timeout = minutes{5};
        type.max_runtime = minutes{30};
        type.retry = *domain::named_retry_policy("master");
        row.id.value[15] = 1;
        row.lane = type.lane;
        row.created_at = row.scheduled_at = kStart;
        row.ready = true;
        row.ready_at = kStart;
        row.last_seq = 1;
        row.max_retries = 3;
        now = kStart;
        auto catalogue = std::make_shared<subworkflows::Catalogue>();
        catalogue->types[type.lane] = type;
        catalogue_ = catalogue;
    }

    Execution row;
    subworkflows::WorkflowType type;
    TimePoint now;
    std::vector<domain::Event> events;
    std::vector<webhooks::ClosedAttempt> closed;
    std::vector<webhooks::RefusedCallback> refused;
    std::vector<resource_manager::UsageRecord> usage;
    std::optional<priority_queue::ResultRecord> result;
    std::optional<priority_queue::DeadLetter> dead_letter;
    std::optional<ChildWanted> child;
    std::optional<EndpointNews> news;
    int attempts_made = 0;
    std::optional<resource_manager::Movement> reservation;

    bool grant(bool budgeted = false) {
        GrantTerms terms;
        terms.budgeted = budgeted;
        terms.fresh_attempt.value[0] = 0xA0;
        terms.fresh_attempt.value[15] = static_cast<std::uint8_t>(++attempts_made);
        terms.node.value[15] = 7;
        auto decision = decide_grant(row, terms, circumstances());
        if (!decision) return false;
        reservation = decision->reservation;
        take(*decision);
        return true;
    }

    Decision happen(Happening happening, std::optional<webhooks::FoundAttempt> found = std::nullopt) {
        auto c = circumstances();
        c.found = std::move(found);
        Command command{row.id, std::move(happening), 0.5, catalogue_, std::nullopt};
        auto decision = decide(row, command, c);
        take(decision);
        return decision;
    }

    Decision call_back(const std::string& json, const std::string& sha = "",
                       std::optional<domain::AttemptId> attempt = std::nullopt) {
        CallbackReceived received;
        received.attempt = attempt ? *attempt : row.attempt ? row.attempt->id : closed.back().attempt.id;
        received.callback = *platform::parse_callback(json);
        received.sha256 = sha.empty() ? json : sha;
        received.body = json;
        const auto which = received.attempt;
        return happen(std::move(received), found(which));
    }

    std::optional<webhooks::FoundAttempt> found(const domain::AttemptId& attempt) const {
        for (const auto& each : closed)
            if (each.attempt.id == attempt)
                return webhooks::FoundAttempt{each.execution,       each.attempt.id,  each.attempt.number,
                                              each.opening,         each.outcome,     each.callback_sha256,
                                              each.callback_answer, each.attempt.cost};
        return std::nullopt;
    }

    Decision report(webhooks::DeliveryOutcome outcome, bool deduplicates = false,
                    std::optional<int> fence = std::nullopt) {
        DeliveryReported reported;
        reported.attempt = row.attempt->id;
        reported.fence = fence.value_or(row.attempt->fence);
        reported.endpoint = row.attempt->endpoint;
        reported.outcome = std::move(outcome);
        reported.deduplicates = deduplicates;
        return happen(std::move(reported));
    }

    std::string last_event() const { return events.empty() ? "" : events.back().type; }
    std::string said(const std::string& key) const {
        const auto member = platform::json_member(events.back().payload, key);
        return member ? platform::json_string(*member) : "";
    }

  private:
    Circumstances circumstances() const {
        Circumstances c;
        c.type = &type;
        c.now = now;
        return c;
    }
    void take(Decision& decision) {
        EXPECT_EQ(decision.changed || decision.after.last_seq == row.last_seq, true);
        for (auto& event : decision.events) events.push_back(event);
        for (auto& each : decision.closed) closed.push_back(each);
        for (auto& each : decision.amended)
            for (auto& known : closed)
                if (known.attempt.id == each.attempt.id) {
                    known.outcome = each.outcome;
                    known.callback_sha256 = each.callback_sha256;
                    known.callback_answer = each.callback_answer;
                }
        for (auto& each : decision.refused) refused.push_back(each);
        for (auto& each : decision.usage) usage.push_back(each);
        if (decision.result) result = decision.result;
        if (decision.dead_letter) dead_letter = decision.dead_letter;
        if (decision.child) child = decision.child;
        if (decision.endpoint) news = decision.endpoint;
        row = decision.after;
    }

    subworkflows::CataloguePtr catalogue_;
};

const webhooks::DeliveryOutcome kAccepted = webhooks::Accepted{};

TEST(Decide, TheWholeWayOfAnExecution) {
    Story story;
    ASSERT_TRUE(story.grant());
    EXPECT_EQ(story.row.status, Status::dispatching);
    EXPECT_EQ(story.row.attempt->state, AttemptState::sending);
    EXPECT_EQ(story.row.timeout_at, kStart + minutes{5});
    EXPECT_FALSE(story.grant()) << "at most one live attempt (P2)";
    story.report(kAccepted);
    EXPECT_EQ(story.row.status, Status::running);
    const auto answer = story.call_back(
        R"({"status":"completed","result_data":{"x":1},"metrics":{"cost_usd":0.5,"items_processed":3,"api_calls_made":2}})");
    EXPECT_EQ(answer.answer.status, 200);
    EXPECT_EQ(story.row.status, Status::completed);
    EXPECT_EQ(story.row.cost->value, 500000);
    EXPECT_EQ(story.usage.size(), 1U);
    EXPECT_EQ(story.result->result_data, R"({"x":1})");
    EXPECT_EQ(story.last_event(), "execution.completed");
}

TEST(Decide, ACallbackMayComeBeforeTheTriggerWasAnswered) {
    Story story;
    story.grant();
    story.call_back(R"({"status":"completed"})");
    EXPECT_EQ(story.row.status, Status::completed);
    // The late acceptance changes nothing.
    DeliveryReported late;
    late.attempt = story.closed.back().attempt.id;
    late.fence = story.closed.back().attempt.fence;
    late.endpoint = story.closed.back().attempt.endpoint;
    late.outcome = webhooks::Accepted{true};
    const auto decision = story.happen(late);
    EXPECT_FALSE(decision.changed);
    EXPECT_EQ(decision.deliveries.size(), 1U) << "but it is logged";
    ASSERT_TRUE(decision.endpoint) << "and what it says about the endpoint counts";
    EXPECT_EQ(decision.endpoint->kind, EndpointNews::Kind::accepted);
    EXPECT_TRUE(decision.endpoint->learnt_deduplicates);
}

TEST(Decide, WhatAnAnswerSaysAboutTheEndpointCountsWhateverBecameOfTheExecution) {
    using Kind = EndpointNews::Kind;
    const std::vector<std::pair<webhooks::DeliveryOutcome, Kind>> outcomes{
        {webhooks::Accepted{}, Kind::accepted},
        {webhooks::Rejected{"no"}, Kind::accepted},
        {webhooks::Transient{"500", {}}, Kind::trouble},
        {webhooks::Unknown{"reset"}, Kind::trouble},
        {webhooks::Overload{"429", seconds{9}}, Kind::overload},
        {webhooks::EndpointFault{"404"}, Kind::fault}};
    for (const auto& [outcome, kind] : outcomes) {
        Story story;
        story.grant();
        DeliveryReported report;
        report.attempt = story.row.attempt->id;
        report.fence = story.row.attempt->fence;
        report.endpoint = story.row.attempt->endpoint;
        report.outcome = outcome;
        story.happen(Cancel{"test", "not wanted"});
        const auto decision = story.happen(report);
        EXPECT_EQ(story.row.status, Status::cancelled);
        ASSERT_TRUE(decision.endpoint);
        EXPECT_EQ(decision.endpoint->kind, kind) << name(outcome);
        if (kind == Kind::overload) EXPECT_EQ(decision.endpoint->retry_after, Duration{seconds{9}});
    }
}

TEST(Decide, WhatIsNotTheEndpointsFaultIsNotCountedAsItsFailure) {
    using Kind = EndpointNews::Kind;
    const auto news_after = [](std::optional<int> status, bool called_back) {
        Story story;
        story.grant();
        DeliveryReported report;
        report.attempt = story.row.attempt->id;
        report.fence = story.row.attempt->fence;
        report.endpoint = story.row.attempt->endpoint;
        report.outcome = webhooks::Transient{"of some kind", {}};
        report.record.status = status;
        report.record.at = kStart - seconds{3};
        if (called_back) story.call_back(R"({"status":"running"})");
        const auto decision = story.happen(report);
        EXPECT_EQ(decision.endpoint->began, kStart - seconds{3});
        return decision.endpoint->kind;
    };
    EXPECT_EQ(news_after(422, false), Kind::strained) << "its type wants what was rejected tried again";
    EXPECT_EQ(news_after(500, true), Kind::strained) << "it has called back, so it has taken it";
    for (const auto status :
         {std::optional<int>(408), std::optional<int>(425), std::optional<int>(500), std::optional<int>()})
        EXPECT_EQ(news_after(status, false), Kind::trouble);
}

// Whatever the outcome, the share that it had is corrected by it; others are estimated by what is typical.
TEST(Decide, WhatAnAttemptUsedTravelsInTheEvent) {
    const std::string used = R"(,"usage":[{"provider":"gemini","tokens":70,"cost_usd":"0.5"}])";
    for (const int retries : {0, 2})
        for (const auto& [said, typical] :
             {std::pair(R"({"status":"completed")", true), std::pair(R"({"status":"failed")", false),
              std::pair(R"({"status":"timeout")", false),
              std::pair(R"({"status":"failed","error_data":{"message":"no","retry_recommended":false})", false),
              std::pair(
                  R"({"status":"partial","items":[{"key":"a","status":"failed"},{"key":"b","status":"completed"}])",
                  false)}) {
            Story story;
            story.row.max_retries = retries;
            story.grant();
            const auto before = story.events.size();
            const auto decision = story.call_back(said + used + "}");
            ASSERT_TRUE(decision.consumed) << said;
            EXPECT_EQ(decision.consumed->cost, domain::MicroUsd{500'000}) << said;
            EXPECT_EQ(decision.consumed->tokens, 70) << said;
            EXPECT_EQ(decision.consumed->typical, typical) << said;
            ASSERT_GT(story.events.size(), before);
            const auto& event = story.events[before];
            EXPECT_TRUE(tells_consumption(event.type)) << event.type;
            EXPECT_EQ(consumption_in(event.payload), decision.consumed) << event.payload;
        }
}

// A scheduler on another node learns of it from the execution's event.
TEST(Decide, NewsOfAnEndpointTravelInTheEvent) {
    for (const webhooks::DeliveryOutcome& outcome :
         {webhooks::DeliveryOutcome(webhooks::Accepted{}),
          webhooks::DeliveryOutcome(webhooks::Done{R"({"status":"completed"})"}),
          webhooks::DeliveryOutcome(webhooks::Transient{"status 500", {}}),
          webhooks::DeliveryOutcome(webhooks::Unknown{"reset"}), webhooks::DeliveryOutcome(webhooks::Rejected{"no"}),
          webhooks::DeliveryOutcome(webhooks::Overload{"status 429", seconds{9}}),
          webhooks::DeliveryOutcome(webhooks::EndpointFault{"status 403"})}) {
        for (const int retries : {0, 3}) {
            Story story;
            story.row.max_retries = retries;
            story.grant();
            story.row.attempt->endpoint.value[15] = 5;
            const auto before = story.events.size();
            const auto decision = story.report(outcome);
            ASSERT_GT(story.events.size(), before);
            const auto news = endpoint_news_in(story.events[before].payload);
            ASSERT_TRUE(news) << name(outcome) << story.events[before].payload;
            EXPECT_EQ(news->kind, decision.endpoint->kind);
            EXPECT_EQ(news->endpoint, decision.endpoint->endpoint);
            EXPECT_EQ(news->began, decision.endpoint->began);
            EXPECT_EQ(news->retry_after, decision.endpoint->retry_after);
            if (!decision.endpoint->detail.empty())
                EXPECT_EQ(news->detail, decision.endpoint->detail) << story.events[before].payload;
            // And nothing else says it a second time.
            for (auto i = before + 1; i < story.events.size(); ++i)
                EXPECT_FALSE(endpoint_news_in(story.events[i].payload));
        }
    }
    EXPECT_FALSE(endpoint_news_in(R"({"progress":{"news":"none","endpoint_id":"x"}})"));
}

TEST(Decide, AResultInAnAnswerThatComesLateIsWorthACallback) {
    for (const bool accept_late : {false, true}) {
        Story story;
        story.type.accept_late = accept_late;
        story.row.max_retries = 0;
        story.grant();
        DeliveryReported report;
        report.attempt = story.row.attempt->id;
        report.fence = story.row.attempt->fence;
        report.outcome = webhooks::Done{R"({"status":"completed","result_data":7})"};
        story.now += minutes{6};
        story.happen(DeadlinePassed{report.attempt});
        ASSERT_EQ(story.row.status, Status::dead);
        story.happen(report, story.found(report.attempt));
        EXPECT_EQ(story.row.status, accept_late ? Status::completed : Status::dead);
        EXPECT_EQ(story.refused.size(), accept_late ? 0U : 1U) << "kept as evidence, to be accepted by an operator";
    }
    // After a callback the answer has nothing to add.
    Story story;
    story.grant();
    DeliveryReported report;
    report.attempt = story.row.attempt->id;
    report.fence = story.row.attempt->fence;
    report.outcome = webhooks::Done{R"({"status":"failed"})"};
    story.call_back(R"({"status":"completed"})");
    story.happen(report, story.found(report.attempt));
    EXPECT_EQ(story.row.status, Status::completed);
    EXPECT_TRUE(story.refused.empty());
}

TEST(Decide, TheSameAgainIsAnsweredAsTheFirstWas) {
    Story story;
    story.grant();
    const std::string body = R"({"status":"completed","result_data":1})";
    const auto first = story.call_back(body);
    const auto again = story.call_back(body);
    EXPECT_EQ(again.answer.status, 200);
    EXPECT_FALSE(again.changed);
    EXPECT_EQ(again.answer.body, first.answer.body.substr(0, first.answer.body.size() - 1) + ",\"replayed\":true}");
    const auto other = story.call_back(R"({"status":"failed"})");
    EXPECT_EQ(other.answer.status, 409);
    EXPECT_EQ(other.answer.problem, "execution-already-finished");
    EXPECT_NE(other.answer.detail.find("completed"), std::string::npos);
    EXPECT_EQ(story.refused.size(), 1U);
    EXPECT_EQ(story.last_event(), "execution.refused") << "it is in the history";
    EXPECT_EQ(story.row.status, Status::completed);
}

TEST(Decide, EveryDeliveryThatFailsCounts) {
    Story story;
    story.row.max_retries = 2;
    const auto first_attempt = [&] { return story.row.attempt->id; };
    story.grant(true);
    EXPECT_TRUE(story.reservation.value().first) << "nothing was booked for an attempt that did not exist";
    const auto id = first_attempt();
    for (int i = 1; i <= 2; ++i) {
        story.report(webhooks::Transient{"status 500", std::nullopt});
        EXPECT_EQ(story.row.status, Status::retrying);
        EXPECT_EQ(story.row.attempt->state, AttemptState::waiting_redelivery);
        EXPECT_EQ(story.row.retry_count, i);
        EXPECT_FALSE(story.row.holds_slot());
        story.now = *story.row.due_at;
        story.happen(BecameDue{});
        ASSERT_TRUE(story.grant(true));
        EXPECT_EQ(first_attempt(), id) << "a redelivery keeps its webhook-id";
        EXPECT_FALSE(story.reservation.value().first);
        EXPECT_EQ(story.row.attempt->deliveries, i + 1);
    }
    story.report(webhooks::Transient{"status 500", std::nullopt});
    EXPECT_EQ(story.row.status, Status::dead);
    EXPECT_EQ(story.row.reason, "attempts_exhausted");
    ASSERT_TRUE(story.dead_letter);
    EXPECT_EQ(story.dead_letter->error, "status 500");
}

TEST(Decide, OverloadAndEndpointFaultsBurnNoTry) {
    for (const webhooks::DeliveryOutcome& outcome :
         {webhooks::DeliveryOutcome(webhooks::Overload{"status 429", seconds{30}}),
          webhooks::DeliveryOutcome(webhooks::EndpointFault{"status 403"})}) {
        Story story;
        story.grant();
        const auto id = story.row.attempt->id;
        story.report(outcome);
        EXPECT_EQ(story.row.status, Status::queued);
        EXPECT_EQ(story.row.retry_count, 0);
        EXPECT_TRUE(story.row.ready);
        EXPECT_TRUE(story.row.claimable());
        EXPECT_EQ(story.row.ready_at, kStart) << "its waiting time goes on";
        EXPECT_EQ(story.last_event(), "execution.deferred");
        ASSERT_TRUE(story.news);
        story.grant();
        EXPECT_EQ(story.row.attempt->id, id);
        EXPECT_EQ(story.row.attempts, 1);
    }
}

TEST(Decide, ARejectionIsADeadLetterAtOnce) {
    Story story;
    story.grant();
    story.report(webhooks::Rejected{"status 422"});
    EXPECT_EQ(story.row.status, Status::dead);
    EXPECT_EQ(story.row.reason, "rejected_by_peer");
    EXPECT_TRUE(story.dead_letter);
}

TEST(Decide, AnUnknownOutcomeIsWaitedFor) {
    Story story;
    story.row.max_retries = 0;
    story.grant();
    story.report(webhooks::Unknown{"reset"});
    EXPECT_EQ(story.row.status, Status::running) << "it may be running and costing money";
    EXPECT_EQ(story.row.attempt->state, AttemptState::unknown);
    EXPECT_TRUE(story.row.holds_slot());
    story.now = *story.row.timeout_at;
    story.happen(DeadlinePassed{story.row.attempt->id});
    EXPECT_EQ(story.row.status, Status::dead);
    EXPECT_EQ(story.row.reason, "lost");
}

TEST(Decide, AnUnknownOutcomeAtADeduplicatorIsSentAgainAtOnce) {
    Story story;
    story.grant();
    const auto id = story.row.attempt->id;
    story.report(webhooks::Unknown{"reset"}, true);
    EXPECT_EQ(story.row.status, Status::retrying);
    EXPECT_EQ(story.row.due_at, kStart);
    story.happen(BecameDue{});
    story.grant();
    EXPECT_EQ(story.row.attempt->id, id);
    story.report(webhooks::Unknown{"reset"}, true);
    EXPECT_GT(*story.row.due_at, story.now) << "from the second on by the policy";
}

TEST(Decide, APassedDeadlineIsATimeoutWhereItWasAccepted) {
    Story story;
    story.row.max_retries = 0;
    story.grant();
    story.report(kAccepted);
    story.now = *story.row.timeout_at - seconds{1};
    EXPECT_FALSE(story.happen(DeadlinePassed{story.row.attempt->id}).changed)
        << "the row decides whether it has passed";
    story.now += seconds{1};
    story.happen(DeadlinePassed{story.row.attempt->id});
    EXPECT_EQ(story.row.status, Status::dead);
    EXPECT_EQ(story.row.reason, "timeout");
}

TEST(Decide, AHeartbeatMovesTheDeadlineButNotBeyondMaxRuntime) {
    Story story;
    story.grant();
    story.report(kAccepted);
    for (int i = 1; i <= 20; ++i) {
        story.now = kStart + minutes{4} * i;
        if (story.row.status != Status::running || *story.row.timeout_at <= story.now) break;
        story.call_back(R"({"status":"running","progress":{"done":)" + std::to_string(i) + "}}");
        EXPECT_EQ(*story.row.timeout_at, std::min(story.now + minutes{5}, kStart + minutes{30}));
    }
    EXPECT_EQ(*story.row.timeout_at, kStart + minutes{30});
    EXPECT_NE(story.row.progress.find("done"), std::string::npos);
}

TEST(Decide, ALateResultIsRefusedKeptAndCanBeAccepted) {
    Story story;
    story.row.max_retries = 0;
    story.grant();
    const auto attempt = story.row.attempt->id;
    story.report(kAccepted);
    story.now = *story.row.timeout_at;
    story.happen(DeadlinePassed{attempt});
    ASSERT_EQ(story.row.status, Status::dead);
    const auto late = story.call_back(R"({"status":"completed","result_data":{"late":true}})");
    EXPECT_EQ(late.answer.status, 409);
    ASSERT_EQ(story.refused.size(), 1U);
    AcceptLate accept{attempt, *platform::parse_callback(story.refused[0].body), story.refused[0].sha256, "ann"};
    const auto& c = story.closed.back();
    story.happen(accept, webhooks::FoundAttempt{c.execution, c.attempt.id, c.attempt.number, c.opening, c.outcome,
                                                c.callback_sha256, c.callback_answer});
    EXPECT_EQ(story.row.status, Status::completed);
    EXPECT_EQ(story.row.opening, 2);
    std::vector<std::string> types;
    for (const auto& event : story.events) types.push_back(event.type);
    EXPECT_EQ(types[types.size() - 2], "execution.reopened");
    EXPECT_EQ(types.back(), "execution.completed");
}

TEST(Decide, AcceptLateByPolicyOnlyWhileNoNewerAttemptLives) {
    for (const bool newer : {false, true}) {
        Story story;
        story.type.accept_late = true;
        story.grant();
        const auto old = story.row.attempt->id;
        story.report(kAccepted);
        story.now = *story.row.timeout_at;
        story.happen(DeadlinePassed{old});
        ASSERT_EQ(story.row.status, Status::retrying);
        if (newer) {
            story.now = *story.row.due_at;
            story.happen(BecameDue{});
            story.grant();
        }
        const auto decision = story.call_back(R"({"status":"completed"})", "", old);
        EXPECT_EQ(decision.answer.status, newer ? 409 : 200);
        EXPECT_EQ(decision.answer.problem, newer ? "attempt-closed" : "");
        EXPECT_EQ(story.row.status, newer ? Status::dispatching : Status::completed);
    }
}

TEST(Decide, AResultAfterATimeoutThatThePeerHasReportedContradictsIt) {
    for (const int retries : {0, 3}) {
        Story story;
        story.type.accept_late = true;
        story.row.max_retries = retries;
        story.grant();
        const auto attempt = story.row.attempt->id;
        story.report(kAccepted);
        EXPECT_EQ(story.call_back(R"({"status":"timeout"})", "first").answer.status, 200);
        const auto before = story.row;
        EXPECT_EQ(story.call_back(R"({"status":"completed"})", "second", attempt).answer.status, 409);
        EXPECT_EQ(story.row.status, before.status);
        EXPECT_EQ(story.row.opening, 1);
        const auto again = story.call_back(R"({"status":"timeout"})", "first", attempt);
        EXPECT_NE(again.answer.body.find("replayed"), std::string::npos);
        AcceptLate accept{attempt, *platform::parse_callback(R"({"status":"completed"})"), "second", "ann"};
        EXPECT_EQ(story.happen(accept, story.found(attempt)).answer.status, 409);
    }
}

TEST(Decide, AReportedFailureObeysWhatThePeerRecommends) {
    Story story;
    story.grant();
    story.call_back(R"({"status":"failed","error_data":{"message":"no","retry_recommended":false}})");
    EXPECT_EQ(story.row.status, Status::failed);
    Story other;
    other.grant();
    const auto answer =
        other.call_back(R"({"status":"failed","error_data":{"message":"later","retry_after_seconds":7200}})");
    EXPECT_EQ(other.row.status, Status::retrying);
    EXPECT_EQ(*other.row.due_at, kStart + std::chrono::hours{2});
    EXPECT_FALSE(other.row.attempt) << "a reported failure starts a new attempt";
    EXPECT_NE(answer.answer.body.find("retry_at"), std::string::npos);
}

TEST(Decide, APartialSuccessMakesAChildOfTheFailedItems) {
    Story story;
    story.grant();
    story.call_back(
        R"({"status":"partial","result_data":{"good":1},"items":[{"key":"a","status":"completed"},{"key":"b","status":"failed","error":"x"}]})");
    EXPECT_EQ(story.row.status, Status::running);
    EXPECT_EQ(story.row.open_children, 1);
    EXPECT_FALSE(story.row.holds_slot());
    EXPECT_FALSE(story.row.timeout_at);
    ASSERT_TRUE(story.child);
    EXPECT_EQ(story.child->item_keys, R"(["b"])");
    EXPECT_EQ(story.child->execution.max_retries, 2);
    EXPECT_EQ(story.child->execution.parent, story.row.id);

    Story poor;
    poor.row.max_retries = 0;
    poor.grant();
    poor.call_back(R"({"status":"partial","items":[{"key":"a","status":"completed"},{"key":"b","status":"failed"}]})");
    EXPECT_EQ(poor.row.status, Status::dead) << "no retries left: at once";
    EXPECT_NE(poor.result->items.find("\"a\""), std::string::npos) << "the good ones are kept";
}

TEST(DecideParent, EndsAsItsChildrenDid) {
    Story story;
    story.grant();
    story.call_back(R"({"status":"partial","items":[{"key":"a","status":"completed"},{"key":"b","status":"failed"}]})");
    Circumstances c;
    c.now = kStart + minutes{9};
    priority_queue::ChildResult child;
    child.parent = story.row.id;
    child.id.value[15] = 2;
    child.status = Status::running;
    EXPECT_FALSE(decide_parent(story.row, {child}, *story.result, c).changed);
    child.status = Status::completed;
    auto good = decide_parent(story.row, {child}, *story.result, c);
    EXPECT_EQ(good.after.status, Status::completed);
    EXPECT_EQ(good.after.open_children, 0);
    EXPECT_EQ(good.result->items.find("\"failed\""), std::string::npos);
    child.status = Status::dead;
    child.reason = "attempts_exhausted";
    auto bad = decide_parent(story.row, {child}, *story.result, c);
    EXPECT_EQ(bad.after.status, Status::dead);
    EXPECT_NE(bad.result->items.find("\"completed\""), std::string::npos);
    EXPECT_TRUE(bad.dead_letter);
}

TEST(DecideParent, OneThatWasEndedHasNoChildrenAnyMore) {
    Story story;
    story.grant();
    story.call_back(R"({"status":"partial","items":[{"key":"a","status":"completed"},{"key":"b","status":"failed"}]})");
    EXPECT_FALSE(decide_orphans(story.row)) << "it waits for them";
    story.happen(Cancel{"ann", ""});
    ASSERT_EQ(story.row.open_children, 1);
    const auto decision = decide_orphans(story.row);
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->after.open_children, 0);
    EXPECT_EQ(decision->after.status, Status::cancelled);
    EXPECT_FALSE(decide_orphans(decision->after));
}

TEST(Decide, CancellingGivesTheSlotBackOnceAndTellsThePeer) {
    Story story;
    story.grant();
    story.report(kAccepted);
    const auto first = story.happen(Cancel{"ann", "not needed"});
    EXPECT_EQ(story.row.status, Status::cancelled);
    EXPECT_FALSE(story.row.holds_slot());
    EXPECT_TRUE(first.cancelled_peer);
    const auto again = story.happen(Cancel{"ann", ""});
    EXPECT_EQ(again.answer.status, 200);
    EXPECT_FALSE(again.changed);
    EXPECT_FALSE(again.cancelled_peer);
    const auto callback = story.call_back(R"({"status":"completed"})");
    EXPECT_EQ(callback.answer.status, 409);
    EXPECT_EQ(story.row.status, Status::cancelled);
}

TEST(Decide, ATransactionThatBeganBeforeTheExecutionRanStoresNoNegativeDuration) {
    Story story;
    story.now += seconds{5};
    story.grant();
    story.now -= seconds{2};
    story.happen(Cancel{"ann", "no longer wanted"});
    EXPECT_EQ(story.row.status, Status::cancelled);
    EXPECT_EQ(story.row.duration_ms, 0);
}

TEST(Decide, OnlyFailedAndDeadReopen) {
    Story story;
    story.row.max_retries = 0;
    story.grant();
    story.call_back(R"({"status":"failed","error_data":{"message":"no"}})");
    ASSERT_EQ(story.row.status, Status::failed);
    const auto reopened = story.happen(Reopen{std::string("{\"n\":2}"), "ann"});
    EXPECT_EQ(story.row.status, Status::queued);
    EXPECT_EQ(story.row.opening, 2);
    EXPECT_EQ(reopened.new_input, "{\"n\":2}");
    EXPECT_EQ(story.row.retry_count, 0);
    story.grant();
    EXPECT_EQ(story.row.attempts, 2) << "attempts are numbered on";
    story.call_back(R"({"status":"completed"})");
    EXPECT_EQ(story.happen(Reopen{std::nullopt, "ann"}).answer.problem, "cannot-reopen");
}

TEST(Decide, AStaleFenceChangesNothing) {
    Story story;
    story.grant();
    const int fence = story.row.attempt->fence;
    story.row.attempt->state = AttemptState::granted;
    story.happen(LeaseLost{story.row.attempt->id, fence, false});
    EXPECT_EQ(story.row.status, Status::queued) << "nothing had left: back into the queue";
    story.grant();
    EXPECT_FALSE(story.report(kAccepted, false, fence).changed) << "the node that had it before is fenced";
    EXPECT_EQ(story.row.status, Status::dispatching);
}

TEST(Decide, WhatAnAttemptHasCostSoFarIsSpentWhateverBecomesOfIt) {
    const auto usd = [](double amount) { return domain::MicroUsd{static_cast<std::int64_t>(amount * 1e6)}; };
    const auto beat = R"({"status":"running","metrics":{"cost_usd":0.30}})";
    Story story;
    story.row.max_retries = 9;
    story.type.accept_late = true;
    story.grant();
    story.call_back(beat);
    story.call_back(R"({"status":"running","metrics":{"cost_usd":0.10}})");
    EXPECT_EQ(story.row.attempt->cost, usd(0.30)) << "a heartbeat that was overtaken changes nothing";
    EXPECT_FALSE(story.row.cost) << "booked at the end";
    // It runs out of time: what it said has been spent.
    story.now = *story.row.timeout_at;
    story.happen(DeadlinePassed{story.row.attempt->id});
    EXPECT_EQ(story.row.cost, usd(0.30));
    EXPECT_EQ(story.usage.back().cost, usd(0.30));
    const auto first = story.closed.back().attempt.id;
    // The result comes after all and says the whole: only the rest is news.
    story.call_back(R"({"status":"completed","metrics":{"cost_usd":0.50}})", "late", first);
    EXPECT_EQ(story.row.status, Status::completed);
    EXPECT_EQ(story.row.cost, usd(0.50));
    EXPECT_EQ(story.usage.back().cost, usd(0.20));

    Story told;
    told.row.max_retries = 9;
    told.grant();
    told.call_back(beat);
    told.call_back(R"({"status":"failed","metrics":{"cost_usd":0.20}})");
    EXPECT_EQ(told.row.cost, usd(0.20)) << "its last word stands";
    told.happen(BecameDue{});
    told.now += minutes{10};
    told.happen(BecameDue{});
    ASSERT_TRUE(told.grant());
    told.call_back(
        R"({"status":"completed","usage":[{"provider":"a","cost_usd":0.01},{"provider":"b","cost_usd":0.02}]})");
    EXPECT_EQ(told.row.cost, usd(0.23)) << "without a total, the sum over providers";

    const auto booked = [](const Story& told_of) {
        std::int64_t sum = 0;
        for (const auto& each : told_of.usage) sum += each.cost.value_or(domain::MicroUsd{}).value;
        return domain::MicroUsd{sum};
    };
    EXPECT_EQ(booked(story), story.row.cost) << "what is used adds up to what it costs";
    EXPECT_EQ(booked(told), told.row.cost);
    Story late;
    late.row.max_retries = 9;
    late.type.accept_late = true;
    late.grant();
    late.call_back(beat);
    late.now = *late.row.timeout_at;
    late.happen(DeadlinePassed{late.row.attempt->id});
    late.call_back(
        R"({"status":"completed","usage":[{"provider":"a","cost_usd":0.20},{"provider":"b","cost_usd":0.40}]})", "late",
        late.closed.back().attempt.id);
    EXPECT_EQ(late.row.cost, usd(0.60));
    EXPECT_EQ(booked(late), usd(0.60));
    Story unpriced;
    unpriced.grant();
    unpriced.call_back(beat);
    unpriced.call_back(R"({"status":"completed","usage":[{"provider":"a","api_calls":3}]})");
    EXPECT_EQ(unpriced.row.cost, usd(0.30));
    EXPECT_EQ(booked(unpriced), usd(0.30));

    Story silent;
    silent.grant();
    silent.call_back(beat);
    silent.call_back(R"({"status":"completed"})");
    EXPECT_EQ(silent.row.cost, usd(0.30)) << "an end without a word on it leaves what was said before";

    Story cancelled;
    cancelled.grant();
    cancelled.call_back(beat);
    cancelled.happen(Cancel{"ann", ""});
    EXPECT_EQ(cancelled.row.cost, usd(0.30));
}

TEST(Decide, ADiscardedDeadLetterStaysSo) {
    Story story;
    story.grant();
    story.report(webhooks::Rejected{"no"});
    ASSERT_EQ(story.row.status, Status::dead);
    EXPECT_TRUE(story.happen(Discard{"ann"}).resolution);
    EXPECT_EQ(story.row.reason, "discarded");
    const auto again = story.happen(Discard{"ann"});
    EXPECT_EQ(again.answer.status, 200);
    EXPECT_FALSE(again.resolution);
    EXPECT_EQ(story.happen(Reopen{std::nullopt, "bob"}).answer.problem, "discarded");
    EXPECT_EQ(story.row.status, Status::dead);
}

TEST(Decide, AMovedExecutionLeavesItsGate) {
    Story story;
    story.row.ready = false;
    story.row.gate = domain::Gate{domain::GateKind::key_concurrency, "a", "one at a time", {}, std::nullopt};
    story.row.gate_since = kStart;
    story.happen(Reprioritise{70, std::nullopt, "ann"});
    EXPECT_TRUE(story.row.gate) << "its priority has nothing to do with it";
    EXPECT_FALSE(story.row.ready);
    story.happen(Reprioritise{std::nullopt, kStart, "ann"});
    EXPECT_TRUE(story.row.ready);
    EXPECT_FALSE(story.row.gate) << "whether it stops it is found out anew";
}

TEST(Decide, WhatANodeKnowsItNeverSentGoesBackAsItWas) {
    Story story;
    story.grant();
    ASSERT_EQ(story.row.attempt->state, AttemptState::sending);
    const auto attempt = *story.row.attempt;
    EXPECT_FALSE(story.happen(NeverSent{attempt.id, attempt.fence + 1}).changed) << "another one's";
    story.happen(NeverSent{attempt.id, attempt.fence});
    EXPECT_EQ(story.row.status, Status::queued);
    EXPECT_TRUE(story.row.ready);
    EXPECT_EQ(story.row.attempt->deliveries, 0) << "nothing has left";
    EXPECT_EQ(story.row.retry_count, 0) << "no try is counted";
    EXPECT_FALSE(story.row.timeout_at);
    EXPECT_GT(story.row.attempt->fence, attempt.fence);
    story.grant();
    EXPECT_EQ(story.row.attempt->id, attempt.id);
    EXPECT_EQ(story.row.attempt->deliveries, 1);
    // Once it has been accepted nobody can say so any more.
    story.report(kAccepted);
    EXPECT_FALSE(story.happen(NeverSent{attempt.id, story.row.attempt->fence}).changed);
}

TEST(Decide, ANodeMaySayAgainThatItBegins) {
    Story story;
    story.grant();
    story.row.attempt->state = AttemptState::granted;
    story.row.attempt->deliveries = 0;
    const auto attempt = *story.row.attempt;
    const SendingBegun begun{attempt.id, attempt.fence, attempt.node};
    EXPECT_EQ(story.happen(begun).answer.status, 200);
    EXPECT_EQ(story.row.attempt->deliveries, 1);
    const auto events = story.events.size();
    EXPECT_EQ(story.happen(begun).answer.status, 200) << "it was in doubt whether it had been heard";
    EXPECT_EQ(story.row.attempt->deliveries, 1);
    EXPECT_EQ(story.events.size(), events);
    auto other = begun;
    other.node.value[15] = 99;
    EXPECT_EQ(story.happen(other).answer.status, 409);
    story.now += seconds{16};
    EXPECT_EQ(story.happen(begun).answer.status, 409) << "its lease has run out";
}

TEST(Decide, ANodeThatWasTakenForDeadStillKnowsHowItsRequestEnded) {
    Story story;
    story.grant();
    const int fence = story.row.attempt->fence;
    story.happen(LeaseLost{story.row.attempt->id, fence, false});
    ASSERT_EQ(story.row.attempt->state, AttemptState::unknown);
    story.report(kAccepted, false, fence);
    EXPECT_EQ(story.row.attempt->state, AttemptState::accepted);
    EXPECT_EQ(story.row.status, Status::running);
    EXPECT_EQ(story.row.reason, "");
}

TEST(Decide, ADyingNodeLeavesAnUnknownWhereItWasSending) {
    Story story;
    story.grant();
    story.happen(LeaseLost{story.row.attempt->id, story.row.attempt->fence, false});
    EXPECT_EQ(story.row.attempt->state, AttemptState::unknown);
    EXPECT_EQ(story.row.status, Status::running);
}

// Random stories: whatever happens in whatever order, the promises hold.
TEST(Decide, WhatBecameDueIsDecidedOnce) {
    // Every status a row may stand in (also by SQL), with and without tries left: afterwards it is not due any more,
    // or later.
    for (int status = 0; status < domain::kStatuses; ++status)
        for (const int max_retries : {0, 2})
            for (const std::string reason : {"", "sql"}) {
                Story story;
                story.row.status = static_cast<Status>(status);
                story.row.max_retries = max_retries;
                story.row.reason = reason;
                story.row.ready = false;
                story.row.due_at = kStart;
                const std::string where =
                    std::string(name(story.row.status)) + " " + std::to_string(max_retries) + " " + reason;
                story.now += seconds{1};
                story.happen(BecameDue{});
                EXPECT_FALSE(story.row.due_at && *story.row.due_at <= story.now) << where;
                EXPECT_NE(story.last_event(), domain::event::refused) << where;
                if (story.row.ready) {
                    EXPECT_TRUE(story.row.claimable()) << where;
                }
            }
}

TEST(Decide, ARetryAskedForBySqlWithoutTriesLeftIsADeadLetter) {
    Story story;
    story.row.status = Status::retrying;
    story.row.reason = Execution::kAskedBySql;
    story.row.ready = false;
    story.row.due_at = kStart;
    story.row.max_retries = 0;
    story.happen(BecameDue{});
    EXPECT_EQ(story.row.status, Status::dead);
    EXPECT_EQ(story.row.reason, "attempts_exhausted");
    EXPECT_TRUE(story.dead_letter);
}

TEST(Decide, KeepsItsPromisesThroughAnything) {
    for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
        std::mt19937 dice(seed);
        Story story;
        story.type.accept_late = dice() % 2 == 0;
        story.row.max_retries = static_cast<int>(dice() % 4);
        int count_shown = 0;
        std::map<int, int> ends_of_opening;
        for (int step = 0; step < 60; ++step) {
            const auto before = story.row;
            const auto events_before = story.events.size();
            story.now += seconds{dice() % 120};
            switch (dice() % 14) {
                case 0:
                case 1:
                case 2:
                    story.grant();
                    break;
                case 3:
                    if (story.row.attempt) story.report(kAccepted);
                    break;
                case 4:
                    if (story.row.attempt) story.report(webhooks::Transient{"500", std::nullopt});
                    break;
                case 5:
                    if (story.row.attempt) story.report(webhooks::Overload{"429", seconds{9}});
                    break;
                case 6:
                    if (story.row.attempt) story.report(webhooks::Unknown{"reset"}, dice() % 2 == 0);
                    break;
                case 7:
                    story.happen(BecameDue{});
                    break;
                case 8:
                    if (story.row.attempt) story.happen(DeadlinePassed{story.row.attempt->id});
                    break;
                case 9:
                    if (story.row.attempt)
                        story.happen(LeaseLost{story.row.attempt->id, story.row.attempt->fence, dice() % 2 == 0});
                    break;
                case 10:
                    if (dice() % 8 == 0) story.happen(Cancel{"x", ""});
                    break;
                case 11:
                    story.happen(Reopen{std::nullopt, "x"});
                    break;
                default: {
                    if (!story.row.attempt && story.closed.empty()) break;
                    static const char* bodies[] = {R"({"status":"completed","metrics":{"cost_usd":1}})",
                                                   R"({"status":"failed"})",
                                                   R"({"status":"failed","error_data":{"retry_recommended":false}})",
                                                   R"({"status":"timeout"})",
                                                   R"({"status":"running"})",
                                                   R"({"status":"completed","result_data":2})"};
                    std::optional<domain::AttemptId> attempt;
                    if (!story.closed.empty() && dice() % 3 == 0)
                        attempt = story.closed[dice() % story.closed.size()].attempt.id;
                    const auto decision = story.call_back(bodies[dice() % 6], "", attempt);
                    ASSERT_TRUE(decision.answer.status == 200 || decision.answer.status == 409) << "seed " << seed;
                    break;
                }
            }
            const auto& row = story.row;
            // Numbers without gaps (P8).
            for (std::size_t i = events_before; i < story.events.size(); ++i)
                ASSERT_EQ(story.events[i].seq, static_cast<int>(i) + 2) << "seed " << seed;
            ASSERT_EQ(row.last_seq, static_cast<int>(story.events.size()) + 1) << "seed " << seed;
            // Every move is one of the table, or a way through `dispatching`.
            if (before.status != row.status)
                ASSERT_TRUE(domain::may_move(before.status, row.status) ||
                            domain::may_move(Status::dispatching, row.status))
                    << "seed " << seed;
            ASSERT_FALSE(before.status == Status::completed && row.status != Status::completed) << "seed " << seed;
            ASSERT_FALSE(before.status == Status::cancelled && row.status != Status::cancelled) << "seed " << seed;
            if (domain::terminal(row.status)) {
                ASSERT_FALSE(row.attempt) << "seed " << seed;
                ASSERT_FALSE(row.ready || row.due_at || row.timeout_at) << "seed " << seed;
            }
            ASSERT_EQ(row.holds_slot(), row.timeout_at.has_value())
                << "a deadline exactly while a slot is held, seed " << seed;
            ASSERT_FALSE(row.ready && row.due_at) << "seed " << seed;
            if (before.opening == row.opening)
                ASSERT_GE(row.retry_count, before.retry_count) << "the count shown never goes down, seed " << seed;
            count_shown = row.retry_count;
        }
        // One outcome per opening (P3).
        int opening = 1;
        for (const auto& event : story.events) {
            if (event.type == domain::event::reopened) ++opening;
            if (event.type == domain::event::completed || event.type == domain::event::failed ||
                event.type == domain::event::dead || event.type == domain::event::cancelled)
                ++ends_of_opening[opening];
        }
        for (const auto& [each, ends] : ends_of_opening) ASSERT_EQ(ends, 1) << "seed " << seed << " opening " << each;
        // Attempts have one id each.
        std::set<domain::AttemptId> ids;
        for (const auto& each : story.closed) ASSERT_TRUE(ids.insert(each.attempt.id).second) << "seed " << seed;
        (void)count_shown;
    }
}

TEST(Fingerprint, IsTheSameForTheSameKindOfError) {
    const auto of = [](const std::string& text) { return error_fingerprint("seo", "timeout", text); };
    EXPECT_EQ(of("user 123 not found at 10:22"), of("user 99871 not found at 09:05"));
    EXPECT_EQ(of("id 018f3c1e-7b2a-7def-8123-456789abcdef gone"), of("id 018f3c1e-7b2a-7def-8123-456789abcde0 gone"));
    EXPECT_NE(of("user not found"), of("user not allowed"));
    EXPECT_EQ(of("x").size(), 16U);
}

TEST(Decide, ARefusalAccusesTheProviderThatIsKnownToBeMeant) {
    const auto accused = [](std::vector<domain::Need> needs, const std::string& answer) -> std::string {
        Story story;
        story.type.needs = std::move(needs);
        story.grant();
        DeliveryReported reported;
        reported.attempt = story.row.attempt->id;
        reported.fence = story.row.attempt->fence;
        reported.outcome = webhooks::Overload{"status 429", seconds{7}};
        reported.record.answer = answer;
        const auto decision = story.happen(std::move(reported));
        EXPECT_EQ(story.row.retry_count, 0);
        if (decision.providers.empty()) return "";
        EXPECT_EQ(decision.providers.size(), 1U);
        EXPECT_EQ(decision.providers[0].retry_after, seconds{7});
        const auto told = provider_news_in(story.events.back().payload);
        EXPECT_EQ(told.size(), 1U) << "another node's scheduler hears it too";
        return told.at(0).provider + " " + std::to_string(told.at(0).requests);
    };
    const domain::Need one{"gemini", 3, 0, 0, {}};
    const domain::Need two{"openai", 1, 0, 0, {}};
    EXPECT_EQ(accused({one}, "busy"), "gemini 3");
    EXPECT_EQ(accused({one, two}, "busy"), "");
    EXPECT_EQ(accused({}, "busy"), "");
    EXPECT_EQ(accused({one, two}, R"({"provider":"openai"})"), "openai 1");
    EXPECT_EQ(accused({one}, R"({"provider":"other"})"), "other 0");
    EXPECT_EQ(accused({one}, R"({"provider":null})"), "");
    EXPECT_EQ(accused({one}, R"({"provider":{}})"), "");
}

TEST(Decide, WhatACallbackSaysOfProvidersIsToldOnce) {
    Story story;
    story.type.needs = {{"a", 2, 0, 0, {}}};
    story.grant();
    const std::string beat =
        R"({"status":"running","usage":[{"provider":"a","api_calls":1,"remaining":5,"reset_at":"2999-01-01T00:00:00Z"}]})";
    auto decision = story.call_back(beat);
    ASSERT_EQ(decision.providers.size(), 1U);
    EXPECT_EQ(decision.providers[0].remaining, 5);
    EXPECT_EQ(decision.providers[0].of, resource_manager::Measure::requests);
    EXPECT_FALSE(decision.providers[0].retry_after);
    const std::string end =
        R"({"status":"completed","usage":[{"provider":"a","tokens":9,"remaining":100},{"provider":"b","retry_after_seconds":2}]})";
    decision = story.call_back(end);
    ASSERT_EQ(decision.providers.size(), 2U);
    EXPECT_EQ(decision.providers[0].of, resource_manager::Measure::tokens);
    EXPECT_TRUE(decision.providers[1].was_taken);
    const auto told = provider_news_in(story.events.back().payload);
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[1].retry_after, seconds{2});
    EXPECT_EQ(told[0].began, story.closed.back().attempt.granted_at);
    EXPECT_TRUE(story.call_back(end).providers.empty()) << "the same again is old";
    EXPECT_EQ(
        story.call_back(R"({"status":"failed","usage":[{"provider":"b","retry_after_seconds":2}]})").providers.size(),
        1U)
        << "refused it may be, but true";
}

TEST(Decide, AnAttemptThatItsProviderRefusedIsNotBurnt) {
    Story story;
    story.row.max_retries = 1;
    const std::string busy =
        R"({"status":"failed","usage":[{"provider":"a","retry_after_seconds":90}],"error_data":{"n":)";
    for (int n = 1; n <= 100; ++n) {
        ASSERT_TRUE(story.grant());
        story.call_back(busy + std::to_string(n) + "}}");
        ASSERT_EQ(story.row.status, Status::retrying);
        ASSERT_EQ(story.row.retry_count, 0);
        ASSERT_EQ(story.row.due_at, story.now + seconds{90});
        ASSERT_EQ(story.row.reason, "throttled");
        story.now = *story.row.due_at;
        story.happen(BecameDue{});
    }
    // It gets nowhere: from now on it counts.
    ASSERT_TRUE(story.grant());
    story.call_back(busy + "0}}");
    EXPECT_EQ(story.row.retry_count, 1);

    Story hopeless;
    hopeless.grant();
    hopeless.call_back(
        R"({"status":"failed","usage":[{"provider":"a","retry_after_seconds":90}],"error_data":{"retry_recommended":false}})");
    EXPECT_EQ(hopeless.row.status, Status::failed);
}

}
}
