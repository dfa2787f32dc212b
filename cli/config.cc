#include "cli/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "alerts/settings_json.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/toml.h"
#include "platform/crypto.h"
#include "platform/json_text.h"
#include "platform/url.h"
#include "platform/zone.h"
#include "subworkflows/workflow_type_json.h"

namespace impresario::cli {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

std::optional<std::string> variable_of(const char* name) {
    const char* value = std::getenv(name);
    if (!value || !*value) return std::nullopt;
    return std::string(value);
}

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    std::stringstream text;
    text << file.rdbuf();
    std::string content = text.str();
    while (!content.empty() && (content.back() == '\n' || content.back() == '\r')) content.pop_back();
    return content;
}

class Reader {
  public:
    Reader(const toml::table& root, std::vector<std::string>& mistakes) : root_(root), mistakes_(mistakes) {}

    void wrong(const std::string& where, const std::string& what) { mistakes_.push_back(where + ": " + what); }

    const toml::node* find(const std::string& section, const std::string& key) {
        known_.insert(section + "." + key);
        const auto* table = root_[section].as_table();
        return table ? table->get(key) : nullptr;
    }

    void text(const std::string& section, const std::string& key, std::string& into, const char* variable = nullptr) {
        if (const auto* node = find(section, key)) {
            if (const auto secret = secret_text(*node, section + "." + key)) into = *secret;
        }
        if (variable)
            if (auto value = variable_of(variable)) into = *value;
    }
    template <class Number>
    void number(const std::string& section, const std::string& key, Number& into, std::int64_t least, std::int64_t most,
                const char* variable = nullptr) {
        std::optional<std::int64_t> value;
        if (const auto* node = find(section, key)) {
            value = node->value_exact<std::int64_t>();
            if (!value) wrong(section + "." + key, "must be a whole number");
        }
        if (variable)
            if (const auto given = variable_of(variable)) {
                char* end = nullptr;
                value = std::strtoll(given->c_str(), &end, 10);
                if (*end != '\0') {
                    wrong(variable, "must be a whole number");
                    value.reset();
                }
            }
        if (!value) return;
        if (*value < least || *value > most)
            return wrong(section + "." + key, "must be from " + std::to_string(least) + " to " + std::to_string(most));
        into = static_cast<Number>(*value);
    }
    template <class Rep, class Period>
    void duration(const std::string& section, const std::string& key, std::chrono::duration<Rep, Period>& into,
                  std::int64_t least, std::int64_t most) {
        std::int64_t count = into.count();
        number(section, key, count, least, most);
        into = std::chrono::duration<Rep, Period>{count};
    }
    void flag(const std::string& section, const std::string& key, bool& into, const char* variable = nullptr) {
        if (const auto* node = find(section, key)) {
            if (const auto value = node->value_exact<bool>()) {
                into = *value;
            } else {
                wrong(section + "." + key, "must be true or false");
            }
        }
        const auto given = variable ? variable_of(variable) : std::nullopt;
        if (!given) return;
        if (*given != "true" && *given != "false") return wrong(variable, "must be true or false");
        into = *given == "true";
    }

    /// A string, or {env = "NAME"} or {file = "path"} in its place.
    std::optional<std::string> secret_text(const toml::node& node, const std::string& where) {
        if (const auto value = node.value_exact<std::string>()) return *value;
        const auto* table = node.as_table();
        if (table && table->size() == 1) {
            if (const auto name = (*table)["env"].value<std::string>()) {
                if (auto value = variable_of(name->c_str())) return value;
                wrong(where, "the environment variable " + *name + " is not set");
                return std::nullopt;
            }
            if (const auto path = (*table)["file"].value<std::string>()) {
                if (auto value = read_file(*path)) return value;
                wrong(where, "the file " + *path + " cannot be read");
                return std::nullopt;
            }
        }
        wrong(where, "must be a string, {env = \"NAME\"} or {file = \"path\"}");
        return std::nullopt;
    }

