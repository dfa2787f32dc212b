#pragma once
// The main loop: elected, fenced, one turn after the other.

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "journal/horizon.h"
#include "journal/metric_store.h"
#include "orchestrator/board.h"
#include "orchestrator/decide.h"
#include "orchestrator/gate_history.h"
#include "orchestrator/health.h"
#include "orchestrator/node.h"
#include "orchestrator/presence.h"
#include "orchestrator/state_machine.h"
#include "resource_manager/throttle.h"

namespace impresario::orchestrator {

struct HubSettings {
    /// Most grants of one turn (003's max_batch_size).
    int max_batch_size = 100;
    /// The safety tick of 003; shorter while notifications are not heard.
    std::chrono::milliseconds tick{300000};
    std::chrono::milliseconds deaf_tick{2000};
    /// A turn begins no sooner after one that granted several.
    std::chrono::milliseconds pace{8};
    /// The change feed is read at least this often.
    std::chrono::milliseconds feed_poll{1000};
    /// A grant that another node has not begun by then is withdrawn (protocol R19).
    std::chrono::milliseconds grant_patience{3000};
    /// A closed gate that opens and closes with every turn is recorded only once it has lasted.
    std::chrono::milliseconds gate_debounce{1000};
    resource_manager::BreakerSettings breaker;
    /// What a start is taken to cost whose cost nobody says: an unknown price is not a free one.
    domain::MicroUsd unknown_cost{1'000'000};
    /// What was learnt about costs is kept at least this often.
    std::chrono::milliseconds keep_estimates{60000};
    /// What the types declare of it is reserved while their executions run (003's total_limit_mb).
    int memory_total_mb = 2048;
    /// Of all queues together; each type has its own.
    resource_manager::QueueBounds queue;
    /// Of types that say nothing else.
    std::optional<domain::Duration> queue_ttl;
    /// What counts as pressure, and how often that is looked at.
    resource_manager::PressureLimits pressure;
    /// From where on the hub is degraded; `pressure` as above.
    HealthMarks health;
    std::chrono::milliseconds health_every{1000};
    /// Who is active and has not been heard of for so long is looked into.
    std::chrono::seconds quiet{600};
};

/// One per process; the one that leads runs turns, the others wait for their chance. Network thread only.
class Hub {
  public:
    Hub(Node& node, HubSettings settings);

    /// Survives everything but being stopped.
    platform::Task<void> run();
    /// Works once; true when there is more to do at once. Throws what the database throws, and Fenced.
    platform::Task<bool> turn();
    /// No more turns; gives leadership back. Resumes once the turn under way has ended.
    platform::Task<void> stop();

    const HubSettings& settings() const { return settings_; }
    /// Something may have changed: look.
    void wake() { wakeup_.signal(); }
    void hint(const std::string& payload);

    int max_batch_size() const { return settings_.max_batch_size; }
    /// Whether these executions may join the queue. Until what comes with it is destroyed they count as being in it.
    struct Joined {
        std::shared_ptr<void> counted;
        /// Why not; of the whole hub where no lane is named.
        std::optional<resource_manager::QueueFull> full;
        std::optional<domain::Lane> lane;
    };
    Joined join_queue(const std::vector<priority_queue::NewExecution>& executions);

    /// Most grants of one turn at the moment.
    int batch_limit() const;

    bool leads() const { return lead_.has_value(); }
    std::int64_t epoch() const { return lead_ ? *lead_ : 0; }
    domain::MicroUsd unknown_cost() const { return settings_.unknown_cost; }
    /// Null while another node leads, and until what it knows has been read: half of it would be taken for all.
    const Board* board() const { return loaded_ ? board_.get() : nullptr; }
    const StateMachine* state() const { return board() ? &machine_ : nullptr; }
    std::optional<domain::TimePoint> last_execution() const { return last_execution_; }
    /// Told how long each turn took that granted, and how many; for benchmarks.
    std::function<void(domain::Duration, std::size_t)> on_granted;
    /// Tells the scheduler to start again from its tables.
    void rebuild() {
        rebuild_ = true;
        wake();
    }

  private:
    /// Most deadlines, and most due times, that one sweep decides about.
    static constexpr std::size_t kMostSweep = 500;
    /// How long a row is left alone that another transaction holds.
    static constexpr domain::Duration kHeldPause = std::chrono::seconds{1};
    /// When parents that could not be settled, and lanes that could not be written about, are tried again.
    static constexpr domain::Duration kSettlePause = std::chrono::seconds{1};

