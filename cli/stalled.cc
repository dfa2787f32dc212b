// impresario stalled: what is active and has not been heard of for a while, and what to do about it.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace impresario::cli {

namespace {

struct StalledOptions {
    ClientOptions client;
    int quiet = 0;
};

int stalled(const StalledOptions& o) {
    const auto answer = Client(o.client).ask(
        "GET", "/v1/stalled" + (o.quiet > 0 ? "?quiet_seconds=" + std::to_string(o.quiet) : std::string()));
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    for (const auto& each : answer["executions"]) {
        std::printf("%s  %s  %s, quiet for %s s\n", painted(cell(each, "cause"), Colour::yellow).c_str(),
                    cell(each, "execution_id").c_str(), cell(each, "workflow_type").c_str(),
                    cell(each, "quiet_seconds").c_str());
        std::printf("    why   %s\n    do    %s\n    then  %s\n", cell(each, "why").c_str(),
                    cell(each, "action").c_str(), cell(each, "command").c_str());
    }
    if (answer["executions"].empty())
        std::printf("all that is active has been heard of within %s s\n", cell(answer, "quiet_seconds").c_str());
    if (answer.value("more", false)) std::printf("and more\n");
    return Exit::ok;
}

}

void add_stalled(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<StalledOptions>();
    auto* c = commands.app.add_subcommand("stalled", "What is active and has not been heard of for a while, and why");
    c->add_option("--quiet", o->quiet, "For how many seconds (600, or what the hub's configuration says)")
        ->check(CLI::Range(1, 2592000));
    o->client.add_to(c);
    c->footer("Examples:\n  impresario stalled\n  impresario stalled --quiet 60 --json | jq .causes");
    c->callback([&chosen, o] { chosen = guarded([o] { return stalled(*o); }); });
}

}
