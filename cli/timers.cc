// impresario timers: what waits for a time.
#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct TimerOptions {
    ClientOptions client;
    std::string name;
    std::string at;
    int in = 0;
    std::string payload;
    std::string token;
    std::string state = "waiting";
    int limit = 50;
};

std::string path(const TimerOptions& o) { return "/v1/timers/" + platform::percent_encode(o.name); }

int list(const TimerOptions& o) {
    const auto answer = Client(o.client).ask(
        "GET", "/v1/timers?state=" + platform::percent_encode(o.state) + "&limit=" + std::to_string(o.limit));
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"timer", "state", "due", "ended", "by", "waiting token"});
    for (const auto& timer : answer["timers"])
        table.add({cell(timer, "name"), cell(timer, "state"), clock_of(cell(timer, "due_at")),
                   clock_of(cell(timer, "ended_at")), cell(timer, "updated_by"), cell(timer, "waiting_token")});
    table.print();
    if (answer.contains("next_cursor")) std::printf("there are more: --limit, or the API's cursor\n");
    return Exit::ok;
}

int set(const TimerOptions& o, bool in) {
    Json body = Json::object();
    if (in) body["in_seconds"] = o.in;
    if (!o.at.empty()) body["due_at"] = o.at;
    if (!o.token.empty()) body["waiting_token"] = o.token;
    if (!o.payload.empty()) body["payload"] = Json::parse(json_argument(o.payload));
    print(Client(o.client).ask("PUT", path(o), body));
    return Exit::ok;
}

}

void add_timers(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<TimerOptions>();
    auto* all = commands.app.add_subcommand("timers", "What waits for a time, and is told when it has come");
    all->footer(
        "Example:\n  impresario timers set review-42 --in 3600 --payload '{\"order\": 42}'\n  impresario tail --topics "
        "timers\n  impresario timers cancel review-42");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, bool named, std::function<int()> body) {
        auto* c = add_client_command(*all, chosen, o->client, name, about, std::move(body));
        if (named) c->add_option("name", o->name, "Timer")->required();
        return c;
    };
    const auto with_token = [o](CLI::App* c) {
        c->add_option("--token", o->token, "Only if it still waits under this token");
    };
    auto* listing = add("list", "Those that wait, the earliest first", false, [o] { return list(*o); });
    listing->add_option("--state", o->state, "waiting, due or cancelled (waiting)")
        ->check(CLI::IsMember({"waiting", "due", "cancelled"}));
    listing->add_option("--limit", o->limit, "At most so many (50)")->check(CLI::Range(1, 500));
    add("show", "One of them", true, [o] {
        print(Client(o->client).ask("GET", path(*o)));
        return static_cast<int>(Exit::ok);
    });
    const auto in = std::make_shared<CLI::Option*>(nullptr);
    auto* setting = add("set", "Set it, or move it: it waits under a new token from then on", true,
                        [o, in] { return set(*o, (*in)->count() > 0); });
    *in = setting->add_option("--in", o->in, "Seconds from now")->check(CLI::Range(0, 315360000));
    setting->add_option("--at", o->at, "When it is due, as in 2026-12-01T09:00:00Z")->excludes(*in);
    setting->add_option("--payload", o->payload, "JSON that is told along: text, @file, or - for standard input");
    with_token(setting);
    with_token(add("cancel", "It comes due no more", true, [o] {
        const auto token = o->token.empty() ? "" : "?waiting_token=" + platform::percent_encode(o->token);
        print(Client(o->client).ask("DELETE", path(*o) + token));
        return static_cast<int>(Exit::ok);
    }));
}

}
