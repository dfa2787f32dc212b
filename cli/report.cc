// impresario report: how a day or a week went, and what to change.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct ReportOptions {
    ClientOptions client;
    std::string kind;
    std::string at;
    std::string to;
    bool html = false;
    int limit = 30;
};

std::string path(const ReportOptions& o, const std::string& kind, const std::string& more) {
    std::string query = more;
    if (!o.at.empty()) query += (query.empty() ? "" : "&") + ("at=" + platform::percent_encode(o.at));
    return "/v1/reports/" + kind + (query.empty() ? "" : "?" + query);
}

int show(const ReportOptions& o, const std::string& kind) {
    const Client client(o.client);
    if (o.html || !o.client.wants_json()) {
        std::printf("%s", client.ask_text("GET", path(o, kind, o.html ? "format=html" : "format=text"), "").c_str());
        return Exit::ok;
    }
    print(client.ask("GET", path(o, kind, "")));
    return Exit::ok;
}

int send(const ReportOptions& o) {
    const auto answer = Client(o.client).ask("POST", path(o, o.kind + "/send", ""), Json{{"receiver", o.to}});
    print(answer);
    return answer.value("ok", false) ? Exit::ok : Exit::failed;
}

std::string told(const Json& deliveries) {
    std::string text;
    for (const auto& each : deliveries) {
        text += (text.empty() ? "" : ", ") + cell(each, "receiver") + " " + cell(each, "state");
        if (!cell(each, "error").empty()) text += " (" + cell(each, "error") + ")";
    }
    return text;
}

int list(const ReportOptions& o) {
    const auto answer = Client(o.client).ask(
        "GET", "/v1/reports?limit=" + std::to_string(o.limit) + (o.kind.empty() ? "" : "&kind=" + o.kind));
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"report", "about", "made", "sent"});
    for (const auto& each : answer["reports"])
        table.add(
            {cell(each, "kind"), cell(each, "period"), clock_of(cell(each, "made_at")), told(each["deliveries"])});
    table.print();
    return Exit::ok;
}

}

void add_report(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<ReportOptions>();
    auto* all = commands.app.add_subcommand("report", "How a day or a week went, and what the numbers speak for");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, std::function<int()> body) {
        return add_client_command(*all, chosen, o->client, name, about, std::move(body));
    };
    const auto kinds = CLI::IsMember({"daily", "weekly"});
    const char* when = "A day of the zone of [reports], as in 2026-11-27; without it, the latest that came due";
    for (const std::string kind : {"daily", "weekly"}) {
        auto* c = add(kind.c_str(),
                      kind == "daily" ? "Volume, success, cost, waits, failures of a day"
                                      : "The same of a week, and proposed changes of limits and budgets",
                      [o, kind] { return show(*o, kind); });
        c->add_option("--at", o->at, when);
        c->add_flag("--html", o->html, "As a page of HTML");
    }
    auto* listed =
        add("list", "Those that were made when they came due, and who has got them", [o] { return list(*o); });
    listed->add_option("--kind", o->kind, "daily or weekly")->check(kinds);
    listed->add_option("--limit", o->limit, "At most so many")->check(CLI::Range(1, 500));
    auto* sent = add("send", "Send one to a receiver of alerts, now", [o] { return send(*o); });
    sent->add_option("kind", o->kind, "daily or weekly")->required()->check(kinds);
    sent->add_option("--to", o->to, "Receiver, as in the configuration")->required();
    sent->add_option("--at", o->at, when);
    all->footer(
        "Examples:\n  impresario report daily\n  impresario report daily --at 2026-11-27 --json | jq .total\n"
        "  impresario report weekly --html > week.html\n  impresario report send daily --to slack");
}

}
