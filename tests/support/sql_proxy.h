#pragma once
// Between a hub and its database: breaks a connection after its COMMIT has been done and before anybody hears of it, or
// leaves all of them open and lets nothing through.

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/database.h"

namespace impresario::testing {

class SqlProxy {
  public:
    explicit SqlProxy(const TestDatabase& database);
    ~SqlProxy();

    /// What a hub behind it is given as its database's URL.
    std::string url() const;
    /// The next transaction that runs the statement of this name commits, and its connection is gone.
    void lose_commit_of(const std::string& statement);
    /// Nothing goes through any more, in neither direction, until it is let go.
    void hold() { held_ = true; }
    void let_go() { held_ = false; }
    int lost() const { return lost_.load(); }

  private:
    void accept_loop();
    void serve(int client);

    std::string server_path_;
    std::string database_name_;
    std::string directory_;
    int listener_ = -1;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> held_{false};
    std::atomic<int> lost_{0};
    std::mutex mutex_;
    std::string statement_;
    std::thread accepting_;
    std::vector<std::thread> serving_;
};

}
