#include "bench/stage.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "api/auth.h"
#include "bench/load.h"
#include "domain/lane.h"
#include "migrations/migrations.h"
#include "platform/crypto.h"
#include "platform/free_port.h"

namespace impresario::bench {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {
constexpr const char* kBearer = "bench";
}

namespace {
/// Whether anybody answers there; well, if asked for.
bool answers(std::uint16_t port, const std::string& path, bool well = false) {
    try {
        LoadSettings load;
        load.port = port;
        load.request = [&](std::int64_t) { return "GET " + path + " HTTP/1.1\r\nhost: localhost\r\n\r\n"; };
        return run_load(load).failed == 0 || !well;
    } catch (const std::exception&) {
        return false;
    }
}
}

std::uint16_t free_port() {
    static std::uint16_t last = 21000;
    return last = platform::free_port_after(last);
}

void wait_for(const std::string& what, double seconds, const std::function<bool()>& condition) {
    const auto until = steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!condition()) {
        if (steady_clock::now() > until)
            throw std::runtime_error(what + " took longer than " + std::to_string(static_cast<int>(seconds)) + " s");
        std::this_thread::sleep_for(milliseconds{20});
    }
}

std::unique_ptr<platform::LocalPostgres> start_postgres(const StageSettings& settings) {
    platform::LocalPostgresSettings cluster;
    cluster.directory = settings.directory;
    cluster.port = settings.postgres_port;
    cluster.configuration = {"shared_buffers = 256MB", "max_connections = 200", "max_wal_size = 4GB"};
    return std::make_unique<platform::LocalPostgres>(std::move(cluster));
}

Stage::Stage(const StageSettings& settings, platform::LocalPostgres& postgres, Receiver receiver,
             std::uint16_t own_port)
    : settings_(settings), postgres_(postgres), kind_(receiver), receiver_port_(own_port) {
    static int number = 0;
    database_ = "bench_" + std::to_string(getpid()) + "_" + std::to_string(++number);
    postgres_.create_database(database_);
    maintain("checkpoint");
    connection_ = std::make_unique<platform::Connection>(database(), nullptr);
    const auto migrator = migrations::all();
    migrator.migrate(*connection_, migrator.latest(), [](std::string_view, const platform::Migration&) {});
    connection_->transact([&](platform::Tx& tx) {
        api::Caller caller;
        caller.organization_id = domain::kDefaultOrganization;
        caller.name = "bench";
        caller.role = api::Role::admin;
        key_ = api::ApiKeyStore().create(tx, caller).reveal();
    });
    start_receiver();
    for (int node = 0; node < settings_.nodes; ++node) start_hub(node);
    for (int node = 0; node < settings_.nodes; ++node)
        wait_for("starting the hub (see " + settings_.directory + "/hub.log)", 30,
                 [&] { return answers(hub_port(node), "/readyz", true); });
}

Stage::~Stage() {
    hubs_.clear();
    receiver_.reset();
    connection_.reset();
    try {
        maintain("drop database if exists " + database_ + " with (force)");
    } catch (const std::exception&) {
        // It stays behind in the bench's own cluster.
    }
}

void Stage::maintain(const std::string& sql) const {
    platform::DatabaseSettings settings;
    settings.url = postgres_.url("postgres");
    settings.statement_timeout = std::chrono::minutes{1};
    platform::Connection(settings, nullptr).autocommit([&](platform::Tx& tx) { tx.run(sql); });
}

platform::DatabaseSettings Stage::database() const {
    platform::DatabaseSettings made;
    made.url = postgres_.url(database_);
    made.statement_timeout = std::chrono::minutes{5};
    made.application_name = "impresario-bench";
    return made;
}

void Stage::start_receiver() {
    if (kind_ == Receiver::own) return;
    receiver_port_ = free_port();
    receiver_log_ = settings_.directory + "/receiver.log";
    std::error_code ignored;
    fs::remove(receiver_log_, ignored);
    platform::ProcessSettings process;
    process.log_file = receiver_log_;
    if (kind_ == Receiver::node) {
        process.command = {"node", settings_.peers + "/subworkflow.mjs"};
        process.environment = {{"SUB_PORT", std::to_string(receiver_port_)}, {"SUB_TOKEN", kBearer}};
    } else {
        process.command = {platform::sibling_program("echo-service"), "--port", std::to_string(receiver_port_)};
        process.environment = {{"IMPRESARIO_SERVICE_BEARER", kBearer},
                               {"IMPRESARIO_EGRESS_ALLOW", "127.0.0.0/8"},
                               {"IMPRESARIO_LOG_LEVEL", "warn"}};
    }
    receiver_ = std::make_unique<platform::Process>(std::move(process));
    wait_for("starting the sub-workflow (see " + receiver_log_ + ")", 30, [&] { return answers(receiver_port_, "/"); });
}

