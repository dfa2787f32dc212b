// The subcommands that are clients of a hub: one function each, tables for people, JSON for programs.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/terminal.h"
#include "domain/time.h"
#include "platform/json_text.h"
#include "platform/url.h"

namespace impresario::cli {

using Json = nlohmann::json;

void print(const Json& json) { std::printf("%s\n", json.dump(2).c_str()); }

std::string cell(const Json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return "";
    if (found->is_string()) return found->get<std::string>();
    return found->dump();
}

std::string clock_of(const std::string& time) {
    return time.size() >= 19 ? time.substr(0, 10) + " " + time.substr(11, 8) : time;
}

Action guarded(std::function<int()> body) {
    return [body] {
        try {
            return body();
        } catch (const Refusal& refusal) {
            std::fprintf(stderr, "impresario: %s\n", refusal.text.c_str());
            return refusal.code;
        } catch (const Json::exception&) {
            std::fprintf(stderr, "impresario: the answer is not one of a hub; is the address right?\n");
            return static_cast<int>(Exit::failed);
        }
    };
}

CLI::App* add_client_command(CLI::App& group, Action& chosen, ClientOptions& client, const char* name,
                             const char* about, std::function<int()> body) {
    auto* made = group.add_subcommand(name, about);
    client.add_to(made);
    made->callback([&chosen, guarded = guarded(std::move(body))] { chosen = guarded; });
    return made;
}

void takes_definition(CLI::App* command, std::string& definition) {
    command->add_option("definition", definition, "JSON, @file, or - for standard input")->required();
}

void show_warnings(const Json& answer) {
    const auto found = answer.find("warnings");
    if (found == answer.end() || !found->is_array()) return;
    for (const auto& each : *found)
        std::fprintf(stderr, "impresario: warning: %s %s\n", cell(each, "pointer").c_str(),
                     cell(each, "detail").c_str());
}

int put_definition(const ClientOptions& client, const std::string& path, const std::string& definition) {
    const auto answer = nlohmann::json::parse(Client(client).ask_text("PUT", path, json_argument(definition)));
    print(answer);
    show_warnings(answer);
    return Exit::ok;
}

namespace {

std::string read_all(const std::string& where) {
    if (where == "-") return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
    std::ifstream file(where);
    if (!file) throw Refusal{Exit::usage, "the file " + where + " cannot be read"};
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string waiting_text(const Json& execution) {
    const auto gate = execution.find("waiting_for");
    if (gate == execution.end() || !gate->is_object()) return cell(execution, "reason");
    return cell(*gate, "kind") + ": " + cell(*gate, "detail");
}

}

int end_code(const std::string& status) {
    if (status == "completed") return Exit::ok;
    if (status == "failed" || status == "dead" || status == "cancelled") return Exit::ended_badly;
    return Exit::failed;
}

std::string json_argument(const std::string& given) {
    std::string text = given == "-" ? read_all("-") : given.starts_with('@') ? read_all(given.substr(1)) : given;
    if (const auto checked = platform::check_json(text);
        !checked && checked.error().kind != platform::JsonFault::Kind::unstorable) {
        const auto& fault = checked.error();
        throw Refusal{Exit::usage, "the input is not JSON: " + (fault.pointer.empty() ? "" : fault.pointer + " ") +
                                       fault.what + " (at byte " + std::to_string(fault.offset) +
                                       "); give JSON, @file or -"};
    }
    return text;
}

namespace {

void print_executions(const Json& list) {
    Table table({"execution", "type", "status", "prio", "created", "tries", "why"});
    for (const auto& e : list)
        table.add({cell(e, "execution_id"), cell(e, "workflow_type"), cell(e, "status"), cell(e, "priority"),
                   clock_of(cell(e, "created_at")), cell(e, "retry_count"), waiting_text(e)});
    table.print(2);
}

// ---- enqueue --------------------------------------------------------------------------------------------------------

struct EnqueueOptions {
    ClientOptions client;
    std::string type;
    std::string input;
    std::string priority;
    std::string at;
    std::string file;
    std::string key;
    int wait = -1;
};

/// Spliced as text, so that numbers keep their digits.
std::string enqueue_body(const EnqueueOptions& o, const std::string& input) {
    std::string body = "{\"workflow_type\":" + Json(o.type).dump();
    if (!input.empty()) body += ",\"input\":" + input;
    if (!o.priority.empty()) {
        const bool number = o.priority.find_first_not_of("0123456789") == std::string::npos;
        body += ",\"priority\":" + (number ? o.priority : Json(o.priority).dump());
    }
    if (!o.at.empty()) body += ",\"scheduled_at\":" + Json(o.at).dump();
    return body + "}";
}

/// Waits for the end of an execution, at most until then; its last view.
Json await_end(const Client& client, const std::string& id, std::chrono::steady_clock::time_point until) {
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::seconds>(until - std::chrono::steady_clock::now()).count();
        auto execution = client.ask(
            "GET", "/v1/executions/" + id + "?wait=" + std::to_string(std::clamp<std::int64_t>(left, 0, 60)));
        if (end_code(cell(execution, "status")) != Exit::failed || left <= 0) return execution;
    }
}

/// An array of inputs, one execution each, all under one batch id.
int enqueue_batch(const EnqueueOptions& o, const Client& client,
                  std::vector<std::pair<std::string, std::string>> headers) {
    const auto text = read_all(o.file);
    if (!platform::check_json(text) || platform::json_type(text) != platform::JsonType::array)
        throw Refusal{Exit::usage, "--batch needs a JSON array of inputs"};
    const auto inputs = platform::json_elements(text);
    if (inputs.empty()) throw Refusal{Exit::usage, "--batch needs at least one input; " + o.file + " holds none"};
    std::string batch;
    Json executions = Json::array();
    for (std::size_t from = 0; from < inputs.size(); from += 1000) {
        // The hub names the batch with its first part.
        std::string body = batch.empty() ? "{" : "{\"batch_id\":" + Json(batch).dump() + ",";
        body += "\"executions\":[";
        for (std::size_t i = from; i < std::min(inputs.size(), from + 1000); ++i)
            body += (i == from ? "" : ",") + enqueue_body(o, std::string(inputs[i]));
        auto part = headers;
        if (!o.key.empty() && from > 0) part.back().second += "-" + std::to_string(from);
        Json answer;
        try {
            answer = Json::parse(client.ask_text("POST", "/v1/executions/batch", body + "]}", part));
        } catch (Refusal& refusal) {
            if (from > 0)
                refusal.text = std::to_string(from) + " of " + std::to_string(inputs.size()) +
                               " were enqueued (batch " + batch + "), then: " + refusal.text;
            throw;
        }
        batch = answer["batch_id"];
        for (auto& each : answer["executions"]) executions.push_back(std::move(each));
        if (on_terminal()) std::fprintf(stderr, "\renqueued %zu of %zu", executions.size(), inputs.size());
    }
    if (on_terminal()) std::fprintf(stderr, "\n");

    int code = Exit::ok;
    std::map<std::string, int> ends;
    if (o.wait >= 0) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{o.wait};
        for (auto& each : executions) {
            each = await_end(client, each["execution_id"], until);
            const auto status = cell(each, "status");
            ++ends[status];
            // Not having ended in time is worse than having ended badly.
            const int end = end_code(status);
            if (end == Exit::failed || (end != Exit::ok && code == Exit::ok)) code = end;
        }
    }
    if (o.client.wants_json()) {
        print(Json{{"batch_id", batch}, {"count", executions.size()}, {"executions", std::move(executions)}});
        return code;
    }
    std::printf("batch %s: %zu enqueued\n", batch.c_str(), executions.size());
    for (const auto& [status, count] : ends) std::printf("%6d %s\n", count, status.c_str());
    return code;
}

int enqueue(const EnqueueOptions& o) {
    const Client client(o.client);
    std::vector<std::pair<std::string, std::string>> headers;
    if (!o.key.empty()) headers.emplace_back("idempotency-key", o.key);
    if (!o.file.empty()) return enqueue_batch(o, client, std::move(headers));
    const auto input = o.input.empty() ? std::string() : json_argument(o.input);
    auto execution = Json::parse(client.ask_text("POST", "/v1/executions", enqueue_body(o, input), headers));
    const std::string id = execution["execution_id"];
    if (o.wait < 0) {
        if (o.client.wants_json()) {
            print(execution);
        } else {
            std::printf("%s\n", id.c_str());
        }
        return Exit::ok;
    }
    execution = await_end(client, id, std::chrono::steady_clock::now() + std::chrono::seconds{o.wait});
    if (o.client.wants_json()) {
        print(execution);
    } else {
        print_executions(Json::array({execution}));
        if (!execution["result_data"].is_null()) std::printf("%s\n", execution["result_data"].dump(2).c_str());
    }
    return end_code(cell(execution, "status"));
}

// ---- list, show -----------------------------------------------------------------------------------------------------

struct ListOptions {
    ClientOptions client;
    std::string status;
    std::string type;
    std::string batch;
    int limit = 50;
};

int list(const ListOptions& o) {
    const Client client(o.client);
    Json all = Json::array();
    std::string cursor;
    do {
        std::string path = "/v1/executions?limit=" +
                           std::to_string(std::min<std::size_t>(500, static_cast<std::size_t>(o.limit) - all.size()));
        if (!o.status.empty()) path += "&status=" + platform::percent_encode(o.status);
        if (!o.type.empty()) path += "&workflow_type=" + platform::percent_encode(o.type);
        if (!o.batch.empty()) path += "&batch_id=" + platform::percent_encode(o.batch);
        if (!cursor.empty()) path += "&cursor=" + cursor;
        const auto page = client.ask("GET", path);
        for (const auto& each : page["executions"]) all.push_back(each);
        cursor = cell(page, "next_cursor");
    } while (!cursor.empty() && static_cast<int>(all.size()) < o.limit);
    if (o.client.wants_json()) {
        print(all);
    } else {
        print_executions(all);
    }
    return Exit::ok;
}

struct ShowOptions {
    ClientOptions client;
    std::string id;
};

int show(const ShowOptions& o) {
    const Client client(o.client);
    const std::string path = "/v1/executions/" + platform::percent_encode(o.id);
    auto execution = client.ask("GET", path);
    const auto events = client.ask("GET", path + "/events?limit=1000")["events"];
    const auto deliveries = client.ask("GET", path + "/deliveries")["deliveries"];
    if (o.client.wants_json()) {
        execution["events"] = events;
        execution["deliveries"] = deliveries;
        execution["attempts_list"] = client.ask("GET", path + "/attempts")["attempts"];
        print(execution);
        return Exit::ok;
    }
    const auto line = [](const char* name, const std::string& value) {
        if (!value.empty()) std::printf("%-14s%s\n", name, value.c_str());
    };
    line("execution", cell(execution, "execution_id"));
    line("type", cell(execution, "workflow_type"));
    std::printf("%-14s%s\n", "status",
                painted(cell(execution, "status"), colour_of_status(cell(execution, "status"))).c_str());
    line("reason", cell(execution, "reason"));
    if (execution.contains("waiting_for") && execution["waiting_for"].is_object())
        line("waiting for", waiting_text(execution));
    line("priority", cell(execution, "priority"));
    line("created", clock_of(cell(execution, "created_at")));
    line("started", clock_of(cell(execution, "started_at")));
    line("completed", clock_of(cell(execution, "completed_at")));
    line("deadline", clock_of(cell(execution, "timeout_at")));
    line("tries",
         cell(execution, "retry_count") + " failed of " + std::to_string(execution["max_retries"].get<int>() + 1));
    line("took",
         cell(execution["metrics"], "duration_ms").empty() ? "" : cell(execution["metrics"], "duration_ms") + " ms");
    line("cost", cell(execution["metrics"], "cost_usd").empty() ? "" : cell(execution["metrics"], "cost_usd") + " USD");
    line("items", cell(execution["metrics"], "items_processed"));
    line("progress", cell(execution, "progress"));
    for (const char* part : {"input", "result_data", "error_data", "items"}) {
        if (!execution.contains(part) || execution[part].is_null()) continue;
        std::string text = execution[part].dump();
        if (text.size() > 400) text = text.substr(0, 400) + " … (--json shows all)";
        line(part, text);
    }
    std::printf("\n");
    Table table({"seq", "at", "event", "what"});
    for (const auto& event : events)
        table.add({cell(event, "seq"), clock_of(cell(event, "at")), cell(event, "type"), event["payload"].dump()});
    table.print();
    if (!deliveries.empty()) {
        std::printf("\n");
        Table sent({"delivery", "at", "to", "status", "outcome", "ms", "error"});
        for (const auto& each : deliveries)
            sent.add({cell(each, "number"), clock_of(cell(each, "at")), cell(each, "url"), cell(each, "status"),
                      cell(each, "outcome"), cell(each, "duration_ms"), cell(each, "error")});
        sent.print();
    }
    return Exit::ok;
}

// ---- cancel, retry --------------------------------------------------------------------------------------------------

struct ManyOptions {
    ClientOptions client;
    std::vector<std::string> ids;
    std::string reason;
    std::string input;
};

/// Asks for each id, tells how it went, and remembers the worst.
int for_each_id(const ManyOptions& o, const std::string& verb, const std::string& body) {
    const Client client(o.client);
    int code = Exit::ok;
    Json answers = Json::array();
    for (const auto& id : o.ids) {
        try {
            answers.push_back(Json::parse(
                client.ask_text("POST", "/v1/executions/" + platform::percent_encode(id) + "/" + verb, body)));
            if (o.client.wants_json()) continue;
            // What is made anew has an id of its own.
            const auto made = cell(answers.back(), "execution_id");
            std::printf("%s  %s%s\n", id.c_str(), cell(answers.back(), "status").c_str(),
                        made.empty() || made == id ? "" : (" as " + made).c_str());
        } catch (const Refusal& refusal) {
            std::fprintf(stderr, "impresario: %s: %s\n", id.c_str(), refusal.text.c_str());
            code = refusal.code;
        }
    }
    if (o.client.wants_json()) print(answers);
    return code;
}

// ---- pause, resume, state, queue ------------------------------------------------------------------------------------

struct LaneOptions {
    ClientOptions client;
    std::string type;
    std::string reason;
    std::string until;
    std::string provider;
    std::string until_budget;
    std::string until_condition;
    int limit = 20;
    bool watch = false;
};

int pause(const LaneOptions& o, bool pausing) {
    const Client client(o.client);
    Json body = Json::object();
    if (!o.type.empty()) body["workflow_type"] = o.type;
    if (pausing && !o.reason.empty()) body["reason"] = o.reason;
    if (pausing && !o.until.empty()) body["until"] = o.until;
    if (!o.provider.empty()) body["provider"] = o.provider;
    if (!o.until_budget.empty()) body["until_budget"] = o.until_budget;
    if (!o.until_condition.empty()) body["until_condition"] = o.until_condition;
    const auto answer = client.ask("POST", pausing ? "/v1/pause" : "/v1/resume", body);
    if (o.client.wants_json()) {
        print(answer);
    } else {
        const std::string what = !o.provider.empty() ? o.provider : o.type.empty() ? "everything" : o.type;
        std::printf("%s is %s\n", what.c_str(),
                    pausing                             ? "paused"
                    : answer.value("was_paused", false) ? "going on"
                                                        : "going on (it was not paused)");
    }
    return Exit::ok;
}

void print_state(const Json& state) {
    std::printf("%s since %s: %s\n", painted(cell(state, "current_state"), Colour::bold).c_str(),
                clock_of(cell(state, "since")).c_str(), cell(state, "why").c_str());
    const auto& today = state["today"];
    std::printf("waiting %s, running %zu; today %s completed, %s failed, %s dead, %s USD\n\n",
                cell(state, "queue_depth").c_str(), state["active_executions"].size(), cell(today, "completed").c_str(),
                cell(today, "failed").c_str(), cell(today, "dead").c_str(), cell(today, "spent_usd").c_str());
    Table lanes({"lane", "ready", "not due", "gated", "running", "last start", "next", "stopped by"});
    for (const auto& lane : state["lanes"])
        lanes.add({cell(lane, "workflow_type"), cell(lane, "ready"), cell(lane, "not_due"), cell(lane, "gated"),
                   cell(lane, "running"), clock_of(cell(lane, "last_started_at")),
                   clock_of(cell(lane, "next_start_at")),
                   lane["gate"].is_object() ? cell(lane["gate"], "kind") + ": " + cell(lane["gate"], "detail") : ""});
    if (!lanes.empty()) lanes.print();
}

int state(const LaneOptions& o) {
    const Client client(o.client);
    for (;;) {
        const auto now = client.ask("GET", "/v1/state");
        if (o.client.wants_json()) {
            print(now);
        } else {
            if (o.watch) std::printf("\033[H\033[2J");
            print_state(now);
        }
        if (!o.watch) return Exit::ok;
        std::fflush(stdout);
        std::this_thread::sleep_for(std::chrono::seconds{1});
    }
}

int queue(const LaneOptions& o) {
    const Client client(o.client);
    std::string path = "/v1/queue?limit=" + std::to_string(o.limit);
    if (!o.type.empty()) path += "&workflow_type=" + platform::percent_encode(o.type);
    const auto answer = client.ask("GET", path);
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"place", "execution", "type", "score", "= priority", "+ age", "+ waiting", "lane stopped by"});
    const auto number = [](const Json& value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.1f", value.get<double>());
        return std::string(text);
    };
    for (const auto& each : answer["next"])
        table.add(
            {cell(each, "place"), cell(each, "execution_id"), cell(each, "workflow_type"),
             number(each["score"]["total"]) + (each.value("beyond_max_wait", false) ? " (waited too long: first)" : ""),
             number(each["score"]["priority"]), number(each["score"]["age"]), number(each["score"]["starvation"]),
             cell(each, "lane_gate")});
    table.print();
    return Exit::ok;
}