    json to_json(const toml::node& node, const std::string& where) {
        if (const auto* table = node.as_table()) {
            if (table->size() == 1 && (table->contains("env") || table->contains("file"))) {
                const auto text = secret_text(node, where);
                return text ? json(*text) : json(nullptr);
            }
            json object = json::object();
            for (const auto& [key, value] : *table)
                object[std::string(key.str())] = to_json(value, where + "." + std::string(key.str()));
            return object;
        }
        if (const auto* array = node.as_array()) {
            json list = json::array();
            for (const auto& value : *array) list.push_back(to_json(value, where));
            return list;
        }
        if (const auto value = node.value_exact<std::string>()) return *value;
        if (const auto value = node.value_exact<bool>()) return *value;
        if (const auto value = node.value_exact<std::int64_t>()) return *value;
        // Infinity and "not a number" would become null, which means something else.
        if (const auto value = node.value_exact<double>(); value && std::isfinite(*value)) return *value;
        wrong(where, "holds a value that has no meaning here");
        return nullptr;
    }

    /// Sections and keys that nobody read.
    /// `only`: of these sections; empty: of all.
    void nothing_else(const std::set<std::string>& only = {}) {
        for (const auto& [section, value] : root_) {
            const std::string name(section.str());
            if (name == "workflow_types" || name == "alerts" || name == "watch") {
                if (!only.contains(name)) continue;
            } else if (!only.empty()) {
                continue;
            }
            const auto* table = value.as_table();
            bool any = false;
            for (const auto& each : known_) any = any || each.starts_with(name + ".");
            if (!table || !any) {
                wrong(name, "is not a section of the configuration");
                continue;
            }
            for (const auto& [key, ignored] : *table)
                if (!known_.contains(name + "." + std::string(key.str())))
                    wrong(name + "." + std::string(key.str()), "is not a setting");
        }
    }

  private:
    const toml::table& root_;
    std::vector<std::string>& mistakes_;
    std::set<std::string> known_;
};

void read_alerts(Reader& read, const toml::table& root, alerts::Settings& into) {
    const auto* section = root.get("alerts");
    if (!section) return;
    auto parsed = alerts::parse_settings(read.to_json(*section, "alerts").dump());
    if (parsed) {
        into = *std::move(parsed);
    } else {
        for (const auto& fault : parsed.error()) read.wrong("alerts" + fault.pointer, fault.what);
    }
}

/// Without `receivers`: the first Slack and the first e-mail.
void read_reports(Reader& read, const alerts::Settings& alerts, reports::Settings& into) {
    using alerts::ReceiverKind;
    read.flag("reports", "enabled", into.enabled);
    read.text("reports", "zone", into.zone);
    if (!platform::known_zone(into.zone)) read.wrong("reports.zone", "must be a time zone such as Europe/Berlin");
    read.number("reports", "daily_hour", into.daily_hour, 0, 23);
    read.number("reports", "weekly_hour", into.weekly_hour, 0, 23);
    read.number("reports", "weekly_weekday", into.weekly_weekday, 1, 7);
    const auto* node = read.find("reports", "receivers");
    if (!node) {
        for (const auto kind : {ReceiverKind::slack, ReceiverKind::email}) {
            const auto first = std::find_if(alerts.receivers.begin(), alerts.receivers.end(),
                                            [&](const auto& each) { return each.kind == kind; });
            if (first != alerts.receivers.end()) into.receivers.push_back(first->name);
        }
        return;
    }
    const auto* list = node->as_array();
    if (!list) return read.wrong("reports.receivers", "must be an array of names of [[alerts.receivers]]");
    for (const auto& each : *list) {
        const auto name = each.value<std::string>().value_or("");
        const auto* receiver = alerts::find_receiver(alerts.receivers, name);
        const bool takes =
            receiver && (receiver->kind == ReceiverKind::slack || receiver->kind == ReceiverKind::email ||
                         receiver->kind == ReceiverKind::webhook);
        if (!takes) {
            read.wrong("reports.receivers",
                       "\"" + name + "\" must be one of [[alerts.receivers]] of type slack, email or webhook");
        } else if (std::find(into.receivers.begin(), into.receivers.end(), name) == into.receivers.end()) {
            into.receivers.push_back(name);
        }
    }
}

std::string host_name() {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    return name;
}

}

