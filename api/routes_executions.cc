#include <algorithm>
#include <charconv>
#include <map>

#include "api/api.h"
#include "api/execution_json.h"
#include "api/execution_request.h"
#include "api/own_execution.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "journal/event_store.h"
#include "platform/callback_json.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "resource_manager/provider_store.h"

namespace impresario::api {

using domain::ExecutionId;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

namespace {

/// Reads by the catalogue in memory, and once more by the database's where a type is not in it: it may have been
/// registered at another node a moment ago.
template <class Reading>
Task<Intent> read_knowing_all_types(orchestrator::Node& node, Reading read) {
    auto catalogue = node.catalogue();
    Intent intent = read(*catalogue);
    if (!intent.unknown_type) co_return intent;
    co_await node.refresh_catalogue();
    if (node.catalogue() == catalogue) co_return intent;
    catalogue = node.catalogue();
    co_return read(*catalogue);
}

/// The Idempotency-Key header; a fault where it cannot be one.
struct KeyHeader {
    std::string key;
    bool wrong = false;
};
KeyHeader idempotency_key(const platform::HttpRequest& request) {
    KeyHeader header;
    header.key = std::string(request.header("idempotency-key"));
    if (header.key.size() > 255) header.wrong = true;
    for (const char c : header.key)
        if (c < 0x20 || c == 0x7f) header.wrong = true;
    for (const auto& [name, value] : request.headers)
        if (platform::header_is(name, "idempotency-key") && value.empty()) header.wrong = true;
    return header;
}

void write_created(JsonWriter& json, const domain::Execution& e) {
    json.field("execution_id", e.id.text())
        .field("workflow_type", e.lane.workflow_type)
        .field("status", name(e.status))
        .field("priority", e.priority);
    json.field("created_at", domain::rfc3339(e.created_at)).field("scheduled_at", domain::rfc3339(e.scheduled_at));
    if (e.batch) json.field("batch_id", e.batch->text());
}

}

namespace {
/// How soon it is worth asking again where nobody knows.
constexpr std::int64_t kUnknownWait = 30;

HttpResponse queue_full(const orchestrator::Hub::Joined& joined, domain::TimePoint now) {
    const auto& full = *joined.full;
    const std::string whose = joined.lane ? "the queue of " + joined.lane->workflow_type : "the queue of the hub";
    const std::string bound = std::to_string(full.limit);
    if (full.never)
        return problem(422, "batch-too-large",
                       "these are more than " + whose + " ever takes, " + bound + "; send them in smaller batches");
    auto wait = kUnknownWait;
    std::string estimate = "nothing has left it in the last minute, so nobody knows when there is room";
    std::string room_at = "null";
    if (full.room_in) {
        wait = std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(*full.room_in).count(), 1, 3600);
        const auto at = domain::rfc3339(now + *full.room_in);
        estimate = "as fast as it goes there is room at " + at;
        room_at = "\"" + at + "\"";
    }
    auto response =
        problem(429, "queue-full",
                std::to_string(full.waiting) + " wait in " + whose + ", of " + bound + " that it takes; " + estimate);
    response.body.pop_back();
    response.body +=
        ",\"waiting\":" + std::to_string(full.waiting) + ",\"limit\":" + bound + ",\"room_at\":" + room_at + "}";
    response.headers.emplace_back("retry-after", std::to_string(wait));
    return response;
}
}

