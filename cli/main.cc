#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/client.h"
#include "cli/command.h"
#include "platform/redact.h"

namespace {

/// A command line is everybody's to read (ps, /proc): what is secret in it is gone from there before anything begins.
void hide_secrets(int argc, char** argv) {
    const auto hide = [](char* text) {
        for (; *text != '\0'; ++text) *text = '*';
    };
    bool next = false;
    for (int i = 1; i < argc; ++i) {
        char* const argument = argv[i];
        const std::string_view text(argument);
        // A definition may have secrets in it.
        if (std::exchange(next, false) || text.starts_with('{')) {
            hide(argument);
            continue;
        }
        for (const std::string_view option : {"--database-url", "--token"}) {
            if (text == option) next = true;
            if (text.starts_with(option) && text.substr(option.size()).starts_with('='))
                hide(argument + option.size() + 1);
        }
    }
}

}

int main(int argc, char** argv) {
    using namespace impresario::cli;
    CLI::App app{"Impresario: one hub that decides what runs next, with priorities, limits and budgets.", "impresario"};
    app.require_subcommand(1);
    app.set_version_flag("--version", std::string("impresario ") + kVersion);
    app.get_formatter()->column_width(34);
    Action chosen;
    const Commands commands{app, chosen};
    add_dev(commands);
    add_serve(commands);
    add_migrate(commands);
    add_keys(commands);
    add_client_commands(commands);
    add_explain(commands);
    add_budgets(commands);
    add_fairness(commands);
    add_providers(commands);
    add_locks(commands);
    add_timers(commands);
    add_alerts(commands);
    add_watch(commands);
    add_silences(commands);
    add_report(commands);
    add_fsck(commands);
    add_tail(commands);
    add_schedules(commands);
    add_subscribers(commands);
    add_retention(commands);
    add_health(commands);
    add_stalled(commands);
    add_metrics(commands);
    add_bench(commands);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        // It repeats what it does not understand: a key in a wrong place, for instance.
        std::ostringstream out;
        std::ostringstream err;
        const int code = app.exit(e, out, err);
        std::fputs(out.str().c_str(), stdout);
        std::fputs(impresario::platform::redacted(err.str(), std::vector<impresario::domain::Secret>{}).c_str(),
                   stderr);
        return code == 0 ? Exit::ok : Exit::usage;
    }
    hide_secrets(argc, argv);
    try {
        return chosen ? chosen() : Exit::usage;
    } catch (const Refusal& refusal) {
        std::fprintf(stderr, "impresario: %s\n", refusal.text.c_str());
        return refusal.code;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "impresario: %s\n", e.what());
        return Exit::failed;
    }
}
