#pragma once
// Numbered migrations with an up, a down and a why, each in a transaction of its own (protocol R23).

#include <functional>
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
    /// Several at once wait for each other. Throws StatementRefused with what PostgreSQL said.
    void migrate(Connection& connection, int target,
                 const std::function<void(std::string_view, const Migration&)>& told) const;
    /// What migrate would do.
    std::vector<std::pair<std::string, const Migration*>> steps(int from, int target) const;

  private:
    std::vector<Migration> migrations_;
};

}
