#pragma once
// What a benchmark plays on: a private PostgreSQL that is as durable as in production, hub processes, and a
// sub-workflow service that answers them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platform/database.h"
#include "platform/local_postgres.h"
#include "platform/process.h"

namespace impresario::bench {

enum class Receiver {
    /// Node.js: peers/subworkflow.mjs, which the peers are measured with.
    node,
    /// C++: the echo service, built on the kit.
    kit,
    /// None; whoever measures answers by himself on `port`.
    own,
};

struct StageSettings {
    /// Cluster, logs and configuration; made when missing.
    std::string directory = ".impresario-bench";
    /// TCP port of the private PostgreSQL, for the peers.
    int postgres_port = 25432;
    int nodes = 1;
    /// Most requests under way, as the peers' concurrency counts: a job is out of it once its 202 is recorded.
    int in_flight = 100;
    /// Most grants of one turn.
    int batch = 100;
    /// Database connections of a node.
    int connections = 4;
    /// Where peers/ is, with its node_modules.
    std::string peers = "bench/peers";
};

/// The private PostgreSQL. fsync and synchronous_commit stay on.
std::unique_ptr<platform::LocalPostgres> start_postgres(const StageSettings& settings);

/// A fresh, migrated database with its hubs and its receiver. Ends them with itself.
class Stage {
  public:
    /// Throws std::runtime_error with what failed and where its log is.
    Stage(const StageSettings& settings, platform::LocalPostgres& postgres, Receiver receiver,
          std::uint16_t own_port = 0);

    ~Stage();
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    std::uint16_t hub_port(int node = 0) const { return hub_ports_[static_cast<std::size_t>(node)]; }
    const std::string& key() const { return key_; }
    /// The definition of the workflow type that is measured, for who wants to say more of it.
    std::string type() const;
    /// One request to the first node. Throws unless it was answered 2xx.
    void ask(const std::string& method, const std::string& path, const std::string& body = "");
    /// Runs one statement by itself and returns its first column of its first row as text.
    std::string query(const std::string& sql);
    /// Puts `count` executions into the queue by the API, 1,000 at a time.
    void fill(std::int64_t count, const std::string& type = "bench");
    /// Only a lane that is stopped can be filled without being emptied.
    void pause();
    void resume();
    /// Resumes once nothing waits and nothing is under way in the lane.
    void wait_drained();
    /// CPU seconds so far: of the hubs, of PostgreSQL, of the receiver.
    struct Spent {
        double hubs = 0;
        double postgres = 0;
        double receiver = 0;
    };
    Spent spent() const;
    /// kB that a hub process holds.
    std::int64_t resident_kb(int node = 0) const;
    pid_t receiver_pid() const { return receiver_->pid(); }
    const std::string& receiver_log() const { return receiver_log_; }
    platform::DatabaseSettings database() const;

  private:
    /// Runs a statement in the cluster's own database.
    void maintain(const std::string& sql) const;
    void start_receiver();
    void start_hub(int node);

    StageSettings settings_;
    platform::LocalPostgres& postgres_;
    Receiver kind_;
    std::string database_;
    std::string key_;
    std::uint16_t receiver_port_ = 0;
    std::string receiver_log_;
    std::vector<std::uint16_t> hub_ports_;
    std::unique_ptr<platform::Process> receiver_;
    std::vector<std::unique_ptr<platform::Process>> hubs_;
    std::unique_ptr<platform::Connection> connection_;
};

/// A free port of 127.0.0.1 below the ephemeral ones.
std::uint16_t free_port();
/// Polls a condition every few milliseconds; throws std::runtime_error(what) after `seconds`.
void wait_for(const std::string& what, double seconds, const std::function<bool()>& condition);

}
