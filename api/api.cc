#include "api/api.h"

#include "api/problem.h"
#include "platform/log.h"

namespace impresario::api {

namespace log = platform::log;

Api::Api(orchestrator::Node& node, orchestrator::Hub& hub, platform::Metrics& metrics, ApiSettings settings)
    : node_(node),
      hub_(hub),
      metrics_(metrics),
      settings_(settings),
      streams_(node.executor(), node.database(), settings_.events),
      reports_place_(node.executor(), 1) {
    streams_.on_dropped = [this] { node_.probe().stream_dropped(); };
    add_routes();
}

void Api::route(std::string method, std::string pattern, std::optional<Role> role, Task<Response> (Api::*handler)(Call),
                std::size_t limit) {
    Route made;
    made.method = std::move(method);
    made.pattern = std::move(pattern);
    made.role = role;
    made.handler = [this, handler](Call call) { return (this->*handler)(std::move(call)); };
    made.body_limit = limit == 0 ? settings_.body_limit : limit;
    router_.add(std::move(made));
}

void Api::add_routes() {
    route("GET", "/livez", std::nullopt, &Api::livez);
    route("GET", "/readyz", std::nullopt, &Api::readyz);
    route("GET", "/metrics", std::nullopt, &Api::metrics);
    route("GET", "/openapi.json", std::nullopt, &Api::openapi);

    route("POST", "/v1/executions", Role::submitter, &Api::create_execution);
    route("POST", "/v1/executions/batch", Role::submitter, &Api::create_batch, settings_.batch_limit);
    route("GET", "/v1/executions", Role::viewer, &Api::list_executions);
    route("GET", "/v1/executions/{id}", Role::viewer, &Api::get_execution);
    route("PATCH", "/v1/executions/{id}", Role::operator_, &Api::change_execution);
    route("POST", "/v1/executions/{id}/cancel", Role::submitter, &Api::cancel_execution);
    route("POST", "/v1/executions/{id}/retry", Role::operator_, &Api::retry_execution);
    route("POST", "/v1/executions/{id}/replay", Role::submitter, &Api::replay_execution);
    route("POST", "/v1/executions/{id}/accept-late", Role::operator_, &Api::accept_late);
    route("GET", "/v1/executions/{id}/explain", Role::viewer, &Api::explain_execution);
    route("GET", "/v1/executions/{id}/events", Role::viewer, &Api::execution_events);
    route("GET", "/v1/executions/{id}/output", Role::viewer, &Api::read_output);
    route("GET", "/v1/executions/{id}/logs", Role::viewer, &Api::read_logs);
    route("GET", "/v1/executions/{id}/attempts", Role::viewer, &Api::execution_attempts);
    route("GET", "/v1/executions/{id}/deliveries", Role::viewer, &Api::execution_deliveries);

    route("GET", "/v1/events", Role::viewer, &Api::events);

    route("POST", "/v1/callbacks/{id}", std::nullopt, &Api::callback, settings_.batch_limit);
    route("POST", "/v1/callbacks/{id}/output", std::nullopt, &Api::append_output);
    route("POST", "/v1/callbacks/{id}/logs", std::nullopt, &Api::append_logs);

    route("GET", "/v1/workflow-types", Role::viewer, &Api::list_types);
    route("GET", "/v1/workflow-types/{name}", Role::viewer, &Api::get_type);
    route("PUT", "/v1/workflow-types/{name}", Role::admin, &Api::put_type);
    route("DELETE", "/v1/workflow-types/{name}", Role::admin, &Api::delete_type);
    route("POST", "/v1/workflow-types/{name}/rotate-signing-secret", Role::admin, &Api::rotate_signing_secret);

    route("POST", "/v1/workflow-types/{name}/endpoints/{endpoint_id}/trip", Role::operator_, &Api::trip_breaker);
    route("POST", "/v1/workflow-types/{name}/endpoints/{endpoint_id}/reset", Role::operator_, &Api::reset_breaker);
    route("GET", "/v1/fairness", Role::viewer, &Api::show_fairness);
    route("PUT", "/v1/fairness", Role::admin, &Api::put_fairness);
    route("DELETE", "/v1/fairness", Role::admin, &Api::clear_fairness);
    route("POST", "/v1/fairness/preview", Role::admin, &Api::preview_fairness);
    route("GET", "/v1/fairness/versions", Role::viewer, &Api::fairness_versions);
    route("GET", "/v1/providers", Role::viewer, &Api::show_providers);
    route("GET", "/v1/providers/{name}", Role::viewer, &Api::show_providers);
    route("PUT", "/v1/providers/{name}", Role::admin, &Api::put_provider);
    route("POST", "/v1/providers/{name}/preview", Role::viewer, &Api::preview_provider);
    route("DELETE", "/v1/providers/{name}", Role::admin, &Api::delete_provider);
    route("GET", "/v1/providers/{name}/versions", Role::viewer, &Api::provider_versions);
    route("POST", "/v1/providers/{name}/cool", Role::operator_, &Api::cool_provider);
    route("POST", "/v1/providers/{name}/reset", Role::operator_, &Api::reset_provider);

    route("GET", "/v1/budgets", Role::viewer, &Api::list_budgets);
    route("GET", "/v1/budgets/{name}", Role::viewer, &Api::get_budget);
    route("PUT", "/v1/budgets/{name}", Role::admin, &Api::put_budget);
    route("DELETE", "/v1/budgets/{name}", Role::admin, &Api::retire_budget);
    route("POST", "/v1/budgets/{name}/preview", Role::viewer, &Api::preview_budget);
    route("POST", "/v1/budgets/{name}/reset", Role::admin, &Api::reset_budget);
    route("POST", "/v1/budgets/{name}/reset/preview", Role::viewer, &Api::preview_budget_reset);
    route("POST", "/v1/budgets/{name}/approve", Role::admin, &Api::approve_budget);
    route("GET", "/v1/budgets/{name}/versions", Role::viewer, &Api::budget_versions);

    route("GET", "/v1/locks", Role::viewer, &Api::list_locks);
    route("GET", "/v1/locks/{name}", Role::viewer, &Api::get_lock);
    route("POST", "/v1/locks/{name}", Role::submitter, &Api::acquire_lock);
    route("POST", "/v1/locks/{name}/renew", Role::submitter, &Api::renew_lock);
    route("POST", "/v1/locks/{name}/release", Role::submitter, &Api::release_lock);
    route("POST", "/v1/locks/{name}/break", Role::operator_, &Api::break_lock);

    route("GET", "/v1/timers", Role::viewer, &Api::list_timers);
    route("GET", "/v1/timers/{name}", Role::viewer, &Api::get_timer);
    route("PUT", "/v1/timers/{name}", Role::submitter, &Api::put_timer);
    route("DELETE", "/v1/timers/{name}", Role::submitter, &Api::cancel_timer);

    route("GET", "/v1/alerts", Role::viewer, &Api::list_alerts);
    route("GET", "/v1/alerts/{fingerprint}", Role::viewer, &Api::get_alert);
    route("GET", "/v1/incidents/{incident}", Role::viewer, &Api::get_incident);
    route("POST", "/v1/alerts/{fingerprint}/acknowledge", Role::operator_, &Api::acknowledge_alert);
    route("POST", "/v1/alerts/{fingerprint}/unacknowledge", Role::operator_, &Api::unacknowledge_alert);
    route("GET", "/v1/alert-rules", Role::viewer, &Api::list_alert_rules);
    route("GET", "/v1/receivers", Role::viewer, &Api::list_receivers);
    route("POST", "/v1/receivers/{name}/test", Role::operator_, &Api::test_receiver);
    route("GET", "/v1/notifications", Role::viewer, &Api::list_notifications);
    route("GET", "/v1/reports", Role::viewer, &Api::list_reports);
    route("GET", "/v1/reports/{kind}", Role::viewer, &Api::get_report);
    route("POST", "/v1/reports/{kind}/send", Role::operator_, &Api::send_report);
    route("GET", "/v1/silences", Role::viewer, &Api::list_silences);
    route("POST", "/v1/silences", Role::operator_, &Api::create_silence);
    route("DELETE", "/v1/silences/{silence_id}", Role::operator_, &Api::end_silence);
    // As an Alertmanager takes them, so that Prometheus and whatever else tells one can tell the hub.
    route("POST", "/api/v2/alerts", Role::submitter, &Api::receive_alerts);

    route("GET", "/v1/subscribers", Role::viewer, &Api::list_subscribers);
    route("GET", "/v1/subscribers/{name}", Role::viewer, &Api::get_subscriber);
    route("PUT", "/v1/subscribers/{name}", Role::admin, &Api::put_subscriber);
    route("DELETE", "/v1/subscribers/{name}", Role::admin, &Api::delete_subscriber);
    route("POST", "/v1/subscribers/{name}/rotate-signing-secret", Role::admin, &Api::rotate_subscriber_secret);
    route("POST", "/v1/subscribers/{name}/disable", Role::operator_, &Api::disable_subscriber);
    route("POST", "/v1/subscribers/{name}/enable", Role::operator_, &Api::enable_subscriber);
    route("POST", "/v1/subscribers/{name}/replay", Role::operator_, &Api::replay_to_subscriber);
    route("POST", "/v1/subscribers/{name}/test", Role::operator_, &Api::test_subscriber);
    route("GET", "/v1/subscribers/{name}/messages", Role::viewer, &Api::subscriber_messages);
    route("GET", "/v1/subscribers/{name}/deliveries", Role::viewer, &Api::subscriber_deliveries);

    route("GET", "/v1/schedules", Role::viewer, &Api::list_schedules);
    route("GET", "/v1/schedules/{name}", Role::viewer, &Api::get_schedule);
    route("PUT", "/v1/schedules/{name}", Role::admin, &Api::put_schedule);
    route("DELETE", "/v1/schedules/{name}", Role::admin, &Api::delete_schedule);
    route("POST", "/v1/schedules/{name}/preview", Role::viewer, &Api::preview_schedule);
    route("GET", "/v1/schedules/{name}/next", Role::viewer, &Api::next_of_schedule);
    route("GET", "/v1/schedules/{name}/runs", Role::viewer, &Api::runs_of_schedule);
    route("POST", "/v1/schedules/{name}/pause", Role::operator_, &Api::pause_schedule);
    route("POST", "/v1/schedules/{name}/resume", Role::operator_, &Api::resume_schedule);
    route("POST", "/v1/schedules/{name}/backfill", Role::operator_, &Api::backfill_schedule);

    route("GET", "/v1/queue", Role::viewer, &Api::queue);
    route("GET", "/v1/health", Role::viewer, &Api::health);
    route("GET", "/v1/state", Role::viewer, &Api::state);
    route("GET", "/v1/nodes", Role::viewer, &Api::nodes);
    route("GET", "/v1/stalled", Role::viewer, &Api::stalled);
    route("GET", "/v1/pauses", Role::viewer, &Api::pauses);
    route("POST", "/v1/pause", Role::operator_, &Api::pause);
    route("POST", "/v1/resume", Role::operator_, &Api::resume);

    route("GET", "/v1/retention", Role::viewer, &Api::show_retention);
    route("POST", "/v1/retention/preview", Role::admin, &Api::preview_retention);

    route("GET", "/v1/fsck", Role::admin, &Api::list_checks);
    route("POST", "/v1/fsck", Role::admin, &Api::fsck);

    route("GET", "/v1/dead-letters", Role::viewer, &Api::list_dead_letters);
    route("GET", "/v1/dead-letters/{id}", Role::viewer, &Api::get_dead_letter);
    route("POST", "/v1/dead-letters/{id}/retry", Role::operator_, &Api::retry_dead_letter);
    route("POST", "/v1/dead-letters/{id}/discard", Role::operator_, &Api::discard_dead_letter);
    route("POST", "/v1/dead-letters/retry", Role::operator_, &Api::retry_dead_letters);
}

std::size_t Api::body_limit(std::string_view method, std::string_view path) const {
    const auto match = router_.match(method, path);
    return match.route ? match.route->body_limit : settings_.body_limit;
}

platform::Task<void> Api::reload_keys() {
    auto asked_keys = node_.database().read([](platform::Tx& tx) { return ApiKeyStore().load(tx); });
    const auto turn = ++keys_asked_;
    auto keys = co_await std::move(asked_keys);
    // Two may read at once: the one that asked last has seen every change that either was asked for.
    if (turn < keys_read_) co_return;
    keys_read_ = turn;
    set_keys(std::move(keys));
}

platform::Task<platform::HttpResponse> Api::handle(platform::HttpRequest request) {
    const auto begun = std::chrono::steady_clock::now();
    auto match = router_.match(request.method, request.path);
    if (!match.route) {
        if (match.allow.empty())
            co_return problem(404, "not-found",
                              "there is nothing at " + request.path + "; GET /openapi.json lists what there is");
        auto response = problem(405, "method-not-allowed", "this path takes " + match.allow);
        response.headers.emplace_back("allow", match.allow);
        co_return response;
    }
    const Route& found = *match.route;
    Call call{std::move(request), std::move(match.path), {}};
    Response response;
    if (found.role) {
        const auto token = call.request.bearer();
        if (worth_a_reading(token)) {
            try {
                co_await reload_keys();
            } catch (const platform::DatabaseUnavailable&) {
                // Then what is known decides.
            }
        }
        const Caller* caller = token.empty() || !keys_ ? nullptr : keys_->find(token);
        if (!keys_ && wants_stream(call.request)) {
            response = come_back();
        } else if (!keys_) {
            response =
                problem(503, "not-ready", not_ready_.empty() ? "this node has not read its API keys yet" : not_ready_);
        } else if (!caller) {
            response =
                problem(401, "unauthorized",
                        token.empty() ? "send an API key: Authorization: Bearer imp_…" : "this API key is not valid");
        } else if (caller->role < *found.role) {
            response = problem(403, "forbidden",
                               "this needs the role " + std::string(name(*found.role)) + "; the key has " +
                                   std::string(name(caller->role)));
        } else {
            call.caller = *caller;
            response = co_await answer(found, std::move(call));
        }
    } else {
        response = co_await answer(found, std::move(call));
    }
    node_.probe().request(found.pattern, response.status,
                          std::chrono::duration_cast<domain::Duration>(std::chrono::steady_clock::now() - begun));
    co_return response;
}

bool Api::worth_a_reading(std::string_view token) {
    if (!keys_ || !ApiKeys::well_formed(token) || keys_->find(token)) return false;
    // Guessing must not become a way to keep the database busy.
    const auto now = std::chrono::steady_clock::now();
    if (now - unknown_key_at_ < std::chrono::milliseconds{250}) return false;
    unknown_key_at_ = now;
    return true;
}

platform::Task<platform::HttpResponse> Api::answer(const Route& route, Call call) {
    std::string failure;
    try {
        co_return co_await route.handler(std::move(call));
    } catch (const platform::DatabaseUnavailable&) {
        co_return problem(503, "database-unavailable", "the database is away; nothing was changed, try again");
    } catch (const platform::DatabaseInDoubt&) {
        co_return problem(503, "in-doubt",
                          "the database went away during the commit; it may have happened. Send it again, with the "
                          "same Idempotency-Key where one was given");
    } catch (const platform::StatementRefused& e) {
        if (e.later() || e.transient())
            co_return problem(503, "database-slow",
                              "the database took too long or is short of room; nothing was changed, try again");
        if (e.duplicate())
            co_return problem(
                409, "written-meanwhile",
                "another request has just written the same; nothing was changed, look at it and try again");
        failure = e.what();
    } catch (const std::exception& e) {
        failure = e.what();
    }
    log::error("a request failed", {{"route", route.pattern}, {"error", failure}});
    co_return problem(500, "internal", "something went wrong here; it is in the log");
}

platform::HttpResponse Api::respond(const orchestrator::Reply& reply) {
    if (!reply.answer.problem.empty()) return problem(reply.answer.status, reply.answer.problem, reply.answer.detail);
    return json_response(reply.answer.status, reply.answer.body.empty() ? "{\"ok\":true}" : reply.answer.body);
}

}
