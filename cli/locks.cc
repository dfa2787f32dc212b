// impresario locks: one at a time, for work that is not yet under the hub.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct LockOptions {
    ClientOptions client;
    std::string name;
    std::string owner;
    std::string reason;
    std::int64_t token = 0;
    int ttl = 60;
    int wait = 0;
};

std::string path(const LockOptions& o, const std::string& what = "") {
    return "/v1/locks/" + platform::percent_encode(o.name) + what;
}

int list(const LockOptions& o) {
    const auto answer = Client(o.client).ask("GET", "/v1/locks");
    if (o.client.wants_json()) {
        print(answer);
        return Exit::ok;
    }
    Table table({"lock", "owner", "since", "until", "held"});
    for (const auto& lock : answer["locks"])
        table.add({cell(lock, "name"), cell(lock, "owner"), clock_of(cell(lock, "acquired_at")),
                   clock_of(cell(lock, "held_until")), lock.value("held", false) ? "yes" : "its time is over"});
    table.print();
    return Exit::ok;
}

/// A script has to tell somebody else's lock from a key that is not taken.
int unless_locked(const std::function<int()>& body) {
    try {
        return body();
    } catch (Refusal& refusal) {
        if (refusal.status == 409) refusal.code = Exit::locked;
        throw;
    }
}

}

void add_locks(Commands commands) {
    Action& chosen = commands.chosen;
    const auto o = std::make_shared<LockOptions>();
    auto* all = commands.app.add_subcommand("locks", "One at a time, for work that is not yet under the hub");
    all->footer(
        "Example:\n  TOKEN=$(impresario locks acquire nightly --owner \"$HOSTNAME-$$\" --ttl 600 --wait 60 --json | jq "
        ".token)\n  impresario locks renew nightly --token $TOKEN --ttl 600\n  impresario locks release nightly "
        "--token "
        "$TOKEN");
    all->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, bool named, std::function<int()> body) {
        auto* c = add_client_command(*all, chosen, o->client, name, about, [body] { return unless_locked(body); });
        if (named) c->add_option("name", o->name, "Lock")->required();
        return c;
    };
    const auto with_ttl = [o](CLI::App* c) {
        c->add_option("--ttl", o->ttl, "Seconds until it is free by itself (60)")->check(CLI::Range(1, 86400));
    };
    const auto with_token = [o](CLI::App* c) {
        c->add_option("--token", o->token, "The one that acquiring it gave")->required();
    };
    add("list", "Who holds which, and until when", false, [o] { return list(*o); });
    add("show", "One of them", true, [o] {
        print(Client(o->client).ask("GET", path(*o)));
        return static_cast<int>(Exit::ok);
    });
    auto* acquire = add("acquire", "Hold it; exit code 7: somebody else does", true, [o] {
        print(Client(o->client).ask("POST", path(*o),
                                    {{"owner", o->owner}, {"ttl_seconds", o->ttl}, {"wait_seconds", o->wait}}));
        return static_cast<int>(Exit::ok);
    });
    acquire->add_option("--owner", o->owner, "Who holds it: one name for each run")->required();
    acquire->add_option("--wait", o->wait, "Seconds to wait for it (0)")->check(CLI::Range(0, 60));
    with_ttl(acquire);
    auto* renew =
        add("renew", "Hold it for longer, counted from now; exit code 7: it is not yours any more", true, [o] {
            print(Client(o->client).ask("POST", path(*o, "/renew"), {{"token", o->token}, {"ttl_seconds", o->ttl}}));
            return static_cast<int>(Exit::ok);
        });
    with_token(renew);
    with_ttl(renew);
    with_token(add("release", "Let it go", true, [o] {
        Client(o->client).ask_text("POST", path(*o, "/release"), Json{{"token", o->token}}.dump());
        std::printf("%s is free\n", o->name.c_str());
        return static_cast<int>(Exit::ok);
    }));
    add("break", "Take it from whoever holds it", true, [o] {
        Json body = Json::object();
        if (!o->reason.empty()) body["reason"] = o->reason;
        print(Client(o->client).ask("POST", path(*o, "/break"), body));
        return static_cast<int>(Exit::ok);
    })->add_option("--reason", o->reason, "Kept in the hub's log");
}

}
