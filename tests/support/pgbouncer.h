#pragma once
// A real PgBouncer in transaction mode before the test cluster: every transaction may be in another session.

#include <memory>
#include <string>

#include "platform/process.h"
#include "tests/support/database.h"

namespace impresario::testing {

class PgBouncer {
  public:
    /// `sessions`: how many of PostgreSQL's it keeps, whoever comes. Throws with what it said when it does not start.
    explicit PgBouncer(const TestDatabase& database, int sessions = 4);
    ~PgBouncer();
    PgBouncer(const PgBouncer&) = delete;
    PgBouncer& operator=(const PgBouncer&) = delete;

    /// What a hub behind it is given as its database's URL.
    std::string url() const;

  private:
    bool answers() const;

    std::string database_name_;
    std::string directory_;
    std::unique_ptr<platform::Process> process_;
};

}
