#pragma once
// What every hub process does, whoever leads: takes commands and new executions, delivers what it is given, keeps the
// catalogue, says that it is there. Network thread only.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "orchestrator/apply.h"
#include "orchestrator/board.h"
#include "orchestrator/command.h"
#include "orchestrator/intake.h"
#include "orchestrator/probe.h"
#include "orchestrator/scheduler_store.h"
#include "orchestrator/tracer.h"
#include "platform/committer.h"
#include "platform/dice.h"
#include "platform/listener.h"
#include "platform/trace_context.h"
#include "subworkflows/catalogue_store.h"
#include "webhooks/dispatcher.h"

namespace impresario::orchestrator {

struct NodeSettings {
    /// "host:pid", for people.
    std::string name = "hub";
    /// What callbacks are addressed to, without a slash at the end.
    std::string public_url = "http://127.0.0.1:8080";
    /// How long a node, or the scheduler, is believed without hearing from it.
    std::chrono::seconds lease{15};
    std::chrono::milliseconds heartbeat{5000};
    std::chrono::milliseconds catalogue_poll{1000};
    /// How long a drain waits for requests under way.
    std::chrono::seconds drain{30};
};

/// Sends one delivery and says what became of it; what a Dispatcher does.
using Deliver = std::function<platform::Task<webhooks::Delivered>(domain::Trigger, domain::AttemptId, int number,
                                                                  std::shared_ptr<const webhooks::Target>)>;

/// A new execution that may start with the transaction that inserts it: nothing that waits goes before it, its gates
/// are open, this node leads and is to deliver it. Its slot is taken until `done` is called.
struct Arrival {
    Decision grant;
    /// Refuses the transaction unless this node leads (protocol R2).
    std::function<void(platform::Tx&)> fence;
    /// Whether it was inserted and granted. To be called once, on the network thread.
    std::function<void(bool started)> done;
};

using ProvidersPtr = std::shared_ptr<const std::vector<resource_manager::Provider>>;
using FairnessPtr = std::shared_ptr<const resource_manager::FairnessPolicy>;

/// Everything a node is made of that somebody else owns.
struct NodeParts {
    platform::asio::any_io_executor executor;
    platform::Database& database;
    platform::DatabaseClock& clock;
    platform::Dice& dice;
    platform::IdSource& ids;
    const platform::KeyRing& keys;
    platform::HttpClient& client;
    Probe& probe;
    /// In place of HTTP, for benchmarks; empty: over HTTP.
    Deliver deliver = {};
    /// Told of what executions go through; null: nobody is.
    Tracer* tracer = nullptr;
};

class Node {
  public:
    Node(NodeParts parts, NodeSettings settings);

    const domain::NodeId& id() const { return id_; }
    const NodeSettings& settings() const { return settings_; }
    platform::Database& database() { return parts_.database; }
    platform::DatabaseClock& clock() { return parts_.clock; }
    platform::IdSource& ids() { return parts_.ids; }
    const platform::KeyRing& keys() const { return parts_.keys; }
    Tracer* tracer() const { return parts_.tracer; }
    Probe& probe() { return parts_.probe; }
    const Applier& applier() const { return applier_; }
    Operations& operations() { return operations_; }
    const platform::asio::any_io_executor& executor() const { return parts_.executor; }
    platform::Dice& dice() { return parts_.dice; }
    platform::HttpClient& client() { return parts_.client; }
    /// Of a request about an execution, below that span; `trace_context`: what it came with, as it is stored.
    platform::Headers trace_headers(const domain::ExecutionId& execution, const platform::SpanId& parent,
                                    std::string_view trace_context) const;

    /// Does what the command says and resumes after the commit. Where another transaction holds the execution it is
    /// tried for a few seconds; then the reply says `held`. Throws DatabaseUnavailable, DatabaseInDoubt.
    platform::Task<Reply> submit(domain::ExecutionId execution, Happening happening,
                                 std::optional<std::string> organization_id = std::nullopt);
    platform::Task<IntakeReply> enqueue(IntakeItem item);
    Command command(domain::ExecutionId execution, Happening happening,
                    std::optional<std::string> organization_id = std::nullopt);

