// impresario subscribers: who is told of events at an address of its own.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct SubscriberOptions {
    ClientOptions client;
    std::string name;
    std::string definition;
    std::string reason;
    std::string state;
    std::string event;
    std::string since;
    std::string until;
    std::string types;
    bool failed = false;
    int limit = 20;
};

std::string path(const SubscriberOptions& o, const std::string& what = "") {
    return "/v1/subscribers/" + platform::percent_encode(o.name) + what;
}

/// "topics notifications, types execution.dead".
std::string chosen(const Json& subscriber) {
    std::string text;
    for (const auto* member : {"topics", "types", "workflow_types"}) {
        if (!subscriber.contains(member)) continue;
        for (const auto& each : subscriber[member]) text += (text.empty() ? "" : ", ") + each.get<std::string>();
    }
    return text.empty() ? "everything" : text;
}

int list(const SubscriberOptions& o) {
    const auto answer = Client(o.client).ask("GET", "/v1/subscribers");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"subscriber", "url", "hears", "health", "published", "waiting", "failed", "lag", "last error"});
    for (const auto& each : answer["subscribers"])
        table.add({cell(each, "name"), cell(each, "url"), chosen(each), cell(each, "health"), cell(each, "published"),
                   std::to_string(each.value("pending", 0) + each.value("in_flight", 0)), cell(each, "failed"),
                   cell(each, "lag_seconds") + " s", cell(each, "last_error")});
    table.print(5);
    return Exit::ok;
}

int messages(const SubscriberOptions& o) {
    const auto where = "/messages?limit=" + std::to_string(o.limit) + (o.state.empty() ? "" : "&state=" + o.state);
    const auto answer = Client(o.client).ask("GET", path(o, where));
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"webhook-id", "type", "at", "state", "sent", "due", "error"});
    for (const auto& each : answer["messages"])
        table.add({cell(each, "webhook_id"), cell(each, "type"), clock_of(cell(each, "at")), cell(each, "state"),
                   cell(each, "deliveries"), clock_of(cell(each, "due_at")), cell(each, "error")});
    table.print(3);
    return Exit::ok;
}

int deliveries(const SubscriberOptions& o) {
    const auto answer = Client(o.client).ask("GET", path(o, "/deliveries?limit=" + std::to_string(o.limit)));
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"webhook-id", "type", "at", "took", "status", "outcome", "error"});
    for (const auto& each : answer["deliveries"])
        table.add({cell(each, "webhook_id"), cell(each, "type"), clock_of(cell(each, "at")),
                   cell(each, "duration_ms") + " ms", cell(each, "status"), cell(each, "outcome"),
                   cell(each, "error")});
    table.print(4);
    return Exit::ok;
}

int replay(const SubscriberOptions& o) {
    Json body = Json::object();
    if (!o.event.empty()) body["event"] = o.event;
    if (o.failed) body["failed"] = true;
    if (!o.since.empty()) body["since"] = o.since;
    if (!o.until.empty()) body["until"] = o.until;
    for (std::size_t begin = 0; begin < o.types.size();) {
        const auto end = std::min(o.types.find(',', begin), o.types.size());
        body["types"].push_back(o.types.substr(begin, end - begin));
        begin = end + 1;
    }
    print(Client(o.client).ask("POST", path(o, "/replay"), body));
    return Exit::ok;
}

}

void add_subscribers(Commands commands) {
    Action& chosen_command = commands.chosen;
    const auto o = std::make_shared<SubscriberOptions>();
    auto* all = commands.app.add_subcommand("subscribers", "Who is told of events at an address of its own");
    all->footer(
        "Examples:\n  impresario subscribers put crm '{\"url\": \"https://crm.example.org/hook\", \"types\": "
        "[\"execution.completed\", \"execution.dead\"]}'\n  impresario subscribers test crm\n  impresario subscribers "
        "replay crm --since 2026-11-29T09:00:00Z --types execution.dead");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, bool named, std::function<int()> body) {
        auto* c = add_client_command(*all, chosen_command, o->client, name, about, body);
        if (named) c->add_option("name", o->name, "Subscriber")->required();
        return c;
    };
    const auto limited = [o](CLI::App* c) {
        c->add_option("--limit", o->limit, "How many (20)")->check(CLI::Range(1, 500));
        return c;
    };
    const auto asks = [o](const char* method, const char* what) {
        return [o, method, what] {
            Json body = Json::object();
            if (!o->reason.empty()) body["reason"] = o->reason;
            Client client(o->client);
            print(std::string(method) == "GET" ? client.ask(method, path(*o, what))
                                               : client.ask(method, path(*o, what), body));
            return static_cast<int>(Exit::ok);
        };
    };
    add("list", "All of them, and how they do", false, [o] { return list(*o); });
    add("show", "One of them", true, asks("GET", ""));
    takes_definition(add("put", "Make or change one; a new one shows its signing secret once", true,
                         [o] { return put_definition(o->client, path(*o), o->definition); }),
                     o->definition);
    add("test", "Send it an event that has not happened, now, and show what it answers", true, [o] {
        const auto answer = Client(o->client).ask("POST", path(*o, "/test"), Json::object());
        print(answer);
        return static_cast<int>(answer.value("outcome", "") == "accepted" || answer.value("outcome", "") == "done"
                                    ? Exit::ok
                                    : Exit::failed);
    });
    limited(add("messages", "What is on its way to it, and what became of the latest", true, [o] {
        return messages(*o);
    }))->add_option("--state", o->state, "pending, in_flight, published or failed");
    limited(add("deliveries", "The latest requests", true, [o] { return deliveries(*o); }));
    auto* again = add("replay", "Tell it once more: one event, what was given up, or what happened since", true,
                      [o] { return replay(*o); });
    again->add_option("--event", o->event, "One, by its webhook-id");
    again->add_flag("--failed", o->failed, "What was given up");
    again->add_option("--since", o->since, "RFC 3339 time");
    again->add_option("--until", o->until, "RFC 3339 time");
    again->add_option("--types", o->types, "Of these types only, with commas");
    add("disable", "It is told nothing; what happens waits for it", true, asks("POST", "/disable"))
        ->add_option("--reason", o->reason, "Shown to whoever looks");
    add("enable", "Go on where it was left, and try at once", true, asks("POST", "/enable"))
        ->add_option("--reason", o->reason, "Kept with the event");
    add("rotate-signing-secret", "A fresh one, shown once; the old one stays valid beside it until the next rotation",
        true, asks("POST", "/rotate-signing-secret"));
    add("delete", "It is told no more, and what waits for it is forgotten", true, [o] {
        Client(o->client).ask_text("DELETE", path(*o), "");
        std::printf("%s is deleted\n", o->name.c_str());
        return static_cast<int>(Exit::ok);
    });
}

}
