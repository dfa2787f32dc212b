// impresario tail: what happens, as it happens.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct TailOptions {
    ClientOptions client;
    std::string execution;
    std::vector<std::string> topics;
    std::vector<std::string> types;
    std::vector<std::string> workflow_types;
    std::string after;
};

void add_list(std::string& query, const char* name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    query += (query.empty() ? "?" : "&") + std::string(name) + "=";
    for (std::size_t i = 0; i < values.size(); ++i) query += (i == 0 ? "" : ",") + platform::percent_encode(values[i]);
}

Colour colour_of(const std::string& type) {
    const auto what = type.substr(type.find('.') + 1);
    if (what == "promise_broken" || what == "illegal_move") return Colour::red;
    return colour_of_status(what == "retrying" || what == "deferred" ? "queued" : what);
}

/// The members of a payload on one line, without what only programs can use; --json has it all.
std::string summary(const Json& payload) {
    constexpr std::size_t kLongest = 60;
    std::string text;
    for (const auto& [name, value] : payload.items()) {
        if (value.is_structured() || name == "node" || name.ends_with("_id")) continue;
        auto shown = value.is_string() ? value.get<std::string>() : value.dump();
        if (shown.size() > kLongest) shown = shown.substr(0, kLongest) + "…";
        text += (text.empty() ? "" : " ") + name + "=" + shown;
    }
    return text;
}

void show(const StreamEvent& event, const Json& data, bool one_execution) {
    if (event.type == "resync") {
        std::printf("%s %s\n", painted("resync", Colour::yellow).c_str(), cell(data, "reason").c_str());
        return;
    }
    std::string line = painted(clock_of(cell(data, "at")), Colour::dim) + "  ";
    auto type = event.type;
    if (type.size() < 24) type.resize(24, ' ');
    line += painted(type, colour_of(event.type)) + "  ";
    if (!one_execution) line += cell(data, "stream_id") + "  " + cell(data, "workflow_type") + "  ";
    line += painted(summary(data.value("payload", Json::object())), Colour::dim);
    std::printf("%s\n", line.c_str());
}

/// A node that goes away just then is waited for.
std::string status_of(const Client& client, const std::string& execution) {
    for (int tries = 1;; ++tries) {
        try {
            return client.ask("GET", "/v1/executions/" + execution).value("status", "");
        } catch (const Refusal& refusal) {
            if (refusal.code != Exit::unreachable || tries == 60) throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{500});
    }
}

int follow(const TailOptions& o) {
    const Client client(o.client);
    std::string query;
    add_list(query, "topics", o.topics);
    add_list(query, "types", o.types);
    add_list(query, "workflow_types", o.workflow_types);
    const bool one = !o.execution.empty();
    const auto path = one ? "/v1/executions/" + platform::percent_encode(o.execution) + "/events" : "/v1/events";
    int code = Exit::ok;
    client.follow(path + query, o.after, [&](const StreamEvent& event) {
        auto data = Json::parse(event.data, nullptr, false);
        if (!data.is_object()) data = Json::object();
        if (o.client.wants_json()) {
            data["id"] = event.id;
            if (event.type == "resync") data["type"] = event.type;
            std::printf("%s\n", data.dump().c_str());
        } else {
            show(event, data, one);
        }
        std::fflush(stdout);
        static const std::vector<std::string> ends{"execution.completed", "execution.failed", "execution.dead",
                                                   "execution.cancelled"};
        const bool may_have_ended = std::find(ends.begin(), ends.end(), event.type) != ends.end();
        if (!one || !may_have_ended) return true;
        code = end_code(status_of(client, o.execution));
        return code == Exit::failed;
    });
    return code;
}

}

void add_tail(Commands commands) {
    const auto o = std::make_shared<TailOptions>();
    auto* c = add_client_command(commands.app, commands.chosen, o->client, "tail",
                                 "What happens, as it happens: of everything, or of one execution until it ends",
                                 [o] { return follow(*o); });
    c->add_option("execution", o->execution, "Execution; none: everything");
    c->add_option("--topics", o->topics,
                  "executions, lanes, limits, budgets, nodes, notifications, webhooks, workspaces; with commas")
        ->delimiter(',');
    c->add_option("--types", o->types, "As in execution.dead, execution.* or *.promise_broken; with commas")
        ->delimiter(',');
    c->add_option("--workflow-types", o->workflow_types, "Only what is of these workflow types; with commas")
        ->delimiter(',');
    c->add_option("--after", o->after, "The id of an event to begin after; all.0: the first that is kept");
    c->footer(
        "Example:\n  impresario tail --topics notifications\n  impresario tail --types 'execution.dead' --json | jq "
        ".payload.error");
}

}
