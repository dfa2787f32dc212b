#pragma once
// What reports are made of, and reports as rows. Borrows a transaction. Stateless; any thread.

#include <optional>
#include <string>
#include <vector>

#include "domain/id.h"
#include "platform/sql.h"
#include "reports/report.h"

namespace impresario::reports {

using ReportId = domain::Id<struct ReportTag>;

/// What was sent, or is to be sent, of a report.
struct Delivery {
    ReportId report;
    std::string receiver;
    /// This one too.
    int attempts = 0;
    /// Of those before, that left and were not answered.
    int in_doubt = 0;
    Kind kind = Kind::daily;
    domain::TimePoint made_at{};
    std::string content;
    std::string document;
};

struct StoredReport {
    ReportId id;
    /// JSON: report_json, document_json.
    std::string content;
    std::string document;
};

struct ReportRow {
    ReportId id;
    std::string kind;
    Period period;
    std::string zone;
    domain::TimePoint made_at{};
    /// JSON array: receiver, state, attempts, error of each.
    std::string deliveries;
};

class ReportStore {
  public:
    // Everywhere "" for an organization: of all of them. Of a long time the first three are asked hour by hour.

    /// Adds what ended in the period.
    void add_ended(platform::Tx& tx, const Period& period, const std::string& organization_id,
                   std::map<domain::Lane, Ended>& lanes) const;
    std::vector<Failure> failures(platform::Tx& tx, const Period& period, const std::string& organization_id) const;
    std::vector<ProviderUse> providers(platform::Tx& tx, const Period& period,
                                       const std::string& organization_id) const;
    std::vector<GateTime> gates(platform::Tx& tx, const Period& period, const std::string& organization_id) const;
    std::vector<AlertSeen> alerts(platform::Tx& tx, const Period& period, const std::string& organization_id) const;
    std::vector<BudgetUse> budgets(platform::Tx& tx, const Period& period, const std::string& organization_id) const;
    std::vector<QueueOutlook> queues(platform::Tx& tx, const std::string& organization_id) const;
    /// Where executions have been removed: from when on all that ended is still there.
    std::optional<domain::TimePoint> known_from(platform::Tx& tx) const;

    /// When the first organization came to be.
    domain::TimePoint installed_at(platform::Tx& tx) const;
    /// The one about that period; nullopt: none has been made.
    std::optional<StoredReport> find(platform::Tx& tx, Kind kind, const Period& period) const;
    /// nullopt: somebody has made it already. Receivers are still to be told.
    std::optional<ReportId> put(platform::Tx& tx, const Report& report, const std::string& content,
                                const std::string& document, const std::vector<std::string>& receivers) const;
    /// "": of both kinds. The latest first.
    std::vector<ReportRow> list(platform::Tx& tx, const std::string& kind, int most) const;

    /// Takes a few whose time has come: nobody else does within five minutes.
    std::vector<Delivery> claim(platform::Tx& tx) const;
    /// Until the next one's time comes; nullopt: there is none.
    std::optional<domain::Duration> next_due(platform::Tx& tx) const;
    /// `state`: delivered, refused, lapsed, or pending: again after that. `unanswered`: it left and was not answered.
    void settle(platform::Tx& tx, const Delivery& delivery, std::string_view state, const std::string& error,
                domain::Duration again, bool unanswered) const;
    /// Those that are a day old, and those to whom nothing is sent any more.
    void lapse(platform::Tx& tx, const std::vector<std::string>& receivers) const;
    /// What is older than 400 days.
    void forget(platform::Tx& tx) const;
};

}
