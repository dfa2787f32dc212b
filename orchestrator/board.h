#pragma once
// What the scheduler knows: the order of every lane, what is live, what is due, how the endpoints do. Memory only,
// built from rows as they were committed; a row seen out of turn changes nothing. Network thread only.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain/execution.h"
#include "orchestrator/command.h"
#include "orchestrator/key_sleepers.h"
#include "orchestrator/lane_times.h"
#include "orchestrator/outage.h"
#include "orchestrator/plan.h"
#include "orchestrator/recent_ends.h"
#include "priority_queue/order.h"
#include "priority_queue/queue_store.h"
#include "resource_manager/breaker.h"
#include "resource_manager/budget_state.h"
#include "resource_manager/endpoint_health.h"
#include "resource_manager/provider_meters.h"
#include "resource_manager/queue_bounds.h"
#include "schedules/lock_store.h"
#include "subworkflows/catalogue.h"

namespace impresario::orchestrator {

/// Counts what is under way in the database: what has left memory is remembered until nothing that began before can
/// still bring an older reading of it.
class Operations {
  public:
    class Token {
      public:
        Token() = default;
        Token(Operations* owner, std::uint64_t stamp) : owner_(owner), stamp_(stamp) {}
        Token(Token&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), stamp_(other.stamp_) {}
        Token& operator=(Token&& other) noexcept {
            end();
            owner_ = std::exchange(other.owner_, nullptr);
            stamp_ = other.stamp_;
            return *this;
        }
        ~Token() { end(); }

      private:
        void end() {
            if (owner_) owner_->running_.erase(owner_->running_.find(stamp_));
            owner_ = nullptr;
        }
        Operations* owner_ = nullptr;
        std::uint64_t stamp_ = 0;
    };

    Token begin() {
        running_.insert(++stamp_);
        return {this, stamp_};
    }
    std::uint64_t now() const { return stamp_; }
    /// Everything that began up to this has ended.
    std::uint64_t settled() const { return running_.empty() ? stamp_ : *running_.begin() - 1; }

  private:
    std::uint64_t stamp_ = 0;
    std::multiset<std::uint64_t> running_;
};

class Board {
  public:
    /// `now` says when what is observed happened, no earlier than it did.
    Board(Operations& operations, std::function<domain::TimePoint()> now,
          resource_manager::BreakerSettings breaker = {})
        : operations_(operations), now_(std::move(now)), breaker_settings_(breaker) {}

    /// What executions share, declared by their types and reserved while they hold a slot.
    void set_memory_total(std::int64_t mb) { memory_total_mb_ = mb; }
    std::int64_t memory_total_mb() const { return memory_total_mb_; }
    std::int64_t memory_reserved_mb() const;
    /// Nothing starts while it is set.
    void set_database_gate(std::optional<domain::Gate> gate) { database_gate_ = std::move(gate); }
    /// Of deep queues less is kept in memory.
    void hold_less(bool less);
    /// Of the locks that types name those that somebody from outside holds.
    void set_locks(std::vector<schedules::HeldLock> locks) { locks_ = std::move(locks); }
    /// Somebody is just taking it or giving it back: it is asked for again then.
    void lock_busy(const schedules::LockName& lock, domain::TimePoint until) { busy_locks_[lock] = until; }
    bool names_locks() const { return names_locks_; }
    /// Pauses whose condition holds.
    std::vector<subworkflows::PauseRecord> met_pauses(domain::TimePoint now) const;

    resource_manager::QueueLength queue_length(const domain::Lane& lane) const;
    /// Of all lanes together.
    resource_manager::QueueLength queue_length() const;
    /// Who has waited longer than its type, or else `ttl`, lets it.
    struct Overdue {
        domain::ExecutionId execution;
        domain::Duration ttl;
    };
    std::vector<Overdue> overdue(std::optional<domain::Duration> ttl, domain::TimePoint now, std::size_t most) const;
    /// When the next one will have.
    std::optional<domain::TimePoint> next_overdue(std::optional<domain::Duration> ttl) const;