int nodes(const LaneOptions& o) {
    const Client client(o.client);
    const auto answer = client.ask("GET", "/v1/nodes");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"node", "name", "state", "scheduler", "since", "heartbeat"});
    for (const auto& node : answer["nodes"])
        table.add({cell(node, "node"), cell(node, "name"), cell(node, "state"),
                   node.value("scheduler", false) ? "yes" : "", clock_of(cell(node, "started_at")),
                   clock_of(cell(node, "heartbeat_at"))});
    table.print();
    return Exit::ok;
}

// ---- dead letters ---------------------------------------------------------------------------------------------------

struct DeadLetterOptions {
    ClientOptions client;
    std::string id;
    std::string type;
    std::string reason;
    std::string fingerprint;
    std::string since;
    std::string input;
    bool resolved = false;
    int limit = 50;
};

int list_dead_letters(const DeadLetterOptions& o) {
    const Client client(o.client);
    std::string path = "/v1/dead-letters?limit=" + std::to_string(o.limit) + (o.resolved ? "&resolved=true" : "");
    for (const auto& [name, value] : {std::pair<const char*, const std::string&>{"workflow_type", o.type},
                                      {"reason", o.reason},
                                      {"fingerprint", o.fingerprint},
                                      {"since", o.since}})
        if (!value.empty()) path += std::string("&") + name + "=" + platform::percent_encode(value);
    const auto answer = client.ask("GET", path);
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"execution", "type", "at", "reason", "kind of error", "error"});
    for (const auto& each : answer["dead_letters"])
        table.add({cell(each, "execution_id"), cell(each, "workflow_type"), clock_of(cell(each, "at")),
                   cell(each, "reason"), cell(each, "fingerprint"), cell(each, "error")});
    table.print();
    return Exit::ok;
}

