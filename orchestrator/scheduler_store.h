#pragma once
// Leadership, nodes and the hub's state in the database. Borrows a transaction. Stateless; any thread.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/id.h"
#include "domain/lane.h"
#include "orchestrator/outage.h"
#include "platform/sql.h"
#include "resource_manager/queue_bounds.h"
#include "resource_manager/throttle.h"

namespace impresario::orchestrator {

/// Another node leads now: this transaction must not go on.
struct Fenced : std::runtime_error {
    Fenced() : std::runtime_error("another node has become scheduler") {}
};

/// The row that leadership is (protocol R1).
struct SchedulerRow {
    std::int64_t epoch = 0;
    std::optional<domain::NodeId> node;
    /// The session the leader listens with; 0: none is known.
    int session = 0;
    bool session_missing = false;
    std::optional<domain::TimePoint> renewed_at;
    bool lease_over = false;
    std::optional<Outage> outage;
    domain::TimePoint now;

    /// Whether `node` may lead: the lease has run out or was its own, or the session that it has seen missing long
    /// enough still is (then hardly anything of the leader can commit any more; the epoch fences the rest).
    bool to_be_had(const domain::NodeId& by, int missed_session) const {
        return lease_over || node == by || (session_missing && session == missed_session);
    }
};

struct Lead {
    std::int64_t epoch = 0;
    std::optional<Outage> outage;
    domain::TimePoint now;
};

/// A node whose lease lasts.
struct NodeSeen {
    domain::NodeId node;
    bool takes_work = false;
    int session = 0;
    bool session_missing = false;
    domain::TimePoint heartbeat_at;
};

struct NodeView {
    domain::NodeId node;
    std::string name;
    int hub_version = 0;
    std::string state;
    domain::TimePoint started_at;
    domain::TimePoint heartbeat_at;
    domain::TimePoint lease_until;
    bool scheduler = false;
};

struct ShownState {
    std::optional<domain::NodeId> node;
    std::string state;
    domain::TimePoint since;
    std::string why;
    std::string seconds_in;
    std::optional<domain::TimePoint> last_execution;
    std::optional<domain::TimePoint> next_scheduled;
    std::int64_t epoch = 0;
    bool led = false;
};

/// Of lanes with a bound; a lane without names: of all together.
using QueueLengths = std::map<domain::Lane, resource_manager::QueueLength>;

class SchedulerStore {
  public:
    SchedulerRow look(platform::Tx& tx) const;
    /// nullopt: it is not to be had. `missed_session` as in SchedulerRow::to_be_had.
    std::optional<Lead> take_lead(platform::Tx& tx, const domain::NodeId& node, int backend_pid,
                                  std::chrono::seconds lease, int missed_session) const;
    /// The lead as it goes on; nullopt: it has passed to another.
    std::optional<Lead> renew(platform::Tx& tx, std::int64_t epoch, const domain::NodeId& node, int backend_pid,
                              std::chrono::seconds lease) const;
    void resign(platform::Tx& tx, std::int64_t epoch, const domain::NodeId& node) const;
    /// Throws Fenced.
    domain::TimePoint fence(platform::Tx& tx, std::int64_t epoch, const domain::NodeId& node) const;
    /// The same in one round trip with what is asked next. What it returns is to be called before anything is written.
    std::function<domain::TimePoint()> ask_fence(platform::Tx& tx, std::int64_t epoch,
                                                 const domain::NodeId& node) const;

    /// The same without an answer: where another leads, the transaction is refused (22012) and nothing of it happens.
    void insist_on_lead(platform::Tx& tx, std::int64_t epoch, const domain::NodeId& node) const;

    /// The oldest hub version that the schema lets run.
    int heartbeat(platform::Tx& tx, const domain::NodeId& node, const std::string& name, bool draining, int backend_pid,
                  int lease_seconds) const;
    /// The next number of a node's stream; nullopt before its first heartbeat.
    std::optional<int> next_node_seq(platform::Tx& tx, const domain::NodeId& node) const;
    void leave(platform::Tx& tx, const domain::NodeId& node) const;
    std::vector<NodeSeen> alive(platform::Tx& tx) const;
    std::vector<NodeView> nodes(platform::Tx& tx) const;
    void forget_nodes(platform::Tx& tx) const;

    resource_manager::DatabaseReading database_health(platform::Tx& tx) const;

    void write_queue_lengths(platform::Tx& tx, const QueueLengths& lengths) const;
    QueueLengths queue_lengths(platform::Tx& tx) const;

    void write_state(platform::Tx& tx, const ShownState& state) const;
    ShownState read_state(platform::Tx& tx) const;
};

/// What this binary is able to run (protocol R23).
inline constexpr int kHubVersion = 2;

}