Task<HttpResponse> Api::enqueue(Call call, std::vector<priority_queue::NewExecution> executions, bool batch,
                                domain::BatchId batch_id) {
    const auto key = idempotency_key(call.request);
    if (key.wrong)
        co_return problem(400, "invalid-idempotency-key", "Idempotency-Key must have 1 to 255 printable characters",
                          {{"Idempotency-Key", "must have 1 to 255 printable characters"}});
    // For those who ask what their type says nothing is read: their limits may be a second old.
    const auto says_itself = [](const auto& each) { return !each.execution.need_amounts.empty(); };
    auto providers = node_.providers();
    if (std::any_of(executions.begin(), executions.end(), says_itself)) {
        auto asked_providers = node_.database().read([](Tx& tx) { return resource_manager::ProviderStore().load(tx); });
        auto fresh = co_await std::move(asked_providers);
        providers = std::make_shared<const std::vector<resource_manager::Provider>>(std::move(fresh));
    }
    const auto faults = never_granted(executions, batch, *node_.catalogue(), *providers);
    if (!faults.empty()) co_return invalid(faults);
    take_limit_keys(executions, *node_.catalogue(), *node_.providers());
    const auto came_with =
        platform::parse_trace_context(call.request.header("traceparent"), call.request.header("tracestate"));
    const auto trace_context = came_with ? platform::stored(*came_with) : std::string();
    orchestrator::IntakeItem item;
    JsonWriter json;
    json.open();
    if (batch) {
        json.field("batch_id", batch_id.text()).field("count", executions.size());
        json.open("executions", '[');
    }
    for (auto& each : executions) {
        each.execution.id = node_.ids().make<ExecutionId>(each.execution.created_at);
        each.trace_context = trace_context;
        if (batch) json.open();
        write_created(json, each.execution);
        if (batch) json.close();
    }
    if (batch) json.close(']');
    json.close();
    item.executions = std::move(executions);
    item.answer = std::move(json).text();
    const auto joined = hub_.join_queue(item.executions);
    if (joined.full) {
        node_.probe().turned_away(item.executions.size());
        co_return queue_full(joined, node_.clock().now());
    }
    if (!key.key.empty()) {
        orchestrator::IdempotencyKey named;
        named.organization_id = call.caller.organization_id;
        named.owner = call.caller.key.text();
        named.route = batch ? "POST /v1/executions/batch" : "POST /v1/executions";
        // A replay's body does not say what is replayed.
        if (call.path.contains("id")) named.route += "/" + call.path["id"] + "/replay";
        named.key = key.key;
        named.body_sha256 = std::string(platform::view(platform::sha256(call.request.body)));
        item.key = std::move(named);
    }
    const auto reply = co_await node_.enqueue(std::move(item));
    if (reply.reused)
        co_return problem(422, "idempotency-key-reused", "this Idempotency-Key was used with another body",
                          {{"Idempotency-Key", "was used with another body"}});
    auto response = json_response(reply.status, reply.answer);
    if (!batch)
        if (const auto id = platform::json_member(response.body, "execution_id"))
            response.headers.emplace_back("location", "/v1/executions/" + platform::json_string(*id));
    if (reply.replayed) response.headers.emplace_back("idempotent-replayed", "true");
    co_return response;
}

Task<HttpResponse> Api::create_execution(Call call) {
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    auto reading =
        read_knowing_all_types(node_, [&call, now = node_.clock().now()](const subworkflows::Catalogue& catalogue) {
            return read_single(call.request.body, call.caller.organization_id, catalogue, now);
        });
    auto intent = co_await std::move(reading);
    if (!intent.faults.empty()) co_return invalid(intent.faults);
    auto asked_answer = enqueue(std::move(call), std::move(intent.executions), false, {});
    co_return co_await std::move(asked_answer);
}

Task<HttpResponse> Api::create_batch(Call call) {
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    const auto now = node_.clock().now();
    const auto fresh = node_.ids().make<domain::BatchId>(now);
    auto reading = read_knowing_all_types(
        node_, [&call, now, fresh, most = settings_.batch_most](const subworkflows::Catalogue& catalogue) {
            return read_batch(call.request.body, call.caller.organization_id, catalogue, now, fresh, most);
        });
    auto intent = co_await std::move(reading);
    if (!intent.faults.empty()) co_return invalid(intent.faults);
    co_return co_await enqueue(std::move(call), std::move(intent.executions), true, intent.batch);
}

namespace {
std::optional<ExecutionView> read_view(Tx& tx, const ExecutionId& id, const std::string& organization_id) {
    auto row = own_execution(tx, id, organization_id);
    if (!row) return std::nullopt;
    const priority_queue::QueueStore queue;
    ExecutionView view;
    view.execution = std::move(row->execution);
    view.payload = queue.payload(tx, id);
    auto results = queue.results(tx, {{id, view.execution.opening}});
    if (!results.empty()) view.result = std::move(results.front());
    for (auto& gate : orchestrator::GateStore().closed(tx))
        if (gate.lane == view.execution.lane) view.lane_gate = std::move(gate);
    return view;
}

std::vector<ExecutionView> list_views(Tx& tx, const priority_queue::ExecutionFilter& filter) {
    std::map<domain::Lane, orchestrator::RecordedGate> gates;
    for (auto& gate : orchestrator::GateStore().closed(tx)) gates.emplace(gate.lane, std::move(gate));
    std::vector<ExecutionView> views;
    for (auto& row : priority_queue::QueueStore().list(tx, filter)) {
        auto& view = views.emplace_back();
        view.execution = std::move(row.execution);
        if (const auto gate = gates.find(view.execution.lane); gate != gates.end()) view.lane_gate = gate->second;
    }
    return views;
}
}

