#pragma once
// A private PostgreSQL cluster on a Unix socket, for `impresario dev`, tests and benchmarks.

#include <string>
#include <vector>

#include "domain/secret.h"

namespace impresario::platform {

struct LocalPostgresSettings {
    /// Holds the cluster, its socket and its log.
    std::string directory;
    /// Extra `name = value` settings of postgresql.conf.
    std::vector<std::string> configuration;
    /// Listens on 127.0.0.1 as well; 0: on its Unix socket only. Counts when the cluster is made.
    int port = 0;
};

/// Starts the cluster and stops it with its destructor. A second start reuses what is there. PostgreSQL refuses to run
/// as root; root hands the directory to an unprivileged user and starts it as that user. Where that user cannot reach
/// the directory (a clone in /root), the cluster lives under /var/tmp and `directory` holds a link to it.
class LocalPostgres {
  public:
    /// Throws std::runtime_error with what PostgreSQL said and what to do.
    explicit LocalPostgres(LocalPostgresSettings settings);
    ~LocalPostgres();
    LocalPostgres(const LocalPostgres&) = delete;
    LocalPostgres& operator=(const LocalPostgres&) = delete;

    /// Connection string for a database of the cluster.
    domain::Secret url(const std::string& database) const;
    /// Creates the database when it is missing.
    void create_database(const std::string& name) const;
    /// fast, smart or immediate.
    void stop(const std::string& mode);
    void start();
    /// Whether its server process is there.
    bool alive() const;
    /// Leaves it running when this goes.
    void detach() { running_ = false; }
    const std::string& home() const { return home_; }

    /// Where PostgreSQL's programs are: newest of /usr/lib/postgresql/*/bin, or PATH.
    static std::string find_program(const std::string& name);
    /// Removes a cluster that does not run.
    static void remove(const std::string& directory);

  private:
    std::string run(const std::vector<std::string>& command) const;
    static std::string home_of(const std::string& directory);

    LocalPostgresSettings settings_;
    std::string home_;
    std::string data_;
    std::string sockets_;
    bool running_ = false;
};

}
