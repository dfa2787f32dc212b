#include <cstdio>

#include "api/auth.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/terminal.h"
#include "platform/json_writer.h"

namespace impresario::cli {

namespace {

struct KeysOptions {
    std::string url;
    std::string config;
    std::string name = "cli";
    std::string role = "operator";
    std::string organization = domain::kDefaultOrganization;
    std::string id;
    bool json = false;
};

template <class Body>
int with_database(const KeysOptions& options, Body body) {
    const auto settings = database_settings(options.url, options.config);
    if (settings.url.empty()) {
        std::fprintf(stderr, "impresario: no database; give --database-url or set IMPRESARIO_DATABASE_URL\n");
        return Exit::usage;
    }
    try {
        platform::Connection connection(settings, nullptr);
        int code = Exit::ok;
        connection.transact([&](platform::Tx& tx) { code = body(tx); });
        return code;
    } catch (const platform::DatabaseUnavailable& e) {
        std::fprintf(stderr, "impresario: the database cannot be reached: %s\n", e.what());
        return Exit::unreachable;
    } catch (const platform::StatementRefused& e) {
        std::fprintf(stderr, "impresario: %s\n", e.what());
        return Exit::refused;
    }
}

int create(const KeysOptions& options) {
    const auto role = api::parse_role(options.role);
    if (!role) {
        std::fprintf(stderr, "impresario: --role must be viewer, submitter, operator or admin\n");
        return Exit::usage;
    }
    return with_database(options, [&](platform::Tx& tx) {
        api::Caller caller;
        caller.organization_id = options.organization;
        caller.name = options.name;
        caller.role = *role;
        const auto key = api::ApiKeyStore().create(tx, caller);
        // The one time it is shown.
        if (options.json) {
            platform::JsonWriter json;
            json.open();
            json.field("key", key.reveal())
                .field("name", options.name)
                .field("role", options.role)
                .field("organization_id", options.organization);
            json.close();
            std::printf("%s\n", json.text().c_str());
        } else {
            std::printf("%s\n", key.reveal().c_str());
            if (on_terminal())
                std::fprintf(stderr, "%s key for %s; it is shown this once\n", options.role.c_str(),
                             options.organization.c_str());
        }
        return static_cast<int>(Exit::ok);
    });
}

int list(const KeysOptions& options) {
    return with_database(options, [&](platform::Tx& tx) {
        const auto keys = api::ApiKeyStore().list(tx);
        if (options.json) {
            platform::JsonWriter json;
            json.open();
            json.open("keys", '[');
            for (const auto& key : keys) {
                json.open();
                json.field("key_id", key.caller.key.text())
                    .field("name", key.caller.name)
                    .field("role", api::name(key.caller.role))
                    .field("organization_id", key.caller.organization_id);
                json.field("hint", key.hint)
                    .field("created_at", domain::rfc3339(key.created_at))
                    .field("revoked", key.revoked_at.has_value());
                json.close();
            }
            json.close(']');
            json.close();
            std::printf("%s\n", json.text().c_str());
            return static_cast<int>(Exit::ok);
        }
        Table table({"key id", "name", "role", "organization", "begins with", "created", ""});
        for (const auto& key : keys)
            table.add({key.caller.key.text(), key.caller.name, std::string(api::name(key.caller.role)),
                       key.caller.organization_id, key.hint + "…", domain::rfc3339(key.created_at),
                       key.revoked_at ? "revoked" : ""});
        table.print();
        return static_cast<int>(Exit::ok);
    });
}

int revoke(const KeysOptions& options) {
    const auto id = domain::ApiKeyId::parse(options.id);
    if (!id) {
        std::fprintf(stderr, "impresario: the key id must be a UUID; impresario keys list shows them\n");
        return Exit::usage;
    }
    return with_database(options, [&](platform::Tx& tx) {
        if (api::ApiKeyStore().revoke(tx, *id)) {
            std::printf("revoked; nodes are told now, and know it within a second\n");
            return static_cast<int>(Exit::ok);
        }
        std::fprintf(stderr, "impresario: there is no such key alive\n");
        return static_cast<int>(Exit::refused);
    });
}

}

void add_keys(Commands commands) {
    auto* command = commands.app.add_subcommand("keys", "Make, list and revoke API keys (works on the database)");
    command->require_subcommand(1);
    auto options = std::make_shared<KeysOptions>();
    const auto common = [&](CLI::App* sub) {
        sub->add_option("--database-url", options->url, "libpq URL or connection string (IMPRESARIO_DATABASE_URL)");
        sub->add_option("--config", options->config, "TOML configuration file")->envname("IMPRESARIO_CONFIG");
        sub->add_flag("--json", options->json, "For programs");
    };
    auto* create_command = command->add_subcommand("create", "Make a key and print it, this once");
    common(create_command);
    create_command->add_option("--name", options->name, "Whose it is");
    create_command->add_option("--role", options->role, "viewer, submitter, operator or admin");
    create_command->add_option("--organization", options->organization, "Organization it is for");
    create_command->callback([commands, options] { commands.chosen = [options] { return create(*options); }; });
    auto* list_command = command->add_subcommand("list", "Show the keys, never their text");
    common(list_command);
    list_command->callback([commands, options] { commands.chosen = [options] { return list(*options); }; });
    auto* revoke_command = command->add_subcommand("revoke", "Make a key worthless");
    common(revoke_command);
    revoke_command->add_option("key-id", options->id, "From keys list")->required();
    revoke_command->callback([commands, options] { commands.chosen = [options] { return revoke(*options); }; });
    command->footer("Examples:\n  impresario keys create --name ci --role submitter\n  impresario keys list");
}

}