int retry_dead_letters(const DeadLetterOptions& o) {
    const Client client(o.client);
    Json answer;
    if (!o.id.empty()) {
        const std::string body = o.input.empty() ? "" : "{\"input\":" + json_argument(o.input) + "}";
        answer =
            Json::parse(client.ask_text("POST", "/v1/dead-letters/" + platform::percent_encode(o.id) + "/retry", body));
    } else {
        Json filter = Json::object();
        if (!o.type.empty()) filter["workflow_type"] = o.type;
        if (!o.reason.empty()) filter["reason"] = o.reason;
        if (!o.fingerprint.empty()) filter["fingerprint"] = o.fingerprint;
        if (!o.since.empty()) filter["since"] = o.since;
        answer = client.ask("POST", "/v1/dead-letters/retry", filter);
    }
    if (o.client.wants_json()) {
        print(answer);
    } else if (o.id.empty()) {
        std::printf("%s retried%s\n", cell(answer, "retried").c_str(),
                    answer.value("more", false) ? ", there are more: run it again" : "");
    } else {
        std::printf("%s  %s\n", o.id.c_str(), cell(answer, "status").c_str());
    }
    return Exit::ok;
}

// ---- types ----------------------------------------------------------------------------------------------------------

struct TypeOptions {
    ClientOptions client;
    std::string name;
    std::string definition;
};

