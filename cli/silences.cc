// impresario silences: alerts that nobody is to be told of for a while.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct SilenceOptions {
    ClientOptions client;
    std::vector<std::string> matchers;
    std::string comment;
    std::string until;
    std::string id;
    int seconds = 0;
    bool ended = false;
};

int list(const SilenceOptions& o) {
    const auto answer = Client(o.client).ask("GET", o.ended ? "/v1/silences?ended=true" : "/v1/silences");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"silence", "active", "from", "until", "by", "matches", "comment"});
    for (const auto& each : answer["silences"]) {
        std::string matchers;
        for (const auto& matcher : each["matchers"])
            matchers += (matchers.empty() ? "" : " ") + matcher.get<std::string>();
        table.add({cell(each, "silence_id"), each.value("active", false) ? "yes" : "no",
                   clock_of(cell(each, "starts_at")), clock_of(cell(each, "ends_at")), cell(each, "by"), matchers,
                   cell(each, "comment")});
    }
    table.print();
    return Exit::ok;
}

int add_one(const SilenceOptions& o) {
    Json body{{"matchers", o.matchers}, {"comment", o.comment}};
    if (o.seconds > 0) body["for_seconds"] = o.seconds;
    if (!o.until.empty()) body["ends_at"] = o.until;
    print(Client(o.client).ask("POST", "/v1/silences", body));
    return Exit::ok;
}

}

void add_silences(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<SilenceOptions>();
    auto* all = commands.app.add_subcommand("silences", "Alerts that nobody is to be told of for a while");
    all->footer(
        "Example:\n  impresario silences add alertname=queue_depth_high organization=default --for 3600 --comment "
        "\"a batch is loaded\"\n  impresario silences list\n  impresario silences end ID");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, std::function<int()> body) {
        return add_client_command(*all, chosen, o->client, name, about, std::move(body));
    };
    add("list", "Those that go on or are to come", [o] {
        return list(*o);
    })->add_flag("--ended", o->ended, "Those that are over as well");
    auto* making = add("add", "Silence what matches", [o] { return add_one(*o); });
    making->add_option("matcher", o->matchers, "name=value, !=, =~ or !~; all of them must match")->required();
    auto* seconds = making->add_option("--for", o->seconds, "Seconds from now")->check(CLI::Range(1, 366 * 86400));
    making->add_option("--until", o->until, "Until when, as in 2026-12-01T09:00:00Z")->excludes(seconds);
    making->add_option("--comment", o->comment, "Why: for the others")->required();
    add("end", "Not any longer",
        [o] {
            Client(o->client).ask_text("DELETE", "/v1/silences/" + o->id, "");
            std::printf("it is over\n");
            return static_cast<int>(Exit::ok);
        })
        ->add_option("silence", o->id, "Its id")
        ->required();
}

}
