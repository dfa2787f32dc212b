#include "api/api.h"
#include "api/openapi.h"
#include "api/problem.h"
#include "orchestrator/health_look.h"
#include "platform/json_writer.h"
#include "platform/own_process.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;

namespace {
HttpResponse plain(int status, std::string body) {
    HttpResponse response;
    response.status = status;
    response.headers.emplace_back("content-type", "text/plain; charset=utf-8");
    response.body = std::move(body);
    return response;
}
}

/// The process lives; never touches the database.
Task<HttpResponse> Api::livez(Call) { co_return plain(200, "ok\n"); }

/// Work may be sent here: asks the database, within two seconds.
Task<HttpResponse> Api::readyz(Call) {
    if (draining_) co_return problem(503, "draining", "this node is stopping");
    if (!not_ready_.empty()) co_return problem(503, "not-ready", not_ready_);
    auto asking = node_.database().read([](platform::Tx& tx) {
        tx.run("select 1");
        return true;
    });
    co_await std::move(asking);
    co_return plain(200, "ok\n");
}

/// How the hub is, as far as the caller may see it, whoever leads: 200 with what is wrong, also without a database.
Task<HttpResponse> Api::health(Call call) {
    auto looking =
        orchestrator::look_at_health(node_, call.caller.scope(), hub_.settings().quiet, hub_.settings().health);
    const auto [view, health] = co_await std::move(looking);
    JsonWriter json;
    json.open();
    json.field("status", health.healthy() ? "healthy" : "degraded")
        .texts("degraded_because", health.because())
        .field("at", node_.clock().now());
    json.open("checks", '[');
    for (const auto& check : health.checks) {
        json.open();
        json.field("name", check.name).field("healthy", check.healthy).field_or_null("because", check.because);
        json.close();
    }
    json.close(']');
    json.open("metrics", '{');
    json.field("active_executions", view.active)
        .field("queue_depth", view.waiting)
        .field("uptime_seconds", platform::uptime_seconds(node_.clock().now()));
    json.close();
    json.field("node", node_.id().text());
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::metrics(Call call) {
    // From this machine without a key; from elsewhere with one.
    const auto& remote = call.request.remote_address;
    const bool local = remote == "127.0.0.1" || remote == "::1";
    if (!local && (!keys_ || !keys_->find(call.request.bearer())))
        co_return problem(401, "unauthorized", "metrics need an API key from other machines");
    node_.probe().show(hub_.board(), hub_.state(), *node_.catalogue(), node_.clock().now(), hub_.leads(), draining_);
    node_.probe().show_waiting(node_.clients_waiting());
    node_.probe().show_streams(streams_.open(), std::chrono::duration_cast<domain::Duration>(streams_.held_up()));
    auto& database = node_.database();
    node_.probe().show_batch(hub_.batch_limit());
    node_.probe().show_database(database.busy(), database.waiting(), database.connections(), database.reachable());
    HttpResponse response = plain(200, metrics_.text());
    response.headers.front().second = "text/plain; version=0.0.4; charset=utf-8";
    co_return response;
}

Task<HttpResponse> Api::openapi(Call) { co_return json_response(200, openapi_json()); }

}
