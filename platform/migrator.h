#pragma once
// Numbered migrations with an up, a down and a why, each in a transaction of its own (protocol R23).

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "platform/database.h"

namespace impresario::platform {

struct Migration {
    int version = 0;
    /// "catalogue"
    std::string name;
    std::string up;
    std::string down;
    /// The oldest hub that can run once this is applied; only a contract step raises it.
    int min_hub = 1;

    /// The first sentence of the up file's opening comment: why it exists.
    std::string why() const;
};

/// Hubs that could not run with a contract step are there: it is not applied.
struct OlderHubs : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct SchemaStatus {
    /// 0: nothing has been applied.
    int version = 0;
    int min_hub = 0;
};

class Migrator {
  public:
    /// Sorted by version, without gaps.
    explicit Migrator(std::vector<Migration> migrations) : migrations_(std::move(migrations)) {}

    const std::vector<Migration>& migrations() const { return migrations_; }
    int latest() const { return migrations_.empty() ? 0 : migrations_.back().version; }

    SchemaStatus status(Tx& tx) const;

    /// Brings the schema to `target`, one migration after the other; `told` is called before each with "up" or "down".
    /// Several at once wait for each other. A table that somebody holds is waited for in short turns, so that the work
    /// of running hubs never queues behind a migration for long: `held_up` hears, after each, who that may be. Gives up
    /// after `patience`. Throws StatementRefused with what PostgreSQL said, OlderHubs.
    void migrate(Connection& connection, int target,
                 const std::function<void(std::string_view, const Migration&)>& told,
                 const std::function<void(const std::string&)>& held_up = {},
                 std::chrono::milliseconds patience = std::chrono::minutes{5}) const;
    /// What migrate would do.
    std::vector<std::pair<std::string, const Migration*>> steps(int from, int target) const;

  private:
    /// One step, in its transaction; false: there is none left.
    bool step(Tx& tx, int target, const std::function<void(std::string_view, const Migration&)>& told) const;

    std::vector<Migration> migrations_;
};

}
