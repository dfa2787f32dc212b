// impresario alerts: what fires, who looks after it, who was told.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct AlertOptions {
    ClientOptions client;
    std::string which;
    std::string state = "firing";
    std::string reason;
    std::string receiver;
    int limit = 100;
};

std::string path(const AlertOptions& o, const std::string& what = "") {
    return "/v1/alerts/" + platform::percent_encode(o.which) + what;
}

int list(const AlertOptions& o) {
    const auto answer =
        Client(o.client).ask("GET", "/v1/alerts?state=" + o.state + "&limit=" + std::to_string(o.limit));
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"alert", "severity", "state", "since", "acknowledged", "summary"});
    for (const auto& alert : answer["alerts"]) {
        const auto& by = alert["acknowledged"];
        table.add({cell(alert, "fingerprint").substr(0, 8), cell(alert, "severity"), cell(alert, "state"),
                   clock_of(cell(alert, "since")), by.is_object() ? cell(by, "by") : "", cell(alert, "summary")});
    }
    table.print();
    if (answer["alerts"].empty()) std::printf("nothing fires\n");
    return Exit::ok;
}

void print_alert(const Json& alert) {
    const auto line = [](const char* what, const std::string& text) {
        if (!text.empty()) std::printf("%-13s %s\n", what, text.c_str());
    };
    line("alert", cell(alert, "fingerprint"));
    line("summary", cell(alert, "summary"));
    line("severity", cell(alert, "severity"));
    line("state", cell(alert, "state"));
    line("since", clock_of(cell(alert, "since")));
    if (!cell(alert, "ended_why").empty())
        line("ended", clock_of(cell(alert, "ends_at")) + " (" + cell(alert, "ended_why") + ")");
    line("more", cell(alert, "description"));
    for (const auto& cause : alert["causes"]) line("likely", cause.get<std::string>());
    line("look", cell(alert, "command"));
    line("runbook", cell(alert, "runbook"));
    for (const auto& [name, value] : alert["labels"].items()) line("label", name + "=" + value.get<std::string>());
    if (alert["acknowledged"].is_object())
        line("acknowledged", cell(alert["acknowledged"], "by") + " " + cell(alert["acknowledged"], "comment"));
}

/// An alert by its fingerprint, or all of an incident, as a message names it.
int show(const AlertOptions& o) {
    Json answer;
    try {
        answer = Json{{"alerts", {Client(o.client).ask("GET", path(o))}}};
    } catch (const Refusal& refusal) {
        if (refusal.status != 404) throw;
        answer = Client(o.client).ask("GET", "/v1/incidents/" + platform::percent_encode(o.which));
    }
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    bool first = true;
    for (const auto& alert : answer["alerts"]) {
        if (!std::exchange(first, false)) std::printf("\n");
        print_alert(alert);
    }
    return Exit::ok;
}

int acknowledge(const AlertOptions& o, const char* what) {
    Json body = Json::object();
    if (!o.reason.empty()) body["reason"] = o.reason;
    print(Client(o.client).ask("POST", path(o, what), body));
    return Exit::ok;
}

int rules(const AlertOptions& o) {
    const auto answer = Client(o.client).ask("GET", "/v1/alert-rules");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"rule", "severity", "reading", "raised", "clear", "for", "enabled"});
    for (const auto& rule : answer["rules"])
        table.add({cell(rule, "name"), cell(rule, "severity"), cell(rule, "reading"),
                   cell(rule, "comparison") + " " + cell(rule, "raise"), cell(rule, "clear"),
                   cell(rule, "for_seconds") + " s", rule.value("enabled", true) ? "yes" : "no"});
    table.print();
    return Exit::ok;
}

int receivers(const AlertOptions& o) {
    const auto answer = Client(o.client).ask("GET", "/v1/receivers");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"receiver", "type", "delivered", "failed", "last delivered", "failing since", "last error"});
    for (const auto& each : answer["receivers"])
        table.add({cell(each, "name"), cell(each, "type"), cell(each, "delivered"), cell(each, "failed"),
                   clock_of(cell(each, "last_delivered_at")), clock_of(cell(each, "failing_since")),
                   cell(each, "last_error")});
    table.print();
    return Exit::ok;
}

int notifications(const AlertOptions& o) {
    const auto answer = Client(o.client).ask("GET", "/v1/notifications?limit=" + std::to_string(o.limit) +
                                                        "&receiver=" + platform::percent_encode(o.receiver));
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"at", "receiver", "kind", "state", "tries", "what", "error"});
    for (const auto& each : answer["notifications"])
        table.add({clock_of(cell(each, "created_at")), cell(each, "receiver"), cell(each, "kind"), cell(each, "state"),
                   cell(each, "tries"), cell(each, "title"), cell(each, "error")});
    table.print();
    return Exit::ok;
}

int test(const AlertOptions& o) {
    const auto answer =
        Client(o.client).ask("POST", "/v1/receivers/" + platform::percent_encode(o.receiver) + "/test", Json::object());
    print(answer);
    return answer.value("ok", false) ? Exit::ok : Exit::failed;
}

}

void add_alerts(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<AlertOptions>();
    auto* all = commands.app.add_subcommand("alerts", "What somebody must be told, and who was");
    all->footer(
        "Example:\n  impresario alerts list\n  impresario alerts show 3f2a\n  impresario alerts acknowledge 3f2a "
        "--reason \"the provider knows\"\n  impresario alerts test slack");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, std::function<int()> body) {
        return add_client_command(*all, chosen, o->client, name, about, std::move(body));
    };
    const auto named = [o](CLI::App* c) {
        c->add_option("alert", o->which, "Fingerprint or incident, or its beginning")->required();
        return c;
    };
    auto* listing = add("list", "What fires, the latest first", [o] { return list(*o); });
    listing->add_option("--state", o->state, "firing, pending, resolved or all (firing)")
        ->check(CLI::IsMember({"firing", "pending", "resolved", "all"}));
    listing->add_option("--limit", o->limit, "At most so many (100)")->check(CLI::Range(1, 1000));
    named(add("show", "All about one of them, or about an incident", [o] { return show(*o); }));
    named(add("acknowledge", "You look after it: it is not repeated and does not escalate", [o] {
        return acknowledge(*o, "/acknowledge");
    }))->add_option("--reason", o->reason, "For the others");
    named(add("unacknowledge", "You do not any more", [o] { return acknowledge(*o, "/unacknowledge"); }));
    add("rules", "When something is raised", [o] { return rules(*o); });
    add("receivers", "Where messages go, and how that goes", [o] { return receivers(*o); });
    auto* told = add("notifications", "Who was told of what, the latest first", [o] { return notifications(*o); });
    told->add_option("--receiver", o->receiver, "Only of this one");
    told->add_option("--limit", o->limit, "At most so many (100)")->check(CLI::Range(1, 500));
    add("test", "Send a message to try a receiver", [o] { return test(*o); })
        ->add_option("receiver", o->receiver, "Its name in the configuration")
        ->required();
}

}
