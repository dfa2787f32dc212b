#pragma once
// The HTTP API of one node. Network thread only.

#include <memory>
#include <string>
#include <variant>

#include "api/auth.h"
#include "api/event_stream.h"
#include "api/problem.h"
#include "api/router.h"
#include "journal/subscriber_store.h"
#include "orchestrator/alert_runner.h"
#include "orchestrator/hub.h"
#include "orchestrator/output_store.h"
#include "orchestrator/report_maker.h"
#include "orchestrator/report_runner.h"
#include "orchestrator/retention.h"
#include "orchestrator/schedule_runner.h"
#include "platform/http_server.h"
#include "platform/metrics.h"
#include "platform/semaphore.h"

namespace impresario::api {

struct ApiSettings {
    /// Where `until` and friends are read against nothing else than the hub's clock; here are only limits.
    std::size_t body_limit = 1024 * 1024;
    std::size_t batch_limit = 16 * 1024 * 1024;
    int batch_most = 1000;
    EventStreamSettings events;
    /// Of the connection that fsck opens for itself: its statements take longer than any other.
    platform::DatabaseSettings fsck;
};

class Api {
  public:
    Api(orchestrator::Node& node, orchestrator::Hub& hub, platform::Metrics& metrics, ApiSettings settings);

    platform::Task<platform::HttpResponse> handle(platform::HttpRequest request);
    std::size_t body_limit(std::string_view method, std::string_view path) const;

    /// Not ready from the first sign of stopping (SIGTERM).
    void set_draining() {
        draining_ = true;
        streams_.stop();
    }
    /// Feeds the streams of events until set_draining.
    platform::Task<void> run_streams() { return streams_.run(); }
    /// Why this node is not ready before the database is; empty when nothing stands in the way.
    void set_not_ready(std::string why) { not_ready_ = std::move(why); }
    platform::Task<void> reload_keys();
    /// Keys from elsewhere than the database.
    void set_keys(std::shared_ptr<const ApiKeys> keys) {
        keys_ = std::move(keys);
        streams_.check_keys(*keys_);
    }
    /// Must outlive this.
    void set_retention(orchestrator::Retention& retention) { retention_ = &retention; }
    void set_alerts(orchestrator::AlertRunner& alerts) { alerts_ = &alerts; }
    void set_reports(orchestrator::ReportRunner& reports) { reports_ = &reports; }
    const Router& router() const { return router_; }
    /// What a request for one execution makes; for schedules, which make theirs by themselves.
    orchestrator::MadeExecution make_execution(const std::string& organization_id, const std::string& request);

  private:
    using Response = platform::HttpResponse;
    template <class T>
    using Task = platform::Task<T>;

    void route(std::string method, std::string pattern, std::optional<Role> role, Task<Response> (Api::*handler)(Call),
               std::size_t limit = 0);
    void add_routes();
    Task<Response> answer(const Route& route, Call call);

