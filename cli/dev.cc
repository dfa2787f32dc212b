// impresario dev: everything on this machine, from nothing to work that runs before one's eyes.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "api/auth.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "demo_samples.h"
#include "migrations/migrations.h"
#include "platform/crypto.h"
#include "platform/free_port.h"
#include "platform/local_postgres.h"
#include "platform/process.h"
#include "subworkflows/catalogue_store.h"

namespace impresario::cli {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

std::atomic<bool> interrupted{false};
void on_signal(int) { interrupted = true; }

struct DevOptions {
    std::string directory = ".impresario";
    int port = 8080;
    bool reset = false;
    bool no_demo = false;
    /// Ends when the demo batch has settled; for trying the whole thing out without a terminal.
    bool once = false;
};

void write_secret_file(const std::string& path, const std::string& text) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
    fchmod(fd, 0600);
    const bool ok = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(fd);
    if (!ok) throw std::runtime_error("cannot write " + path);
}

std::string read_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// The file's text, made and kept the first time.
std::string kept(const std::string& path, const std::function<std::string()>& make) {
    std::string text = read_line(path);
    if (!text.empty()) return text;
    text = make();
    write_secret_file(path, text + "\n");
    return text;
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

/// One of the four sub-workflows as dev runs it.
struct ServiceSpec {
    const char* name;
    /// Members of a sample whose elements are shared out over executions, `chunk` to each.
    std::vector<std::string> lists;
    std::size_t chunk;
    int at_once;
    int priority;
    /// Which mock provider it pays; empty: none.
    const char* provider;
};
const std::vector<ServiceSpec> kServices = {
    {"content_pipeline", {"documents"}, 3, 3, 50, "gemini"},
    {"seo_monitor", {"pages"}, 3, 3, 40, ""},
    {"revenue_optimizer", {"products", "experiments"}, 6, 2, 70, ""},
    {"intelligence_engine", {}, 0, 2, 60, "openai"},
};

/// Programs that dev starts and that are not beside this one: without them it would end with a log in which nothing is.
std::vector<std::string> missing_programs() {
    std::vector<std::string> missing;
    const auto look = [&](const std::string& name) {
        if (access(platform::sibling_program(name).c_str(), X_OK) != 0) missing.push_back(name);
    };
    for (const auto* name : {"impresario", "seo_sample_site", "mock_provider"}) look(name);
    for (const auto& service : kServices) look(service.name);
    return missing;
}

/// What the mock providers really take in 5 s: less than the demo would like, so that one sees them refuse.
const std::vector<std::pair<const char*, int>> kProviders = {{"gemini", 6}, {"openai", 4}};

class Dev {
  public:
    explicit Dev(DevOptions options)
        : options_(std::move(options)), dir_(fs::absolute(options_.directory).lexically_normal().string()) {}

    int run() {
        if (const auto missing = missing_programs(); !missing.empty()) {
            std::string names;
            for (const auto& name : missing) names += (names.empty() ? "" : ", ") + name;
            std::fprintf(stderr,
                         "impresario: dev starts programs that are not in %s: %s; build or install them there beside "
                         "impresario (ninja -C build/dev builds all)\n",
                         fs::path(platform::sibling_program("impresario")).parent_path().c_str(), names.c_str());
            return Exit::failed;
        }
        if (options_.reset) {
            platform::LocalPostgres::remove(dir_);
            std::error_code ignored;
            for (const char* file :
                 {"key", "intelligence.key", "hub.key", "bearer", "signing", "url", "impresario.toml", "hub.log"})
                fs::remove(dir_ + "/" + file, ignored);
        }
        fs::create_directories(dir_);
        const int lock = open((dir_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) {
            std::fprintf(stderr,
                         "impresario: another impresario dev uses %s; stop it, or choose another with --directory\n",
                         options_.directory.c_str());
            return Exit::failed;
        }
        if (!platform::port_is_free(static_cast<std::uint16_t>(options_.port))) {
            std::fprintf(stderr, "impresario: port %d is taken; choose another with --port\n", options_.port);
            return Exit::failed;
        }
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);

        step("PostgreSQL");
        platform::LocalPostgres postgres({dir_, {}});
        postgres.create_database("impresario");
        url_ = postgres.url("impresario").reveal();
        done();
        step("schema");
        migrate();
        done();
        prepare_keys();
        step("hub and sub-workflows");
        start_site();
        start_providers();
        write_config();
        start_services();
        start_hub();
        if (!wait_ready()) return Exit::failed;
        if (!interrupted) declare_windows();
        done();
        greet();
        const int code = interrupted ? static_cast<int>(Exit::ok) : watch(postgres);
        stop();
        step("PostgreSQL stops");
        postgres.stop("fast");
        done();
        return code;
    }

  private:
    void step(const char* what) {
        std::printf("  %-28s", what);
        std::fflush(stdout);
        begun_ = steady_clock::now();
    }
    void done() {
        const double seconds = std::chrono::duration<double>(steady_clock::now() - begun_).count();
        std::printf("%s (%.1f s)\n", painted("ok", Colour::green).c_str(), seconds);
        std::fflush(stdout);
    }

    platform::DatabaseSettings database() const {
        platform::DatabaseSettings settings;
        settings.url = domain::Secret(url_);
        settings.application_name = "impresario-dev";
        return settings;
    }

    void migrate() {
        platform::Connection connection(database(), nullptr);
        const auto migrator = migrations::all();
        migrator.migrate(connection, migrator.latest(), [](std::string_view, const platform::Migration&) {});
    }

    /// A key whose text is in a file; made anew where the database does not know it.
    std::string api_key(const std::string& file, const std::string& name, api::Role role) {
        platform::Connection connection(database(), nullptr);
        std::string text = read_line(dir_ + "/" + file);
        connection.transact([&](platform::Tx& tx) {
            const auto keys = api::ApiKeyStore().load(tx);
            if (!text.empty() && keys->find(text)) return;
            api::Caller caller;
            caller.organization_id = domain::kDefaultOrganization;
            caller.name = name;
            caller.role = role;
            text = api::ApiKeyStore().create(tx, caller).reveal();
        });
        write_secret_file(dir_ + "/" + file, text + "\n");
        return text;
    }

    void prepare_keys() {
        kept(dir_ + "/hub.key", [] { return platform::base64(platform::random_bytes(32)); });
        bearer_ = kept(dir_ + "/bearer", [] { return platform::base64url(platform::random_bytes(24)); });
        signing_ = kept(dir_ + "/signing", [] { return platform::new_signing_secret().reveal(); });
        key_ = api_key("key", "dev", api::Role::admin);
        intelligence_key_ = api_key("intelligence.key", "intelligence_engine", api::Role::viewer);
        hub_url_ = "http://127.0.0.1:" + std::to_string(options_.port);
        std::ofstream(dir_ + "/url") << hub_url_ << "\n";
    }

    int next_port() { return last_port_ = platform::free_port_after(static_cast<std::uint16_t>(last_port_)); }

    platform::ProcessSettings child(std::vector<std::string> command, const std::string& log) const {
        platform::ProcessSettings settings;
        settings.command = std::move(command);
        settings.log_file = dir_ + "/" + log;
        settings.environment = {{"IMPRESARIO_LOG_FORMAT", "text"}};
        return settings;
    }

    void start_site() {
        last_port_ = options_.port;
        site_port_ = next_port();
        children_.emplace_back(
            child({platform::sibling_program("seo_sample_site"), "--port", std::to_string(site_port_)}, "site.log"));
    }

    void start_providers() {
        for (const auto& [name, limit] : kProviders) {
            provider_ports_[name] = next_port();
            children_.emplace_back(child({platform::sibling_program("mock_provider"), "--name", name, "--port",
                                          std::to_string(provider_ports_[name]), "--limit", std::to_string(limit),
                                          "--window", "5", "--moves", "30"},
                                         std::string(name) + ".log"));
        }
    }

    void start_services() {
        for (const auto& [service, port] : ports_) {
            const std::string name = service->name;
            auto settings = child({platform::sibling_program(name), "--port", std::to_string(port), "--workers", "2"},
                                  name + ".log");
            settings.environment.emplace_back("IMPRESARIO_SERVICE_BEARER", bearer_);
            settings.environment.emplace_back("IMPRESARIO_SERVICE_SIGNING_SECRETS", signing_);
            settings.environment.emplace_back("IMPRESARIO_EGRESS_ALLOW", "127.0.0.0/8");
            settings.environment.emplace_back("CONTENT_PIPELINE_DATABASE_URL", url_);
            settings.environment.emplace_back("INTELLIGENCE_ENGINE_HUB_URL", hub_url_);
            settings.environment.emplace_back("INTELLIGENCE_ENGINE_HUB_KEY", intelligence_key_);
            if (const std::string provider = service->provider; !provider.empty())
                settings.environment.emplace_back(
                    "IMPRESARIO_PROVIDER",
                    provider + "=http://127.0.0.1:" + std::to_string(provider_ports_.at(provider)) + "/v1/generate");
            children_.emplace_back(std::move(settings));
        }
    }

    /// Loopback is allowed here, and said so; everything else is as in production.
    void write_config() {
        std::ostringstream toml;
        toml << "# Written by impresario dev at every start.\n[database]\nurl = " << quoted(url_)
             << "\n\n[http]\nport = " << options_.port << "\n\n[hub]\nkey_file = " << quoted(dir_ + "/hub.key")
             << "\n\n[egress]\n# dev only: the sub-workflows run on this machine\nallow = [\"127.0.0.0/8\"]\n";
        for (const auto& service : kServices) {
            const int port = next_port();
            ports_.emplace_back(&service, port);
            toml << "\n[[workflow_types]]\nname = \"" << service.name << "\"\nendpoints = [\"http://127.0.0.1:" << port
                 << "/run\"]\nbearer = " << quoted(bearer_) << "\nsigning_secrets = [" << quoted(signing_)
                 << "]\nmax_concurrency = " << service.at_once << "\ntimeout_seconds = 300\n"
                 << "# Minutes in production; here one wants to see it.\nretry_policy = { max_retries = 1, "
                    "base_seconds = 2, factor = 2.0 }\n";
            if (*service.provider)
                toml << "call_estimates = [{ provider = " << quoted(service.provider)
                     << ", calls = 1, tokens = 500 }]\n";
        }
        write_secret_file(dir_ + "/impresario.toml", toml.str());
    }

    void start_hub() {
        hub_ = std::make_unique<platform::Process>(child(
            {platform::sibling_program("impresario"), "serve", "--config", dir_ + "/impresario.toml"}, "hub.log"));
    }

    bool wait_ready() {
        ClientOptions options;
        options.url = hub_url_;
        options.key = domain::Secret(key_);
        client_ = std::make_unique<Client>(options);
        const auto until = steady_clock::now() + std::chrono::seconds{30};
        while (steady_clock::now() < until && !interrupted) {
            if (const auto code = hub_->poll()) break;
            try {
                client_->ask_text("GET", "/readyz", "");
                client_->ask("GET", "/v1/state");
                return true;
            } catch (const Refusal&) {
                std::this_thread::sleep_for(milliseconds{100});
            }
        }
        if (interrupted) return true;
        std::fprintf(stderr, "\nimpresario: the hub did not become ready; see %s/hub.log\n",
                     options_.directory.c_str());
        return false;
    }

    /// The mock providers count in 5 s, so that a demo is no matter of minutes: their limits here say so too.
    void declare_windows() {
        for (const auto& [name, limit] : kProviders) {
            const auto path = std::string("/v1/providers/") + name;
            const auto known = client_->ask("GET", path);
            Json limits = known["limits"];
            const auto declared = [](const Json& each) { return each.value("name", "") == "mock"; };
            if (std::any_of(limits.begin(), limits.end(), declared)) continue;
            limits.push_back({{"name", "mock"}, {"of", "requests"}, {"limit", 30}, {"per", 5}});
            client_->ask("PUT", path, {{"limits", limits}, {"reason", "impresario dev: its mock counts in 5 s"}});
        }
    }

    void greet() {
        const std::string self = fs::exists("build/dev/bin/impresario") ? "build/dev/bin/impresario" : "impresario";
        std::printf(
            "\n%s\n  address   %s   (egress to loopback is allowed, in dev only)\n  API key   %s   (also in %s/key)\n  "
            "logs      %s/*.log\n\nTry next, in another terminal:\n",
            painted("The hub runs.", Colour::bold).c_str(), hub_url_.c_str(), key_.c_str(), options_.directory.c_str(),
            options_.directory.c_str());
        // The client finds the hub and the key by itself in .impresario only.
        const std::string where = options_.directory == ".impresario"
                                      ? ""
                                      : " --url " + hub_url_ + " --key-file " + options_.directory + "/key";
        std::printf(
            "  %s state%s\n  %s enqueue seo_monitor --input '{\"pages\": [\"http://127.0.0.1:%d/\"]}' --wait 30%s\n"
            "  curl -s -H \"Authorization: Bearer $(cat %s/key)\" %s/v1/queue\n\n",
            self.c_str(), where.c_str(), self.c_str(), site_port_, where.c_str(), options_.directory.c_str(),
            hub_url_.c_str());
        std::fflush(stdout);
    }

    /// Inputs of the demo: the samples of each service, their lists shared out over several executions.
    std::vector<std::pair<const ServiceSpec*, std::string>> demo_inputs() const {
        std::vector<std::pair<const ServiceSpec*, std::string>> inputs;
        for (const auto& file : demo::files) {
            const std::string name(file.name);
            const ServiceSpec* service = nullptr;
            for (const auto& each : kServices)
                if (name.starts_with(std::string(each.name) + "/")) service = &each;
            if (!service) continue;
            std::string text(file.text);
            for (auto at = text.find("{site}"); at != std::string::npos; at = text.find("{site}"))
                text.replace(at, 6, "http://127.0.0.1:" + std::to_string(site_port_));
            const auto sample = Json::parse(text, nullptr, false);
            if (!sample.is_object()) continue;
            share_out(*service, sample, inputs);
        }
        return inputs;
    }

    static void share_out(const ServiceSpec& service, const Json& sample,
                          std::vector<std::pair<const ServiceSpec*, std::string>>& inputs) {
        Json rest = sample;
        bool shared = false;
        for (const auto& name : service.lists) rest.erase(name);
        for (const auto& name : service.lists) {
            const auto list = sample.find(name);
            if (list == sample.end() || !list->is_array()) continue;
            shared = true;
            for (std::size_t from = 0; from < list->size(); from += service.chunk) {
                Json part = rest;
                for (std::size_t i = from; i < std::min(list->size(), from + service.chunk); ++i)
                    part[name].push_back((*list)[i]);
                inputs.emplace_back(&service, part.dump());
            }
        }
        if (!shared) inputs.emplace_back(&service, sample.dump());
    }

    struct Row {
        int queued = 0;
        int running = 0;
        int retrying = 0;
        int completed = 0;
        int failed = 0;
        bool settled() const { return queued + running + retrying == 0; }
        int total() const { return queued + running + retrying + completed + failed; }
    };

    std::map<std::string, Row> read_batch(const std::string& batch) const {
        std::map<std::string, Row> rows;
        std::string cursor;
        do {
            const auto page = client_->ask(
                "GET", "/v1/executions?limit=500&batch_id=" + batch + (cursor.empty() ? "" : "&cursor=" + cursor));
            for (const auto& e : page["executions"]) {
                Row& row = rows[e.value("workflow_type", "")];
                const std::string status = e.value("status", "");
                if (status == "queued" || status == "analyzing") ++row.queued;
                if (status == "running" || status == "dispatching") ++row.running;
                if (status == "retrying") ++row.retrying;
                if (status == "completed") ++row.completed;
                if (status == "failed" || status == "dead" || status == "cancelled") ++row.failed;
            }
            cursor = page["next_cursor"].is_string() ? page["next_cursor"].get<std::string>() : "";
        } while (!cursor.empty());
        return rows;
    }

    std::string table_of(const std::map<std::string, Row>& rows, const Json& state, double elapsed) const {
        const auto& today = state["today"];
        char head[200];
        std::snprintf(head, sizeof head, "%s  queue %d  running %zu  done %d  spent today %s USD  %.0f s\n\n",
                      painted(state.value("current_state", "?"), Colour::bold).c_str(), state.value("queue_depth", 0),
                      state["active_executions"].size(),
                      today.value("completed", 0) + today.value("failed", 0) + today.value("dead", 0),
                      today.value("spent_usd", "0").c_str(), elapsed);
        Table table({"sub-workflow", "queued", "running", "retrying", "completed", "failed", "progress"});
        for (const auto& [name, row] : rows) {
            const int width = 24;
            const int full = row.total() == 0 ? 0 : width * (row.completed + row.failed) / row.total();
            std::string bar;
            for (int i = 0; i < width; ++i) bar += i < full ? "█" : "░";
            table.add({name, std::to_string(row.queued), std::to_string(row.running), std::to_string(row.retrying),
                       std::to_string(row.completed), std::to_string(row.failed), bar});
        }
        return head + table.text();
    }

    /// Enqueues the demo and shows it until Ctrl-C.
    int watch(platform::LocalPostgres& postgres) {
        std::string batch;
        if (!options_.no_demo) {
            const auto inputs = demo_inputs();
            std::string body = "{\"executions\":[";
            for (std::size_t i = 0; i < inputs.size(); ++i)
                body += std::string(i ? "," : "") + "{\"workflow_type\":\"" + inputs[i].first->name +
                        "\",\"priority\":" + std::to_string(inputs[i].first->priority + static_cast<int>(i % 7)) +
                        ",\"input\":" + inputs[i].second + "}";
            if (!inputs.empty())
                batch = Json::parse(client_->ask_text("POST", "/v1/executions/batch", body + "]}"))["batch_id"];
            std::printf("A demo batch of %zu executions has been enqueued. Ctrl-C drains and stops everything.\n\n",
                        inputs.size());
        } else {
            std::printf("Ctrl-C drains and stops everything.\n\n");
        }
        const auto begun = steady_clock::now();
        bool settled = batch.empty();
        std::size_t lines = 0;
        std::string last;
        while (!interrupted) {
            if (const auto code = hub_->poll()) {
                std::fprintf(stderr, "impresario: the hub ended with %d; see %s/hub.log\n", *code,
                             options_.directory.c_str());
                return Exit::failed;
            }
            if (!postgres.alive()) {
                std::fprintf(stderr, "impresario: PostgreSQL has ended (see %s/postgres.log); starting it again\n",
                             postgres.home().c_str());
                lines = 0;
                try {
                    postgres.start();
                } catch (const std::exception& e) {
                    std::fprintf(stderr, "impresario: it does not start: %s\n", e.what());
                    return Exit::failed;
                }
            }
            std::map<std::string, Row> rows;
            std::string text;
            try {
                if (!batch.empty()) rows = read_batch(batch);
                text = table_of(rows, client_->ask("GET", "/v1/state"),
                                std::chrono::duration<double>(steady_clock::now() - begun).count());
            } catch (const Refusal& refusal) {
                text = refusal.text + "\n";
            }
            if (on_terminal()) {
                // Over the table that is there, line by line.
                if (lines > 0) std::printf("\033[%zuA", lines);
                std::string line;
                std::istringstream all(text);
                lines = 0;
                while (std::getline(all, line)) {
                    std::printf("\033[2K%s\n", line.c_str());
                    ++lines;
                }
            } else {
                std::string one;
                for (const auto& [name, row] : rows)
                    one += name + " " + std::to_string(row.completed + row.failed) + "/" + std::to_string(row.total()) +
                           "  ";
                if (one != last) std::printf("%s\n", one.c_str());
                last = one;
            }
            std::fflush(stdout);
            bool all_settled = !rows.empty();
            for (const auto& [name, row] : rows) all_settled = all_settled && row.settled();
            if (!settled && all_settled) {
                settled = true;
                int completed = 0;
                int failed = 0;
                for (const auto& [name, row] : rows) {
                    completed += row.completed;
                    failed += row.failed;
                }
                std::printf(
                    "\nThe demo has settled in %.0f s: %d completed, %d failed (their samples hold planted faults; "
                    "see: impresario list --status failed,dead)\n\n",
                    std::chrono::duration<double>(steady_clock::now() - begun).count(), completed, failed);
                std::fflush(stdout);
                lines = 0;
                if (options_.once) return Exit::ok;
            }
            for (int i = 0; i < 5 && !interrupted; ++i) std::this_thread::sleep_for(milliseconds{100});
        }
        return Exit::ok;
    }

    void stop() {
        std::printf("\n");
        step("draining");
        if (hub_) {
            hub_->signal(SIGTERM);
            const auto until = steady_clock::now() + std::chrono::seconds{35};
            while (!hub_->poll() && steady_clock::now() < until) std::this_thread::sleep_for(milliseconds{20});
        }
        for (auto& each : children_) each.signal(SIGTERM);
        children_.clear();
        hub_.reset();
        done();
    }

    DevOptions options_;
    std::string dir_;
    std::string url_;
    std::string hub_url_;
    std::string key_;
    std::string intelligence_key_;
    std::string bearer_;
    std::string signing_;
    int last_port_ = 8080;
    int site_port_ = 0;
    std::map<std::string, int> provider_ports_;
    std::vector<std::pair<const ServiceSpec*, int>> ports_;
    std::vector<platform::Process> children_;
    std::unique_ptr<platform::Process> hub_;
    std::unique_ptr<Client> client_;
    steady_clock::time_point begun_{};
};

}

void add_dev(Commands commands) {
    auto options = std::make_shared<DevOptions>();
    auto* command = commands.app.add_subcommand(
        "dev", "Everything on this machine: PostgreSQL, hub, four sub-workflows, two mock providers and a demo");
    command->add_option("--directory", options->directory, "Where it keeps its things");
    command->add_option("--port", options->port, "Port of the hub; the sub-workflows take the ones above")
        ->check(CLI::Range(1, 65000));
    command->add_flag("--reset", options->reset, "Begin anew, without what was there");
    command->add_flag("--no-demo", options->no_demo, "Without the demo batch");
    command->add_flag("--once", options->once, "Stop when the demo has settled");
    command->footer("Examples:\n  impresario dev\n  impresario dev --reset --port 9000");
    command->callback([commands, options] {
        commands.chosen = [options] {
            try {
                return Dev(*options).run();
            } catch (const Refusal& refusal) {
                std::fprintf(stderr, "impresario: %s\n", refusal.text.c_str());
                return refusal.code;
            }
        };
    });
}

}
