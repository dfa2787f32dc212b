#pragma once
// What the subcommands share.

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <string>

namespace impresario::cli {

inline constexpr const char* kVersion = "0.1.0";

/// Exit codes, documented in docs/cli.md.
enum Exit : int {
    ok = 0,
    /// Something went wrong that is none of the below.
    failed = 1,
    /// The command line or the configuration is wrong.
    usage = 2,
    /// The hub or the database cannot be reached.
    unreachable = 3,
    /// The hub refused: not found, not allowed, a conflict, an invalid request.
    refused = 4,
    /// What was waited for ended badly (failed, dead, cancelled).
    ended_badly = 5,
    /// This program is too old for the database's schema; starting it again is of no use.
    outdated = 6,
    /// Somebody else holds the lock, or it is not yours any more.
    locked = 7,
};

/// Adds a subcommand; its action returns the exit code.
using Action = std::function<int()>;
struct Commands {
    CLI::App& app;
    Action& chosen;
};

void add_serve(Commands commands);
void add_bench(Commands commands);
void add_dev(Commands commands);
void add_migrate(Commands commands);
void add_keys(Commands commands);
void add_client_commands(Commands commands);
void add_explain(Commands commands);
void add_budgets(Commands commands);
void add_fairness(Commands commands);
void add_providers(Commands commands);
void add_locks(Commands commands);
void add_timers(Commands commands);
void add_alerts(Commands commands);
void add_silences(Commands commands);
void add_report(Commands commands);
void add_fsck(Commands commands);
void add_tail(Commands commands);
void add_schedules(Commands commands);
void add_subscribers(Commands commands);
void add_retention(Commands commands);
void add_stalled(Commands commands);
void add_health(Commands commands);
void add_metrics(Commands commands);
void add_watch(Commands commands);

}
