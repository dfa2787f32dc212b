#include <cstdio>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/terminal.h"
#include "migrations/migrations.h"
#include "platform/json_writer.h"

namespace impresario::cli {

namespace {

struct MigrateOptions {
    std::string url;
    std::string config;
    int target = -1;
    bool dry_run = false;
    bool json = false;
};

int migrate(const MigrateOptions& options, const std::string& direction) {
    const auto settings = database_settings(options.url, options.config);
    if (settings.url.empty()) {
        std::fprintf(stderr, "impresario: no database; give --database-url or set IMPRESARIO_DATABASE_URL\n");
        return Exit::usage;
    }
    const auto migrator = migrations::all();
    try {
        platform::Connection connection(settings, nullptr);
        platform::SchemaStatus at;
        connection.autocommit([&](platform::Tx& tx) { at = migrator.status(tx); });
        if (direction == "status") {
            if (options.json) {
                platform::JsonWriter json;
                json.open();
                json.field("version", at.version)
                    .field("latest", migrator.latest())
                    .field("min_hub", at.min_hub)
                    .field("up_to_date", at.version == migrator.latest());
                json.close();
                std::printf("%s\n", json.text().c_str());
            } else {
                Table table({"", "version", "name", "why"});
                for (const auto& migration : migrator.migrations())
                    table.add({migration.version <= at.version ? "applied" : "pending",
                               std::to_string(migration.version), migration.name, migration.why()});
                table.print();
                std::printf("\nschema %d of %d\n", at.version, migrator.latest());
                if (at.version > migrator.latest()) std::printf("a newer impresario has been here\n");
            }
            return Exit::ok;
        }
        if (at.version > migrator.latest()) {
            std::fprintf(stderr, "impresario: the schema is at version %d, this program knows it up to %d; %s\n",
                         at.version, migrator.latest(),
                         direction == "up" ? "there is nothing for it to do" : "only a newer one can undo that");
            return direction == "up" ? Exit::ok : Exit::refused;
        }
        int target = direction == "up" ? migrator.latest() : at.version - 1;
        if (options.target >= 0) target = options.target;
        if (target < 0 || target > migrator.latest()) {
            std::fprintf(stderr, "impresario: --to must be from 0 to %d\n", migrator.latest());
            return Exit::usage;
        }
        const auto steps = migrator.steps(at.version, target);
        if (options.dry_run) {
            for (const auto& [way, migration] : steps) {
                std::printf("-- %s %d %s\n%s\n", way.c_str(), migration->version, migration->name.c_str(),
                            (way == "up" ? migration->up : migration->down).c_str());
            }
            std::fprintf(stderr, "dry run: %zu step%s from version %d to %d, nothing was changed\n", steps.size(),
                         steps.size() == 1 ? "" : "s", at.version, target);
            return Exit::ok;
        }
        const auto told = [](std::string_view way, const platform::Migration& migration) {
            std::printf("%-4s %d %s\n", std::string(way).c_str(), migration.version, migration.name.c_str());
            std::fflush(stdout);
        };
        const auto held_up = [](const std::string& who) {
            std::fprintf(stderr, "impresario: waiting for a table that is in use: %s\n", who.c_str());
        };
        migrator.migrate(connection, target, told, held_up);
        std::printf("schema at version %d\n", target);
        return Exit::ok;
    } catch (const platform::DatabaseUnavailable& e) {
        std::fprintf(stderr, "impresario: the database cannot be reached: %s\n", e.what());
        return Exit::unreachable;
    } catch (const platform::OlderHubs& e) {
        std::fprintf(stderr, "impresario: %s; stop or upgrade them, then migrate again\n", e.what());
        return Exit::refused;
    } catch (const platform::StatementRefused& e) {
        std::fprintf(stderr, "impresario: PostgreSQL refused a step, which was rolled back: %s\n", e.what());
        return Exit::failed;
    }
}

}

void add_migrate(Commands commands) {
    auto* command = commands.app.add_subcommand("migrate", "Bring the database's schema up or down");
    command->require_subcommand(1);
    auto options = std::make_shared<MigrateOptions>();
    for (const char* direction : {"up", "down", "status"}) {
        const std::string way(direction);
        auto* sub = command->add_subcommand(way, way == "up"     ? "Apply what is missing"
                                                 : way == "down" ? "Undo the last migration, or all above --to"
                                                                 : "Show what is applied");
        sub->add_option("--database-url", options->url, "libpq URL or connection string (IMPRESARIO_DATABASE_URL)");
        sub->add_option("--config", options->config, "TOML configuration file")->envname("IMPRESARIO_CONFIG");
        if (way != "status") {
            sub->add_option("--to", options->target, "Target version");
            sub->add_flag("--dry-run", options->dry_run, "Print the SQL and change nothing");
        } else {
            sub->add_flag("--json", options->json, "For programs");
        }
        sub->callback(
            [commands, options, way] { commands.chosen = [options, way] { return migrate(*options, way); }; });
    }
    command->footer(
        "Examples:\n  impresario migrate status\n  impresario migrate up --dry-run\n  impresario migrate down --to 5");
}

}
