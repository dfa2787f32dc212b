// impresario health: healthy or degraded, and because of what.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace impresario::cli {

namespace {

int health(const ClientOptions& client) {
    const auto answer = Client(client).ask("GET", "/v1/health");
    const bool healthy = cell(answer, "status") == "healthy";
    const int code = healthy ? Exit::ok : Exit::failed;
    if (client.wants_json()) {
        print(answer);
        return code;
    }
    const auto& metrics = answer.at("metrics");
    std::printf("%s   %s active, %s waiting, up for %s s\n",
                painted(cell(answer, "status"), healthy ? Colour::green : Colour::red).c_str(),
                cell(metrics, "active_executions").c_str(), cell(metrics, "queue_depth").c_str(),
                cell(metrics, "uptime_seconds").c_str());
    Table table({"check", "", "because"});
    for (const auto& check : answer.at("checks"))
        table.add(
            {cell(check, "name"), check.value("healthy", false) ? "healthy" : "degraded", cell(check, "because")});
    table.print();
    return code;
}

}

void add_health(Commands commands) {
    Action& chosen = commands.chosen;
    const auto client = std::make_shared<ClientOptions>();
    auto* c = commands.app.add_subcommand("health", "Whether the hub is healthy or degraded, and because of what");
    client->add_to(c);
    c->footer("Exit code 1: it is degraded.\nExample:\n  impresario health || impresario state");
    c->callback([&chosen, client] { chosen = guarded([client] { return health(*client); }); });
}

}