    void set_catalogue(subworkflows::CataloguePtr catalogue);
    const subworkflows::CataloguePtr& catalogue() const { return catalogue_; }

    /// A row as some transaction has left it.
    void observe(const domain::Execution& row);
    /// What the loader counted; wanted_refills then asks for the rows.
    void expect(const priority_queue::LevelCount& level);
    /// The row is not to be found any more.
    void forget(const domain::ExecutionId& id);
    /// The row cannot be written at the moment (another transaction holds it, or it did not change): it is left out of
    /// the order, of what is due and of the passed deadlines until then, or until it is observed anew.
    void put_off(const domain::ExecutionId& id, domain::TimePoint until);
    /// What is to be read again.
    std::vector<domain::ExecutionId> put_off_until(domain::TimePoint now) const;
    std::vector<domain::ExecutionId> put_off() const;
    std::optional<domain::TimePoint> next_put_off() const;

    /// The peer has taken this attempt, though its row is still to say so: the endpoint has room.
    void answered(const domain::ExecutionId& id, const domain::AttemptId& attempt);
    void endpoint_news(const EndpointNews& news, domain::TimePoint now);
    struct ChangedEndpoint {
        domain::Lane lane;
        subworkflows::Endpoint endpoint;
        bool hold = false;
        bool breaker = false;
    };
    /// Endpoints whose hold or breaker changed since the last call, to be written down.
    std::vector<ChangedEndpoint> take_changed_endpoints(domain::TimePoint now);
    struct BreakerView {
        domain::Lane lane;
        domain::EndpointId endpoint;
        domain::BreakerState state;
    };
    std::vector<BreakerView> breakers() const;

    /// Providers and what is used of them, as the tables say. Those of `permits` that live are observed before.
    void set_providers(const std::vector<resource_manager::Provider>& providers,
                       const std::vector<resource_manager::LoadedPermit>& permits,
                       const resource_manager::WeatherRecords& weather = {});
    /// What was set by hand since counts.
    void set_weather(const resource_manager::WeatherRecords& weather) { meters_.set_weather(weather); }
    void provider_news(const resource_manager::ProviderNews& news, domain::TimePoint now) { meters_.hear(news, now); }
    /// What was used of providers beyond grants.
    void charge_beyond(const std::vector<resource_manager::LoadedPermit>& usage);
    /// Providers whose weather changed since the last call, to be written down.
    resource_manager::WeatherRecords take_changed_weather(domain::TimePoint now) {
        return meters_.take_changed_weather(now);
    }
    /// An attempt was granted with this, and `granted` is its row.
    void charge(const domain::Execution& granted, const domain::Demand& demand);
    /// A grant that was observed was not made after all.
    void take_back(const domain::ExecutionId& id);
    const resource_manager::ProviderMeters& meters() const { return meters_; }

    /// Budgets and what is booked, as the tables say.
    void set_budgets(std::vector<resource_manager::BudgetState> budgets) { budgets_ = std::move(budgets); }
    const std::vector<resource_manager::BudgetState>& budgets() const { return budgets_; }
    /// What one costs of whom nobody says anything.
    void set_unknown_cost(domain::MicroUsd cost) { unknown_cost_ = cost; }

    /// What share each is to have; null: the score alone decides.
    void set_fairness(const std::shared_ptr<const resource_manager::FairnessPolicy>& policy);
    const std::optional<resource_manager::FairShares>& shares() const { return shares_; }
    /// What its grants will count. `whole_turn`: everybody had his chance in it, so it says who competes.
    void see_shares(Plan& plan, bool whole_turn);

    /// What is known of each lane's executions, as somebody has kept it.
    void set_estimates(std::map<domain::Lane, resource_manager::TypeEstimates> estimates);
    void learn(const domain::Execution& ended, const resource_manager::Consumption& used);
    /// Those that have learnt since the last call.
    std::map<domain::Lane, resource_manager::TypeEstimates> take_changed_estimates();