    using ChangedEndpoints = std::map<domain::EndpointId, Board::ChangedEndpoint>;
    /// A row that is to be granted, or whose own gate is to be noted.
    struct Pick {
        domain::ExecutionId execution;
        std::optional<GrantTerms> terms;
        std::optional<domain::Gate> gate;
    };
    struct Picked {
        std::optional<priority_queue::ClaimableExecution> found;
        bool granted = false;
        /// A budget has not enough left for it after all.
        bool broke = false;
        /// Its lane's last start or end is too short a time ago after all.
        std::optional<LaneTimes> too_soon = {};
        /// Somebody else has its type's lock.
        std::optional<schedules::LockName> locked = {};
        /// A gate of its own that was closed until now, and since when.
        std::optional<std::pair<domain::Gate, domain::TimePoint>> opened = {};
    };

    struct Granted {
        std::size_t count = 0;
        /// What was planned could not be had: there may be others in its place.
        bool missed = false;
        /// There is more to be written down of why executions wait than one turn writes.
        bool more_notes = false;
    };

    platform::Task<bool> try_lead();
    platform::Task<void> load();
    platform::Task<void> keep_lead();
    void see_alive(const std::vector<NodeSeen>& nodes);
    void step_down(const char* why);
    platform::Task<void> refill_levels();
    platform::Task<void> refresh_providers();
    platform::Task<void> refresh_budgets();
    platform::Task<void> book_inbox();
    platform::Task<void> count_usage();
    platform::Task<void> keep_estimates();
    platform::Task<void> read_feed();
    platform::Task<void> recheck(std::vector<domain::ExecutionId> ids);
    platform::Task<std::size_t> sweep(domain::TimePoint now);
    platform::Task<void> watch_health();
    void read_memory();
    void tell_health(const char* of, const resource_manager::Throttle& throttle,
                     const resource_manager::Pressure& reading);
    void lift_pauses(domain::TimePoint now);
    platform::Task<void> lift_pauses_now(std::vector<subworkflows::PauseRecord> met, std::int64_t epoch);
    platform::Task<std::size_t> drop(domain::TimePoint now);
    void show_queue_lengths();
    bool bounded() const;
    platform::Task<void> refresh_locks();
    void show_standings(domain::TimePoint now);
    void show_lane_times();
    /// How often what the other nodes are shown is looked at.
    static constexpr std::chrono::seconds kShowEvery{1};
    /// Writes it down beside the turns, as the leader; `anew` where that failed.
    void show_others(std::function<void(platform::Tx&)> write, std::function<void()> anew);
    platform::Task<void> write_shown(std::function<void(platform::Tx&)> write, std::function<void()> anew,
                                     std::int64_t epoch);
    platform::Task<void> safety_scan(domain::TimePoint now);
    platform::Task<void> run_commands(std::vector<Command> commands);
    platform::Task<Granted> grant(Plan plan, domain::TimePoint now);
    std::optional<Arrival> admit(const domain::Execution& row);
    GrantTerms terms(const PlannedGrant& planned, const domain::NodeId& node, domain::TimePoint now) const;
    platform::Task<void> show_state(bool always);
    void move(HubState to, domain::TimePoint now, std::string why);
    void move_once(HubState to, domain::TimePoint now, std::string why);
    void see_gates(const Plan& plan, domain::TimePoint now);
    void record_lanes(domain::TimePoint now);
    platform::Task<void> record_lanes_now(std::vector<GateWrite> gates, ChangedEndpoints endpoints, std::int64_t epoch);
    /// When a turn locks the budgets, for which everybody waits who books.
    enum class Budgets {
        /// Before it writes: what does not fit any more is left out (protocol R17).
        first,
        /// After all else, which what does not fit any more undoes; then they are locked first. So where they are ample
        /// nobody waits for what a turn writes, and still no grant is committed that does not fit.
        last,
    };
    std::vector<Picked> pick(platform::Tx& tx, const std::vector<Pick>& picks, const subworkflows::Catalogue& catalogue,
                             std::int64_t epoch, Budgets budgets) const;
    /// There are budgets, and of each much is left.
    bool ample_budgets(domain::TimePoint now) const;
    void record_weather(domain::TimePoint now);
    platform::Task<void> record_weather_now(resource_manager::WeatherRecords records, std::int64_t epoch);
    void settle_later(const domain::ExecutionId& parent, domain::TimePoint at);
    /// More than half a lease has passed since the lead was last renewed.
    bool lost_contact() const { return std::chrono::steady_clock::now() - renewed_at_ > node_.settings().lease / 2.0; }
    void record_metrics(domain::TimePoint now);
    platform::Task<void> write_metrics(std::vector<journal::Measurement> measurements);
    bool put_off_faulty(const domain::ExecutionId& id, const std::exception_ptr& failure, domain::TimePoint now);
    std::chrono::steady_clock::duration idle_for(domain::TimePoint now) const;
    std::vector<std::pair<domain::NodeId, std::size_t>> loads() const;

