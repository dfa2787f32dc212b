// impresario providers: the limits of those who are called, and what is used.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct ProviderOptions {
    ClientOptions client;
    std::string name;
    std::string definition;
    std::string reason;
    std::string until;
};

std::string path(const ProviderOptions& o, const std::string& what = "") {
    return "/v1/providers/" + platform::percent_encode(o.name) + what;
}

int set_weather(const ProviderOptions& o, const std::string& what) {
    Json body = Json::object();
    if (!o.reason.empty()) body["reason"] = o.reason;
    if (!o.until.empty()) body["until"] = o.until;
    print(Client(o.client).ask("POST", path(o, what), body));
    return Exit::ok;
}

/// "cooling until …: why", "48 in 60 s since …"
std::string shown_weather(const Json& weather) {
    if (!weather.is_object()) return "fair";
    std::string text = cell(weather, "state");
    if (const auto until = cell(weather, "cooling_until"); !until.empty()) text += " until " + until;
    if (const auto learnt = cell(weather, "learnt"); !learnt.empty())
        text += ", " + learnt + " requests in " + cell(weather, "window_seconds") + " s go well";
    if (const auto left = cell(weather, "remaining"); !left.empty())
        text += ", " + left + " " + cell(weather, "remaining_of") + " left until " + cell(weather, "remaining_until");
    if (const auto why = cell(weather, "why"); !why.empty()) text += ": " + why;
    if (const auto by = cell(weather, "by"); !by.empty()) text += " (by " + by + ")";
    return text;
}

int list(const ProviderOptions& o) {
    const Client client(o.client);
    const auto answer = client.ask("GET", "/v1/providers");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"provider", "limit", "allows", "for", "used", "in flight", "headroom", "next"});
    for (const auto& provider : answer["providers"])
        for (const auto& limit : provider["limits"]) {
            std::string allows = cell(limit, "limit") + " " + cell(limit, "of");
            if (!cell(limit, "per").empty()) allows += " / " + cell(limit, "per");
            bool used = false;
            for (const auto& use : provider["use"]) {
                if (use["limit"] != limit["name"]) continue;
                used = true;
                table.add({cell(provider, "name"), cell(limit, "name"), allows,
                           cell(use, "subject").empty() ? "all" : cell(use, "subject"), cell(use, "used"),
                           cell(use, "in_flight"), cell(use, "headroom"), cell(use, "next_at")});
                if (!use.contains("keys")) continue;
                for (const auto& key : use["keys"])
                    table.add({"", "",
                               limit["per_key"].contains("guaranteed")
                                   ? cell(limit["per_key"], "guaranteed") + " to " + cell(limit["per_key"], "ceiling")
                                   : cell(limit["per_key"], "ceiling"),
                               cell(limit, "key") + " = " + cell(key, "key"), cell(key, "used"), cell(key, "in_flight"),
                               cell(key, "headroom"), cell(key, "next_at")});
            }
            if (!used)
                table.add({cell(provider, "name"), cell(limit, "name"), allows, "each " + cell(limit, "scope"), "0",
                           "0", "", ""});
        }
    table.print();
    Table weather({"provider", "weather"});
    for (const auto& provider : answer["providers"])
        weather.add({cell(provider, "name"), shown_weather(provider["weather"])});
    weather.print();
    return Exit::ok;
}

/// "now", "12 s"; empty: nobody knows, or never.
std::string in_seconds(const Json& lane, const char* name) {
    const auto found = lane.find(name);
    if (found == lane.end() || !found->is_number()) return "";
    const double seconds = found->get<double>();
    if (seconds == 0) return "now";
    char text[32];
    std::snprintf(text, sizeof text, "%.0f s", std::max(1.0, seconds));
    return text;
}

int preview(const ProviderOptions& o) {
    const auto answer =
        Json::parse(Client(o.client).ask_text("POST", path(o, "/preview"), json_argument(o.definition)));
    show_warnings(answer);
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"organization", "type", "waiting", "start now", "start then", "last one now", "last one then",
                 "stopped then by"});
    for (const auto& lane : answer["lanes"])
        table.add({cell(lane, "organization_id"), cell(lane, "workflow_type"), cell(lane, "waiting"),
                   cell(lane, "fit_before"), cell(lane, "fit_after"), in_seconds(lane, "last_in_seconds_before"),
                   in_seconds(lane, "last_in_seconds_after"),
                   lane["gate_after"].is_object() ? cell(lane["gate_after"], "detail") : ""});
    table.print();
    return Exit::ok;
}

}

void add_providers(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<ProviderOptions>();
    auto* all = commands.app.add_subcommand("providers", "The providers that workflow types call, and their limits");
    all->footer(
        "Examples:\n  impresario providers list\n  impresario providers put gemini '{\"limits\": [{\"name\": \"rpm\", "
        "\"of\": \"requests\", \"limit\": 60, \"per\": \"minute\"}], \"reason\": \"new plan\"}'");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, bool named, std::function<int()> body) {
        auto* c = add_client_command(*all, chosen, o->client, name, about, body);
        if (named) c->add_option("name", o->name, "Provider")->required();
        return c;
    };
    const auto shows = [o](const char* what) {
        return [o, what] {
            print(Client(o->client).ask("GET", path(*o, what)));
            return static_cast<int>(Exit::ok);
        };
    };
    add("list", "List them, with what is used", false, [o] { return list(*o); });
    add("show", "One of them", true, shows(""));
    add("history", "Its limits at each time, who set them and why", true, shows("/versions"));
    takes_definition(add("put", "Set its limits; effective on every node at once", true,
                         [o] { return put_definition(o->client, path(*o), o->definition); }),
                     o->definition);
    takes_definition(
        add("preview", "What putting them would do to the queue of now", true, [o] { return preview(*o); }),
        o->definition);
    add("delete", "Remove one: whoever calls it is not limited any more", true, [o] {
        Client(o->client).ask_text("DELETE", path(*o), "");
        std::printf("%s is gone\n", o->name.c_str());
        return static_cast<int>(Exit::ok);
    });
    auto* cool = add("cool", "Leave it alone: nothing that calls it starts until then", true,
                     [o] { return set_weather(*o, "/cool"); });
    cool->add_option("--until", o->until, "RFC 3339 time, within a day")->required();
    auto* reset = add("reset", "Forget that it has refused: it is asked again at once, as much as is declared", true,
                      [o] { return set_weather(*o, "/reset"); });
    for (auto* c : {cool, reset}) c->add_option("--reason", o->reason, "Why, for those who wonder");
}

}
