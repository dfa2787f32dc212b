#include "api/api.h"
#include "api/openapi.h"
#include "api/problem.h"

namespace impresario::api {

using platform::HttpResponse;
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