/// Of an endpoint: what keeps it from being asked, and why.
struct Health {
    std::string state = "closed";
    std::string until;
    std::string why;
};

Health health_of(const Json& endpoint) {
    const Json& breaker = endpoint["breaker"];
    Health health;
    health.why = cell(breaker, "detail");
    if (!cell(breaker, "by").empty())
        health.why = "by " + cell(breaker, "by") + (health.why.empty() ? "" : ": " + health.why);
    if (const auto state = cell(breaker, "state"); state != "closed") {
        health.state = "breaker " + (state == "half_open" ? "half open" : state);
        health.until = cell(breaker, "until");
    } else if (!cell(endpoint, "held_until").empty()) {
        health = {"held", cell(endpoint, "held_until"), cell(endpoint, "held_detail")};
    }
    return health;
}

int list_types(const TypeOptions& o) {
    const Client client(o.client);
    const auto answer = client.ask("GET", "/v1/workflow-types");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"type", "enabled", "importance", "at once", "timeout", "retries", "endpoints"});
    for (const auto& type : answer["workflow_types"]) {
        std::string endpoints;
        for (const auto& endpoint : type["endpoints"]) {
            endpoints += (endpoints.empty() ? "" : ", ") + cell(endpoint, "url");
            const auto health = health_of(endpoint);
            if (health.state != "closed") endpoints += " (" + health.state + ": " + health.why + ")";
        }
        table.add({cell(type, "name"), type.value("enabled", true) ? "yes" : "no", cell(type, "importance"),
                   cell(type, "max_concurrency").empty() ? "any" : cell(type, "max_concurrency"),
                   cell(type, "timeout_seconds") + " s",
                   cell(type["retry_policy"], "max_retries") + " (" + cell(type["retry_policy"], "name") + ")",
                   endpoints.empty() ? "none" : endpoints});
    }
    table.print();
    return Exit::ok;
}