LoadedConfig load_config(const std::string& file) {
    if (file.empty()) return read_config("", "");
    if (const auto text = read_file(file); text && !std::filesystem::is_directory(file))
        return read_config(*text, file);
    LoadedConfig nothing;
    nothing.mistakes.push_back(file + ": cannot be read");
    return nothing;
}

LoadedWatch load_watch(const std::string& file) {
    LoadedWatch loaded;
    auto& config = loaded.config;
    auto& mistakes = loaded.mistakes;
    const auto text = read_file(file);
    if (!text || std::filesystem::is_directory(file)) {
        mistakes.push_back(file + ": cannot be read");
        return loaded;
    }
    toml::table root;
    if (auto mistake = parse_toml(*text, file, root)) {
        mistakes.push_back(*std::move(mistake));
        return loaded;
    }
    Reader read(root, mistakes);
    if (const auto* node = read.find("watch", "urls"))
        if (const auto* list = node->as_array())
            for (const auto& each : *list) config.urls.push_back(each.value<std::string>().value_or(""));
    if (config.urls.empty()) read.wrong("watch.urls", "is missing: the addresses of the hubs, as an array");
    for (auto& url : config.urls) {
        while (url.ends_with('/')) url.pop_back();
        if (const auto parsed = platform::parse_url(url); !parsed) read.wrong("watch.urls", parsed.error().what);
    }
    std::string key;
    read.text("watch", "key", key);
    config.key = domain::Secret(key);
    read.duration("watch", "every_seconds", config.every, 1, 3600);
    read.duration("watch", "after_seconds", config.after, 1, 86400);
    read.text("webhooks", "extra_trust", config.client.extra_trust);
    read_alerts(read, root, config.alerts);
    if (config.alerts.receivers.empty()) read.wrong("alerts.receivers", "is missing: who is told");
    read.nothing_else({"watch"});
    config.client.connections_per_origin = 1;
    config.client.egress = platform::EgressPolicy::everywhere();
    return loaded;
}

