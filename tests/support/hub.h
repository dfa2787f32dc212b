#pragma once
// A real `impresario serve` on a database of its own, to be asked, killed and started again.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platform/process.h"
#include "tests/support/database.h"
#include "tests/support/http.h"
#include "tests/support/peer.h"
#include "tests/support/program.h"

namespace impresario::testing {

/// What a sanitizer may add to a hub's memory: AddressSanitizer keeps the last 256 MiB that were freed, to see who
/// still uses them.
inline std::size_t sanitizer_kib() { return sanitized() ? 384 * 1024 : 0; }

/// One hub process.
class HubProcess {
  public:
    /// Starts it and waits until it is ready. `database_url`: another way to the same database. `failpoints`: faults to
    /// plant (platform/failpoint.h); `seen`: the file in which it notes the places it passes. `before`: a command that
    /// runs it, such as {"prlimit", "--nofile=256"}.
    HubProcess(const TestDatabase& database, const std::string& key_file, const std::string& extra_config = "",
               int port = 0, bool wait = true, const std::string& database_url = "", const std::string& failpoints = "",
               const std::string& seen = "", const std::vector<std::string>& before = {});
    ~HubProcess();

    int port() const { return port_; }
    pid_t pid() const { return process_->pid(); }
    /// SIGKILL, and waits for the end.
    void kill();
    /// SIGTERM; its exit code.
    int terminate();
    int wait_exit() { return process_->wait(); }
    /// Its exit code (128 + signal when killed), nullopt while it runs.
    std::optional<int> poll() { return process_->poll(); }
    void signal(int number) { process_->signal(number); }
    std::string log() const;
    /// What /proc counts now.
    std::size_t open_files() const;
    std::size_t memory_kib() const;
    double cpu_seconds() const;
    bool wait_ready(double seconds = 20) const;

  private:
    std::unique_ptr<platform::Process> process_;
    std::string directory_;
    int port_ = 0;
};

/// What a command has said, on both ways out, and its exit code.
struct Said {
    int code = 0;
    std::string text;
    Json json() const { return Json::parse(text, nullptr, false); }
};
/// Runs the program under test.
Said run(const std::vector<std::string>& arguments, std::vector<std::pair<std::string, std::string>> environment = {});

/// A database, a hub, a peer and a key: what most flows begin with.
class HubFixture {
  public:
    explicit HubFixture(const std::string& extra_config = "", std::vector<std::string> before = {},
                        const std::string& sockets = "");
    ~HubFixture();

    TestDatabase database;
    std::string key;
    std::unique_ptr<HubProcess> hub;

    /// Starts a hub (again).
    void start(const std::string& database_url = "", const std::string& failpoints = "");
    Reply api(const std::string& method, const std::string& path, const Json& body = nullptr,
              const std::vector<std::pair<std::string, std::string>>& headers = {}) const;
    Json get(const std::string& path) const { return api("GET", path).json(); }

    /// Registers a workflow type at `url`; `more` is merged into its definition.
    void register_type(const std::string& name, const std::string& url, Json more = Json::object()) const;
    std::string enqueue(const std::string& type, const Json& input = {{"n", 1}}, Json more = Json::object()) const;
    /// The command line, with the fixture's key or another one.
    Said cli(const std::vector<std::string>& arguments, const std::string& with_key = "") const;
    Json execution(const std::string& id) const { return get("/v1/executions/" + id); }
    std::string status(const std::string& id) const { return execution(id).value("status", "?"); }
    /// Waits (by the API's own ?wait=) until it has ended; its last view. Like await, it prints how things stand when
    /// that does not come about.
    Json await_end(const std::string& id, int seconds = 30) const;
    /// Waits until the condition holds for the execution.
    bool await(const std::string& id, const std::function<bool(const Json&)>& condition, double seconds = 20) const;
    std::vector<std::string> event_types(const std::string& id) const;
    void tell(const std::string& id) const;
    const std::string& key_file() const { return key_file_; }
    const std::string& config() const { return config_; }
    std::string make_key(const std::string& role, const std::string& name,
                         const std::string& organization = "default") const;

  private:
    std::string config_;
    std::vector<std::string> before_;
    std::string directory_;
    std::string key_file_;
    /// Kept over restarts, so that callbacks find the new process.
    int port_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point begun);
/// A port that is free now.
int free_port();
/// A policy that tries again almost at once.
Json quick_retries(int max_retries, double seconds = 0.05);
/// Waits for a condition that no event tells of, looking often; false after `seconds` of patience().
bool eventually(const std::function<bool()>& condition, double seconds = 20);

}