// ---- endpoints ------------------------------------------------------------------------------------------------------

struct EndpointOptions {
    ClientOptions client;
    std::string type;
    std::string endpoint;
    std::string reason;
    std::string until;
};

int list_endpoints(const EndpointOptions& o) {
    const Client client(o.client);
    Json types = Json::array();
    if (o.type.empty()) {
        types = client.ask("GET", "/v1/workflow-types")["workflow_types"];
    } else {
        types.push_back(client.ask("GET", "/v1/workflow-types/" + platform::percent_encode(o.type)));
    }
    Json shown = Json::array();
    Table table({"type", "endpoint", "url", "state", "until", "why"});
    for (const auto& type : types)
        for (Json endpoint : type["endpoints"]) {
            const auto health = health_of(endpoint);
            table.add({cell(type, "name"), cell(endpoint, "endpoint_id"), cell(endpoint, "url"), health.state,
                       clock_of(health.until), health.why});
            endpoint["workflow_type"] = type["name"];
            shown.push_back(std::move(endpoint));
        }
    if (o.client.wants_json()) {
        print({{"endpoints", shown}});
    } else {
        table.print();
    }
    return Exit::ok;
}

int set_breaker(const EndpointOptions& o, const std::string& what) {
    Json body = Json::object();
    if (!o.reason.empty()) body["reason"] = o.reason;
    if (!o.until.empty()) body["until"] = o.until;
    const auto answer = Client(o.client).ask("POST",
                                             "/v1/workflow-types/" + platform::percent_encode(o.type) + "/endpoints/" +
                                                 platform::percent_encode(o.endpoint) + "/" + what,
                                             body);
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    const auto health = health_of(answer);
    std::printf("%s  %s%s\n", cell(answer, "url").c_str(), health.state.c_str(),
                health.state == "closed" ? ""
                : health.until.empty()   ? " until it is reset"
                                         : (" until " + health.until).c_str());
    return Exit::ok;
}

}