LoadedConfig read_config(const std::string& content, const std::string& called) {
    LoadedConfig loaded;
    auto& config = loaded.config;
    auto& mistakes = loaded.mistakes;
    toml::table root;
    if (auto mistake = parse_toml(content, called, root)) {
        mistakes.push_back(*std::move(mistake));
        return loaded;
    }
    Reader read(root, mistakes);

    std::string url;
    std::string listen_url;
    read.text("database", "url", url, "IMPRESARIO_DATABASE_URL");
    read.text("database", "listen_url", listen_url, "IMPRESARIO_LISTEN_DATABASE_URL");
    if (url.empty()) mistakes.push_back("database.url: is missing; set it or IMPRESARIO_DATABASE_URL");
    config.database.url = domain::Secret(url);
    // The listener takes one; together they stay within 003's max_connections.
    read.number("database", "connections", config.database.connections, 1, 19, "IMPRESARIO_DATABASE_CONNECTIONS");
    read.duration("database", "query_timeout_ms", config.database.statement_timeout, 100, 60000);
    read.flag("database", "pooled", config.database.pooled, "IMPRESARIO_DATABASE_POOLED");
    config.listen = config.database;
    config.listen.pooled = false;
    if (!listen_url.empty()) config.listen.url = domain::Secret(listen_url);
    if (config.database.pooled && listen_url.empty())
        mistakes.push_back(
            "database.listen_url: is needed with database.pooled: LISTEN does not work through a transaction-mode "
            "pooler");

    read.text("http", "address", config.http.address, "IMPRESARIO_HTTP_ADDRESS");
    read.number("http", "port", config.http.port, 0, 65535, "IMPRESARIO_HTTP_PORT");
    read.number("http", "connections", config.http.connections, 10, 100000);
    std::size_t mebibytes = config.http.bodies_limit >> 20;
    read.number("http", "bodies_mib", mebibytes, 16, 65536);
    config.http.bodies_limit = mebibytes << 20;
    read.duration("http", "header_deadline_ms", config.http.header_deadline, 100, 120000);
    read.duration("http", "body_deadline_ms", config.http.body_deadline, 100, 600000);
    read.duration("http", "write_deadline_ms", config.http.write_deadline, 100, 600000);
    read.number("events", "streams", config.api.events.most, 1, 100000);
    read.duration("events", "comment_ms", config.api.events.comment, 100, 60000);
    std::size_t kibibytes = config.api.events.buffer >> 10;
    read.number("events", "buffer_kib", kibibytes, 64, 65536);
    config.api.events.buffer = kibibytes << 10;
    int keep_days = 7;
    read.number("outbox", "keep_days", keep_days, 1, 3660);
    config.outbox.keep = std::chrono::hours{24} * keep_days;
    auto& policy = config.retention.policy;
    for (const auto& [name, age] : {std::pair{"completed_days", &policy.completed},
                                    {"failed_days", &policy.failed},
                                    {"cancelled_days", &policy.cancelled},
                                    {"dead_days", &policy.dead},
                                    {"events_days", &policy.events}}) {
        // 0: for ever. A key of an enqueue is kept for a day, and so is what counts against a provider.
        int days = static_cast<int>(**age / std::chrono::hours{24});
        read.number("retention", name, days, 0, 36600);
        if (days == 1) mistakes.push_back(std::string("retention.") + name + " must be 0 (for ever) or at least 2");
        age->reset();
        if (days > 0) *age = std::chrono::hours{24} * days;
    }
    read.duration("retention", "every_seconds", config.retention.every, 1, 86400);
    read_alerts(read, root, config.alerts);
    read_reports(read, config.alerts, config.reports);
    std::string collector;
    read.text("tracing", "url", collector, "IMPRESARIO_TRACING_URL");
    if (!collector.empty())
        if (const auto parsed = platform::parse_url(collector); !parsed)
            mistakes.push_back("tracing.url: " + parsed.error().what);
    config.tracing.url = domain::Secret(collector);
    std::string authorization;
    read.text("tracing", "authorization", authorization, "IMPRESARIO_TRACING_AUTHORIZATION");
    config.tracing.authorization = domain::Secret(authorization);
    read.number("tracing", "sample_percent", config.tracing.sample_percent, 0, 100);
    read.text("tracing", "service_name", config.tracing.service_name);
    read.number("metrics", "series", config.most_series, 10, 1000000);
    read.number("health", "queue_depth", config.hub.health.queue_depth, 1, 100000);
    read.duration("stalled", "quiet_seconds", config.hub.quiet, 10, 30 * 86400);
    config.node.public_url = "http://" + config.http.address + ":" + std::to_string(config.http.port);
    read.text("http", "public_url", config.node.public_url, "IMPRESARIO_PUBLIC_URL");
    while (config.node.public_url.ends_with('/')) config.node.public_url.pop_back();
    if (const auto parsed = platform::parse_url(config.node.public_url); !parsed)
        mistakes.push_back("http.public_url: " + parsed.error().what);

    read.duration("webhooks", "connect_deadline_ms", config.client.connect_deadline, 10, 60000);
    read.duration("webhooks", "whole_deadline_ms", config.client.whole_deadline, 10, 120000);
    read.number("webhooks", "connections_per_origin", config.client.connections_per_origin, 1, 10000);
    read.text("webhooks", "extra_trust", config.client.extra_trust);
    if (!config.client.extra_trust.empty() && access(config.client.extra_trust.c_str(), R_OK) != 0)
        mistakes.push_back("webhooks.extra_trust: the file " + config.client.extra_trust + " cannot be read");
    std::vector<platform::Cidr> allowed;
    std::vector<std::string> blocks;
    if (const auto* node = read.find("egress", "allow")) {
        if (const auto* list = node->as_array()) {
            for (const auto& each : *list) blocks.push_back(each.value<std::string>().value_or(""));
        } else {
            mistakes.push_back("egress.allow: must be an array of address blocks");
        }
    }
    if (const auto given = variable_of("IMPRESARIO_EGRESS_ALLOW")) {
        std::stringstream list(*given);
        for (std::string each; std::getline(list, each, ',');) blocks.push_back(each);
    }
    for (const auto& block : blocks) {
        const auto parsed = platform::Cidr::parse(block);
        if (parsed) {
            allowed.push_back(*parsed);
        } else {
            mistakes.push_back("egress.allow: '" + block + "' " + parsed.error().what);
        }
    }
    config.client.egress = platform::EgressPolicy(std::move(allowed));

    config.node.name = host_name() + ":" + std::to_string(getpid());
    read.text("hub", "name", config.node.name, "IMPRESARIO_NODE_NAME");
    read.number("hub", "max_batch_size", config.hub.max_batch_size, 1, 10000);
    read.duration("hub", "lease_seconds", config.node.lease, 2, 600);
    read.duration("hub", "heartbeat_ms", config.node.heartbeat, 100, 60000);
    if (config.node.heartbeat * 2 > config.node.lease)
        mistakes.push_back("hub.heartbeat_ms: must be at most half of hub.lease_seconds");
    read.duration("hub", "tick_ms", config.hub.tick, 100, 3600000);
    auto& breaker = config.hub.breaker;
    read.number("breaker", "results", breaker.least_results, 1, 100000);
    read.number("breaker", "failure_percent", breaker.failure_percent, 1, 100);
    const auto time = [&](const char* name, domain::Duration& into, std::int64_t least, std::int64_t most) {
        auto length = std::chrono::duration_cast<milliseconds>(into);
        read.duration("breaker", name, length, least, most);
        into = length;
    };
    time("window_ms", breaker.window, 1000, 3600000);
    time("open_ms", breaker.opening, 100, 3600000);
    time("longest_open_ms", breaker.longest, 100, 86400000);
    if (breaker.longest < breaker.opening)
        mistakes.push_back("breaker.longest_open_ms: must not be less than breaker.open_ms");
    std::string unknown_cost;
    read.text("money", "unknown_cost_usd", unknown_cost);
    if (!unknown_cost.empty()) {
        const auto parsed = domain::parse_money(unknown_cost);
        if (!parsed) mistakes.push_back("money.unknown_cost_usd: " + std::string(domain::explain(parsed.error())));
        if (parsed) config.hub.unknown_cost = parsed->amount;
    }
    read.number("memory", "total_mb", config.hub.memory_total_mb, 1, subworkflows::kMostMemoryMb);
    auto& pressure = config.hub.pressure;
    read.number("memory", "hub_mb", pressure.memory_mb, 1, subworkflows::kMostMemoryMb);
    const auto limit_ms = [&](const char* name, domain::Duration& into) {
        auto length = std::chrono::duration_cast<milliseconds>(into);
        read.duration("pressure", name, length, 1, 3600000);
        into = length;
    };
    limit_ms("wait_ms", pressure.wait);
    limit_ms("write_ms", pressure.write);
    limit_ms("replication_lag_ms", pressure.replication_lag);
    read.number("pressure", "lock_waits", pressure.lock_waits, 1, 1000);
    config.hub.health.pressure = pressure;
    read.duration("pressure", "look_ms", config.hub.health_every, 100, 60000);
    for (const auto& [name, into] :
         {std::pair{"soft_limit", &config.hub.queue.soft}, {"hard_limit", &config.hub.queue.hard}}) {
        std::int64_t limit = 0;
        read.number("queue", name, limit, 1, subworkflows::kMostWaiting);
        if (limit > 0) *into = limit;
    }
    if (config.hub.queue.soft && config.hub.queue.hard && *config.hub.queue.soft > *config.hub.queue.hard)
        mistakes.push_back("queue.hard_limit: must not be less than queue.soft_limit");
    seconds ttl{0};
    read.duration("queue", "ttl_seconds", ttl, 1, 2592000);
    if (ttl.count() > 0) config.hub.queue_ttl = ttl;
    read.duration("hub", "drain_seconds", config.node.drain, 0, 600);
    std::string key;
    std::string key_file;
    std::string previous;
    read.text("hub", "key", key, "IMPRESARIO_HUB_KEY");
    read.text("hub", "key_file", key_file, "IMPRESARIO_HUB_KEY_FILE");
    read.text("hub", "previous_key", previous, "IMPRESARIO_PREVIOUS_HUB_KEY");
    if (key.empty() && !key_file.empty()) {
        if (auto text = read_file(key_file)) {
            key = *text;
        } else {
            mistakes.push_back("hub.key_file: the file " + key_file + " cannot be read");
        }
    } else if (key.empty()) {
        mistakes.push_back(
            "hub.key_file: is missing; make one with: openssl rand -base64 32 > hub.key && chmod 600 hub.key");
    }
    if (!key.empty()) config.hub_keys.emplace_back(key);
    if (!previous.empty()) config.hub_keys.emplace_back(previous);
    if (!config.hub_keys.empty()) {
        try {
            const platform::KeyRing ring(config.hub_keys);
        } catch (const std::exception& e) {
            mistakes.push_back("hub.key: " + std::string(e.what()));
        }
    }

    std::string level = "info";
    std::string format = isatty(2) ? "text" : "json";
    read.text("log", "level", level, "IMPRESARIO_LOG_LEVEL");
    read.text("log", "format", format, "IMPRESARIO_LOG_FORMAT");
    using platform::log::Level;
    if (level == "debug") {
        config.log_level = Level::debug;
    } else if (level == "info") {
        config.log_level = Level::info;
    } else if (level == "warn") {
        config.log_level = Level::warn;
    } else if (level == "error") {
        config.log_level = Level::error;
    } else {
        mistakes.push_back("log.level: must be debug, info, warn or error");
    }
    if (format != "json" && format != "text") mistakes.push_back("log.format: must be json or text");
    config.log_format = format == "json" ? platform::log::Format::json : platform::log::Format::text;

    if (const auto* types = root["workflow_types"].as_array()) {
        std::size_t index = 0;
        for (const auto& each : *types) {
            const std::string where = "workflow_types[" + std::to_string(index++) + "]";
            const auto* table = each.as_table();
            const auto name = table ? (*table)["name"].value<std::string>() : std::nullopt;
            if (!name) {
                mistakes.push_back(where + ".name: is missing");
                continue;
            }
            Config::TypeDefinition definition{*name, domain::Secret(read.to_json(each, where).dump())};
            const auto parsed = subworkflows::parse_workflow_type(definition.json.reveal(),
                                                                  {domain::kDefaultOrganization, *name}, nullptr);
            if (!parsed)
                for (const auto& fault : parsed.error())
                    mistakes.push_back(where + " (" + *name + ") " + fault.pointer + ": " + fault.what);
            if (parsed && parsed->memory_mb.value_or(0) > config.hub.memory_total_mb)
                mistakes.push_back(where + " (" + *name + ") /memory_mb: is more than memory.total_mb, " +
                                   std::to_string(config.hub.memory_total_mb));
            config.types.push_back(std::move(definition));
        }
    } else if (root.contains("workflow_types")) {
        mistakes.push_back("workflow_types: must be [[workflow_types]] tables");
    }
    read.nothing_else();
    return loaded;
}