    // routes_health.cc
    Task<Response> livez(Call call);
    Task<Response> readyz(Call call);
    Task<Response> health(Call call);
    Task<Response> metrics(Call call);
    Task<Response> openapi(Call call);
    // routes_executions.cc
    Task<Response> create_execution(Call call);
    Task<Response> create_batch(Call call);
    Task<Response> list_executions(Call call);
    Task<Response> get_execution(Call call);
    Task<Response> change_execution(Call call);
    Task<Response> cancel_execution(Call call);
    Task<Response> retry_execution(Call call);
    Task<Response> accept_late(Call call);
    Task<Response> replay_execution(Call call);
    Task<Response> execution_events(Call call);
    Task<Response> execution_attempts(Call call);
    Task<Response> execution_deliveries(Call call);
    // routes_output.cc
    using ReadEntries = std::vector<orchestrator::OutputEntry> (*)(std::string_view, std::vector<FieldFault>&);
    Task<Response> append_output(Call call);
    Task<Response> append_logs(Call call);
    Task<Response> append(Call call, ReadEntries read);
    Task<Response> read_output(Call call);
    Task<Response> read_logs(Call call);
    Task<Response> read_said(Call call, std::string_view type, const char* many);
    // routes_events.cc
    Task<Response> events(Call call);
    // routes_explain.cc
    Task<Response> explain_execution(Call call);
    // routes_callbacks.cc
    /// Whose token a sub-workflow shows for the execution that it names; nullopt: nobody's.
    std::optional<domain::AttemptId> attempt_of(const Call& call) const;
    static Response wrong_token();
    Task<Response> callback(Call call);
    // routes_types.cc
    Task<Response> list_types(Call call);
    Task<Response> get_type(Call call);
    Task<Response> put_type(Call call);
    Task<Response> delete_type(Call call);
    Task<Response> rotate_signing_secret(Call call);
    // routes_breakers.cc
    Task<Response> trip_breaker(Call call);
    Task<Response> reset_breaker(Call call);
    Task<Response> set_breaker(Call call, domain::BreakerRecord breaker);
    // routes_locks.cc
    Task<Response> list_locks(Call call);
    Task<Response> get_lock(Call call);
    Task<Response> acquire_lock(Call call);
    Task<Response> renew_lock(Call call);
    Task<Response> release_lock(Call call);
    Task<Response> break_lock(Call call);

    // routes_alerts.cc
    Task<Response> list_alerts(Call call);
    Task<Response> get_alert(Call call);
    Task<Response> get_incident(Call call);
    Task<Response> acknowledge_alert(Call call);
    Task<Response> unacknowledge_alert(Call call);
    Task<Response> receive_alerts(Call call);
    Task<Response> list_alert_rules(Call call);
    Task<Response> list_receivers(Call call);
    Task<Response> test_receiver(Call call);
    Task<Response> list_notifications(Call call);
    Task<Response> set_acknowledged(Call call, bool acknowledged);

    // routes_reports.cc
    Task<Response> list_reports(Call call);
    Task<Response> get_report(Call call);
    Task<Response> send_report(Call call);
    std::variant<orchestrator::ReportAsked, Response> asked_report(Call& call) const;
    Task<std::optional<reports::StoredReport>> report_about(orchestrator::ReportAsked asked);

    // routes_silences.cc
    Task<Response> list_silences(Call call);
    Task<Response> create_silence(Call call);
    Task<Response> end_silence(Call call);

    // routes_timers.cc
    Task<Response> list_timers(Call call);
    Task<Response> get_timer(Call call);
    Task<Response> put_timer(Call call);
    Task<Response> cancel_timer(Call call);

    // routes_schedules.cc
    Task<std::optional<schedules::Schedule>> find_schedule(const Call& call);
    Task<Response> list_schedules(Call call);
    Task<Response> get_schedule(Call call);
    Task<Response> put_schedule(Call call);
    Task<Response> delete_schedule(Call call);
    Task<Response> pause_schedule(Call call);
    Task<Response> resume_schedule(Call call);
    Task<Response> next_of_schedule(Call call);
    platform::Task<std::string> due_of_schedule(std::string organization_id, schedules::Schedule schedule,
                                                domain::TimePoint after, int count);
    Task<Response> preview_schedule(Call call);
    Task<Response> runs_of_schedule(Call call);
    Task<Response> backfill_schedule(Call call);
    // routes_subscribers.cc
    Task<std::optional<journal::SubscriberStore::Known>> find_subscriber(const Call& call);
    template <class Do>
    Task<std::optional<std::invoke_result_t<Do&, platform::Tx&, const journal::SubscriberStore&,
                                            const journal::SubscriberStore::Known&>>>
    about_subscriber(const Call& call, Do what);
    Task<Response> shown_subscriber(Call call, int status, std::optional<domain::Secret> fresh = std::nullopt);
    Task<Response> list_subscribers(Call call);
    Task<Response> get_subscriber(Call call);
    Task<Response> put_subscriber(Call call);
    Task<Response> delete_subscriber(Call call);
    Task<Response> rotate_subscriber_secret(Call call);
    Task<Response> disable_subscriber(Call call);
    Task<Response> enable_subscriber(Call call);
    Task<Response> replay_to_subscriber(Call call);
    Task<Response> test_subscriber(Call call);
    Task<Response> subscriber_messages(Call call);
    Task<Response> subscriber_deliveries(Call call);
    // routes_stalled.cc
    Task<Response> stalled(Call call);

