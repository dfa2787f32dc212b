// The storm: thousands of executions over two nodes while PostgreSQL is stopped, nodes are killed and the sub-workflow
// misbehaves. It ends by progress, not by the clock; then the tables are audited.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "migrations/migrations.h"
#include "platform/free_port.h"
#include "tests/storm/audit.h"
#include "tests/storm/client.h"
#include "tests/storm/receiver.h"
#include "tests/storm/weather.h"
#include "tests/support/temporary_directory.h"

namespace impresario::storm {
namespace {

namespace asio = platform::asio;
namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Json = nlohmann::json;

struct Options {
    int executions = 5000;
    std::uint64_t seed = 0;
    double per_second = 80;
    int patience = 180;
};

/// Patience that begins anew with everything that is done.
struct Progress {
    seconds patience;
    int before = -1;
    steady_clock::time_point moved{};

    bool goes_on(int done) {
        if (std::exchange(before, done) != done) moved = steady_clock::now();
        return steady_clock::now() - moved <= patience;
    }
};

class Storm {
  public:
    explicit Storm(Options options)
        : options_(options),
          directory_(make_directory()),
          postgres_({directory_ + "/postgres", {"fsync = off", "max_connections = 60"}}) {
        postgres_.create_database("storm");
        database_.url = postgres_.url("storm");
        database_.application_name = "storm";
        database_.statement_timeout = milliseconds{60000};
        migrate();
        std::ofstream(directory_ + "/hub.key") << "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n";
        int port = 20000 + getpid() % 20000;
        for (int i = 0; i < 2; ++i) {
            port = platform::free_port_after(static_cast<std::uint16_t>(port));
            const auto home = directory_ + "/node-" + std::to_string(i);
            fs::create_directories(home);
            nodes_.emplace_back(home, port, database_.url.reveal(), directory_ + "/hub.key");
            ports_.push_back(port);
        }
        receiver_ = std::make_unique<Receiver>(io_.get_executor(), options_.seed);
        client_ = std::make_unique<Client>(io_.get_executor(), ports_, make_key());
    }

    ~Storm() {
        io_.stop();
        if (network_.joinable()) network_.join();
    }

    /// True: all is well.
    bool run() {
        for (auto& node : nodes_) node.start();
        receiver_->start();
        network_ = std::thread([this] {
            const auto work = asio::make_work_guard(io_);
            io_.run();
        });
        register_types();
        begun_ = steady_clock::now();
        on_network([this] { client_->enqueue(options_.executions, options_.per_second); });
        Weather weather(postgres_, nodes_, options_.seed);
        Progress progress{seconds{options_.patience}};
        while (client_->acknowledged() < options_.executions && progress.goes_on(client_->acknowledged() + ended_)) {
            weather.blow();
            tell(weather);
            std::this_thread::sleep_for(milliseconds{20});
        }
        weather.clear();
        std::printf("the storm is over: %d are acknowledged, the rest may end in peace\n", client_->acknowledged());
        // What is left is waited for, and then lanes and keys have to be as free as at the beginning.
        bool ended = drain(weather);
        if (ended) {
            const int more = std::min(options_.executions, 200);
            on_network([&] {
                receiver_->calm();
                client_->enqueue(more, 1000);
            });
            ended = drain(weather);
        }
        return judge(weather, ended);
    }

    const std::string& directory() const { return directory_; }

  private:
    static std::string make_directory() {
        auto name = testing::temporary_directory("storm");
        // For the user as whom root runs PostgreSQL.
        fs::permissions(name, fs::perms::others_exec | fs::perms::group_exec, fs::perm_options::add);
        return name;
    }

    void migrate() const {
        platform::Connection connection(database_, nullptr);
        const auto migrator = migrations::all();
        migrator.migrate(connection, migrator.latest(), [](std::string_view, const platform::Migration&) {});
    }

    std::string make_key() const {
        platform::ProcessSettings settings;
        settings.command = {IMPRESARIO_BINARY, "keys",           "create",
                            "--role",          "admin",          "--name",
                            "storm",           "--database-url", database_.url.reveal()};
        auto finished = platform::run_command(std::move(settings));
        if (finished.status != 0) throw std::runtime_error("keys create: " + finished.output);
        while (!finished.output.empty() && finished.output.back() == '\n') finished.output.pop_back();
        return finished.output;
    }

    template <class Action>
    void on_network(Action action) {
        std::promise<void> done;
        asio::post(io_, [&] {
            action();
            done.set_value();
        });
        done.get_future().wait();
    }

    void register_types() {
        const Json retry{
            {"max_retries", 20}, {"base_seconds", 0.2}, {"factor", 1.5}, {"cap_seconds", 3}, {"jitter", {0, 0.2}}};
        for (const auto& [name, more] : std::vector<std::pair<std::string, Json>>{
                 {"wide", Json::object()},
                 {"narrow", {{"max_concurrency", 16}}},
                 {"keyed", {{"concurrency_key", "/k"}, {"concurrency_key_limit", 2}}}}) {
            Json type{{"endpoints", {{{"url", receiver_->url()}}}}, {"timeout_seconds", 8}, {"retry_policy", retry}};
            type.update(more);
            auto asking = client_->insist("PUT", "/v1/workflow-types/" + name, type.dump());
            asio::co_spawn(io_, std::move(asking), asio::use_future).get();
        }
    }