void Stage::start_hub(int node) {
    const std::string base = settings_.directory + "/hub" + std::to_string(node);
    const auto port = free_port();
    hub_ports_.push_back(port);
    std::ofstream key(settings_.directory + "/hub.key");
    key << platform::base64(std::string(32, 'k')) << "\n";
    key.close();
    std::ofstream config(base + ".toml");
    config << "[database]\nconnections = " << settings_.connections << "\n[http]\nport = " << port
           << "\n[hub]\nkey_file = \"" << settings_.directory << "/hub.key\"\nmax_batch_size = " << settings_.batch
           << "\n[egress]\nallow = [\"127.0.0.0/8\"]\n[log]\nlevel = \"warn\"\n";
    for (const auto* type : {"bench", "closed"})
        config << "[[workflow_types]]\nname = \"" << type
               << "\"\nendpoints = [{url = \"http://127.0.0.1:" << receiver_port_
               << "/run\", max_in_flight = " << settings_.in_flight << "}]\nbearer = \"" << kBearer << "\"\n";
    config.close();
    platform::ProcessSettings process;
    process.command = {platform::sibling_program("impresario"), "serve", "--config", base + ".toml"};
    process.environment = {{"IMPRESARIO_DATABASE_URL", postgres_.url(database_).reveal()}};
    process.log_file = settings_.directory + "/hub.log";
    hubs_.push_back(std::make_unique<platform::Process>(std::move(process)));
}

std::string Stage::type() const {
    return R"({"endpoints":[{"url":"http://127.0.0.1:)" + std::to_string(receiver_port_) + R"(/run","max_in_flight":)" +
           std::to_string(settings_.in_flight) + R"(}],"bearer":")" + kBearer + R"("})";
}

void Stage::ask(const std::string& method, const std::string& path, const std::string& body) {
    LoadSettings load;
    load.port = hub_port();
    load.request = [&](std::int64_t) {
        std::string text = post_request(path, key_, body);
        text.replace(0, 4, method);
        return text;
    };
    const auto result = run_load(load);
    if (result.failed > 0) throw std::runtime_error(method + " " + path + ": " + result.sample_failure);
}

std::string Stage::query(const std::string& sql) {
    std::string text;
    connection_->autocommit([&](platform::Tx& tx) {
        const auto rows = tx.run(sql);
        if (!rows.empty() && rows.columns() > 0 && !rows.null(0, 0)) text = std::string(rows.text(0, 0));
    });
    return text;
}

void Stage::fill(std::int64_t count, const std::string& type) {
    constexpr std::int64_t kPart = 1000;
    LoadSettings load;
    load.port = hub_port();
    load.requests = (count + kPart - 1) / kPart;
    load.request = [&](std::int64_t part) {
        std::string body = R"({"executions":[)";
        for (std::int64_t i = part * kPart; i < std::min(count, (part + 1) * kPart); ++i) {
            if (body.back() == '}') body += ',';
            body += R"({"workflow_type":")" + type + R"(","priority":)" + std::to_string(i * 7919 % 101) +
                    R"(,"input":{"task":)" + std::to_string(i) + "}}";
        }
        return post_request("/v1/executions/batch", key_, body + "]}");
    };
    const auto result = run_load(load);
    if (result.failed > 0) throw std::runtime_error("filling the queue: " + result.sample_failure);
}

void Stage::pause() { ask("POST", "/v1/pause", R"({"workflow_type":"bench"})"); }
void Stage::resume() { ask("POST", "/v1/resume", R"({"workflow_type":"bench"})"); }

void Stage::wait_drained() {
    wait_for("draining", 600, [&] {
        return query(
                   "select not exists(select 1 from executions where ready and workflow_type = 'bench')"
                   " and not exists(select 1 from executions where timeout_at is not null)"
                   " and not exists(select 1 from executions where due_at is not null)") == "t";
    });
}

namespace {
/// User and system time of a process, its ended children included.
double cpu_seconds(const std::string& pid) {
    std::ifstream file("/proc/" + pid + "/stat");
    std::string text;
    std::getline(file, text);
    const auto after_name = text.rfind(')');
    if (after_name == std::string::npos) return 0;
    std::istringstream fields(text.substr(after_name + 2));
    double ticks = 0;
    std::string field;
    for (int i = 3; i <= 17 && fields >> field; ++i)
        if (i >= 14) ticks += std::stod(field);
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}
}

Stage::Spent Stage::spent() const {
    Spent spent;
    for (const auto& hub : hubs_) spent.hubs += cpu_seconds(std::to_string(hub->pid()));
    if (receiver_) spent.receiver = cpu_seconds(std::to_string(receiver_->pid()));
    std::string postmaster;
    std::ifstream(postgres_.home() + "/data/postmaster.pid") >> postmaster;
    spent.postgres = cpu_seconds(postmaster);
    std::ifstream children("/proc/" + postmaster + "/task/" + postmaster + "/children");
    for (std::string pid; children >> pid;) spent.postgres += cpu_seconds(pid);
    return spent;
}

std::int64_t Stage::resident_kb(int node) const {
    std::ifstream status("/proc/" + std::to_string(hubs_[static_cast<std::size_t>(node)]->pid()) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
    return 0;
}

}