    /// When one of each lane last started and ended, as somebody has kept it; what is known better stays.
    void set_lane_times(const std::vector<LaneTimes>& times);
    /// Of all that are registered.
    std::vector<LaneTimes> lane_times() const;

    PlanInput plan_input(int most);
    /// Of a plan's: they are asked about again by themselves, and their lanes are not.
    void behind_keys(const Plan& plan);

    /// Refills that deep levels want, each with its lane.
    std::vector<std::pair<domain::Lane, priority_queue::Order::Refill>> wanted_refills();
    void refill(const domain::Lane& lane, const priority_queue::Order::Refill& refill,
                const std::optional<std::vector<priority_queue::Entry>>& rows);

    struct GateNote {
        domain::ExecutionId execution;
        std::optional<domain::Gate> gate;
    };
    /// Rows whose own gate is to be written down or struck out, at most `most`.
    std::vector<GateNote> gate_notes(std::size_t most) const;

    // Timers.
    std::optional<domain::TimePoint> next_deadline() const;
    struct Passed {
        domain::ExecutionId execution;
        domain::AttemptId attempt;
        domain::AttemptState state = domain::AttemptState::accepted;
        domain::EndpointId endpoint;
        domain::Lane lane;
        domain::TimePoint timeout_at;
    };
    std::vector<Passed> passed_deadlines(domain::TimePoint now, std::size_t most) const;
    /// Attempts in state granted or sending whose node is not among `alive`, or granted longer than `patience`.
    struct Lapsed {
        domain::ExecutionId execution;
        domain::AttemptId attempt;
        domain::NodeId node;
        int fence = 0;
        domain::EndpointId endpoint;
        domain::Lane lane;
    };
    std::vector<Lapsed> lapsed(const std::set<domain::NodeId>& alive, domain::TimePoint now,
                               domain::Duration patience) const;
    /// Deadlines that passed in it are acted on later, those of rows still to come as well.
    void set_outage(std::optional<Outage> outage);
    /// The deadline of this one is acted on at `until`, unless the row is given another one.
    void put_off_deadline(const domain::ExecutionId& id, domain::TimePoint until);

    const std::optional<domain::TimePoint>& next_due() const { return next_due_; }
    /// A reading of the earliest due row, between the two. It may be older than what is observed meanwhile, so it
    /// replaces only what was known before it began. One reading at a time.
    void begin_due_reading() { due_meanwhile_.reset(); }
    void end_due_reading(std::optional<domain::TimePoint> read);

    /// How attempts have ended lately.
    const RecentEnds& recent_ends() const { return recent_ends_; }

    // Numbers.
    std::size_t live() const { return live_.size(); }
    std::size_t waiting() const;
    int in_use(const domain::Lane& lane) const;
    std::size_t sending_at(const domain::NodeId& node) const;
    const priority_queue::Order* order(const domain::Lane& lane) const;
    struct LiveView {
        domain::ExecutionId id;
        domain::Lane lane;
        domain::TimePoint timeout_at;
    };
    std::vector<LiveView> live_views(std::size_t most) const;
    std::vector<domain::Lane> lanes() const;
    std::vector<domain::ExecutionId> parents_to_check() const { return {parents_.begin(), parents_.end()}; }