void add_client_commands(Commands commands) {
    auto& app = commands.app;
    Action& chosen = commands.chosen;
    const auto act = [&chosen](CLI::App* command, std::function<int()> body) {
        command->callback([&chosen, body] { chosen = guarded(body); });
    };

    {
        auto o = std::make_shared<EnqueueOptions>();
        auto* c = app.add_subcommand("enqueue", "Enqueue an execution, or a batch of them");
        c->add_option("type", o->type, "Workflow type")->required();
        auto* input = c->add_option("--input", o->input, "JSON, @file, or - for standard input");
        c->add_option("--priority", o->priority, "0 to 100, or critical, high, normal, low");
        c->add_option("--at", o->at, "Not before this RFC 3339 time");
        c->add_option("--batch", o->file, "File with a JSON array of inputs: one execution each")->excludes(input);
        c->add_option("--idempotency-key", o->key, "The same again is the same execution for 24 hours");
        c->add_option("--wait", o->wait, "Wait so many seconds for its end (a batch: for all of them) and show it");
        o->client.add_to(c);
        c->footer(
            "Examples:\n  impresario enqueue seo_monitor --input '{\"pages\": [\"https://example.com/\"]}' --wait 60\n "
            " impresario enqueue content_pipeline --batch inputs.json --priority high");
        act(c, [o] { return enqueue(*o); });
    }
    {
        auto o = std::make_shared<ListOptions>();
        auto* c = app.add_subcommand("list", "List executions, newest first");
        c->add_option("--status", o->status, "Comma-separated: queued, running, dead …");
        c->add_option("--type", o->type, "Workflow type");
        c->add_option("--batch-id", o->batch, "Of one batch");
        c->add_option("--limit", o->limit, "At most so many")->check(CLI::Range(1, 100000));
        o->client.add_to(c);
        c->footer("Example:\n  impresario list --status queued,retrying --type seo_monitor");
        act(c, [o] { return list(*o); });
    }
    {
        auto o = std::make_shared<ShowOptions>();
        auto* c =
            app.add_subcommand("show", "Everything about one execution: why it waits, what happened, what was sent");
        c->add_option("execution-id", o->id, "From list")->required();
        o->client.add_to(c);
        c->footer("Example:\n  impresario show 018f3c1e-7b2a-7def-8123-456789abcdef");
        act(c, [o] { return show(*o); });
    }
    {
        auto o = std::make_shared<ManyOptions>();
        auto* c = app.add_subcommand("cancel", "Cancel executions; frees their slots at once");
        c->add_option("execution-id", o->ids, "One or more")->required();
        c->add_option("--reason", o->reason, "Kept in the history");
        o->client.add_to(c);
        c->footer("Example:\n  impresario cancel 018f3c1e-7b2a-7def-8123-456789abcdef --reason 'wrong customer'");
        act(c, [o] { return for_each_id(*o, "cancel", o->reason.empty() ? "" : Json{{"reason", o->reason}}.dump()); });
    }
    {
        auto o = std::make_shared<ManyOptions>();
        auto* c = app.add_subcommand("retry", "Open dead or failed executions again");
        c->add_option("execution-id", o->ids, "One or more")->required();
        c->add_option("--input", o->input, "Replace the input: JSON, @file or -");
        o->client.add_to(c);
        c->footer("Example:\n  impresario retry 018f3c1e-7b2a-7def-8123-456789abcdef --input '{\"pages\": []}'");
        act(c, [o] {
            return for_each_id(*o, "retry", o->input.empty() ? "" : "{\"input\":" + json_argument(o->input) + "}");
        });
    }
    {
        auto o = std::make_shared<ManyOptions>();
        auto* c = app.add_subcommand("replay", "Enqueue executions once more, as new ones with the same input");
        c->add_option("execution-id", o->ids, "One or more")->required();
        o->client.add_to(c);
        c->footer("Example:\n  impresario replay 018f3c1e-7b2a-7def-8123-456789abcdef");
        act(c, [o] { return for_each_id(*o, "replay", ""); });
    }
    {
        auto o = std::make_shared<LaneOptions>();
        auto* c = app.add_subcommand("pause", "Stop a lane, or everything; what runs goes on");
        c->add_option("type", o->type, "Workflow type; left out: everything");
        c->add_option("--reason", o->reason, "Shown to everybody who asks why");
        c->add_option("--until", o->until, "RFC 3339 time at which it goes on by itself");
        c->add_option("--provider", o->provider, "In place of a type: all lanes that call this provider");
        c->add_option("--until-budget", o->until_budget, "Until the window of this budget turns");
        c->add_option("--until-condition", o->until_condition, "endpoints_healthy, or queue_below:N (in other lanes)");
        o->client.add_to(c);
        c->footer(
            "Example:\n  impresario pause seo_monitor --reason 'site is being moved' --until 2026-12-01T06:00:00Z");
        act(c, [o] { return pause(*o, true); });
        auto p = std::make_shared<LaneOptions>();
        auto* r = app.add_subcommand("resume", "Let a lane, or everything, go on");
        r->add_option("type", p->type, "Workflow type; left out: everything");
        r->add_option("--provider", p->provider, "In place of a type: all lanes that call this provider");
        p->client.add_to(r);
        r->footer("Examples:\n  impresario resume seo_monitor\n  impresario resume");
        act(r, [p] { return pause(*p, false); });
    }
    {
        auto o = std::make_shared<LaneOptions>();
        auto* c = app.add_subcommand("state", "What the hub is doing, and what stops what");
        c->add_flag("--watch", o->watch, "Again every second");
        o->client.add_to(c);
        c->footer("Examples:\n  impresario state --watch\n  impresario state --json | jq .lanes");
        act(c, [o] { return state(*o); });
    }
    {
        auto o = std::make_shared<LaneOptions>();
        auto* c = app.add_subcommand("queue", "What goes next, with its score taken apart");
        c->add_option("type", o->type, "Workflow type; left out: all");
        c->add_option("--limit", o->limit, "At most so many")->check(CLI::Range(1, 500));
        o->client.add_to(c);
        c->footer("Example:\n  impresario queue seo_monitor --limit 5");
        act(c, [o] { return queue(*o); });
    }
    {
        auto o = std::make_shared<LaneOptions>();
        auto* c = app.add_subcommand("nodes", "The hub processes, and which of them leads");
        o->client.add_to(c);
        c->footer("Example:\n  impresario nodes");
        act(c, [o] { return nodes(*o); });
    }
    {
        auto o = std::make_shared<DeadLetterOptions>();
        auto* c = app.add_subcommand("dead-letters", "What ended in the dead-letter queue");
        c->footer(
            "Examples:\n  impresario dead-letters list --type seo_monitor\n"
            "  impresario dead-letters retry --type seo_monitor --since 2026-11-27T00:00:00Z");
        c->require_subcommand(1);
        const auto filters = [o](CLI::App* sub) {
            sub->add_option("--type", o->type, "Workflow type");
            sub->add_option("--reason", o->reason, "attempts_exhausted, rejected_by_peer, timeout, lost");
            sub->add_option("--fingerprint", o->fingerprint, "Kind of error, from the list");
            sub->add_option("--since", o->since, "RFC 3339 time");
        };
        auto* l = c->add_subcommand("list", "List them, newest first");
        filters(l);
        l->add_flag("--resolved", o->resolved, "Those that have been dealt with");
        l->add_option("--limit", o->limit, "At most so many")->check(CLI::Range(1, 500));
        o->client.add_to(l);
        act(l, [o] { return list_dead_letters(*o); });
        auto* s = c->add_subcommand("show", "One of them with its input");
        s->add_option("execution-id", o->id, "From list")->required();
        o->client.add_to(s);
        act(s, [o] {
            print(Client(o->client).ask("GET", "/v1/dead-letters/" + platform::percent_encode(o->id)));
            return static_cast<int>(Exit::ok);
        });
        auto* r = c->add_subcommand("retry", "Retry one, or all that match");
        r->add_option("execution-id", o->id, "One; left out: by filter");
        filters(r);
        r->add_option("--input", o->input, "Replace the input of the one: JSON, @file or -");
        o->client.add_to(r);
        r->footer("Example:\n  impresario dead-letters retry --type seo_monitor --since 2026-11-27T00:00:00Z");
        act(r, [o] { return retry_dead_letters(*o); });
        auto* d = c->add_subcommand("discard", "Take one out of the queue for good");
        d->add_option("execution-id", o->id, "From list")->required();
        o->client.add_to(d);
        act(d, [o] {
            print(Client(o->client).ask("POST", "/v1/dead-letters/" + platform::percent_encode(o->id) + "/discard"));
            return static_cast<int>(Exit::ok);
        });
    }
    {
        auto o = std::make_shared<TypeOptions>();
        auto* c = app.add_subcommand("types", "The workflow types: what can run");
        c->footer("Examples:\n  impresario types list\n  impresario types show seo_monitor");
        c->require_subcommand(1);
        auto* l = c->add_subcommand("list", "List them");
        o->client.add_to(l);
        act(l, [o] { return list_types(*o); });
        auto* s = c->add_subcommand("show", "One of them");
        s->add_option("name", o->name, "Workflow type")->required();
        o->client.add_to(s);
        act(s, [o] {
            print(Client(o->client).ask("GET", "/v1/workflow-types/" + platform::percent_encode(o->name)));
            return static_cast<int>(Exit::ok);
        });
        auto* p = c->add_subcommand("put", "Register one, or replace its definition");
        p->add_option("name", o->name, "Workflow type")->required();
        takes_definition(p, o->definition);
        o->client.add_to(p);
        p->footer(
            "Example:\n  impresario types put my_flow '{\"endpoints\": [\"https://n8n.example.com/webhook/my-flow\"], "
            "\"max_concurrency\": 5}'");
        act(p, [o] {
            return put_definition(o->client, "/v1/workflow-types/" + platform::percent_encode(o->name), o->definition);
        });
        auto* d = c->add_subcommand("delete", "Remove one that nothing alive refers to");
        d->add_option("name", o->name, "Workflow type")->required();
        o->client.add_to(d);
        act(d, [o] {
            Client(o->client).ask_text("DELETE", "/v1/workflow-types/" + platform::percent_encode(o->name), "");
            std::printf("%s is gone\n", o->name.c_str());
            return static_cast<int>(Exit::ok);
        });
        auto* r = c->add_subcommand("rotate-secret", "Make a new signing secret and show it, this once");
        r->add_option("name", o->name, "Workflow type")->required();
        o->client.add_to(r);
        act(r, [o] {
            print(Client(o->client).ask(
                "POST", "/v1/workflow-types/" + platform::percent_encode(o->name) + "/rotate-signing-secret"));
            return static_cast<int>(Exit::ok);
        });
    }
    {
        auto o = std::make_shared<EndpointOptions>();
        auto* c = app.add_subcommand("endpoints", "The addresses of the workflow types, and their circuit breakers");
        c->footer(
            "Examples:\n  impresario endpoints list seo_monitor\n"
            "  impresario endpoints trip seo_monitor 018f3c1e-7b2a-7def-8123-456789abcdef --reason 'being moved'");
        c->require_subcommand(1);
        auto* l = c->add_subcommand("list", "List them: which are asked, which are left alone, and why");
        l->add_option("type", o->type, "Workflow type; left out: all");
        o->client.add_to(l);
        act(l, [o] { return list_endpoints(*o); });
        const auto named = [o](CLI::App* sub) {
            sub->add_option("type", o->type, "Workflow type")->required();
            sub->add_option("endpoint-id", o->endpoint, "From list")->required();
            sub->add_option("--reason", o->reason, "Kept, and shown to everybody who asks why");
            o->client.add_to(sub);
        };
        auto* t = c->add_subcommand("trip", "Open its breaker: nothing goes there, what runs goes on");
        named(t);
        t->add_option("--until", o->until,
                      "RFC 3339 time at which one execution tries it; left out: until it is reset");
        act(t, [o] { return set_breaker(*o, "trip"); });
        auto* r = c->add_subcommand("reset", "Close its breaker: it is asked again at once");
        named(r);
        act(r, [o] { return set_breaker(*o, "reset"); });
    }
}

}
