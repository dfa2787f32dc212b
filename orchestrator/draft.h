#pragma once
// One decision in the making, and what all kinds of decisions share. Inside of decide only.

#include <optional>
#include <string>
#include <string_view>

#include "orchestrator/decide.h"
#include "orchestrator/provider_news.h"
#include "orchestrator/recover.h"
#include "platform/json_writer.h"

namespace impresario::orchestrator {

class Draft;
/// The attempt ends without its own word: its money is settled by what is known (spending.cc).
void settle_closed(Draft& draft, std::string_view outcome);

/// Builds one decision step by step. The row it shows is the one after the steps so far.
class Draft {
  public:
    Draft(const domain::Execution& row, const Circumstances& c) : before_(row), c_(c) { d_.after = row; }

    domain::Execution& row() { return d_.after; }
    const domain::Execution& before() const { return before_; }
    const Circumstances& at() const { return c_; }
    domain::TimePoint now() const { return c_.now; }
    Decision& decision() { return d_; }

    /// Appends an event to the execution's stream; `payload` has an open object.
    void tell(std::string_view type, platform::JsonWriter payload) {
        if (const auto news = std::exchange(news_, std::nullopt)) add_endpoint_news(payload, *news);
        add_provider_news(payload, std::exchange(provider_news_, {}));
        payload.close();
        tell_text(type, std::move(payload).text());
    }
    void tell_text(std::string_view type, std::string payload) {
        domain::Event event;
        event.stream = row().id.value;
        event.seq = ++row().last_seq;
        event.organization_id = row().lane.organization_id;
        event.type = type;
        event.payload = std::move(payload);
        d_.events.push_back(std::move(event));
        d_.changed = true;
    }

    /// The next event carries what a scheduler on another node is to think of the endpoint.
    void carry(EndpointNews news) { news_ = std::move(news); }

    /// The same of providers.
    void carry(const std::vector<resource_manager::ProviderNews>& news) {
        provider_news_.insert(provider_news_.end(), news.begin(), news.end());
        d_.providers.insert(d_.providers.end(), news.begin(), news.end());
    }

    static platform::JsonWriter payload() {
        platform::JsonWriter json;
        json.open();
        return json;
    }

    /// Makes a legal move; an illegal one is refused and recorded, and everything drafted so far is dropped.
    bool move(domain::Status to) {
        const auto moved = move_to(row(), to);
        if (moved) {
            d_.changed = true;
            return true;
        }
        const auto illegal = moved.error();
        auto deliveries = std::move(d_.deliveries);
        auto providers = std::move(d_.providers);
        d_ = Decision{};
        d_.after = before_;
        d_.deliveries = std::move(deliveries);
        d_.providers = std::move(providers);
        platform::JsonWriter json = payload();
        json.field("from", name(illegal.from)).field("to", name(illegal.to)).field("by", "hub");
        tell(domain::event::refused, std::move(json));
        d_.answer = {409,
                     "illegal-move",
                     "the execution cannot move from " + std::string(name(illegal.from)) + " to " +
                         std::string(name(illegal.to)),
                     {}};
        return false;
    }

    /// A callback, or a late answer, about an attempt that waits in the queue: what it says has happened, so the row
    /// takes the way it would have taken.
    bool bring_to_dispatch() {
        if (row().status == domain::Status::queued || row().status == domain::Status::retrying)
            return move(domain::Status::dispatching);
        return true;
    }

    /// The live attempt becomes history. What it had cost so far is spent, unless its own word on that is booked next.
    webhooks::ClosedAttempt& close_attempt(std::string outcome, std::string detail, bool books_itself = false) {
        if (row().attempt && !books_itself) settle_closed(*this, outcome);
        if (row().attempt && row().attempt->cost && !books_itself) {
            row().cost = row().cost.value_or(domain::MicroUsd{}) + *row().attempt->cost;
            d_.usage.push_back(
                {row().id, "api_call", "", 0, row().attempt->cost, row().attempt->id.text() + "/so-far"});
        }
        webhooks::ClosedAttempt closed;
        closed.execution = row().id;
        closed.opening = row().opening;
        if (row().attempt) closed.attempt = *row().attempt;
        closed.outcome = std::move(outcome);
        closed.detail = std::move(detail);
        row().attempt.reset();
        row().timeout_at.reset();
        if (c_.type && c_.type->cool_down) d_.lane_times = LaneTimes{row().lane, std::nullopt, now()};
        d_.closed.push_back(std::move(closed));
        d_.changed = true;
        return d_.closed.back();
    }

    void refuse(int status, std::string problem, std::string detail) {
        d_.answer = {status, std::move(problem), std::move(detail), {}};
    }

    void end(std::string reason) {
        row().reason = std::move(reason);
        row().completed_at = now();
        row().ready_at.reset();
        if (!row().duration_ms) row().duration_ms = row().ran_ms(now());
        d_.ended = true;
    }

    void dead_letter(std::string error, std::optional<domain::NodeId> node) {
        priority_queue::DeadLetter letter;
        letter.execution = row().id;
        letter.opening = row().opening;
        letter.lane = row().lane;
        letter.reason = row().reason;
        letter.fingerprint = error_fingerprint(row().lane.workflow_type, row().reason, error);
        letter.error = std::move(error);
        letter.node = node;
        letter.attempts = row().attempts;
        d_.dead_letter = std::move(letter);
    }

  private:
    const domain::Execution& before_;
    const Circumstances& c_;
    Decision d_;
    std::optional<EndpointNews> news_;
    std::vector<resource_manager::ProviderNews> provider_news_;
};

// What becomes of the live attempt's money (spending.cc).

/// It certainly is not running: what was held is given back.
void release_money(Draft& draft);
/// Nobody knows whether it is.
void suspend_money(Draft& draft);
/// It says that it has cost so much until now.
/// What it says it took of providers until now; `cost`: in all.
void charge_usage(Draft& draft, const domain::AttemptId& attempt, std::optional<domain::MicroUsd> reserved,
                  std::optional<domain::MicroUsd> cost, const domain::Callback& callback);
void top_up_money(Draft& draft, domain::MicroUsd so_far, const domain::Callback& callback);
/// Its own word at its end; nullopt: it does not say what it has cost. `attempt` is as it was.
void settle_money(Draft& draft, const domain::LiveAttempt& attempt, std::optional<domain::MicroUsd> cost,
                  const domain::Callback& callback);
/// What a closed attempt says it has cost after all.
void correct_money(Draft& draft, const domain::AttemptId& attempt, domain::MicroUsd cost,
                   const domain::Callback& callback);

/// What a callback says the attempt has cost: its total, or else the sum over providers; nullopt where it says nothing.
std::optional<domain::MicroUsd> cost_in(const domain::Callback& callback);
/// The tokens that it says it used, where it says anything about usage.
std::optional<std::int64_t> tokens_in(const domain::Callback& callback);

/// The body of an answer that says how the execution stands.
std::string ok_body(const domain::Execution& row);

/// What comes after a failed delivery or attempt. The attempt has been closed, or waits for its redelivery.
void apply_recovery(Draft& draft, const Failure& failure, const std::string& reason, const std::string& error,
                    const std::string& error_data, std::optional<domain::NodeId> node, bool redelivery);

}