  private:
    /// What waits in a lane with the same keys, as far as limits of providers are about them.
    struct KeyGroup {
        /// What the meters of limits know that its first asks of them; of those that it does not wait for 0.
        std::vector<std::int64_t> asks;
        /// Closed by this, at which of the lane's key shares.
        std::optional<domain::Gate> gate;
        std::size_t closed_by = 0;
        /// For so long it has been as it is, open or closed.
        domain::TimePoint since;
    };
    struct LaneState {
        priority_queue::Order order;
        std::map<priority_queue::Order::Group, KeyGroup> groups;
        /// Of those the ones that may not be as they were.
        std::set<priority_queue::Order::Group> restless;
        /// Closed ones that stay so for a while.
        KeySleepers sleepers;
        /// Open ones whose being open lasts from then on.
        std::set<std::pair<domain::TimePoint, priority_queue::Order::Group>> settling;
        /// Nothing of it waits for a quantity: something else stops all of it.
        bool stopped = false;
        int in_use = 0;
        std::unordered_map<std::string, int> key_in_use;
        /// What its order holds below a priority, and what stops that.
        struct Held {
            int below = 0;
            domain::Gate gate;
        };
        std::optional<Held> held;
        std::map<domain::BatchId, Held> held_batches;
        bool holds() const { return held || !held_batches.empty(); }
        std::optional<domain::TimePoint> started_at;
        std::optional<domain::TimePoint> ended_at;
        /// How its run windows stand from then on, by this catalogue.
        struct Windows {
            domain::TimePoint from;
            subworkflows::WindowsNow state;
        };
        std::optional<Windows> windows;
        resource_manager::DrainRate drain;
    };
    struct Live {
        domain::Lane lane;
        std::string key;
        domain::AttemptId attempt;
        int fence = 0;
        int deliveries = 0;
        domain::AttemptState state = domain::AttemptState::sending;
        domain::NodeId node;
        domain::EndpointId endpoint;
        domain::TimePoint timeout_at;
        /// When that is acted on: then, or later where it was put off.
        domain::TimePoint deadline;
        domain::TimePoint granted_at;
        /// When one of its lane had started before it.
        std::optional<domain::TimePoint> started_before = {};
        domain::TimePoint lease_until;
        int seq = 0;
        /// Its request has been answered; the row is still to say so.
        bool answered = false;
        /// Its request counts as under way at its providers.
        bool request_counts = false;
        /// Of what was charged to its shares; until that is known better.
        std::optional<resource_manager::FairCharge> charge = {};
        domain::TimePoint charged_at = {};
        /// Its request is under way, or about to be.
        bool in_flight() const {
            return !answered && (state == domain::AttemptState::granted || state == domain::AttemptState::sending);
        }
    };
    struct EndpointState {
        resource_manager::EndpointHealth health;
        int in_flight = 0;
        bool changed = false;
        resource_manager::Breaker breaker;
        bool breaker_changed = false;
    };
    struct Gone {
        int seq = 0;
        std::uint64_t stamp = 0;
    };

