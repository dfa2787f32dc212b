#include "cli/serve.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "api/definition_warnings.h"
#include "cli/command.h"
#include "migrations/migrations.h"
#include "orchestrator/alert_readings.h"
#include "orchestrator/alert_runner.h"
#include "orchestrator/event_partitions.h"
#include "orchestrator/health_runner.h"
#include "orchestrator/hour_sampler.h"
#include "orchestrator/outbox.h"
#include "orchestrator/report_runner.h"
#include "orchestrator/retention.h"
#include "orchestrator/schedule_runner.h"
#include "orchestrator/timer_runner.h"
#include "orchestrator/tracer.h"
#include "platform/listener.h"
#include "platform/open_files.h"
#include "platform/session_check.h"
#include "priority_queue/queue_store.h"
#include "subworkflows/workflow_type_json.h"

namespace impresario::cli {

namespace asio = platform::asio;
namespace log = platform::log;
using platform::Task;
using platform::Tx;

namespace {

/// What the collector has not been told by then is lost.
constexpr std::chrono::seconds kTraceDrain{2};
/// How long a stopping node waits for what it tells subscribers: what is not heard is told again by the next.
constexpr std::chrono::seconds kOutboxDrain{2};
/// And for messages about alerts: what is not answered by then may come twice.
constexpr std::chrono::seconds kAlertDrain{3};
constexpr const char* kOutdated = "this hub is too old for the database's schema";
std::string upgrade(int min_hub) {
    return "upgrade this node: version " + std::to_string(min_hub) + " is needed and this is version " +
           std::to_string(orchestrator::kHubVersion);
}

/// fsck reads whole tables: over one connection more, and with patience.
api::ApiSettings api_settings(const Config& config) {
    auto settings = config.api;
    settings.fsck = config.database;
    settings.fsck.connections = 1;
    settings.fsck.statement_timeout = std::chrono::minutes{10};
    settings.fsck.application_name = "impresario-fsck";
    return settings;
}

/// The collector, and who is told of alerts, are the operator's own choice: they may be on this machine.
platform::HttpClientSettings operators_client(const Config& config) {
    auto settings = config.client;
    settings.connections_per_origin = 1;
    settings.egress = platform::EgressPolicy::everywhere();
    return settings;
}

/// What retention has emptied is looked for as often as retention works, at least every minute.
orchestrator::EventPartitionsSettings event_partitions(const Config& config) {
    orchestrator::EventPartitionsSettings settings;
    settings.drop_every = std::min(settings.drop_every, config.retention.every);
    return settings;
}

platform::HttpClientSettings receivers_client(const Config& config) {
    auto settings = operators_client(config);
    settings.connections_per_origin = 8;
    return settings;
}

orchestrator::TracingSettings tracing(const Config& config) {
    auto settings = config.tracing;
    settings.version = kVersion;
    return settings;
}

/// The parts of one node, put together in the order in which they need each other.
class HubProcess {
  public:
    explicit HubProcess(Config config)
        : config_(std::move(config)),
          keys_(config_.hub_keys),
          dice_(platform::entropy_seed()),
          metrics_(config_.most_series),
          database_(io_.get_executor(), config_.database, &clock_),
          client_(io_.get_executor(), config_.client),
          collector_(io_.get_executor(), operators_client(config_)),
          probe_(metrics_),
          tracer_(io_.get_executor(), collector_, clock_, probe_,
                  [this](std::vector<domain::ExecutionId> ids) { return read_traces(std::move(ids)); },
                  tracing(config_), {{"service.version", kVersion}, {"service.instance.id", config_.node.name}}),
          node_({io_.get_executor(),
                 database_,
                 clock_,
                 dice_,
                 ids_,
                 keys_,
                 client_,
                 probe_,
                 {},
                 config_.tracing.url.empty() ? nullptr : &tracer_},
                config_.node),
          hub_(node_, config_.hub),
          api_(node_, hub_, metrics_, api_settings(config_)),
          schedules_(node_, hub_,
                     [this](const std::string& organization_id, const std::string& request) {
                         return api_.make_execution(organization_id, request);
                     }),
          timers_(node_, hub_),
          outbox_(node_, hub_, config_.outbox),
          receivers_(io_.get_executor(), receivers_client(config_)),
          smtp_(operators_client(config_).egress),
          sender_(receivers_, smtp_, clock_, config_.alerts),
          hours_(node_, hub_),
          alerts_(node_, hub_, sender_, config_.alerts, config_.node.public_url, [this] { return other_readings(); }),
          reports_(node_, hub_, sender_, config_.reports),
          health_(node_, hub_),
          retention_(node_, hub_, config_.retention),
          event_partitions_(node_, hub_, event_partitions(config_)),
          server_(
              io_.get_executor(), config_.http,
              [this](platform::HttpRequest request) { return api_.handle(std::move(request)); },
              [this](std::string_view method, std::string_view path) { return api_.body_limit(method, path); }),
          signals_(io_.get_executor(), SIGTERM, SIGINT) {}

