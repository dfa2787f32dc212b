#include "tests/campaign/tour.h"

#include <ctime>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/support/event_reader.h"

namespace impresario::campaign {

using std::chrono::milliseconds;
using testing::Asked;
using testing::Behaviour;
using testing::Peer;

namespace {

/// Whatever happens to the hub meanwhile; what is refused is over.
void call_back(const Asked& asked, const Json& body) {
    for (int i = 0; i < 600; ++i) {
        const auto reply = Peer::call_back(asked, body);
        if (reply.status / 100 == 2 || reply.status / 100 == 4) return;
        std::this_thread::sleep_for(milliseconds{50});
    }
}

void say(const Asked& asked, const std::string& where, const Json& body) {
    for (int i = 0; i < 100 && Peer::say(asked, where, body).status / 100 != 2; ++i)
        std::this_thread::sleep_for(milliseconds{20});
}

/// Whether it has not been asked about before: a refusal burns no attempt, so that one does not tell.
bool comes_first(const std::string& execution) {
    static std::mutex mutex;
    static std::set<std::string> known;
    const std::lock_guard lock(mutex);
    return known.insert(execution).second;
}

Json quick(int max_retries) { return testing::quick_retries(max_retries, 0.1); }

std::string in_two_seconds() {
    const std::time_t at = std::time(nullptr) + 2;
    std::tm parts{};
    gmtime_r(&at, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

/// What somebody else tells, who looks after it, and what nobody is to hear of.
void be_alerted(Hubs& hubs) {
    hubs.ask("POST", "/api/v2/alerts", Json::array({{{"labels", {{"alertname", "elsewhere"}}}}}));
    const auto alerts = hubs.ask("GET", "/v1/alerts?state=all").json().value("alerts", Json::array());
    for (const auto& alert : alerts) {
        if (alert.value("name", "") != "elsewhere") continue;
        const auto at = "/v1/alerts/" + alert.value("fingerprint", "");
        hubs.ask("GET", at);
        hubs.ask("POST", at + "/acknowledge", {{"reason", "campaign"}});
        hubs.ask("POST", at + "/unacknowledge", Json::object());
    }
    const auto silence = hubs.ask("POST", "/v1/silences",
                                  {{"matchers", {"alertname=nothing"}}, {"for_seconds", 60}, {"comment", "campaign"}})
                             .json();
    hubs.ask("GET", "/v1/silences");
    if (silence.is_object()) hubs.ask("DELETE", "/v1/silences/" + silence.value("silence_id", ""));
    for (const auto* page : {"/v1/reports", "/v1/reports/daily", "/v1/reports/weekly?at=2026-01-01", "/v1/alert-rules",
                             "/v1/receivers", "/v1/notifications", "/v1/incidents/0000"})
        hubs.ask("GET", page);
}

/// Waits until it has ended, or for as long as its attempts could take.
Json end_of(Hubs& hubs, const std::string& id) {
    Json view;
    for (int i = 0; i < 60; ++i) {
        view = hubs.ask("GET", "/v1/executions/" + id + "?wait=1").json();
        if (view.is_object() && !view.value("completed_at", Json()).is_null()) break;
    }
    return view;
}

/// Enqueues until one has found the hub that leads idle: alone, with nothing else under way.
void enqueue_alone(Hubs& hubs, const std::string& type) {
    for (int i = 0; i < 100; ++i) {
        const auto id = hubs.enqueue(type);
        if (id.empty()) continue;
        end_of(hubs, id);
        const auto at_once = hubs.sql(
            "select count(*) = 2 and count(distinct xid) = 1 from events where type in ('execution.queued', "
            "'execution.dispatched') and stream_id = '" +
            id + "'");
        if (at_once == "t") break;
        // The two are asked in turn: the next one comes to the other.
        hubs.ask("GET", "/v1/nodes");
    }
}

/// Waits until the scheduler has booked what SQL says was spent.
void await_inbox(Hubs& hubs) {
    const std::string waiting =
        "select (select count(*) from ledger_inbox) + (select count(*) from usage_charges where over_calls is null)";
    for (int i = 0; i < 400 && hubs.sql(waiting) != "0"; ++i) {
        hubs.supervise();
        std::this_thread::sleep_for(milliseconds{50});
    }
}

}

Behaviour answer(const Asked& asked) {
    if (asked.method != "POST") return Behaviour{404, "{}"};
    const Json metrics{{"cost_usd", 0.002}, {"api_calls", 3}};
    const Json completed{{"status", "completed"}, {"result_data", 1}, {"metrics", metrics}};
    if (asked.path == "/whole") return Behaviour{200, completed.dump()};
    if (asked.path == "/heard") return Behaviour{200, "{}"};
    // Hears all but one kind of event.
    if (asked.path == "/deaf") return Behaviour{asked.json.value("type", "") == "execution.dead" ? 422 : 200, "{}"};
    if (asked.path == "/closed") return Behaviour{403, "{}"};
    if (asked.path == "/busy" && comes_first(asked.execution_id())) return Behaviour{429, "{}", {{"retry-after", "1"}}};
    if (asked.path == "/late") {
        // Long after its deadline, for the first opening.
        std::thread([asked, completed] {
            std::this_thread::sleep_for(milliseconds{1500});
            call_back(asked, completed);
        }).detach();
        return Behaviour{};
    }
    if (asked.path == "/dying" && !asked.json["input_data"].value("well", false)) {
        call_back(asked, {{"status", "failed"}, {"error_data", {{"message", "no"}, {"retry_recommended", true}}}});
        return Behaviour{};
    }
    if (asked.path == "/good") {
        say(asked, "/output", {{"text", "half"}, {"event_id", "1"}});
        say(asked, "/logs", {{"message", "half of it"}});
    }
    if (asked.path == "/partial" && !asked.json["context"].contains("retry_items")) {
        call_back(asked, {{"status", "running"}, {"progress", 10}});
        call_back(asked, {{"status", "partial"},
                          {"result_data", {{"good", 1}}},
                          {"items", {{{"key", "a"}, {"status", "completed"}}, {{"key", "b"}, {"status", "failed"}}}}});
        return Behaviour{};
    }
    call_back(asked, completed);
    return Behaviour{202, "{}", {{"webhook-deduplicates", "true"}}};
}

void tour(Hubs& hubs, const Peer& peer) {
    const auto type = [&](const std::string& name, Json more = Json::object()) {
        Json definition{
            {"endpoints", {{{"url", peer.url("/" + name)}}}}, {"timeout_seconds", 4}, {"retry_policy", quick(6)}};
        definition.update(more);
        hubs.ask("PUT", "/v1/workflow-types/" + name, definition);
    };
    // Told of everything from the first execution on.
    hubs.ask(
        "PUT", "/v1/subscribers/ear",
        {{"url", peer.url("/heard")}, {"topics", {"executions"}}, {"backoff_seconds", 1}, {"backoff_max_seconds", 1}});
    hubs.ask("PUT", "/v1/subscribers/deaf",
             {{"url", peer.url("/deaf")},
              {"attempts", 1},
              {"backoff_seconds", 1},
              {"backoff_max_seconds", 1},
              {"batch_size", 5}});
    hubs.ask("PUT", "/v1/subscribers/quiet", {{"url", peer.url("/heard")}, {"types", {"provider.recovered"}}});
    const Json limits{{"limits", {{{"name", "rate"}, {"of", "requests"}, {"limit", 100}, {"per", "second"}}}}};
    hubs.ask("PUT", "/v1/providers/metered", limits);
    hubs.ask("PUT", "/v1/providers/unused", limits);
    hubs.ask("POST", "/v1/providers/unused/preview", limits);
    hubs.ask("DELETE", "/v1/providers/unused");
    hubs.ask("GET", "/v1/providers/unused/versions");
    // A step that begins and ends with each execution.
    const Json step{{"at_percent", 1}, {"undone_below_percent", 1}, {"action", "alert"}};
    const Json budget{{"limit_usd", "100"}, {"window", "day"}, {"steps", {step}}};
    hubs.ask("PUT", "/v1/budgets/day", budget);
    hubs.ask("PUT", "/v1/budgets/unused", budget);
    hubs.ask("POST", "/v1/budgets/unused/preview", budget);
    hubs.ask("POST", "/v1/budgets/unused/approve", Json::object());
    hubs.ask("POST", "/v1/budgets/unused/reset/preview", Json::object());
    hubs.ask("POST", "/v1/budgets/unused/reset", Json::object());
    hubs.ask("GET", "/v1/budgets/unused/versions");
    hubs.ask("DELETE", "/v1/budgets/unused");
    hubs.ask("PUT", "/v1/fairness",
             {{"measure", "starts"},
              {"shares", {{{"organization_id", "default"}, {"workflow_type", "good"}, {"weight", 3}}}}});
    // What one of two hubs that die says of a lock may come twice: the owner has it, or it is free again.
    const auto lock = hubs.ask("POST", "/v1/locks/campaign", {{"owner", "tour"}}).json();
    const Json token{{"token", lock.value("token", 1)}};
    hubs.ask("POST", "/v1/locks/campaign/renew", token);
    hubs.ask("GET", "/v1/locks");
    hubs.ask("POST", "/v1/locks/campaign/release", token);
    hubs.ask("POST", "/v1/locks/campaign/break", Json::object());
    type("good", {{"cost_estimate_usd", "2"}, {"call_estimates", {{{"provider", "metered"}, {"calls", 1}}}}});
    auto keyed = limits;
    keyed["limits"][0]["key"] = "/customer";
    hubs.ask("POST", "/v1/providers/metered/preview", keyed);
    hubs.ask("POST", "/v1/providers/metered/cool", {{"until", in_two_seconds()}, {"reason", "campaign"}});
    hubs.ask("POST", "/v1/providers/metered/reset", Json::object());
    type("whole", {{"max_concurrency", 2}});
    type("busy", {{"call_estimates", {{{"provider", "metered"}, {"calls", 1}}}}});
    type("partial");
    type("dying", {{"retry_policy", quick(1)}});
    type("late", {{"timeout_seconds", 1}, {"retry_policy", "none"}});
    type("closed");
    type("paced", {{"execution_interval_seconds", 1}, {"cool_down_seconds", 1}, {"lock", "paced"}});
    type("tripped");
    type("gone");
    hubs.ask("POST", "/v1/workflow-types/good/rotate-signing-secret");
    hubs.ask("DELETE", "/v1/workflow-types/gone");

    // One that starts a few times, one that is backfilled, one that waits for what runs.
    hubs.ask("PUT", "/v1/schedules/often",
             {{"workflow_type", "whole"}, {"interval_seconds", 1}, {"most_runs", 3}, {"overlap", "buffer_all"}});
    hubs.ask("PUT", "/v1/schedules/daily", {{"workflow_type", "whole"}, {"cron", "@daily"}});
    hubs.ask("GET", "/v1/schedules/daily/next");
    hubs.ask("POST", "/v1/schedules/daily/pause", {{"reason", "campaign"}});
    hubs.ask("POST", "/v1/schedules/daily/resume", Json::object());
    hubs.ask("POST", "/v1/schedules/daily/backfill",
             {{"from", "2026-01-01T00:00:00Z"}, {"to", "2026-01-03T00:00:00Z"}});
    hubs.ask("GET", "/v1/schedules");
    hubs.ask("PUT", "/v1/timers/soon", {{"in_seconds", 1}});
    hubs.ask("PUT", "/v1/timers/late", {{"in_seconds", 3600}, {"payload", {{"n", 1}}}});
    hubs.ask("GET", "/v1/timers/late");
    hubs.ask("DELETE", "/v1/timers/late");
    for (const auto* state : {"waiting", "cancelled"}) hubs.ask("GET", std::string("/v1/timers?state=") + state);
    be_alerted(hubs);

    // Of two one is shed once there is room for one; then it is asked for anew.
    type("bounded", {{"enabled", false}, {"queue_soft_limit", 2}, {"queue_hard_limit", 2}});
    const auto shed = hubs.enqueue("bounded", {{"priority", 1}});
    hubs.enqueue("bounded");
    type("bounded", {{"enabled", false}, {"queue_soft_limit", 1}, {"queue_hard_limit", 1}});
    end_of(hubs, shed);
    type("bounded");
    hubs.ask("POST", "/v1/executions/" + shed + "/replay");

    const auto tripped = hubs.ask("GET", "/v1/workflow-types/tripped").json();
    std::string probe;
    if (!tripped.value("endpoints", Json::array()).empty()) {
        const auto at = "/v1/workflow-types/tripped/endpoints/" + tripped["endpoints"][0].value("endpoint_id", "");
        hubs.ask("POST", at + "/trip", {{"reason", "campaign"}});
        hubs.ask("POST", at + "/reset", Json::object());
        // Half open once its time has come: the execution that waits is the probe.
        hubs.ask("POST", at + "/trip", {{"until", in_two_seconds()}});
        probe = hubs.enqueue("tripped");
    }

    const auto late = hubs.enqueue("late");
    const auto dying = hubs.enqueue("dying");
    const auto doomed = hubs.enqueue("dying");
    const auto closed = hubs.enqueue("closed");
    const auto first = hubs.enqueue("good");
    hubs.enqueue("good", {{"priority", 90}});
    for (int i = 0; i < 4; ++i) hubs.enqueue("whole");
    hubs.enqueue("busy");
    hubs.enqueue("partial");
    for (int i = 0; i < 2; ++i) hubs.enqueue("paced");
    hubs.ask("POST", "/v1/executions", {{"workflow_type", "good"}, {"input", {{"n", 1}}}}, "c-4");
    hubs.enqueue("good", {{"scheduled_at", in_two_seconds()}});
    hubs.ask("POST", "/v1/executions/batch",
             {{"executions", {{{"workflow_type", "good"}}, {{"workflow_type", "whole"}}}}}, "b");

    hubs.ask("POST", "/v1/pause", {{"workflow_type", "busy"}, {"reason", "campaign"}});
    const auto paused = hubs.enqueue("busy");
    hubs.ask("PATCH", "/v1/executions/" + paused, {{"priority", 70}});
    hubs.enqueue("busy", {{"priority", 90}});
    for (const auto* page :
         {"/v1/executions?status=queued", "/v1/queue", "/v1/state", "/v1/nodes", "/v1/pauses", "/v1/workflow-types",
          "/v1/providers", "/v1/fairness", "/v1/stalled", "/v1/health", "/metrics"})
        hubs.ask("GET", page);
    hubs.ask("GET", "/v1/executions/" + paused + "/explain");
    const auto view = hubs.ask("GET", "/v1/executions/" + paused).json();
    if (view.is_object()) hubs.ask("GET", "/v1/executions/" + paused + "/explain?at=" + view.value("created_at", ""));
    hubs.ask("POST", "/v1/executions/" + paused + "/cancel", Json::object());
    hubs.ask("POST", "/v1/resume", {{"workflow_type", "busy"}});
    hubs.ask("POST", "/v1/pause", {{"provider", "metered"}});
    hubs.ask("POST", "/v1/resume", {{"provider", "metered"}});
    // Taken back by the hub.
    hubs.ask("POST", "/v1/pause", {{"workflow_type", "partial"}, {"until_condition", "endpoints_healthy"}});
    hubs.ask("POST", "/v1/executions/01890000-0000-7000-8000-000000000000/cancel", Json::object());

    end_of(hubs, dying);
    end_of(hubs, doomed);
    hubs.ask("GET", "/v1/dead-letters");
    hubs.ask("GET", "/v1/dead-letters/" + dying);
    hubs.ask("POST", "/v1/dead-letters/" + dying + "/retry", {{"input", {{"well", true}}}});
    hubs.ask("POST", "/v1/dead-letters/" + doomed + "/discard", Json::object());
    end_of(hubs, late);
    // Its callback comes, and is refused.
    for (int i = 0; i < 100; ++i) {
        const auto attempts = hubs.ask("GET", "/v1/executions/" + late + "/attempts").json();
        if (!attempts.value("refused_callbacks", Json::array()).empty()) break;
        std::this_thread::sleep_for(milliseconds{50});
    }
    hubs.ask("POST", "/v1/executions/" + late + "/accept-late", Json::object());
    {
        const testing::EventReader one(hubs.ports(), "/v1/executions/" + dying + "/events", hubs.key());
        one.await_count(3, 60);
    }
    for (const auto* part : {"", "/events", "/deliveries", "/output", "/logs"})
        hubs.ask("GET", "/v1/executions/" + dying + part);
    hubs.ask("POST", "/v1/executions/" + closed + "/cancel", Json::object());
    if (!probe.empty()) end_of(hubs, probe);
    hubs.ask("DELETE", "/v1/fairness");
    for (int i = 0; i < 100 && hubs.sql("select count(*) from schedule_runs where outcome = 'started'") < "6"; ++i) {
        hubs.supervise();
        std::this_thread::sleep_for(milliseconds{100});
    }
    hubs.ask("GET", "/v1/schedules/daily/runs");
    hubs.ask("PUT", "/v1/schedules/unused", {{"workflow_type", "whole"}, {"cron", "@yearly"}});
    hubs.ask("DELETE", "/v1/schedules/unused");
    hubs.ask("GET", "/v1/fairness/versions");
    for (const auto* what : {"/disable", "/enable", "/rotate-signing-secret", "/test"})
        hubs.ask("POST", std::string("/v1/subscribers/quiet") + what, Json::object());
    hubs.ask("DELETE", "/v1/subscribers/quiet");
    hubs.ask("POST", "/v1/subscribers/deaf/replay", {{"failed", true}});
    hubs.ask("POST", "/v1/subscribers/deaf/replay", {{"event", "evt_" + dying + "_1"}});
    hubs.ask("POST", "/v1/subscribers/deaf/replay", {{"since", "2026-01-01T00:00:00Z"}});
    for (int i = 0; i < 100 && hubs.sql("select count(*) from outbox_replays") != "0"; ++i) {
        hubs.supervise();
        std::this_thread::sleep_for(milliseconds{100});
    }
    for (const auto* what : {"", "/deaf", "/deaf/messages?state=failed", "/deaf/deliveries"})
        hubs.ask("GET", std::string("/v1/subscribers") + what);
    enqueue_alone(hubs, "whole");
    // Elsewhere it is over, which whoever was told of it is to be told as well.
    hubs.ask("POST", "/api/v2/alerts",
             Json::array({{{"labels", {{"alertname", "elsewhere"}}}, {"endsAt", "2026-01-01T00:00:00Z"}}}));
    // Numbers that nobody has, as where something has gone.
    hubs.sql("select setval('event_numbers', (select last_value from event_numbers) + 20000)");
    // What happened to lanes, and an execution, long ago goes. Who follows executions has come further than that: one
    // that has not is told to begin anew.
    hubs.sql(
        "update events set at = at - interval '200 days' "
        "where event_id < (select min(event_id) from events where kind = 'execution')");
    hubs.sql(
        "insert into executions (execution_id, workflow_type, status, created_at, scheduled_at, completed_at) select "
        "gen_random_uuid(), 'good', 'cancelled', at, at, at from (select now() - interval '1000 days' as at) t");
    hubs.ask("POST", "/v1/retention/preview", Json::object());
    hubs.ask("GET", "/v1/retention");
    for (int i = 0;
         i < 100 && hubs.sql("select count(*) from executions where completed_at < now() - interval '1 day'") != "0";
         ++i) {
        hubs.supervise();
        std::this_thread::sleep_for(milliseconds{100});
    }
    // What SQL says was spent waits for the scheduler.
    hubs.sql("select record_resource_usage('" + first + "', 'api_call', 'metered', 1, 0.5)");
    await_inbox(hubs);
    // A balance that somebody has spoilt and money that nobody gave back are put right, and nothing else is wrong.
    hubs.sql("update budget_balances set settled = settled + 1");
    hubs.sql(
        "insert into ledger_entries (attempt_id, movement, ordinal, budget_id, execution_id, window_start, window_end, "
        "available, reserved, suspense, settled) select gen_random_uuid(), 'reserve', 1, budget_id, '" +
        first + "', window_start, window_end, -7, 7, 0, 0 from budget_balances limit 1");
    auto checked = hubs.ask("POST", "/v1/fsck", {{"repair", true}});
    while (checked.status == 409) checked = hubs.ask("POST", "/v1/fsck", {{"repair", true}});
    const auto found = checked.json();
    if (found.value("found", -1) != found.value("repaired", -2)) throw std::runtime_error("fsck: " + checked.body);
    await_inbox(hubs);
}

}
