#include "cli/serve.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/command.h"
#include "migrations/migrations.h"
#include "platform/listener.h"
#include "subworkflows/workflow_type_json.h"

namespace impresario::cli {

namespace asio = platform::asio;
namespace log = platform::log;
using platform::Task;
using platform::Tx;

namespace {

/// The parts of one node, put together in the order in which they need each other.
class HubProcess {
  public:
    explicit HubProcess(Config config)
        : config_(std::move(config)),
          keys_(config_.hub_keys),
          dice_(platform::entropy_seed()),
          database_(io_.get_executor(), config_.database, &clock_),
          client_(io_.get_executor(), config_.client),
          probe_(metrics_),
          node_({io_.get_executor(), database_, clock_, dice_, ids_, keys_, client_, probe_}, config_.node),
          hub_(node_, config_.hub),
          api_(node_, hub_, metrics_, config_.api),
          server_(
              io_.get_executor(), config_.http,
              [this](platform::HttpRequest request) { return api_.handle(std::move(request)); },
              [this](std::string_view method, std::string_view path) { return api_.body_limit(method, path); }),
          signals_(io_.get_executor(), SIGTERM, SIGINT) {}

    int run() {
        api_.set_not_ready("the database has not been reached yet");
        try {
            server_.start();
        } catch (const std::exception& e) {
            log::error(e.what(), {{"next", "is another hub running there? choose another with IMPRESARIO_HTTP_PORT"}});
            return Exit::failed;
        }
        log::info("listening", {{"address", config_.http.address}, {"port", server_.port()}, {"node", node_.id()}});
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
            log::error("the hub cannot go on", {{"part", what}, {"error", e.what()}});
        }
        exit_code_ = Exit::failed;
        io_.stop();
    }

    /// Waits for the database and a schema that this binary knows; never gives up.
    Task<void> boot() {
        const auto migrator = migrations::all();
        std::string said;
        const auto say = [&](const std::string& why) {
            api_.set_not_ready(why);
            if (why == said) return;
            said = why;
            log::warn("not ready", {{"why", why}});
        };
        for (;;) {
            std::optional<platform::SchemaStatus> status;
            try {
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
                    say("the schema needs hub version " + std::to_string(status->min_hub) + " and this is " +
                        std::to_string(orchestrator::kHubVersion) + ": upgrade this node");
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
            if (stopping_) co_return;
            co_await platform::pause_for(std::chrono::milliseconds{500});
        }
        api_.set_not_ready("");
        log::info("ready", {{"public_url", config_.node.public_url}});
    }

    Task<void> begin() {
        co_await node_.refresh_catalogue();
        for (const auto& definition : config_.types) {
            const domain::Lane lane{domain::kDefaultOrganization, definition.name};
            const auto catalogue = node_.catalogue();
            auto type = subworkflows::parse_workflow_type(definition.json, lane, catalogue->find(lane));
            if (!type)
                throw std::runtime_error("workflow type " + definition.name + ": " + type.error().front().pointer +
                                         " " + type.error().front().what);
            type->source = "config";
            auto putting =
                database_.transact([this, made = *type](Tx& tx) { return node_.catalogue_store().put(tx, made); });
            co_await std::move(putting);
        }
        co_await node_.refresh_catalogue();
        co_await api_.reload_keys();
        if (started_) co_return;
        started_ = true;
        node_.on_keys = [this] { asio::co_spawn(io_, api_.reload_keys(), asio::detached); };
        listener_ = std::make_unique<platform::Listener>(io_.get_executor(), config_.listen, "orchestration_event",
                                                         [this](const std::string& payload) { hub_.hint(payload); });
        node_.set_listener(listener_.get());
        // Its session is what tells others that this process lives; leading without it would cost them a whole lease.
        for (int i = 0; i < 100 && listener_->backend_pid() == 0; ++i)
            co_await platform::pause_for(std::chrono::milliseconds{10});
        node_.start();
        asio::co_spawn(io_, hub_.run(), [this](const std::exception_ptr& failure) { ended(failure, "hub"); });
    }

    Task<void> watch_signals() {
        co_await signals_.async_wait(asio::use_awaitable);
        stopping_ = true;
        log::info("draining", {{"deliveries", node_.deliveries_under_way()}});
        api_.set_draining();
        signals_.async_wait([this](boost::system::error_code error, int) {
            if (error) return;
            log::warn("stopped at once, without draining");
            exit_code_ = 130;
            io_.stop();
        });
        co_await hub_.stop();
        if (started_) co_await node_.drain();
        server_.stop();
        client_.stop();
        // Answers that are being written get their moment.
        for (int i = 0; i < 100 && server_.connections() > 0; ++i)
            co_await platform::pause_for(std::chrono::milliseconds{10});
        log::info("stopped");
        listener_.reset();
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
    orchestrator::Probe probe_;
    orchestrator::Node node_;
    orchestrator::Hub hub_;
    api::Api api_;
    platform::HttpServer server_;
    std::unique_ptr<platform::Listener> listener_;
    asio::signal_set signals_;
    bool started_ = false;
    bool stopping_ = false;
    int exit_code_ = Exit::ok;
};

}

int serve(Config config) {
    std::signal(SIGPIPE, SIG_IGN);
    log::start(config.log_level, config.log_format, "hub");
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
            if (!loaded.mistakes.empty()) {
                std::fprintf(stderr, "impresario: the configuration has %zu mistake%s:\n", loaded.mistakes.size(),
                             loaded.mistakes.size() == 1 ? "" : "s");
                for (const auto& mistake : loaded.mistakes) std::fprintf(stderr, "  %s\n", mistake.c_str());
                return static_cast<int>(Exit::usage);
            }
            return serve(std::move(loaded.config));
        };
    });
}

}
