// impresario schedules: work that is due again and again.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct ScheduleOptions {
    ClientOptions client;
    std::string name;
    std::string definition;
    std::string reason;
    std::string until;
    std::string from;
    std::string to;
    int limit = 10;
};

std::string path(const ScheduleOptions& o, const std::string& what = "") {
    return "/v1/schedules/" + platform::percent_encode(o.name) + what;
}

/// "0 9 * * mon-fri Europe/Berlin", "every 900 s".
std::string when(const Json& schedule) {
    if (schedule.contains("interval_seconds")) return "every " + cell(schedule, "interval_seconds") + " s";
    const auto rule = schedule.contains("cron") ? cell(schedule, "cron") : "calendar";
    return rule + " " + cell(schedule, "time_zone");
}

int list(const ScheduleOptions& o) {
    const auto answer = Client(o.client).ask("GET", "/v1/schedules");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"schedule", "type", "when", "overlap", "next", "last", "runs", ""});
    for (const auto& each : answer["schedules"]) {
        std::string state = each["paused"].is_object() ? "paused: " + cell(each["paused"], "reason") : "";
        if (!each.value("enabled", true)) state = "disabled";
        if (state.empty() && each["next_due_at"].is_null()) state = "has ended";
        table.add({cell(each, "name"), cell(each, "workflow_type"), when(each), cell(each, "overlap"),
                   clock_of(cell(each, "next_due_at")), clock_of(cell(each, "last_due_at")), cell(each, "runs"),
                   state});
    }
    table.print();
    return Exit::ok;
}

int show_due(const ScheduleOptions& o, const Json& answer) {
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"due", "starts", "would be stopped by, as things are now"});
    for (const auto& each : answer["due"]) {
        const auto& gate = each["stopped_by"];
        table.add({clock_of(cell(each, "due_at")), clock_of(cell(each, "starts_at")),
                   gate.is_object() ? cell(gate, "kind") + ": " + cell(gate, "detail") : ""});
    }
    table.print();
    return Exit::ok;
}

int runs(const ScheduleOptions& o) {
    const auto answer = Client(o.client).ask("GET", path(o, "/runs?limit=" + std::to_string(o.limit)));
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"due", "outcome", "execution", "status", "why"});
    for (const auto& each : answer["runs"])
        table.add({clock_of(cell(each, "due_at")), cell(each, "outcome"), cell(each, "execution_id"),
                   cell(each, "status"), cell(each, "detail")});
    table.print(3);
    return Exit::ok;
}

}

void add_schedules(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<ScheduleOptions>();
    auto* all = commands.app.add_subcommand("schedules", "Work that is due again and again");
    all->footer(
        "Examples:\n  impresario schedules put morning '{\"workflow_type\": \"seo_monitor\", \"cron\": \"0 9 * * "
        "mon-fri\", \"time_zone\": \"Europe/Berlin\"}'\n  impresario schedules next morning\n  impresario schedules "
        "backfill morning --from 2026-11-01T00:00:00Z --to 2026-11-07T00:00:00Z");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, bool named, std::function<int()> body) {
        auto* c = add_client_command(*all, chosen, o->client, name, about, body);
        if (named) c->add_option("name", o->name, "Schedule")->required();
        return c;
    };
    const auto limited = [o](CLI::App* c) {
        c->add_option("--limit", o->limit, "How many (10)")->check(CLI::Range(1, 200));
    };
    add("list", "All of them, and when each is due next", false, [o] { return list(*o); });
    add("show", "One of them", true, [o] {
        print(Client(o->client).ask("GET", path(*o)));
        return static_cast<int>(Exit::ok);
    });
    takes_definition(
        add("put", "Make or change one", true, [o] { return put_definition(o->client, path(*o), o->definition); }),
        o->definition);
    auto* preview = add("preview", "When a definition would be due, without making it", true, [o] {
        const auto answer = Client(o->client).ask_text("POST", path(*o, "/preview?limit=" + std::to_string(o->limit)),
                                                       json_argument(o->definition));
        return show_due(*o, Json::parse(answer));
    });
    takes_definition(preview, o->definition);
    limited(preview);
    limited(add("next", "When it is due next", true, [o] {
        return show_due(*o, Client(o->client).ask("GET", path(*o, "/next?limit=" + std::to_string(o->limit))));
    }));
    limited(add("runs", "What became of each due time, the latest first", true, [o] { return runs(*o); }));
    auto* pause = add("pause", "What is due meanwhile is left out", true, [o] {
        Json body = Json::object();
        if (!o->reason.empty()) body["reason"] = o->reason;
        if (!o->until.empty()) body["until"] = o->until;
        print(Client(o->client).ask("POST", path(*o, "/pause"), body));
        return static_cast<int>(Exit::ok);
    });
    pause->add_option("--reason", o->reason, "Shown to whoever looks");
    pause->add_option("--until", o->until, "RFC 3339 time; until it is resumed if not given");
    add("resume", "Go on with what is due from now on", true, [o] {
        print(Client(o->client).ask("POST", path(*o, "/resume"), Json::object()));
        return static_cast<int>(Exit::ok);
    });
    auto* backfill = add("backfill", "Run what was due in a range and has not run, one after the other", true, [o] {
        print(Client(o->client).ask("POST", path(*o, "/backfill"), {{"from", o->from}, {"to", o->to}}));
        return static_cast<int>(Exit::ok);
    });
    backfill->add_option("--from", o->from, "RFC 3339 time of the first")->required();
    backfill->add_option("--to", o->to, "RFC 3339 time of the last")->required();
    add("delete", "It is due no more; what runs goes on", true, [o] {
        Client(o->client).ask_text("DELETE", path(*o), "");
        std::printf("%s is deleted\n", o->name.c_str());
        return static_cast<int>(Exit::ok);
    });
}

}