    std::optional<int> count_ended() const {
        try {
            int ended = 0;
            platform::Connection(database_, nullptr).autocommit([&](platform::Tx& tx) {
                const auto rows = tx.run(
                    "select count(*) from executions where status in ('completed', 'failed', 'cancelled', 'dead')");
                ended = platform::RowReader(rows, 0).small();
            });
            return ended;
        } catch (const std::exception&) {
            return std::nullopt;
        }
    }

    /// A line now and then.
    void tell(const Weather& weather) {
        if (steady_clock::now() - told_ < seconds{3}) return;
        told_ = steady_clock::now();
        if (const auto ended = count_ended()) ended_ = *ended;
        int faults = 0;
        int calling = 0;
        on_network([&] {
            faults = receiver_->fault_count();
            calling = receiver_->calling();
        });
        std::printf(
            "%4.0f s  acknowledged %d/%d  ended %d  calling back %d  PostgreSQL stopped %d  nodes killed %d  "
            "receiver's "
            "faults %d  enqueues repeated %d\n",
            std::chrono::duration<double>(told_ - begun_).count(), client_->acknowledged(), client_->wanted(), ended_,
            calling, weather.postgres_stopped(), weather.nodes_killed(), faults, client_->repeated());
        std::fflush(stdout);
    }

    /// Waits until everything has ended, as long as something goes on.
    bool drain(const Weather& weather) {
        Progress progress{seconds{options_.patience}};
        for (;;) {
            const auto ended = count_ended();
            if (ended) ended_ = *ended;
            if (client_->acknowledged() == client_->wanted() && ended_ == client_->wanted()) return true;
            if (!progress.goes_on(client_->acknowledged() + ended_)) return false;
            tell(weather);
            std::this_thread::sleep_for(milliseconds{200});
        }
    }

    bool judge(const Weather& weather, bool ended) {
        std::vector<std::string> found = weather.complaints();
        const auto add = [&](const std::vector<std::string>& more) {
            found.insert(found.end(), more.begin(), more.end());
        };
        platform::Connection connection(database_, nullptr);
        // A callback that is under way may still be refused, which its execution's history tells.
        std::map<std::string, Asked> asked;
        std::map<std::string, int> faults;
        for (int i = 0, calling = 1; i < 600 && calling > 0; ++i) {
            on_network([&] { calling = receiver_->calling(); });
            std::this_thread::sleep_for(milliseconds{100});
        }
        on_network([&] {
            add(receiver_->complaints());
            add(client_->complaints());
            asked = receiver_->asked();
            faults = receiver_->faults();
        });
        add(audit(connection, client_->executions()));
        if (ended) {
            add(audit_requests(connection, asked));
        } else {
            found.push_back("BROKEN: nothing has ended for " + std::to_string(options_.patience) +
                            " s; what is left, and what it waits for:");
            add(unfinished(connection, 20));
        }
        std::printf("%d executions, %zu attempts seen, PostgreSQL stopped %d times, %d nodes killed; the receiver was",
                    client_->acknowledged(), asked.size(), weather.postgres_stopped(), weather.nodes_killed());
        for (const auto& [what, times] : faults) std::printf("  %s %d", what.c_str(), times);
        std::printf("\n");
        for (const auto& line : found) std::printf("%s\n", line.c_str());
        return found.empty();
    }

    Options options_;
    std::string directory_;
    platform::LocalPostgres postgres_;
    platform::DatabaseSettings database_;
    std::vector<Node> nodes_;
    std::vector<int> ports_;
    asio::io_context io_{1};
    std::unique_ptr<Receiver> receiver_;
    std::unique_ptr<Client> client_;
    std::thread network_;
    steady_clock::time_point begun_{};
    steady_clock::time_point told_{};
    int ended_ = 0;
};

int storm(Options options) {
    std::printf("storm: %d executions, seed %llu\n", options.executions, static_cast<unsigned long long>(options.seed));
    std::fflush(stdout);
    std::string directory;
    bool well = false;
    try {
        Storm all(options);
        directory = all.directory();
        well = all.run();
    } catch (const std::exception& e) {
        std::printf("BROKEN: the storm could not go on: %s\n", e.what());
    }
    if (well) {
        std::printf("all is well\n");
        platform::LocalPostgres::remove(directory + "/postgres");
        std::error_code ignored;
        fs::remove_all(directory, ignored);
        return 0;
    }
    std::printf("FAILED with seed %llu; logs and database are kept in %s\n",
                static_cast<unsigned long long>(options.seed), directory.c_str());
    return 1;
}

}
}

int main(int argc, char** argv) {
    impresario::storm::Options options;
    options.seed = std::random_device{}();
    CLI::App app("Thousands of executions through crashes of everything, and an audit");
    app.add_option("--executions", options.executions, "How many")->check(CLI::Range(1, 10000000))->take_last();
    app.add_option("--seed", options.seed, "Of chance; the order of events is the machine's");
    app.add_option("--per-second", options.per_second, "How many are enqueued in a second, at most");
    app.add_option("--patience", options.patience, "Seconds without any progress before it has failed");
    CLI11_PARSE(app, argc, argv);
    return impresario::storm::storm(options);
}