    int run() {
        log::identify(node_.id().text());
        api_.set_retention(retention_);
        api_.set_alerts(alerts_);
        api_.set_reports(reports_);
        probe_.show_version(kVersion);
        api_.set_not_ready("the database has not been reached yet");
        try {
            server_.start();
        } catch (const std::exception& e) {
            log::error("the hub cannot listen",
                       {{"error", e.what()},
                        {"next", "is another hub running there? choose another with IMPRESARIO_HTTP_PORT"}});
            return Exit::failed;
        }
        log::info("listening", {{"address", config_.http.address}, {"port", server_.port()}});
        asio::co_spawn(io_, boot(), [this](const std::exception_ptr& failure) { ended(failure, "boot"); });
        asio::co_spawn(io_, watch_signals(), [this](const std::exception_ptr& failure) { ended(failure, "signals"); });
        io_.run();
        return exit_code_;
    }

  private:
    void ended(const std::exception_ptr& failure, const char* what) {
        if (!failure) return;
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& e) {
            log::error("the hub cannot go on", {{"task", what}, {"error", e.what()}});
        }
        exit_code_ = Exit::failed;
        io_.stop();
    }

    Task<std::map<domain::ExecutionId, std::string>> read_traces(std::vector<domain::ExecutionId> ids) {
        auto reading = database_.read([ids](Tx& tx) { return priority_queue::QueueStore().trace_contexts(tx, ids); });
        auto traces = co_await std::move(reading);
        co_return traces;
    }

    /// What no waiting mends: says it and stops.
    void refuse(int code, const char* what, std::string next) {
        log::error(what, {{"next", std::move(next)}});
        exit_code_ = code;
        io_.stop();
    }

    /// Whether the two ways to the database are what they have to be; throws DatabaseUnavailable.
    Task<bool> ways_are_right() {
        const auto executor = io_.get_executor();
        if (!config_.database.pooled) {
            auto asking = platform::shares_sessions(executor, config_.database);
            const bool shared = co_await std::move(asking);
            if (shared) {
                refuse(Exit::usage, "database.url leads through a pooler in transaction mode",
                       "set database.pooled = true, and database.listen_url to PostgreSQL itself");
                co_return false;
            }
        }
        if (config_.listen.url.reveal() == config_.database.url.reveal() && !config_.database.pooled) co_return true;
        auto asking = platform::shares_sessions(executor, config_.listen);
        const bool shared = co_await std::move(asking);
        if (shared) {
            refuse(Exit::usage, "database.listen_url leads through a pooler in transaction mode: LISTEN is lost there",
                   "set database.listen_url to PostgreSQL itself");
            co_return false;
        }
        auto comparing = platform::same_database(executor, config_.database, config_.listen);
        const bool same = co_await std::move(comparing);
        if (!same)
            refuse(Exit::usage, "database.listen_url leads to another database than database.url",
                   "set both to the same server and database");
        co_return same;
    }

    /// Waits for the database and a schema that this binary knows; never gives up on what may come.
    Task<void> boot() {
        const auto migrator = migrations::all();
        std::string said;
        const auto say = [&](const std::string& why) {
            api_.set_not_ready(why);
            if (why == said) return;
            said = why;
            log::warn("not ready", {{"reason", why}});
        };
        for (;;) {
            std::optional<platform::SchemaStatus> status;
            try {
                if (!ways_checked_) {
                    const bool right = co_await ways_are_right();
                    if (!right) co_return;
                    ways_checked_ = true;
                }
                auto asked_status = database_.read([&migrator](Tx& tx) { return migrator.status(tx); });
                status = co_await std::move(asked_status);
            } catch (const platform::DatabaseUnavailable&) {
                api_.set_not_ready("the database cannot be reached");
            } catch (const std::exception& e) {
                say(std::string("the database refuses us: ") + e.what());
            }
            if (status) {
                if (status->version < migrator.latest()) {
                    say("the schema is at version " + std::to_string(status->version) + " and this hub needs " +
                        std::to_string(migrator.latest()) + ": run impresario migrate up");
                } else if (status->min_hub > orchestrator::kHubVersion) {
                    co_return refuse(Exit::outdated, kOutdated, upgrade(status->min_hub));
                } else {
                    bool done = true;
                    try {
                        co_await begin();
                    } catch (const std::exception& e) {
                        done = false;
                        say(std::string("starting failed, trying again: ") + e.what());
                    }
                    if (done) break;
                }
            }
            if (stopping_) break;
            co_await platform::pause_for(std::chrono::milliseconds{500});
        }
        if (stopping_) co_return;
        api_.set_not_ready("");
        log::info("ready", {{"public_url", config_.node.public_url}});
    }

