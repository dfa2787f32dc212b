#pragma once
// One simulated world: hub processes, a database, peers, users and troubles in virtual time, all from one seed.

#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "platform/async.h"
#include "platform/crypto.h"
#include "simulation/chance.h"
#include "simulation/machine.h"
#include "simulation/tables.h"
#include "simulation/weather.h"

namespace impresario::simulation {

class Auditor;
class Peers;
class Process;
class Server;
class Troubles;
class Users;

/// What a world came to.
struct Report {
    std::uint64_t seed = 0;
    /// The promise that was broken, and how; empty when all were kept.
    std::string broken;
    std::string how;
    /// The last lines of what happened, or all of them.
    std::vector<std::string> trace;
    /// Of everything that happened: the same seed gives the same.
    std::uint64_t digest = 0;

    std::size_t executions = 0;
    std::size_t transactions = 0;
    std::size_t requests = 0;
    std::size_t plans = 0;
    domain::Duration virtual_time{0};
    bool kept() const { return broken.empty(); }
};

class World {
  public:
    World(std::uint64_t seed, bool traced);
    ~World();

    Report run();

    static World& current() { return *current_; }

    domain::TimePoint now() const { return machine_.now(); }
    void after(domain::Duration wait, std::function<void()> then);
    platform::asio::io_context& io() { return io_; }

    /// A promise is broken: the run is over.
    void fail(std::string promise, std::string how);
    bool failed() const { return !report_.broken.empty(); }
    /// Troubles are over and peers are well: from now on everything has to come to its end.
    bool healed() const { return healed_at_.has_value(); }
    domain::TimePoint healed_at() const { return *healed_at_; }
    bool over() const { return over_; }

    bool traced() const { return traced_; }
    void tell(const std::string& line);
    void digest(std::uint64_t value) { report_.digest = (report_.digest ^ value) * 0x100000001b3ULL; }

    const Weather& weather() const { return weather_; }
    Tables& tables() { return tables_; }
    Server& server() { return *server_; }
    Peers& peers() { return *peers_; }
    Auditor& auditor() { return *auditor_; }
    const platform::KeyRing& keys() const { return keys_; }
    Report& report() { return report_; }

    std::vector<std::unique_ptr<Process>>& processes() { return processes_; }
    /// Those that take requests.
    std::vector<Process*> open_processes();
    Process& start_process();
    int next_session() { return ++sessions_; }
    /// Until then, or until lately, everybody has been in trouble with the database.
    domain::TimePoint trouble_until() const { return trouble_until_; }
    void trouble_for(domain::Duration length) { trouble_until_ = std::max(trouble_until_, now() + length); }
    /// The process under construction.
    Process* building = nullptr;
    /// The process whose scheduler the database believes in; null when it has gone.
    Process* leader();

  private:
    struct Event {
        domain::TimePoint at;
        std::uint64_t order;
        std::function<void()> run;
        /// The queue gives the greatest first.
        bool operator<(const Event& other) const { return std::tie(other.at, other.order) < std::tie(at, order); }
    };
    void run_due();
    void heal();
    void watch_for_the_end();
    bool quiet();
    void finish();

    static World* current_;
    Machine machine_;
    Chance chance_;
    Weather weather_;
    bool traced_;
    platform::asio::io_context io_{1};
    std::priority_queue<Event> events_;
    std::uint64_t order_ = 0;
    bool due_posted_ = false;
    std::optional<platform::asio::executor_work_guard<platform::asio::io_context::executor_type>> guard_;
    platform::KeyRing keys_;
    Tables tables_;
    Report report_;
    std::unique_ptr<Auditor> auditor_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<Peers> peers_;
    std::vector<std::unique_ptr<Process>> processes_;
    std::unique_ptr<Users> users_;
    std::unique_ptr<Troubles> troubles_;
    std::optional<domain::TimePoint> healed_at_;
    std::optional<domain::TimePoint> quiet_since_;
    domain::TimePoint trouble_until_{};
    int sessions_ = 0;
    int processes_started_ = 0;
    bool over_ = false;
};

/// Runs one seed.
Report run(std::uint64_t seed, bool traced = false);

}
