// impresario retention: what has ended long ago, and goes.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

std::string kept_for(const Json& policy, const char* member) {
    return policy[member].is_null() ? "for ever" : cell(policy, member) + " days";
}

int show(const ClientOptions& client) {
    const auto answer = Client(client).ask("GET", "/v1/retention");
    if (client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"what has ended", "is kept"});
    const auto& policy = answer["policy"];
    for (const auto& [what, member] : {std::pair{"completed", "completed_days"},
                                       {"failed", "failed_days"},
                                       {"cancelled", "cancelled_days"},
                                       {"dead, decided about", "dead_days"},
                                       {"events of lanes, nodes …", "events_days"}})
        table.add({what, kept_for(policy, member)});
    table.print();
    std::printf("\n%s executions and %s events have gone; last looked %s\n", cell(answer, "removed_executions").c_str(),
                cell(answer, "removed_events").c_str(),
                answer["last_pass_at"].is_null() ? "never" : clock_of(cell(answer, "last_pass_at")).c_str());
    return Exit::ok;
}

int preview(const ClientOptions& client) {
    const auto answer = Client(client).ask("POST", "/v1/retention/preview", Json::object());
    if (client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table executions({"organization", "type", "status", "executions"});
    for (const auto& each : answer["executions"])
        executions.add({cell(each, "organization_id"), cell(each, "workflow_type"), cell(each, "status"),
                        cell(each, "executions")});
    executions.print();
    std::printf("\n");
    Table tables({"table", "rows", "KiB"});
    for (const auto& each : answer["tables"])
        tables.add({cell(each, "table"), cell(each, "rows"), std::to_string(each.value("bytes", 0LL) / 1024)});
    tables.print();
    std::printf("\n%s executions, about %lld KiB without indexes; %s more are old enough and held by something\n",
                cell(answer, "total_executions").c_str(), answer.value("total_bytes", 0LL) / 1024,
                cell(answer, "held").c_str());
    if (!answer.value("complete", true)) std::printf("There is more: not everything was looked at.\n");
    return Exit::ok;
}

}

void add_retention(Commands commands) {
    const auto client = std::make_shared<ClientOptions>();
    auto* all = commands.app.add_subcommand("retention", "What has ended long ago, and goes");
    all->footer("Examples:\n  impresario retention show\n  impresario retention preview");
    all->require_subcommand(1);
    add_client_command(*all, commands.chosen, *client, "show", "How long what is kept, and what has gone",
                       [client] { return show(*client); });
    add_client_command(*all, commands.chosen, *client, "preview", "What would go now, without removing it",
                       [client] { return preview(*client); });
}

}