    Task<void> begin() {
        co_await node_.refresh_catalogue();
        for (const auto& definition : config_.types) {
            const domain::Lane lane{domain::kDefaultOrganization, definition.name};
            const auto catalogue = node_.catalogue();
            auto type = subworkflows::parse_workflow_type(definition.json.reveal(), lane, catalogue->find(lane));
            if (!type)
                throw std::runtime_error("workflow type " + definition.name + ": " + type.error().front().pointer +
                                         " " + type.error().front().what);
            type->source = "config";
            auto putting =
                database_.transact([this, made = *type](Tx& tx) { return node_.catalogue_store().put(tx, made); });
            co_await std::move(putting);
        }
        co_await node_.refresh_catalogue();
        const auto stored = node_.catalogue();
        for (const auto& [lane, type] : stored->types) {
            if (type.source != "config") continue;
            const auto warnings = api::warnings_of(type, *node_.providers());
            for (const auto& each : warnings)
                log::warn("a workflow type of the configuration may not be meant so",
                          {{"workflow_type", lane.workflow_type}, {"error", each.pointer + " " + each.what}});
        }
        co_await api_.reload_keys();
        node_.on_keys = [this] {
            asio::co_spawn(io_, api_.reload_keys(), asio::detached);
            schedules_.reload();
            outbox_.reload();
        };
        node_.on_hint = [this](std::string_view what) {
            if (what.empty() || what == "timers") timers_.look();
            if (what.empty() || what == "alerts") alerts_.look();
        };
        node_.on_outdated = [this](int min_hub) {
            log::error(kOutdated, {{"next", upgrade(min_hub)}});
            begin_to_drain(Exit::outdated);
        };
        if (!listener_) {
            // A longer lease is patience with a process that stands still: then its session has to last as long.
            const auto idle_limit = std::max(config_.node.lease, std::chrono::seconds{15});
            listener_ = std::make_unique<platform::Listener>(
                io_.get_executor(), config_.listen, "orchestration_event",
                [this](const std::string& payload) { hub_.hint(payload); }, idle_limit);
            node_.set_listener(listener_.get());
        }
        // Its session is what tells others that this process lives; leading without it would cost them a whole lease.
        for (int i = 0; i < 100 && listener_->backend_pid() == 0; ++i)
            co_await platform::pause_for(std::chrono::milliseconds{10});
        started_ = true;
        // Others know of it, and it knows that it may, before it does anything.
        co_await node_.heartbeat();
        if (stopping_) co_return;
        node_.start();
        asio::co_spawn(io_, api_.run_streams(),
                       [this](const std::exception_ptr& failure) { ended(failure, "streams"); });
        asio::co_spawn(io_, schedules_.run(),
                       [this](const std::exception_ptr& failure) { ended(failure, "schedules"); });
        asio::co_spawn(io_, timers_.run(), [this](const std::exception_ptr& failure) { ended(failure, "timers"); });
        asio::co_spawn(io_, alerts_.run(), [this](const std::exception_ptr& failure) { ended(failure, "alerts"); });
        if (node_.tracer())
            asio::co_spawn(io_, tracer_.run(), [this](const std::exception_ptr& failure) { ended(failure, "tracer"); });
        asio::co_spawn(io_, outbox_.run(), [this](const std::exception_ptr& failure) { ended(failure, "outbox"); });
        asio::co_spawn(io_, hours_.run(), [this](const std::exception_ptr& failure) { ended(failure, "hours"); });
        asio::co_spawn(io_, reports_.run(), [this](const std::exception_ptr& failure) { ended(failure, "reports"); });
        asio::co_spawn(io_, health_.run(), [this](const std::exception_ptr& failure) { ended(failure, "health"); });
        asio::co_spawn(io_, retention_.run(),
                       [this](const std::exception_ptr& failure) { ended(failure, "retention"); });
        asio::co_spawn(io_, event_partitions_.run(),
                       [this](const std::exception_ptr& failure) { ended(failure, "event partitions"); });
        asio::co_spawn(io_, outbox_.run_tail(),
                       [this](const std::exception_ptr& failure) { ended(failure, "outbox's tail"); });
        asio::co_spawn(io_, hub_.run(), [this](const std::exception_ptr& failure) { ended(failure, "hub"); });
    }

    alerts::Readings other_readings() {
        alerts::Readings readings;
        readings["outbox_lag_seconds"] = orchestrator::read_backlogs(outbox_.backlogs());
        if (hours_.readings()) readings["anomaly_deviations"] = *hours_.readings();
        if (const auto since = hours_.failing_since())
            readings["reader_failing_seconds"].push_back(
                {{{"reading", "anomaly_deviations"}}, domain::in_seconds(clock_.now() - *since)});
        return readings;
    }

