#include "tests/campaign/hubs.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/temporary_directory.h"

namespace impresario::campaign {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {
constexpr const char* kConfig =
    "[hub]\nlease_seconds = 6\nheartbeat_ms = 1000\ntick_ms = 300\ndrain_seconds = 5\n"
    "[retention]\nevery_seconds = 1\n"
    // Nobody is there: it is tried, and stops nothing.
    "[tracing]\nurl = \"http://127.0.0.1:9/v1/traces\"\n"
    "[alerts]\nevery_seconds = 1\n[[alerts.receivers]]\nname = \"away\"\ntype = \"slack\"\nurl = "
    "\"http://127.0.0.1:9/\"\n[[alerts.rules]]\nname = \"queue_depth_high\"\nraise = 2\nclear = 2\nfor_seconds = 1\n"
    "keep_seconds = 0\n[alerts.route]\nreceiver = \"away\"\ngroup_by = [\"alertname\"]\ngroup_wait_seconds = 0\ngroup_interval_seconds = 1\n";
constexpr auto kPatience = std::chrono::seconds{60};
}

Hubs::Hubs(const testing::TestDatabase& database, const std::string& failpoints, const std::string& seen)
    : database_(database), seen_(seen) {
    directory_ = testing::temporary_directory("campaign");
    std::ofstream(directory_ + "/hub.key") << "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n";
    platform::ProcessSettings settings;
    settings.command = {testing::program(), "keys",           "create",
                        "--role",           "admin",          "--name",
                        "campaign",         "--database-url", database.url().reveal()};
    auto finished = platform::run_command(std::move(settings));
    if (finished.status != 0) throw std::runtime_error("keys create: " + finished.output);
    while (!finished.output.empty() && finished.output.back() == '\n') finished.output.pop_back();
    key_ = finished.output;
    for (std::size_t i = 0; i < hubs_.size(); ++i) start(i, failpoints);
}

Hubs::~Hubs() {
    for (auto& hub : hubs_) hub.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

void Hubs::start(std::size_t at, const std::string& failpoints) {
    if (hubs_[at]) old_logs_ += hubs_[at]->log();
    hubs_[at].reset();
    hubs_[at] = std::make_unique<testing::HubProcess>(database_, directory_ + "/hub.key", kConfig, ports_[at], false,
                                                      "", failpoints, seen_);
    ports_[at] = hubs_[at]->port();
}

void Hubs::supervise() {
    for (std::size_t i = 0; i < hubs_.size(); ++i) {
        const auto code = hubs_[i]->poll();
        if (!code) continue;
        if (*code != 128 + SIGKILL) complaints_.push_back("a hub ended by itself with " + std::to_string(*code));
        ++died_;
        start(i, "");
    }
}

Reply Hubs::ask(const std::string& method, const std::string& target, const Json& body, const std::string& key) {
    std::vector<std::pair<std::string, std::string>> headers{{"authorization", "Bearer " + key_}};
    if (!key.empty()) headers.emplace_back("idempotency-key", key);
    const auto until = steady_clock::now() + kPatience;
    for (;;) {
        supervise();
        const auto reply = testing::request(ports_[turn_++ % ports_.size()], method, target, headers,
                                            body.is_null() ? "" : body.dump());
        if (reply.status != 0 && reply.status != 503 && reply.status != 401 && reply.status != 408) {
            if (reply.status == 500) complaints_.push_back(method + " " + target + " was answered 500");
            return reply;
        }
        if (steady_clock::now() > until)
            throw std::runtime_error(method + " " + target + " had no good answer for a minute, the last one " +
                                     std::to_string(reply.status) + " " + reply.body);
        std::this_thread::sleep_for(milliseconds{20});
    }
}

std::string Hubs::enqueue(const std::string& type, Json more) {
    const std::string key = "c-" + std::to_string(acknowledged_.size());
    Json body{{"workflow_type", type}, {"input", {{"n", 1}}}};
    body.update(more);
    const auto reply = ask("POST", "/v1/executions", body, key);
    if (reply.status != 201) {
        complaints_.push_back("enqueueing " + type + " was answered " + std::to_string(reply.status) + ": " +
                              reply.body);
        return {};
    }
    acknowledged_[key] = reply.json().at("execution_id");
    return acknowledged_[key];
}

void Hubs::stop() {
    for (auto& hub : hubs_) hub->signal(SIGTERM);
    for (auto& hub : hubs_) hub->wait_exit();
}

std::string Hubs::logs() const {
    std::string all = old_logs_;
    for (const auto& hub : hubs_) all += hub->log();
    return all;
}

}
