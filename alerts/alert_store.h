#pragma once
// What is raised, what is silenced, who was told what: as rows. Borrows a transaction. Stateless; any thread. The table
// of alerts tells its events itself, whoever writes (migration 40).

#include <optional>
#include <string>
#include <vector>

#include "alerts/evaluate.h"
#include "alerts/notifier_plan.h"
#include "alerts/silence.h"
#include "platform/sql.h"

namespace impresario::alerts {

using AlertId = domain::Id<struct AlertTag>;

/// An alert, and what is known of it beside.
struct AlertRow {
    AlertId id;
    std::string fingerprint;
    /// nullopt: it came from elsewhere.
    std::optional<std::string> rule;
    std::string organization_id;
    /// pending, firing, clearing or resolved.
    std::string phase;
    std::optional<domain::TimePoint> clear_since;
    std::optional<double> value;
    std::string ended_why;
    Alert alert;
};

/// One message to one receiver, and what became of it.
struct NotificationRow {
    Notification notification;
    std::string title;
    /// in_flight, delivered, failed, unknown, refused or lapsed.
    std::string state;
    std::string error;
    domain::TimePoint created_at;
    std::optional<domain::TimePoint> settled_at;
};

/// Alerts from elsewhere that fire at once, of one organization.
inline constexpr int kMostOpenReceived = 2000;

class AlertStore {
  public:
    /// All that have not resolved, those that are pending too.
    std::vector<AlertRow> open(platform::Tx& tx) const;
    /// Writes what an evaluation has come to.
    void write(platform::Tx& tx, const Evaluation& evaluation) const;
    /// Resolves what came from elsewhere and was not said again in time.
    void expire(platform::Tx& tx) const;
    /// Takes alerts from elsewhere: their `ends_at` is set, and each is there once. False: too many of the organization
    /// fire already; nothing is taken.
    bool receive(platform::Tx& tx, const std::string& organization_id, const std::vector<Alert>& alerts) const;
    /// The latest that has resolved, of each.
    std::vector<Alert> resolved(platform::Tx& tx, const std::set<std::string>& fingerprints) const;

    /// What is firing (or clearing), pending, resolved, or "all" of them; the latest first, what fires before the rest.
    /// "": of all organizations.
    std::vector<AlertRow> list(platform::Tx& tx, const std::string& organization_id, const std::string& state,
                               int most) const;
    /// Those whose fingerprint begins so; two: it is not clear which.
    std::vector<AlertRow> find(platform::Tx& tx, const std::string& organization_id, const std::string& prefix) const;
    /// Those of an incident, whose id begins so.
    std::vector<AlertRow> incident(platform::Tx& tx, const std::string& organization_id,
                                   const std::string& prefix) const;
    /// nullopt: takes it back. False: it does not fire, or it stands so already.
    bool acknowledge(platform::Tx& tx, const std::string& organization_id, const AlertId& alert,
                     const std::optional<Acknowledgement>& acknowledgement) const;

    std::vector<Silence> silences(platform::Tx& tx, bool ended_too) const;
    SilenceId silence(platform::Tx& tx, const Silence& silence) const;
    /// False: there is none that goes on.
    bool end_silence(platform::Tx& tx, const SilenceId& silence) const;

    NotifierState notifier(platform::Tx& tx) const;
    /// Of one group and one receiver alone.
    NotifierState notifier(platform::Tx& tx, const std::string& group, const std::string& receiver) const;
    /// Writes what differs.
    void write(platform::Tx& tx, const NotifierState& before, const NotifierState& after) const;
    /// With their titles.
    void record(platform::Tx& tx, const std::vector<std::pair<Notification, std::string>>& sent) const;
    void settle(platform::Tx& tx, const std::string& notification, std::string_view state,
                const std::string& error) const;
    /// The latest first; "": to all receivers.
    std::vector<NotificationRow> notifications(platform::Tx& tx, const std::string& receiver, int most) const;

    /// Removes some of what was over longer ago than that. Returns how many.
    std::int64_t forget(platform::Tx& tx, domain::Duration age) const;
};

}