platform::DatabaseSettings database_settings(const std::string& url_option, const std::string& config_file) {
    platform::DatabaseSettings settings;
    std::string url = url_option;
    if (url.empty()) url = variable_of("IMPRESARIO_DATABASE_URL").value_or("");
    if (url.empty() && !config_file.empty()) {
        const auto loaded = load_config(config_file);
        url = loaded.config.database.url.reveal();
        // Without a URL in it, what is wrong with the file may be why.
        if (url.empty() && !loaded.mistakes.empty()) {
            std::string text = "no database URL was found in " + config_file + ", which has mistakes:";
            for (const auto& mistake : loaded.mistakes) text += "\n  " + mistake;
            throw Refusal{Exit::usage, text};
        }
    }
    settings.url = domain::Secret(url);
    settings.application_name = "impresario-cli";
    // Whatever is behind the URL, no session of it is left other than it was.
    settings.pooled = true;
    return settings;
}

int print_mistakes(const std::vector<std::string>& mistakes) {
    std::fprintf(stderr, "impresario: the configuration has %zu mistake%s:\n", mistakes.size(),
                 mistakes.size() == 1 ? "" : "s");
    for (const auto& mistake : mistakes) std::fprintf(stderr, "  %s\n", mistake.c_str());
    return Exit::usage;
}

}