    subworkflows::CataloguePtr catalogue() const { return catalogue_; }
    /// The same value until one of them changes.
    ProvidersPtr providers() const { return providers_; }
    /// Null: there is none.
    const FairnessPtr& fairness() const { return fairness_; }
    /// How they do, as it was when the catalogue was last read: what was set by hand is in it.
    const resource_manager::WeatherRecords& weather() const { return weather_; }
    const subworkflows::CatalogueStore& catalogue_store() const { return catalogue_store_; }
    /// Reads the catalogue and the providers if their version has grown; throws what the database throws.
    platform::Task<void> refresh_catalogue();

    /// Until when a request may leave, by the own steady clock: what the lease had left at `granted.now`, less a rest
    /// in which nothing begins (protocol R5). `before`: some moment not after that.
    platform::SteadyPoint last_moment(const priority_queue::ClaimableExecution& granted,
                                      platform::SteadyPoint before) const;
    /// Sends what was granted to this node and is in state sending; its outcome is reported when it has one. After
    /// `last` it gives it back instead: this process may have been stopped since the grant, and taken for dead.
    void deliver(priority_queue::ClaimableExecution granted, platform::SteadyPoint last);
    /// Fetches what another node's scheduler granted to this one.
    platform::Task<void> fetch_grants();
    /// Whether a request of this attempt has left this process, or may be about to. What a row says beyond that was
    /// committed in doubt.
    bool sends(const domain::AttemptId& attempt, int fence) const { return sending_.contains({attempt, fence}); }
    /// A commit that granted to this node is in doubt: what it is said to send and does not goes back into the queue,
    /// whoever leads by then.
    void doubt_grants();
    /// Tells the peer that its work is no longer wanted, as far as it listens.
    void tell_cancelled(PeerCancelled peer);
    /// Asks the endpoint's status URL about an attempt whose start is unknown, and acts on what it says. False: it has
    /// none.
    bool ask_status(domain::ExecutionId execution, domain::AttemptId attempt, const domain::Lane& lane,
                    const domain::EndpointId& endpoint);
    /// Appends to this node's own stream, in its own transaction.
    void record_event(std::string_view type, std::string payload);
    int deliveries_under_way() const { return deliveries_; }

    /// Resumes once the execution has ended as far as this node has seen, or after `longest`.
    platform::Task<void> await_end(domain::ExecutionId execution, std::chrono::steady_clock::duration longest);

    /// Says once that this node is there. Throws what the database throws.
    platform::Task<void> heartbeat();
    /// Heartbeat, catalogue and grants until stop().
    void start();
    /// Takes nothing new, waits for what is under way, signs off. Afterwards nothing of this node writes any more.
    platform::Task<void> drain();
    bool draining() const { return draining_; }
    void set_listener(const platform::Listener* listener) { listener_ = listener; }
    int backend_pid() const { return listener_ ? listener_->backend_pid() : 0; }
    bool hearing() const { return listener_ && listener_->hearing(); }
    std::size_t clients_waiting() const;
    void grants_hint() { grants_wakeup_.signal(); }
    void catalogue_hint() { catalogue_wakeup_.signal(); }
    void heartbeat_hint() { heartbeat_wakeup_.signal(); }
    /// Something may have changed that one of the leader's loops waits for: "timers", "alerts"; "": any of it.
    void hint(std::string_view what) {
        if (on_hint) on_hint(what);
    }
    /// This node has changed it: whoever leads may have to wake earlier.
    void changed(const std::string& what);
    /// Other nodes are told that there is something in the tables: one NOTIFY for all that happens within 10 ms.
    void notify_others(const std::string& what);

    /// Asked about each execution that comes alone.
    std::function<std::optional<Arrival>(const domain::Execution&)> on_arrival;
    // Who else wants to know; set once.
    std::function<void(const domain::Execution&)> on_row;
    /// The peer has taken it; the row says so later.
    std::function<void(const domain::ExecutionId&, const domain::AttemptId&)> on_answered;
    std::function<void(const EndpointNews&)> on_endpoint_news;
    std::function<void(const domain::Execution&, const resource_manager::Consumption&)> on_consumed;
    std::function<void(const resource_manager::ProviderNews&)> on_provider_news;
    /// What was used of providers beyond grants may wait to be counted.
    std::function<void()> on_usage;
    std::function<void()> on_catalogue;
    /// The catalogue's version has grown: API keys may have changed with it.
    std::function<void()> on_keys;
    /// See hint().
    std::function<void(std::string_view)> on_hint;
    /// The schema has gone beyond this hub, which is too old for it now (protocol R23): told once.
    std::function<void(int min_hub)> on_outdated;
    std::function<void()> on_in_doubt;
    /// Parents that somebody held when their children had ended.
    std::function<void(const std::vector<domain::ExecutionId>&)> on_unsettled;
    /// Whether this node leads: then nobody else needs to be told.
    std::function<bool()> leads;