Task<HttpResponse> Api::list_executions(Call call) {
    std::vector<FieldFault> faults;
    priority_queue::ExecutionFilter filter;
    filter.organization_id = call.caller.organization_id;
    const auto& request = call.request;
    if (const auto status = request.parameter("status"); status && !status->empty()) {
        filter.statuses = *status;
        std::string_view rest = *status;
        while (!rest.empty()) {
            const auto comma = rest.find(',');
            if (!domain::parse_status(rest.substr(0, comma)))
                faults.push_back({"status", "'" + std::string(rest.substr(0, comma)) + "' is not a status"});
            rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
        }
    }
    filter.workflow_type = request.parameter("workflow_type").value_or("");
    const auto id_parameter = [&]<class IdType>(std::string_view name, std::optional<IdType>& into) {
        const auto text = request.parameter(name);
        if (!text || text->empty()) return;
        into = IdType::parse(*text);
        if (!into) faults.push_back({std::string(name), "must be a UUID"});
    };
    id_parameter("batch_id", filter.batch);
    id_parameter("parent_execution_id", filter.parent);
    filter.created_after = time_parameter(request, "created_after", faults);
    filter.created_before = time_parameter(request, "created_before", faults);
    filter.most = page_limit(request, 50, 500, faults) + 1;
    if (const auto text = request.parameter("cursor"); text && !text->empty()) {
        const auto cursor = parse_cursor(*text);
        const auto id = cursor ? ExecutionId::parse(cursor->id) : std::nullopt;
        if (!id) {
            faults.push_back({"cursor", "is not a cursor of this list"});
        } else {
            filter.before_at = cursor->at;
            filter.before_id = id;
        }
    }
    if (!faults.empty()) co_return invalid(faults);
    auto asked_views = node_.database().read([filter](Tx& tx) { return list_views(tx, filter); });
    const auto views = co_await std::move(asked_views);
    JsonWriter json;
    json.open();
    json.open("executions", '[');
    const std::size_t shown = std::min(views.size(), static_cast<std::size_t>(filter.most - 1));
    for (std::size_t i = 0; i < shown; ++i) json.element(execution_json(views[i]));
    json.close(']');
    if (views.size() > shown) {
        const auto& last = views[shown - 1].execution;
        json.field("next_cursor", cursor_text({last.created_at, last.id.text()}));
    } else {
        json.raw("next_cursor", "null");
    }
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::get_execution(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    int wait = 0;
    if (const auto text = call.request.parameter("wait")) {
        const auto read = std::from_chars(text->data(), text->data() + text->size(), wait);
        if (read.ec != std::errc{} || wait < 0 || wait > 60)
            co_return invalid({{"wait", "must be from 0 to 60 seconds"}});
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{wait};
    for (;;) {
        const auto organization = call.caller.organization_id;
        auto asked_view = node_.database().transact(
            [wanted = *id, organization](Tx& tx) { return read_view(tx, wanted, organization); });
        const auto view = co_await std::move(asked_view);
        if (!view) co_return no_such_execution();
        const auto now = std::chrono::steady_clock::now();
        // ?wait=: answered at the end, or when the time is over, whichever comes first.
        if (terminal(view->execution.status) || now >= until || draining_)
            co_return json_response(200, execution_json(*view));
        co_await node_.await_end(*id,
                                 std::min<std::chrono::steady_clock::duration>(until - now, std::chrono::seconds{1}));
    }
}

Task<HttpResponse> Api::change_execution(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    BodyReader body(call.request.body);
    orchestrator::Reprioritise change;
    change.priority = body.priority("priority");
    change.scheduled_at = body.time("scheduled_at");
    change.by = call.caller.name;
    body.nothing_else();
    if (body.faults().empty() && !change.priority && !change.scheduled_at)
        body.wrong("priority", "or scheduled_at must be given");
    if (!body.faults().empty()) co_return invalid(body.faults());
    const auto reply = co_await node_.submit(*id, std::move(change), call.caller.organization_id);
    co_return respond(reply);
}

Task<HttpResponse> Api::cancel_execution(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    auto said = read_by_hand(call.request.body, 200);
    if (said.refused) co_return *std::move(said.refused);
    orchestrator::Cancel cancel{call.caller.name, std::move(said.reason)};
    const auto reply = co_await node_.submit(*id, std::move(cancel), call.caller.organization_id);
    co_return respond(reply);
}

Task<HttpResponse> Api::retry_execution(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    orchestrator::Reopen reopen;
    reopen.by = call.caller.name;
    if (!call.request.body.empty()) {
        if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
        BodyReader body(call.request.body);
        if (const auto input = body.raw("input")) reopen.input = std::string(*input);
        body.nothing_else();
        if (!body.faults().empty()) co_return invalid(body.faults());
    }
    const auto reply = co_await node_.submit(*id, std::move(reopen), call.caller.organization_id);
    co_return respond(reply);
}

/// A new execution with the type, input, context and priority of this one, whatever became of it.
Task<HttpResponse> Api::replay_execution(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    auto asked_view = node_.database().transact([wanted = *id, organization = call.caller.organization_id](Tx& tx) {
        return read_view(tx, wanted, organization);
    });
    auto view = co_await std::move(asked_view);
    if (!view) co_return no_such_execution();
    const auto& before = view->execution;
    priority_queue::NewExecution made;
    auto& e = made.execution;
    e.priority = before.priority;
    if (!call.request.body.empty()) {
        if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
        BodyReader body(call.request.body);
        e.priority = body.priority("priority").value_or(e.priority);
        body.nothing_else();
        if (!body.faults().empty()) co_return invalid(body.faults());
    }
    e.lane = before.lane;
    const auto catalogue = node_.catalogue();
    const auto* type = catalogue->find(e.lane);
    if (!type)
        co_return problem(409, "no-such-type",
                          "the workflow type " + e.lane.workflow_type + " is not registered any more");
    e.created_at = e.scheduled_at = node_.clock().now();
    e.ready = true;
    e.ready_at = e.created_at;
    e.max_retries = before.max_retries;
    e.concurrency_key = before.concurrency_key;
    e.size_class = before.size_class;
    e.parent = before.id;
    e.last_seq = 1;
    if (view->payload) {
        made.input = std::move(view->payload->input);
        made.context = std::move(view->payload->context);
    }
    // By what the type says today.
    const auto amounts = subworkflows::need_amounts(type->from_input, made.input);
    if (!amounts) co_return invalid({{"/input" + amounts.error().pointer, amounts.error().what}});
    e.need_amounts = domain::need_amounts_text(*amounts);
    std::vector<priority_queue::NewExecution> one;
    one.push_back(std::move(made));
    auto asked_answer = enqueue(std::move(call), std::move(one), false, {});
    co_return co_await std::move(asked_answer);
}

Task<HttpResponse> Api::accept_late(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    struct Evidence {
        domain::AttemptId attempt;
        std::string sha256;
        std::string body;
    };
    // The newest completed result among those that came too late.
    auto asked_evidence = node_.database().read([wanted = *id](Tx& tx) {
        std::optional<Evidence> found;
        const auto rows = webhooks::AttemptStore().list_refused(tx, wanted);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            platform::RowReader row(rows, i);
            Evidence each;
            each.attempt = row.id<domain::AttemptId>();
            row.skip();
            row.skip();
            const bool completed = row.view() == "completed";
            row.skip();
            each.sha256 = row.bytes();
            each.body = row.text();
            if (completed) found = std::move(each);
        }
        return found;
    });
    const auto evidence = co_await std::move(asked_evidence);
    if (!evidence)
        co_return problem(409, "no-late-result", "no completed result has come in too late for this execution");
    auto callback = platform::parse_callback(evidence->body);
    if (!callback) co_return problem(409, "no-late-result", "the late result cannot be read any more");
    orchestrator::AcceptLate late;
    late.attempt = evidence->attempt;
    late.callback = *std::move(callback);
    late.sha256 = evidence->sha256;
    late.by = call.caller.name;
    const auto reply = co_await node_.submit(*id, std::move(late), call.caller.organization_id);
    co_return respond(reply);
}

Task<HttpResponse> Api::execution_events(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    if (wants_stream(call.request)) {
        auto looking = node_.database().read([wanted = *id, organization = call.caller.organization_id](Tx& tx) {
            return of_execution(tx, wanted, organization, [](Tx&) { return true; });
        });
        const auto there = co_await std::move(looking);
        if (!there) co_return no_such_execution();
        EventFilter filter;
        filter.execution = *id;
        co_return co_await open_stream(std::move(call), std::move(filter));
    }
    std::vector<FieldFault> faults;
    const int limit = page_limit(call.request, 200, 1000, faults);
    const int after = after_seq(call.request, faults);
    if (!faults.empty()) co_return invalid(faults);
    auto asked_events =
        node_.database().transact([wanted = *id, organization = call.caller.organization_id, after, limit](Tx& tx) {
            return of_execution(tx, wanted, organization,
                                [&](Tx& t) { return journal::EventStore().stream(t, wanted.value, after, limit); });
        });
    const auto events = co_await std::move(asked_events);
    if (!events) co_return no_such_execution();
    JsonWriter json;
    json.open();
    json.open("events", '[');
    for (const auto& event : *events) {
        json.open();
        json.field("seq", event.seq)
            .field("type", event.type)
            .field("at", domain::rfc3339(event.at))
            .raw("payload", event.payload);
        json.close();
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::execution_attempts(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    auto asked_text = node_.database().transact([wanted = *id, organization = call.caller.organization_id](Tx& tx) {
        return of_execution(tx, wanted, organization, [&](Tx& t) {
            const webhooks::AttemptStore store;
            JsonWriter json;
            json.open();
            json.open("attempts", '[');
            const auto rows = store.list_attempts(t, wanted);
            for (std::size_t i = 0; i < rows.size(); ++i) {
                platform::RowReader row(rows, i);
                json.open();
                json.field("number", row.small())
                    .field("attempt_id", row.text())
                    .field("opening", row.small())
                    .field("node", row.text())
                    .field("endpoint_id", row.text())
                    .field("deliveries", row.small());
                for (const char* key : {"granted_at", "accepted_at", "closed_at"}) json.field(key, row.maybe_time());
                json.field("state", "closed").field("outcome", row.text()).field("detail", row.text());
                const auto cost = row.maybe_integer();
                json.raw("cost_usd", cost ? "\"" + domain::decimal(domain::MicroUsd{*cost}) + "\"" : "null");
                json.close();
            }
            const auto current = priority_queue::QueueStore().read(t, {wanted});
            if (!current.empty() && current.front().execution.attempt) {
                const auto& attempt = *current.front().execution.attempt;
                json.open();
                json.field("number", attempt.number)
                    .field("attempt_id", attempt.id.text())
                    .field("opening", current.front().execution.opening);
                json.field("node", attempt.node.text())
                    .field("endpoint_id", attempt.endpoint.text())
                    .field("deliveries", attempt.deliveries);
                json.field("granted_at", domain::rfc3339(attempt.granted_at));
                json.field("accepted_at", attempt.accepted_at);
                json.raw("closed_at", "null")
                    .field("state", name(attempt.state))
                    .raw("outcome", "null")
                    .raw("detail", "null")
                    .raw("cost_usd", attempt.cost ? "\"" + domain::decimal(*attempt.cost) + "\"" : "null");
                json.close();
            }
            json.close(']');
            json.open("refused_callbacks", '[');
            const auto refused = store.list_refused(t, wanted);
            for (std::size_t i = 0; i < refused.size(); ++i) {
                platform::RowReader row(refused, i);
                json.open();
                json.field("attempt_id", row.text())
                    .field("received_at", domain::rfc3339(row.time()))
                    .field("times", row.small())
                    .field("status", row.text())
                    .field("problem", row.text())
                    .field("sha256", platform::hex(row.bytes()));
                json.close();
            }
            json.close(']');
            json.close();
            return std::move(json).text();
        });
    });
    const auto text = co_await std::move(asked_text);
    if (!text) co_return no_such_execution();
    co_return json_response(200, *text);
}

Task<HttpResponse> Api::execution_deliveries(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    auto asked_text = node_.database().transact([wanted = *id, organization = call.caller.organization_id](Tx& tx) {
        return of_execution(tx, wanted, organization, [&](Tx& t) {
            JsonWriter json;
            json.open();
            json.open("deliveries", '[');
            const auto rows = webhooks::AttemptStore().list_deliveries(t, wanted);
            for (std::size_t i = 0; i < rows.size(); ++i) {
                platform::RowReader row(rows, i);
                json.open();
                json.field("attempt_id", row.text())
                    .field("number", row.small())
                    .field("at", domain::rfc3339(row.time()));
                json.field("duration_ms", static_cast<double>(row.integer()) / 1000.0)
                    .field("url", row.text())
                    .field("address", row.text());
                json.field("status", row.maybe_integer())
                    .field("outcome", row.text())
                    .field("error", row.text())
                    .field("answer", row.text());
                json.close();
            }
            json.close(']');
            json.close();
            return std::move(json).text();
        });
    });
    const auto text = co_await std::move(asked_text);
    if (!text) co_return no_such_execution();
    co_return json_response(200, *text);
}

}
