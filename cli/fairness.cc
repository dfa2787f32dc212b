// impresario fairness: what share of the starts each organization and type is to have, and has had.
#include <cmath>
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct FairnessOptions {
    ClientOptions client;
    std::string definition;
    std::string reason;
};

std::string percent(const Json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number()) return "";
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %%", found->get<double>());
    return text;
}

/// What sums of fractions leave over is nothing; + 0.0, so that it is no "-0" either.
std::string behind(const Json& standing) {
    const auto found = standing.find("behind");
    if (found == standing.end() || !found->is_number()) return "";
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", std::round(found->get<double>() * 1e6) / 1e6 + 0.0);
    return text;
}

int show(const FairnessOptions& o) {
    const auto answer = Client(o.client).ask("GET", "/v1/fairness");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    std::printf("in %s, version %s, set by %s at %s%s\n\n", cell(answer, "measure").c_str(),
                cell(answer, "version").c_str(), cell(answer, "updated_by").c_str(),
                clock_of(cell(answer, "updated_at")).c_str(),
                cell(answer, "reason").empty() ? "" : (": " + cell(answer, "reason")).c_str());
    Table table({"organization", "type", "weight", "minimum", "waits", "asked", "had", "started", "behind", ""});
    for (const auto& each : answer["standing"])
        table.add({cell(each, "organization_id"), cell(each, "workflow_type"), cell(each, "weight"),
                   percent(each, "minimum_percent"), each.value("waiting", false) ? "yes" : "",
                   percent(each, "asked_percent"), percent(each, "had_percent"), cell(each, "started"), behind(each),
                   each.value("below_minimum", false) ? "below its minimum: first" : ""});
    table.print();
    return Exit::ok;
}

int preview(const FairnessOptions& o) {
    const auto answer =
        Json::parse(Client(o.client).ask_text("POST", "/v1/fairness/preview", json_argument(o.definition)));
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"organization", "type", "waiting", "asked now", "asked then", "had"});
    for (const auto& each : answer["standing"])
        table.add({cell(each, "organization_id"), cell(each, "workflow_type"), cell(each, "waiting"),
                   percent(each, "asked_percent_before"), percent(each, "asked_percent_after"),
                   percent(each, "had_percent")});
    table.print();
    return Exit::ok;
}

}

void add_fairness(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<FairnessOptions>();
    auto* all = commands.app.add_subcommand("fairness", "What share of the starts each organization and type has");
    all->footer(
        "Examples:\n  impresario fairness put '{\"measure\": \"dollars\", \"shares\": [{\"organization_id\": "
        "\"acme\", \"weight\": 3, \"minimum_percent\": 20}], \"reason\": \"their plan\"}'\n  impresario fairness show");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, std::function<int()> body) {
        return add_client_command(*all, chosen, o->client, name, about, std::move(body));
    };
    add("show", "Each one's weight, what is asked to have, what was had in the last minute", [o] { return show(*o); });
    takes_definition(add("put", "Set the policy; effective on every node at once",
                         [o] { return put_definition(o->client, "/v1/fairness", o->definition); }),
                     o->definition);
    takes_definition(add("preview", "What putting it would ask for those who wait now", [o] { return preview(*o); }),
                     o->definition);
    add("history", "The policy at each time, who set it and why", [o] {
        print(Client(o->client).ask("GET", "/v1/fairness/versions"));
        return static_cast<int>(Exit::ok);
    });
    add("clear", "No policy: the best by score goes next, whosever it is", [o] {
        Client(o->client).ask_text("DELETE", "/v1/fairness?reason=" + platform::percent_encode(o->reason), "");
        std::printf("there is no fairness policy now\n");
        return static_cast<int>(Exit::ok);
    })->add_option("--reason", o->reason, "Kept in its history");
}

}