    // routes_retention.cc
    Task<Response> show_retention(Call call);
    Task<Response> preview_retention(Call call);
    // routes_fairness.cc
    Task<Response> show_fairness(Call call);
    Task<Response> put_fairness(Call call);
    Task<Response> preview_fairness(Call call);
    Task<Response> clear_fairness(Call call);
    Task<Response> fairness_versions(Call call);
    // routes_providers.cc
    Task<Response> show_providers(Call call);
    Task<Response> put_provider(Call call);
    Task<Response> preview_provider(Call call);
    Task<Response> delete_provider(Call call);
    Task<Response> provider_versions(Call call);
    // routes_budgets.cc
    Task<Response> list_budgets(Call call);
    Task<Response> get_budget(Call call);
    Task<Response> put_budget(Call call);
    Task<Response> preview_budget(Call call);
    Task<Response> retire_budget(Call call);
    Task<Response> reset_budget(Call call);
    Task<Response> preview_budget_reset(Call call);
    Task<Response> approve_budget(Call call);
    Task<Response> budget_versions(Call call);
    Task<Response> change_budget(Call call, bool again);
    Task<Response> cool_provider(Call call);
    Task<Response> reset_provider(Call call);
    Task<Response> set_weather(Call call, std::optional<domain::TimePoint> until, std::string reason);
    // routes_operations.cc
    Task<Response> queue(Call call);
    Task<Response> state(Call call);
    Task<Response> nodes(Call call);
    Task<Response> pauses(Call call);
    Task<Response> pause(Call call);
    Task<Response> resume(Call call);
    // routes_fsck.cc
    Task<Response> list_checks(Call call);
    Task<Response> fsck(Call call);
    // routes_dead_letters.cc
    Task<Response> list_dead_letters(Call call);
    Task<Response> get_dead_letter(Call call);
    Task<Response> retry_dead_letter(Call call);
    Task<Response> discard_dead_letter(Call call);
    Task<Response> retry_dead_letters(Call call);

    Task<Response> enqueue(Call call, std::vector<priority_queue::NewExecution> executions, bool batch,
                           domain::BatchId batch_id);
    Task<Response> open_stream(Call call, EventFilter filter);
    /// A command's answer as a response.
    static Response respond(const orchestrator::Reply& reply);
    /// Whether to read the keys again before this token is called wrong: it may have been made a moment ago.
    bool worth_a_reading(std::string_view token);

    orchestrator::Node& node_;
    orchestrator::Hub& hub_;
    platform::Metrics& metrics_;
    ApiSettings settings_;
    Router router_;
    std::shared_ptr<const ApiKeys> keys_;
    EventStreams streams_;
    std::uint64_t keys_asked_ = 0;
    std::uint64_t keys_read_ = 0;
    std::chrono::steady_clock::time_point unknown_key_at_;
    bool draining_ = false;
    /// Requests that wait for a lock.
    int locks_waited_for_ = 0;
    bool fsck_under_way_ = false;
    orchestrator::Retention* retention_ = nullptr;
    orchestrator::AlertRunner* alerts_ = nullptr;
    orchestrator::ReportRunner* reports_ = nullptr;
    platform::Semaphore reports_place_;
    bool previewing_retention_ = false;
    std::string not_ready_;
};

}
