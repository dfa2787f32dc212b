// impresario budgets: what may be spent, and what is.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct BudgetOptions {
    ClientOptions client;
    std::string name;
    std::string definition;
    std::string reason;
    std::string until;
    bool preview = false;
};

std::string path(const BudgetOptions& o, const std::string& what = "") {
    return "/v1/budgets/" + platform::percent_encode(o.name) + what;
}

std::string scope_of(const Json& budget) {
    std::string text;
    const auto scope = budget.value("scope", Json::object());
    for (const char* member : {"organization_id", "provider", "workflow_type", "batch_id"})
        if (const auto value = cell(scope, member); !value.empty()) text += (text.empty() ? "" : ", ") + value;
    return text.empty() ? "everything" : text;
}

int list(const BudgetOptions& o) {
    const auto answer = Client(o.client).ask("GET", "/v1/budgets");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"budget", "for", "window", "limit", "settled", "reserved", "suspense", "headroom", "heading for",
                 "turns", "on"});
    for (const auto& budget : answer["budgets"]) {
        const auto& state = budget["state"];
        std::string on;
        for (const auto& step : state["steps_on"]) on += (on.empty() ? "" : ", ") + step.get<std::string>();
        table.add({cell(budget, "name"), scope_of(budget), cell(budget["window"], "unit"), cell(budget, "limit_usd"),
                   cell(state, "settled_usd"), cell(state, "reserved_usd"), cell(state, "suspense_usd"),
                   cell(state, "headroom_usd"), cell(state, "forecast_usd"), clock_of(cell(state, "window_turns_at")),
                   on});
    }
    table.print();
    return Exit::ok;
}

int show_preview(const BudgetOptions& o, const char* what, const std::string& body) {
    const auto answer = Json::parse(Client(o.client).ask_text("POST", path(o, what), body));
    show_warnings(answer);
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"type", "waiting", "each", "fit now", "fit then", "stopped then by"});
    for (const auto& lane : answer["lanes"])
        table.add({cell(lane, "workflow_type"), cell(lane, "waiting"), cell(lane, "each_usd"), cell(lane, "fit_before"),
                   cell(lane, "fit_after"), lane["gate_after"].is_object() ? cell(lane["gate_after"], "detail") : ""});
    table.print();
    return Exit::ok;
}

Json with_reason(const BudgetOptions& o) {
    Json body = Json::object();
    if (!o.reason.empty()) body["reason"] = o.reason;
    if (!o.until.empty()) body["until"] = o.until;
    return body;
}

}

void add_budgets(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<BudgetOptions>();
    auto* all = commands.app.add_subcommand("budgets", "What may be spent, and what is");
    all->footer(
        "Examples:\n  impresario budgets list\n  impresario budgets put day '{\"limit_usd\": \"50\", \"window\": "
        "\"day\"}'");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, bool named, std::function<int()> body) {
        auto* c = add_client_command(*all, chosen, o->client, name, about, body);
        if (named) c->add_option("name", o->name, "Budget")->required();
        return c;
    };
    const auto shows = [o](const char* method, const char* what) {
        return [o, method, what] {
            print(Client(o->client).ask(method, path(*o, what)));
            return static_cast<int>(Exit::ok);
        };
    };
    add("list", "List them, with what is spent and reserved", false, [o] { return list(*o); });
    add("show", "One of them", true, shows("GET", ""));
    add("history", "Its definition at each time, who set it and why", true, shows("GET", "/versions"));
    takes_definition(add("put", "Make or change one; effective on every node at once", true,
                         [o] { return put_definition(o->client, path(*o), o->definition); }),
                     o->definition);
    takes_definition(add("preview", "What putting it would do to the queue of now", true,
                         [o] { return show_preview(*o, "/preview", json_argument(o->definition)); }),
                     o->definition);
    auto* approve = add("approve", "Go on where it asks somebody", true, [o] {
        print(Client(o->client).ask("POST", path(*o, "/approve"), with_reason(*o)));
        return static_cast<int>(Exit::ok);
    });
    approve->add_option("--until", o->until, "RFC 3339 time; until its window turns if not given");
    approve->add_option("--reason", o->reason, "Kept in its history");
    auto* reset = add("reset", "Nothing counts as spent any more", true, [o] {
        if (o->preview) return show_preview(*o, "/reset/preview", "{}");
        print(Client(o->client).ask("POST", path(*o, "/reset"), with_reason(*o)));
        return static_cast<int>(Exit::ok);
    });
    reset->add_option("--reason", o->reason, "Kept in its history");
    reset->add_flag("--preview", o->preview, "What it would do to the queue of now; changes nothing");
    add("retire", "It limits nothing any more", true, [o] {
        Client(o->client).ask_text("DELETE", path(*o), "");
        std::printf("%s is retired\n", o->name.c_str());
        return static_cast<int>(Exit::ok);
    });
}

}
