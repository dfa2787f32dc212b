#pragma once
// Every room's settings from file and environment, validated once; all mistakes are listed.

#include <string>
#include <vector>

#include "alerts/settings.h"
#include "api/api.h"
#include "orchestrator/hub.h"
#include "orchestrator/node.h"
#include "orchestrator/outbox.h"
#include "orchestrator/retention.h"
#include "orchestrator/tracer.h"
#include "platform/database.h"
#include "platform/http_client.h"
#include "platform/http_server.h"
#include "platform/log.h"
#include "platform/metrics.h"
#include "reports/period.h"
#include "subworkflows/workflow_type.h"

namespace impresario::cli {

struct Config {
    platform::DatabaseSettings database;
    /// LISTEN needs a session of its own: not behind a transaction-mode pooler.
    platform::DatabaseSettings listen;
    platform::HttpServerSettings http;
    platform::HttpClientSettings client;
    orchestrator::NodeSettings node;
    orchestrator::HubSettings hub;
    orchestrator::OutboxSettings outbox;
    alerts::Settings alerts;
    reports::Settings reports;
    orchestrator::RetentionSettings retention;
    orchestrator::TracingSettings tracing;
    api::ApiSettings api;
    std::vector<domain::Secret> hub_keys;
    /// Of one metric.
    std::size_t most_series = platform::Metrics::kMostSeries;
    platform::log::Level log_level = platform::log::Level::info;
    platform::log::Format log_format = platform::log::Format::json;

    /// Workflow types of the file, as JSON: they are read once the database says what is there already.
    struct TypeDefinition {
        std::string name;
        /// With its bearer, signing secrets and headers.
        domain::Secret json;
    };
    std::vector<TypeDefinition> types;
};

struct LoadedConfig {
    Config config;
    /// One line each, naming the setting; empty when all is well.
    std::vector<std::string> mistakes;
};

/// `file`: path of a TOML file, "" for none. Environment variables win over the file.
LoadedConfig load_config(const std::string& file);
/// The same from the text of a file; `called` stands before a mistake in its form.
LoadedConfig read_config(const std::string& content, const std::string& called);

/// What `impresario watch` needs.
struct WatchConfig {
    /// Of the hubs.
    std::vector<std::string> urls;
    /// With it is asked who leads; empty: that one is ready is enough.
    domain::Secret key;
    std::chrono::seconds every{10};
    /// None has worked for so long: somebody is told.
    std::chrono::seconds after{120};
    alerts::Settings alerts;
    platform::HttpClientSettings client;
    platform::log::Level log_level = platform::log::Level::info;
    platform::log::Format log_format = platform::log::Format::json;
};
struct LoadedWatch {
    WatchConfig config;
    std::vector<std::string> mistakes;
};
/// From its sections [watch] and [alerts]; those of a hub are passed over.
LoadedWatch load_watch(const std::string& file);

/// Says all of them; the exit code for them.
int print_mistakes(const std::vector<std::string>& mistakes);

/// The database URL alone, for commands that need nothing else.
platform::DatabaseSettings database_settings(const std::string& url_option, const std::string& config_file);

}
