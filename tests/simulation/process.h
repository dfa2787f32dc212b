#pragma once
// One hub process: the real node and the real hub, on a simulated machine, network and database.

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "orchestrator/hub.h"
#include "platform/http_client.h"
#include "simulation/executor.h"
#include "simulation/world.h"

namespace impresario::simulation {

class Process {
  public:
    Process(World& world, int number, std::uint64_t seed);
    ~Process();

    void start();
    /// kill -9: nothing of it reaches anybody any more. What it still does in memory nobody sees; so it unwinds. Its
    /// session ends with it, or with its machine's silence only later.
    void crash(bool session_ends);
    /// SIGTERM: drains and signs off.
    void terminate();
    /// SIGSTOP, SIGCONT.
    void stop();
    void go_on();
    /// Its network to the database is gone for that long.
    void part(domain::Duration length);
    /// Its listening session ends, and comes back after that long.
    void lose_session(domain::Duration away);
    /// Everything about its own troubles is over.
    void mend();

    World& world() { return world_; }
    const domain::NodeId& id() const { return id_; }
    const std::string& name() const { return name_; }
    orchestrator::Node& node() { return node_; }
    orchestrator::Hub& hub() { return hub_; }
    platform::DatabaseClock& clock() { return clock_; }
    platform::asio::any_io_executor executor() { return DeskExecutor(desk_); }

    bool cut_off() const { return cut_off_; }
    bool partitioned() const { return world_.now() < parted_until_; }
    bool stopped() const { return desk_.stopped(); }
    bool leaving() const { return leaving_; }
    /// It takes requests.
    bool open() const { return started_ && !cut_off_ && !leaving_; }
    /// It has no trouble of its own since then.
    domain::TimePoint well_since() const { return well_since_; }
    bool gone() const { return gone_; }

    template <class Work>
    void post(Work work) {
        desk_.take(std::move(work));
    }
    /// Runs it on the process; failures are its own business.
    void spawn(platform::Task<void> task);

    // For the database's double.
    void listen(std::atomic<int>& backend_pid, std::atomic<bool>& hearing,
                std::function<void(const std::string&)> received);
    void hear(const std::string& notice);

  private:
    platform::Task<void> boot();
    platform::Task<void> leave(bool resigns);
    void open_session();
    void close_session();
    void trouble() { well_since_ = world_.now(); }

    World& world_;
    std::string name_;
    Desk desk_;
    Chance chance_;
    platform::DatabaseClock clock_;
    platform::IdSource ids_;
    platform::Metrics metrics_;
    platform::Database database_;
    platform::HttpClient client_;
    orchestrator::Probe probe_;
    orchestrator::Node node_;
    orchestrator::Hub hub_;
    domain::NodeId id_;
    std::unique_ptr<platform::Listener> listener_;

    std::atomic<int>* backend_pid_ = nullptr;
    std::atomic<bool>* hearing_ = nullptr;
    std::function<void(const std::string&)> received_;
    int session_ = 0;
    bool session_lost_ = false;
    domain::TimePoint parted_until_{};
    domain::TimePoint well_since_{};
    bool started_ = false;
    bool cut_off_ = false;
    bool leaving_ = false;
    bool gone_ = false;
};

}
