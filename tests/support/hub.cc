#include "tests/support/hub.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "tests/support/temporary_directory.h"

namespace impresario::testing {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {
std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}
}

int free_port() {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    socklen_t size = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    close(fd);
    return ntohs(address.sin_port);
}

double seconds_since(std::chrono::steady_clock::time_point begun) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

bool eventually(const std::function<bool()>& condition, double seconds) {
    const auto begun = std::chrono::steady_clock::now();
    while (!condition()) {
        if (seconds_since(begun) > seconds * patience()) return false;
        std::this_thread::sleep_for(milliseconds{10});
    }
    return true;
}

Json quick_retries(int max_retries, double seconds) {
    return {{"max_retries", max_retries}, {"base_seconds", seconds}, {"factor", 1}, {"jitter", {0, 0}}};
}

HubProcess::HubProcess(const TestDatabase& database, const std::string& key_file, const std::string& extra_config,
                       int port, bool wait, const std::string& database_url, const std::string& failpoints,
                       const std::string& seen, const std::vector<std::string>& before)
    : directory_(temporary_directory("flow")), port_(port == 0 ? free_port() : port) {
    std::ofstream(directory_ + "/impresario.toml")
        << "[egress]\nallow = [\"127.0.0.0/8\"]\n[log]\nformat = \"text\"\nlevel = \"debug\"\n"
        << extra_config;
    platform::ProcessSettings settings;
    settings.command = before;
    for (const auto& part : {program(), std::string("serve"), std::string("--config"), directory_ + "/impresario.toml"})
        settings.command.push_back(part);
    settings.environment = {{"IMPRESARIO_DATABASE_URL", database_url.empty() ? database.url().reveal() : database_url},
                            {"IMPRESARIO_HTTP_PORT", std::to_string(port_)},
                            {"IMPRESARIO_HUB_KEY_FILE", key_file}};
    if (!failpoints.empty()) settings.environment.emplace_back("IMPRESARIO_FAILPOINTS", failpoints);
    if (!seen.empty()) settings.environment.emplace_back("IMPRESARIO_FAILPOINTS_SEEN", seen);
    settings.log_file = directory_ + "/hub.log";
    process_ = std::make_unique<platform::Process>(std::move(settings));
    if (wait && !wait_ready()) throw std::runtime_error("the hub did not become ready:\n" + log());
}

HubProcess::~HubProcess() {
    process_.reset();
    if (std::getenv("IMPRESARIO_KEEP_LOGS")) return;
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
}

bool HubProcess::wait_ready(double seconds) const {
    return eventually([&] { return request(port_, "GET", "/readyz").status == 200; }, seconds);
}

void HubProcess::kill() {
    process_->signal(SIGKILL);
    process_->wait();
}

int HubProcess::terminate() {
    process_->signal(SIGTERM);
    return process_->wait();
}

std::string HubProcess::log() const { return text_of(directory_ + "/hub.log"); }

