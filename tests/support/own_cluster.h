#pragma once
// A PostgreSQL of a test's own, to be stopped, or to run out of room.

#include <memory>
#include <string>

#include "platform/local_postgres.h"

namespace impresario::testing {

class OwnCluster {
  public:
    /// `room_mib`: on a file system of so much; needs room_can_be_limited().
    explicit OwnCluster(int room_mib = 0);
    ~OwnCluster();

    platform::LocalPostgres& postgres() { return *postgres_; }
    /// The folder of its socket, for TestDatabase.
    std::string sockets() const;
    /// Takes all the room that is left; and gives it back.
    void fill();
    void empty();

    /// Whether this process may mount a file system (root may, in most containers not even root).
    static bool room_can_be_limited();

  private:
    std::string directory_;
    bool mounted_ = false;
    std::unique_ptr<platform::LocalPostgres> postgres_;
};

}
