#pragma once
// Two hubs in which the same faults are planted, looked after as a supervisor would: who is killed by a fault is
// started again without one.

#include <array>
#include <memory>
#include <string>

#include "tests/support/hub.h"

namespace impresario::campaign {

using testing::Json;
using testing::Reply;

class Hubs {
  public:
    /// `seen`: where they note the places they pass.
    Hubs(const testing::TestDatabase& database, const std::string& failpoints, const std::string& seen);
    ~Hubs();

    /// Starts again who has died of a fault; an end of any other kind is kept for the report.
    void supervise();
    /// Asks the hubs in turn until one gives an answer other than "not now" (503, none, 401 while keys are read).
    /// Throws after a minute.
    Reply ask(const std::string& method, const std::string& target, const Json& body = nullptr,
              const std::string& key = "");
    /// The same for an execution under an idempotency key; its id, kept.
    std::string enqueue(const std::string& type, Json more = Json::object());
    /// A statement of somebody at a prompt.
    std::string sql(const std::string& statement) const { return database_.value(statement); }
    std::vector<int> ports() const { return {ports_.begin(), ports_.end()}; }
    const std::string& key() const { return key_; }
    /// Drains both.
    void stop();

    const std::map<std::string, std::string>& acknowledged() const { return acknowledged_; }
    const std::vector<std::string>& complaints() const { return complaints_; }
    int died() const { return died_; }
    std::string logs() const;

  private:
    void start(std::size_t at, const std::string& failpoints);

    const testing::TestDatabase& database_;
    std::string seen_;
    std::string directory_;
    std::string key_;
    std::array<std::unique_ptr<testing::HubProcess>, 2> hubs_;
    std::array<int, 2> ports_{};
    std::size_t turn_ = 0;
    int died_ = 0;
    std::map<std::string, std::string> acknowledged_;
    std::vector<std::string> complaints_;
    std::string old_logs_;
};

}