    Task<void> watch_signals() {
        co_await signals_.async_wait(asio::use_awaitable);
        begin_to_drain(exit_code_);
        co_await signals_.async_wait(asio::use_awaitable);
        log::warn("stopped at once, without draining");
        exit_code_ = 130;
        io_.stop();
    }

    void begin_to_drain(int code) {
        if (std::exchange(stopping_, true)) return;
        exit_code_ = code;
        api_.set_draining();
        asio::co_spawn(io_, drain(), [this](const std::exception_ptr& failure) { ended(failure, "drain"); });
    }

    /// Takes nothing new, lets what is under way end, stops.
    Task<void> drain() {
        log::info("draining", {{"deliveries", node_.deliveries_under_way()}});
        schedules_.stop();
        timers_.stop();
        co_await alerts_.drain(kAlertDrain);
        health_.stop();
        hours_.stop();
        reports_.stop();
        retention_.stop();
        event_partitions_.stop();
        co_await outbox_.stop(kOutboxDrain);
        co_await hub_.stop();
        if (started_) co_await node_.drain();
        server_.stop();
        client_.stop();
        receivers_.stop();
        smtp_.stop();
        if (node_.tracer()) co_await tracer_.stop(kTraceDrain);
        // Answers that are being written get their moment.
        for (int i = 0; i < 100 && server_.connections() > 0; ++i)
            co_await platform::pause_for(std::chrono::milliseconds{10});
        log::info("stopped");
        // The listener is not waited for: a database that has gone silent could keep its thread for ever.
        io_.stop();
    }

    Config config_;
    asio::io_context io_{1};
    platform::KeyRing keys_;
    platform::DatabaseClock clock_;
    platform::SeededDice dice_;
    platform::IdSource ids_;
    platform::Metrics metrics_;
    platform::Database database_;
    platform::HttpClient client_;
    platform::HttpClient collector_;
    orchestrator::Probe probe_;
    orchestrator::Tracer tracer_;
    orchestrator::Node node_;
    orchestrator::Hub hub_;
    api::Api api_;
    orchestrator::ScheduleRunner schedules_;
    orchestrator::TimerRunner timers_;
    orchestrator::Outbox outbox_;
    platform::HttpClient receivers_;
    platform::SmtpClient smtp_;
    orchestrator::AlertSender sender_;
    orchestrator::HourSampler hours_;
    orchestrator::AlertRunner alerts_;
    orchestrator::ReportRunner reports_;
    orchestrator::HealthRunner health_;
    orchestrator::Retention retention_;
    orchestrator::EventPartitions event_partitions_;
    platform::HttpServer server_;
    std::unique_ptr<platform::Listener> listener_;
    asio::signal_set signals_;
    bool ways_checked_ = false;
    bool started_ = false;
    bool stopping_ = false;
    int exit_code_ = Exit::ok;
};

}

namespace {
/// However many connect, the database and the peers find descriptors (S11).
void keep_descriptors_back(platform::HttpServerSettings& http) {
    const auto limit = platform::raise_open_file_limit();
    const auto most = static_cast<int>(limit - std::min<std::size_t>(limit / 2, 1000));
    if (http.connections <= most) return;
    log::warn("http.connections is more than the limit of open files allows",
              {{"asked", http.connections}, {"taken", most}, {"open_files", limit}, {"next", "raise it: ulimit -n"}});
    http.connections = most;
}
}

int serve(Config config) {
    std::signal(SIGPIPE, SIG_IGN);
    log::start(config.log_level, config.log_format, "hub");
    keep_descriptors_back(config.http);
    HubProcess process(std::move(config));
    const int code = process.run();
    // Coroutines that still wait hold on to parts of the process; the end of the process ends them all at once.
    std::fflush(nullptr);
    std::_Exit(code);
}

void add_serve(Commands commands) {
    auto* command = commands.app.add_subcommand(
        "serve", "Run one hub node: API, callbacks, deliveries, and the scheduler if it is elected");
    auto file = std::make_shared<std::string>();
    command->add_option("--config", *file, "TOML configuration file")->envname("IMPRESARIO_CONFIG");
    command->footer(
        "Example:\n  IMPRESARIO_DATABASE_URL=postgres://hub@db/impresario "
        "IMPRESARIO_HUB_KEY_FILE=/etc/impresario/hub.key impresario serve");
    command->callback([commands, file] {
        commands.chosen = [file] {
            auto loaded = load_config(*file);
            if (!loaded.mistakes.empty()) return print_mistakes(loaded.mistakes);
            return serve(std::move(loaded.config));
        };
    });
}

}