    Node& node_;
    HubSettings settings_;
    platform::Wakeup wakeup_;
    platform::Wakeup renewal_;
    std::optional<std::int64_t> lead_;
    std::unique_ptr<Board> board_;
    bool loaded_ = false;
    StateMachine machine_;
    int shown_moves_ = -1;
    std::chrono::steady_clock::time_point shown_at_{};
    std::optional<domain::TimePoint> last_execution_;
    std::string feed_position_;
    /// Where the feed of this scheduler began.
    std::string feed_begun_;
    /// Which numbers were settled at its position, as far as it is worth knowing: what is read has higher ones.
    journal::Horizon feed_horizon_;
    std::chrono::steady_clock::time_point feed_marked_at_{};
    std::chrono::steady_clock::time_point feed_read_at_{};
    /// What this node began before that may bring rows that others have changed since, without the feed telling of it:
    /// they are read again.
    std::uint64_t doubted_until_ = 0;
    std::set<domain::ExecutionId> doubted_;
    bool feed_hinted_ = false;
    /// Nodes that are there; true: takes new work.
    std::map<domain::NodeId, bool> alive_;
    std::chrono::steady_clock::time_point alive_read_at_{};
    /// Nodes that have left a grant lying, and since when they have to be heard of again before they are given more.
    std::map<domain::NodeId, domain::TimePoint> silent_;
    std::chrono::steady_clock::time_point scanned_at_{};
    std::chrono::steady_clock::time_point estimates_kept_at_{};
    std::chrono::steady_clock::time_point budgets_read_at_{};
    /// SQL may have said something about money, or somebody about what was used of providers.
    bool inbox_hinted_ = true;
    /// The last time out of the database's reach, as the scheduler's row says (protocol R9).
    std::optional<Outage> outage_;
    std::chrono::steady_clock::time_point renewed_at_{};
    /// Losing leadership for nothing costs a start from the tables, losing a node for nothing costs work in doubt.
    Presence leader_presence_{std::chrono::seconds{1}};
    Presence presence_{std::chrono::seconds{2}};
    GateHistory gates_;
    /// Endpoints whose hold or breaker is still to be written down.
    ChangedEndpoints changed_endpoints_;
    bool recording_ = false;
    domain::TimePoint record_at_{};
    /// How providers do, as it is still to be written down and as it was.
    resource_manager::WeatherRecords changed_weather_;
    resource_manager::WeatherRecords recorded_weather_;
    bool recording_weather_ = false;
    domain::TimePoint record_weather_at_{};
    /// Parents that somebody held, and when to look at them again.
    std::map<domain::ExecutionId, domain::TimePoint> unsettled_;
    std::optional<domain::TimePoint> next_opening_;
    /// Attempts whose status URL has been asked: once each.
    /// At which of its deadlines it was asked about.
    std::map<domain::AttemptId, domain::TimePoint> status_asked_;
    std::optional<std::chrono::steady_clock::time_point> measured_at_;
    /// No turn before: the last one granted several, and more are to come together.
    std::chrono::steady_clock::time_point paced_until_{};
    bool rebuild_ = false;
    bool stopping_ = false;
    bool running_ = false;
    bool in_turn_ = false;
    /// Between two turns, with nothing to do.
    bool idle_ = false;
    /// Whose limits the board counts.
    ProvidersPtr known_providers_;
    platform::Wakeup health_pause_;
    resource_manager::Throttle database_throttle_;
    resource_manager::Throttle memory_throttle_;
    /// Since the last look.
    domain::Duration slowest_write_{0};
    bool lifting_ = false;
    /// What joins the queues, and is not in memory yet. On a node that does not lead: since the reading before the
    /// last.
    QueueLengths joining_;
    QueueLengths joined_before_;
    /// As the scheduler has written them down, or this one has.
    QueueLengths queue_lengths_;
    std::chrono::steady_clock::time_point lengths_shown_at_{};
    /// How all stand by the fairness policy, as it was written down last.
    std::map<domain::Lane, LaneTimes> lane_times_shown_;
    std::chrono::steady_clock::time_point lane_times_shown_at_{};
    std::string standings_shown_;
    std::chrono::steady_clock::time_point standings_shown_at_{};
    /// Arrivals whose transaction is under way.
    int arriving_ = 0;
};

}
