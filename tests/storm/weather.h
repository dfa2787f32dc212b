#pragma once
// What the storm does to the processes: PostgreSQL is stopped at once and comes back, nodes are killed and started
// again.

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "platform/local_postgres.h"
#include "platform/process.h"

namespace impresario::storm {

/// A `serve` that can be killed and comes back at the same address.
class Node {
  public:
    Node(std::string directory, int port, std::string database_url, std::string key_file);

    void start();
    void kill();
    /// Its exit code, if it has ended without being told to.
    std::optional<int> ended();
    int port() const { return port_; }
    std::string log_file() const { return directory_ + "/hub.log"; }

  private:
    std::string directory_;
    int port_;
    std::string database_url_;
    std::string key_file_;
    std::unique_ptr<platform::Process> process_;
};

/// To be looked after often, from one thread: children are told when the thread that started them ends.
class Weather {
  public:
    Weather(platform::LocalPostgres& postgres, std::vector<Node>& nodes, std::uint64_t seed);

    /// Does what is due.
    void blow();
    /// Everything runs again and is left alone.
    void clear();

    int postgres_stopped() const { return postgres_stopped_; }
    int nodes_killed() const { return nodes_killed_; }
    /// What ended by itself.
    const std::vector<std::string>& complaints() const { return complaints_; }

  private:
    using Moment = std::chrono::steady_clock::time_point;
    Moment in(double least, double most);
    void start_postgres();

    platform::LocalPostgres& postgres_;
    std::vector<Node>& nodes_;
    std::mt19937_64 random_;
    Moment postgres_stops_;
    std::optional<Moment> postgres_starts_;
    Moment node_dies_;
    int postgres_stopped_ = 0;
    int nodes_killed_ = 0;
    std::vector<std::string> complaints_;
};

}
