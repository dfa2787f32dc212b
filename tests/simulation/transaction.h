#pragma once
// One open transaction of the simulated database, behind the interface that the stores borrow.

#include <functional>
#include <stdexcept>
#include <vector>

#include "platform/sql.h"
#include "simulation/tables.h"

namespace impresario::simulation {

/// Its body runs at one instant. Usually what it writes is visible at once; a deferred one writes to a copy that only
/// it sees, until what it did is repeated on the tables (or never).
class Transaction final : public platform::Tx {
  public:
    Transaction(Tables& tables, Auditor* auditor, domain::TimePoint now, domain::TimePoint real_now,
                domain::NodeId writer, std::uint64_t xid)
        : tables_(tables), auditor_(auditor), now_(now), real_now_(real_now), writer_(writer), xid_(xid) {}

    static Transaction& of(platform::Tx& tx) { return static_cast<Transaction&>(tx); }

    Tables& tables() { return tables_; }
    /// When it began: now() in SQL.
    domain::TimePoint now() const { return now_; }
    /// clock_timestamp() in SQL.
    domain::TimePoint real_now() const { return real_now_; }
    const domain::NodeId& writer() const { return writer_; }
    std::uint64_t xid() const { return xid_; }

    /// `write(tables, auditor)`; the auditor is null where nobody sees it yet.
    template <class Write>
    void change(Write write) {
        wrote = true;
        write(tables_, auditor_);
        if (!auditor_) redo.emplace_back(std::move(write));
    }

    std::vector<std::function<void(Tables&, Auditor*)>> redo;
    std::vector<std::string> notices;
    bool wrote = false;
    /// Rows it has locked.
    std::vector<domain::ExecutionId> locked;
    bool shares_scheduler = false;
    bool locks_scheduler = false;
    bool locks_budgets = false;

    platform::Rows exec(const platform::Statement& statement, const platform::Params& params) override;
    platform::Rows run(std::string_view sql, const platform::Params& params) override;

  private:
    Tables& tables_;
    Auditor* auditor_;
    domain::TimePoint now_;
    domain::TimePoint real_now_;
    domain::NodeId writer_;
    std::uint64_t xid_;
};

}
