#pragma once
// A database of a test's own, made from the migrated template and dropped with it.

#include <functional>
#include <string>

#include "platform/database.h"
#include "platform/local_postgres.h"

namespace impresario::testing {

class TestDatabase {
  public:
    /// `sockets`: of another cluster than the one that the test run shares.
    explicit TestDatabase(const std::string& sockets = "");
    ~TestDatabase();

    domain::Secret url() const;
    const std::string& name() const { return name_; }
    /// The folder of the server's socket.
    const std::string& sockets() const { return sockets_; }
    /// Runs `body` in a transaction of a connection of its own.
    void transact(const std::function<void(platform::Tx&)>& body) const;
    /// The first column of the first row, "" where there is none.
    std::string value(const std::string& sql) const;
    void run(const std::string& sql) const;
    /// Throws everybody out and lets nobody in, as if the database were away; and the other way round.
    void shut() const;
    void open() const;

  private:
    std::string admin_url(const std::string& database) const;
    std::string name_;
    std::string sockets_;
};

}