    LaneState& lane_state(const domain::Lane& lane) {
        const auto [at, fresh] = lanes_.try_emplace(lane);
        if (fresh) at->second.order.set_window(window_);
        return at->second;
    }
    /// The type's own, or else the hub's.
    std::optional<domain::Duration> longest_wait(const domain::Lane& lane, std::optional<domain::Duration> ttl) const {
        const auto* known = type(lane);
        return known && known->queue_ttl ? known->queue_ttl : ttl;
    }
    bool healthy(const domain::EndpointId& id, domain::TimePoint now) const;
    const subworkflows::WorkflowType* type(const domain::Lane& lane) const {
        return catalogue_ ? catalogue_->find(lane) : nullptr;
    }
    /// Every lane that has work waiting, with everything that limits it.
    PlanInput gather(int most);
    // Limits with keys (board_keys.cc).
    using Applied = std::vector<resource_manager::ProviderMeters::Applied>;
    bool by_limits(const domain::Lane& lane, LaneState& state, const Applied& rates);
    void set_free_slots(const domain::Lane& lane, LaneState& state, const std::string& key);
    void count_keys_anew();
    void ask_keys(PlanInput& input, domain::TimePoint now);
    /// It is counted as waiting for no other limit than the one that closes it.
    static bool counts_only(const KeyGroup& known);
    void wake_keys(PlanInput& input, domain::TimePoint now);
    void count_keys(PlanInput& input, const LaneView& view, LaneState& state, domain::TimePoint now);
    void ask_group(PlanInput& input, const LaneView& view, LaneState& state, const priority_queue::Order::Group& group,
                   domain::TimePoint now);
    int free_slots(const domain::Lane& lane, const LaneState& state, const std::string& key) const;
    domain::TimePoint acted_on(domain::TimePoint timeout_at) const {
        return outage_ ? outage_->acted_on(timeout_at) : timeout_at;
    }
    void move_deadline(const domain::ExecutionId& id, Live& live, domain::TimePoint to);
    bool stale(const domain::ExecutionId& id, const domain::Lane& lane, int seq) const;
    void leave_endpoint(const domain::ExecutionId& id, const Live& live);
    void request_ended(const domain::ExecutionId& id, Live& live, domain::TimePoint at);
    void see_charged(const domain::ExecutionId& id, const domain::AttemptId& attempt, int fence,
                     domain::TimePoint lease_until);
    domain::TimePoint request_over(const Live& live, const domain::Execution* after) const;
    void remove_live(const domain::ExecutionId& id, const domain::Execution* after);
    static const subworkflows::WindowsNow& windows_now(LaneState& state, const subworkflows::WorkflowType& type,
                                                       domain::TimePoint now);
    std::map<schedules::LockName, resource_manager::Lock> held_locks(domain::TimePoint now);
    /// Limiters that several lanes share, by what they are about.
    using Shared = std::map<const void*, std::size_t>;
    void limit_by_budgets(PlanInput& input, LaneView& view, LaneState& state, Shared& shared, domain::TimePoint now);
    void limit_by_weather(PlanInput& input, LaneView& view, const std::vector<domain::Need>& needs, Shared& shared);
    void remember_gone(const domain::ExecutionId& id, int seq);
    void charge_share(const domain::Execution& granted);
    /// It took `amount`; 0: it was not sent.
    void correct_share(const domain::ExecutionId& execution, double amount);
    void hold_by_budget(LaneState& state, const domain::Demand& asked, domain::TimePoint now);
    /// True: it was kept for others before.
    bool keep_for_batches(const PlanInput& input);
    /// With whom it is kept for.
    resource_manager::BatchBudgetLimit batch_limit(const resource_manager::BudgetState& budget) const;

    Operations& operations_;
    std::function<domain::TimePoint()> now_;
    resource_manager::ProviderMeters meters_;
    std::vector<resource_manager::BudgetState> budgets_;
    /// Budgets of batches whose money is kept for one of that lane, which waits apart for it.
    std::map<domain::BudgetId, domain::Lane> kept_for_;
    domain::MicroUsd unknown_cost_{1'000'000};
    std::optional<resource_manager::FairShares> shares_;
    /// Of what the last plan grants and is not committed yet.
    std::map<domain::ExecutionId, resource_manager::FairCharge> charges_;
    std::map<domain::Lane, resource_manager::TypeEstimates> estimates_;
    std::set<domain::Lane> learnt_;
    resource_manager::BreakerSettings breaker_settings_;
    std::int64_t memory_total_mb_ = 2048;
    std::optional<domain::Gate> database_gate_;
    std::vector<schedules::HeldLock> locks_;
    std::map<schedules::LockName, domain::TimePoint> busy_locks_;
    bool names_locks_ = false;
    std::size_t window_ = priority_queue::Order::kWindow;
    subworkflows::CataloguePtr catalogue_;
    std::map<domain::Lane, LaneState> lanes_;
    std::unordered_map<domain::ExecutionId, Live> live_;
    std::set<std::pair<domain::TimePoint, domain::ExecutionId>> deadlines_;
    std::set<domain::ExecutionId> in_flight_;
    std::map<domain::EndpointId, EndpointState> endpoints_;
    /// Of each type as last seen: a new definition wants its endpoints tried.
    std::map<domain::Lane, int> versions_;
    std::unordered_map<domain::ExecutionId, Gone> gone_;
    std::vector<std::pair<std::uint64_t, domain::ExecutionId>> gone_order_;
    std::set<domain::ExecutionId> parents_;
    std::map<domain::ExecutionId, domain::TimePoint> put_off_;
    std::optional<Outage> outage_;
    RecentEnds recent_ends_;
    std::optional<domain::TimePoint> next_due_;
    std::optional<domain::TimePoint> due_meanwhile_;
};

}