std::size_t HubProcess::open_files() const {
    const fs::directory_iterator files("/proc/" + std::to_string(pid()) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

std::size_t HubProcess::memory_kib() const {
    const auto status = text_of("/proc/" + std::to_string(pid()) + "/status");
    return std::stoul(status.substr(status.find("VmRSS:") + 6));
}

double HubProcess::cpu_seconds() const {
    // Fields 14 and 15; those before the bracket may hold anything.
    const auto stat = text_of("/proc/" + std::to_string(pid()) + "/stat");
    std::istringstream rest(stat.substr(stat.rfind(')') + 2));
    std::string skipped;
    for (int i = 3; i < 14; ++i) rest >> skipped;
    double user = 0;
    double system = 0;
    rest >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

HubFixture::HubFixture(const std::string& extra_config, std::vector<std::string> before, const std::string& sockets)
    : database(sockets), config_(extra_config), before_(std::move(before)), directory_(temporary_directory("flow")) {
    key_file_ = directory_ + "/hub.key";
    std::ofstream(key_file_) << "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n";
    key = make_key("admin", "test");
    start();
}

HubFixture::~HubFixture() {
    hub.reset();
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
}

Said run(const std::vector<std::string>& arguments, std::vector<std::pair<std::string, std::string>> environment) {
    platform::ProcessSettings settings;
    settings.command = {program()};
    settings.command.insert(settings.command.end(), arguments.begin(), arguments.end());
    settings.environment = std::move(environment);
    const auto finished = platform::run_command(std::move(settings));
    return {finished.status, finished.output};
}

Said HubFixture::cli(const std::vector<std::string>& arguments, const std::string& with_key) const {
    return run(arguments, {{"IMPRESARIO_URL", "http://127.0.0.1:" + std::to_string(hub->port())},
                           {"IMPRESARIO_KEY", with_key.empty() ? key : with_key}});
}

std::string HubFixture::make_key(const std::string& role, const std::string& name,
                                 const std::string& organization) const {
    platform::ProcessSettings settings;
    settings.command = {program(),
                        "keys",
                        "create",
                        "--role",
                        role,
                        "--name",
                        name,
                        "--organization",
                        organization,
                        "--database-url",
                        database.url().reveal()};
    auto finished = platform::run_command(std::move(settings));
    if (finished.status != 0) throw std::runtime_error("keys create: " + finished.output);
    while (!finished.output.empty() && finished.output.back() == '\n') finished.output.pop_back();
    return finished.output;
}

void HubFixture::start(const std::string& database_url, const std::string& failpoints) {
    hub.reset();
    hub =
        std::make_unique<HubProcess>(database, key_file_, config_, port_, true, database_url, failpoints, "", before_);
    port_ = hub->port();
}

Reply HubFixture::api(const std::string& method, const std::string& path, const Json& body,
                      const std::vector<std::pair<std::string, std::string>>& headers) const {
    auto all = headers;
    all.emplace_back("authorization", "Bearer " + key);
    return request(hub->port(), method, path, all, body.is_null() ? "" : body.dump());
}

void HubFixture::register_type(const std::string& name, const std::string& url, Json more) const {
    Json definition{{"endpoints", {{{"url", url}}}}};
    definition.merge_patch(more);
    const auto reply = api("PUT", "/v1/workflow-types/" + name, definition);
    if (reply.status / 100 != 2) throw std::runtime_error("registering " + name + ": " + reply.body);
}

std::string HubFixture::enqueue(const std::string& type, const Json& input, Json more) const {
    Json body{{"workflow_type", type}, {"input", input}};
    body.merge_patch(more);
    const auto reply = api("POST", "/v1/executions", body);
    if (reply.status != 201) throw std::runtime_error("enqueue: " + std::to_string(reply.status) + " " + reply.body);
    return reply.json().at("execution_id");
}

Json HubFixture::await_end(const std::string& id, int seconds) const {
    auto end = get("/v1/executions/" + id + "?wait=" + std::to_string(seconds));
    if (!end.contains("completed_at") || end["completed_at"].is_null()) tell(id);
    return end;
}

bool HubFixture::await(const std::string& id, const std::function<bool(const Json&)>& condition, double seconds) const {
    // While its database is away a hub has nothing to show.
    const auto holds = [&] {
        const auto reply = api("GET", "/v1/executions/" + id);
        return reply.status == 200 && condition(reply.json());
    };
    if (eventually(holds, seconds)) return true;
    tell(id);
    return false;
}

void HubFixture::tell(const std::string& id) const {
    std::cerr << "how it stands: " << get("/v1/executions/" + id).dump(2) << "\n"
              << get("/v1/executions/" + id + "/events?limit=1000").dump(2) << std::endl;
}

std::vector<std::string> HubFixture::event_types(const std::string& id) const {
    std::vector<std::string> types;
    const auto page = get("/v1/executions/" + id + "/events?limit=1000");
    for (const auto& event : page["events"]) types.push_back(event.at("type"));
    return types;
}

}
