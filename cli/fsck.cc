// impresario fsck: whether the tables keep what is promised.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct FsckOptions {
    ClientOptions client;
    bool repair = false;
};

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

void print_check(const Json& check) {
    const auto found = check["found"].get<std::int64_t>();
    const auto state = found == 0 ? painted("kept  ", Colour::green) : painted("BROKEN", Colour::red);
    std::printf("%s  %s %s %s\n", state.c_str(), padded(cell(check, "promise"), 4).c_str(),
                padded(cell(check, "name"), 13).c_str(), cell(check, "says").c_str());
    for (const auto& finding : check["findings"]) {
        const auto type = cell(finding, "workflow_type");
        std::printf("          %s%s %s\n", type.empty() ? "" : (type + ": ").c_str(), cell(finding, "subject").c_str(),
                    cell(finding, "what").c_str());
        if (const auto done = cell(finding, "done"); !done.empty()) std::printf("            %s\n", done.c_str());
    }
    const auto shown = static_cast<std::int64_t>(check["findings"].size());
    if (found > shown) std::printf("          and %lld more\n", static_cast<long long>(found - shown));
    // Somebody watches: each line comes with its check.
    std::fflush(stdout);
}

void print_end(const Json& all) {
    const auto found = all["found"].get<std::int64_t>();
    const auto repaired = all["repaired"].get<std::int64_t>();
    if (found == 0) {
        std::printf("every promise is kept\n");
    } else if (!all["repair"].get<bool>()) {
        std::printf(
            "%lld found, nothing was changed; impresario fsck --repair repairs what is safe to repair and "
            "holds the lanes of the rest\n",
            static_cast<long long>(found));
    } else {
        std::printf("%lld found, %lld repaired\n", static_cast<long long>(found), static_cast<long long>(repaired));
        if (found > repaired)
            std::printf("what is left needs a human; then impresario resume each lane that is held\n");
    }
}

/// One check after the other, so that the terminal shows how far it is.
int fsck(const FsckOptions& o) {
    const Client client(o.client);
    Json all{{"repair", o.repair}, {"checks", Json::array()}, {"found", 0}, {"repaired", 0}, {"held", 0}};
    const auto listed = client.ask("GET", "/v1/fsck");
    for (const auto& each : listed["checks"]) {
        const auto answer =
            client.ask("POST", "/v1/fsck", {{"repair", o.repair}, {"checks", Json::array({each["name"]})}});
        const auto& check = answer["checks"].at(0);
        if (!o.client.wants_json()) print_check(check);
        all["checks"].push_back(check);
        for (const char* sum : {"found", "repaired", "held"})
            all[sum] = all[sum].get<std::int64_t>() + answer[sum].get<std::int64_t>();
    }
    if (o.client.wants_json()) {
        print(all);
    } else {
        print_end(all);
    }
    return all["found"] == 0 ? Exit::ok : Exit::failed;
}

}

void add_fsck(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<FsckOptions>();
    // As long as a check may take, and a little.
    o->client.patience = std::chrono::minutes{11};
    auto* c = commands.app.add_subcommand("fsck", "Check that the tables keep every promise");
    c->add_flag("--repair", o->repair, "Repair what is safe to repair, hold the lanes of what is not");
    o->client.add_to(c);
    c->footer("Examples:\n  impresario fsck\n  impresario fsck --repair");
    c->callback([&chosen, o] { chosen = guarded([o] { return fsck(*o); }); });
}

}