    /// Tells whoever wants to know what a transaction has brought.
    void committed(const std::vector<const Reply*>& replies);

  private:
    /// An accepted delivery that waits a moment for its callback: recorded together they are one change of the row.
    struct Accepted {
        DeliveryReported report;
        platform::asio::steady_timer timer;
        /// Its callback has it to record.
        bool taken = false;
        /// Whether that has recorded it, once it has come to an end.
        std::optional<bool> recorded = {};
    };
    std::optional<Arrival> arrival(const IntakeItem& item);
    platform::Task<std::optional<IntakeReply>> start_at_once(Arrival arrival, IntakeItem item);
    platform::Task<bool> record_accepted(domain::ExecutionId execution, DeliveryReported report);
    std::shared_ptr<Accepted> take_accepted(const domain::ExecutionId& execution, const Happening& happening);
    void seen(const domain::Execution& row);
    platform::Task<void> deliver_one(priority_queue::ClaimableExecution granted);
    platform::Task<void> begin_and_deliver(priority_queue::ClaimableExecution granted, platform::SteadyPoint last);
    platform::Task<void> give_back(domain::ExecutionId execution, domain::AttemptId attempt, int fence);
    platform::Task<bool> insist(domain::ExecutionId execution, Happening happening);
    platform::Task<void> give_back_unsent();
    platform::Task<void> tell_peer(PeerCancelled peer);
    /// trace_headers of an attempt, where it is not at hand what the execution came with.
    platform::Task<platform::Headers> find_trace_headers(domain::ExecutionId execution, domain::AttemptId attempt);
    platform::Task<void> ask_status_of(domain::ExecutionId execution, domain::AttemptId attempt, std::string address,
                                       std::shared_ptr<const webhooks::Target> where);
    platform::Task<void> record_event_of(std::string type, std::string payload);
    platform::Task<void> learn(domain::EndpointId endpoint);
    std::shared_ptr<const webhooks::Target> target(const domain::Lane& lane, const domain::EndpointId& endpoint) const;
    platform::Task<void> heartbeat_loop();
    platform::Task<void> catalogue_loop();
    platform::Task<void> grants_loop();
    void spawn(platform::Task<void> task, const char* what);

    NodeParts parts_;
    NodeSettings settings_;
    domain::NodeId id_;
    Applier applier_;
    Intake intake_;
    subworkflows::CatalogueStore catalogue_store_;
    subworkflows::CataloguePtr catalogue_;
    ProvidersPtr providers_;
    FairnessPtr fairness_;
    resource_manager::WeatherRecords weather_;
    Operations operations_;
    Deliver dispatch_;
    platform::Committer<Command, Reply> commands_;
    platform::Committer<IntakeItem, IntakeReply> intakes_;
    const platform::Listener* listener_ = nullptr;
    platform::Wakeup grants_wakeup_;
    platform::Wakeup catalogue_wakeup_;
    platform::Wakeup heartbeat_wakeup_;
    bool notice_planned_ = false;
    std::set<std::string> pending_notices_;
    std::unordered_map<domain::ExecutionId, std::vector<std::shared_ptr<platform::asio::steady_timer>>> waiters_;
    std::set<domain::EndpointId> learnt_;
    std::set<std::pair<domain::AttemptId, int>> sending_;
    std::unordered_map<domain::ExecutionId, std::shared_ptr<Accepted>> accepted_;
    /// When the latest execution came, and whether one is being inserted as granted.
    std::chrono::steady_clock::time_point arrived_at_{};
    bool starting_at_once_ = false;
    int deliveries_ = 0;
    bool draining_ = false;
    bool outdated_ = false;
    bool stopped_ = false;
};

}
