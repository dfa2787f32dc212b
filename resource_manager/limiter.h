#pragma once
// The things that may stop an execution now, each as a value. A limiter is asked (`check`), and when all have agreed it
// is charged (`take`). Pure.
//
// A new kind is a struct with these two members and `kWholeLane`, added to the variant; nothing else changes. One with
// a flag `kept` is shared by lanes and gives back what it gives: what a starving one lacks of it is kept
// (admission.cc).

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "domain/breaker.h"
#include "domain/demand.h"
#include "domain/gate.h"
#include "domain/id.h"
#include "domain/time.h"
#include "resource_manager/budget_state.h"
#include "resource_manager/key_meters.h"
#include "resource_manager/meter.h"
#include "resource_manager/provider_weather.h"

namespace impresario::resource_manager {

/// What all those say who are stopped by a flag `kept`.
inline constexpr std::string_view kKeptForAnother =
    "what comes free is kept for one that has waited beyond its max_wait";

/// In the detail of a gate that stays closed for what asks so much, whatever ends.
inline constexpr std::string_view kNeverGiven = "more than it ever gives";

/// What a granted execution has been given.
struct Granted {
    domain::EndpointId endpoint;
};

/// Stopped by hand: a lane, an organization, everything; or a type that is switched off.
struct Pause {
    static constexpr bool kWholeLane = true;
    std::string subject;
    std::string reason;
    std::string by;
    std::optional<domain::TimePoint> until;
    /// What else ends it; empty: nothing.
    std::string condition = {};

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand&, Granted&, domain::TimePoint) {}
};

/// One at a time has it, over all lanes that name it and whoever takes it from outside.
struct Lock {
    static constexpr bool kWholeLane = true;
    std::string name;
    /// Who has it, for people; empty: nobody.
    std::string holder;
    /// When it is free at the latest; nullopt: once that execution is over.
    std::optional<domain::TimePoint> until;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand&, Granted&, domain::TimePoint) {
        holder = "what starts just now";
        until.reset();
    }
};

/// At most `limit` at once in a lane.
struct Concurrency {
    static constexpr bool kWholeLane = true;
    std::string subject;
    int limit = 0;
    int in_use = 0;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand&, Granted&, domain::TimePoint) { ++in_use; }
};

/// At most `limit` at once for each value of a key taken from the input.
struct KeyConcurrency {
    static constexpr bool kWholeLane = false;
    std::string pointer;
    int limit = 1;
    /// Slots in use by key; borrowed from whoever made the snapshot.
    const std::unordered_map<std::string, int>* in_use = nullptr;
    /// Taken since.
    std::unordered_map<std::string, int> taken;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand& demand, Granted&, domain::TimePoint);
};

/// A lane's starts are so far apart, and nothing of it starts so soon after one has ended.
struct LanePace {
    static constexpr bool kWholeLane = true;
    std::string subject;
    std::optional<domain::Duration> interval;
    std::optional<domain::Duration> cool_down;
    /// Of the lane; granted since as well.
    std::optional<domain::TimePoint> started_at;
    std::optional<domain::TimePoint> ended_at;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand&, Granted&, domain::TimePoint now) { started_at = now; }
};

/// One address of a workflow type and how busy it is.
struct EndpointLoad {
    domain::EndpointId id;
    std::string url;
    int weight = 1;
    /// Requests under way to it.
    int in_flight = 0;
    /// How many may be: grows while it accepts, shrinks to one probe after trouble.
    int window = 1;
    std::optional<domain::TimePoint> held_until;
    std::string held_detail;
    domain::BreakerRecord breaker = {};
};

/// Picks the least loaded endpoint by weight, of those that are not held and whose breaker lets something through.
struct Endpoints {
    static constexpr bool kWholeLane = true;
    std::string subject;
    std::vector<EndpointLoad> endpoints;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand&, Granted& granted, domain::TimePoint now);
};

/// A provider that has refused is left alone, then tried by one start at a time until one goes well: by the head that
/// asks least of it, as long as that one can go. Tried before what is used of any provider.
struct ProviderCooling {
    static constexpr bool kWholeLane = true;
    std::string provider;
    /// Borrowed from whoever made the snapshot.
    const ProviderWeather* weather = nullptr;
    /// Starts granted since.
    int taken = 0;
    /// The least that a head asks which nothing else stops; unknown until heads have been offered.
    std::optional<std::pair<std::int64_t, std::int64_t>> least;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand&, Granted&, domain::TimePoint) { ++taken; }
    void offer(const domain::Demand& demand);
};

/// What of a provider has gone well lately, and what it says is left. It only adds to the declared limits.
struct ProviderLearnt {
    static constexpr bool kWholeLane = true;
    std::string provider;
    const ProviderWeather* weather = nullptr;
    /// Granted since, in requests and in tokens.
    std::int64_t taken = 0;
    std::int64_t tokens_taken = 0;
    /// As of ProviderRate.
    bool kept = false;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand& demand, Granted&, domain::TimePoint);
};

/// One limit of a provider. What a head lacks is not given to those behind it: it holds its lane, and one that has
/// waited beyond max_wait holds whatever shares the limit (protocol R15, R16).
struct ProviderRate {
    static constexpr bool kWholeLane = true;
    std::string provider;
    /// Borrowed from whoever made the snapshot.
    const Meter* meter = nullptr;
    /// Granted since.
    std::int64_t taken = 0;
    /// One that was asked about before has waited too long and is to have what comes free.
    bool kept = false;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand& demand, Granted&, domain::TimePoint) { taken += asked(demand); }
    std::int64_t asked(const domain::Demand& demand) const;
    /// It asks more than there will ever be, as things are defined.
    bool never_fits(const domain::Demand& demand) const { return asked(demand) > meter->limit().capacity(); }
};

/// What one key may have of a limit: its ceiling, and beyond its guarantee only what leaves room for the guarantees of
/// other keys with something waiting. The first that does not fit holds what waits in its lane with the same keys, and
/// one beyond max_wait whatever else has this key (protocol R15, R16). Tried before all that is used of providers.
struct KeyShare {
    static constexpr bool kWholeLane = false;
    std::string provider;
    /// Borrowed from whoever made the snapshot: the limit, and what each key has of it.
    const Meter* meter = nullptr;
    KeyMeters* keys = nullptr;
    /// Where in the input the key is.
    std::string pointer = {};
    /// Granted since, to all and to each; and how much of the guarantees that were waited for.
    std::int64_t taken = 0;
    std::map<std::string, std::int64_t> taken_by = {};
    std::int64_t claimed_taken = 0;
    /// Who was asked about before and did not fit.
    std::set<std::tuple<domain::Lane, std::string, std::string>> held = {};
    /// For whose lane what a key may have is kept.
    std::map<std::string, domain::Lane> kept = {};
    /// Somebody did not fit who might once those with guarantees have been given what they wait for.
    bool left_room = false;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand& demand, Granted&, domain::TimePoint now);
    /// It did not fit.
    void hold(const domain::Demand& demand, domain::TimePoint now);

    std::string key(const domain::Demand& demand) const;
    std::int64_t asked(const domain::Demand& demand) const;
    bool below_ceiling(const domain::Demand& demand, domain::TimePoint now) const;
    /// Of one that does not fit: until when its key has no room for it whatever others do, as long as nothing of the
    /// key ends or is given back (KeyMeters::take_eased). nullopt: that may change with what others do.
    std::optional<domain::TimePoint> closed_until(const domain::Demand& demand, domain::TimePoint now) const;
    /// What the guarantees of others that wait still give them.
    std::int64_t claimed_by_others(const std::string& key, domain::TimePoint now) const;
    /// That of all, before anything was granted; counted when it is first asked for.
    mutable std::optional<std::int64_t> claimed = {};
};

/// One budget. A head that does not fit holds its lane, and one that has waited beyond max_wait holds whatever shares
/// the budget (protocol R15, R16). A lane's own check needs the lane's importance in its demand.
struct BudgetLimit {
    static constexpr bool kWholeLane = true;
    /// Borrowed from whoever made the snapshot.
    const BudgetState* state = nullptr;
    /// Granted since.
    domain::MicroUsd taken;
    /// One that was asked about before has waited too long and is to have what comes free.
    bool kept = false;

    /// It fits once enough of what is reserved or in suspense has come back, in the window of now. What has to wait for
    /// the window's turn is not lacking: kept until then, the rest would be of use to nobody.
    bool lacking(const domain::Demand& demand, domain::TimePoint now) const;
    /// As of ProviderRate.
    bool never_fits(const domain::Demand& demand) const;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand& demand, Granted&, domain::TimePoint);
};

/// One of a batch: others of the lane may go.
struct BatchBudgetLimit : BudgetLimit {
    static constexpr bool kWholeLane = false;
    /// One of this lane, which waits apart, has waited too long and is to have what comes free.
    std::optional<domain::Lane> kept_for = {};

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
};

/// Its step that lets what is of little priority wait: others of the lane may go.
struct BudgetPriority {
    static constexpr bool kWholeLane = false;
    const BudgetState* state = nullptr;
    /// Granted since.
    domain::MicroUsd taken = {};

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand& demand, Granted&, domain::TimePoint);
    /// That makes it wait; nullptr: none.
    const BudgetStep* step(const domain::Demand& demand, domain::TimePoint now) const;
};

/// The memory that executions share (003: 512 MB per workflow, 2048 MB in all). A head that does not fit holds its
/// lane, and one that has waited beyond max_wait holds all that need memory (protocol R15, R16).
struct Memory {
    static constexpr bool kWholeLane = true;
    std::int64_t limit_mb = 0;
    /// Of what runs, and granted since.
    std::int64_t reserved_mb = 0;
    /// One that was asked about before has waited too long and is to have what comes free.
    bool kept = false;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand& demand, Granted&, domain::TimePoint) { reserved_mb += demand.memory_mb; }
    /// As of ProviderRate.
    bool never_fits(const domain::Demand& demand) const { return demand.memory_mb > limit_mb; }
};

/// What stops everything that names it and is no quantity: the database is under pressure, or a lane's windows are
/// shut.
struct Closed {
    static constexpr bool kWholeLane = true;
    domain::Gate gate;

    std::optional<domain::Gate> check(const domain::Demand&, domain::TimePoint) const { return gate; }
    void take(const domain::Demand&, Granted&, domain::TimePoint) {}
};

using Limiter =
    std::variant<Pause, Lock, Concurrency, KeyConcurrency, LanePace, Endpoints, ProviderCooling, ProviderLearnt,
                 KeyShare, ProviderRate, Memory, Closed, BudgetLimit, BatchBudgetLimit, BudgetPriority>;

/// An amount of what is measured, and "60 requests per minute", for people.
std::string shown(Measure of, std::int64_t amount);
std::string allowed(const ProviderLimit& limit, std::int64_t amount);
/// Why one start is never given so much; nullopt: it can be given some time.
std::optional<std::string> never_given(const ProviderLimit& limit, std::int64_t amount);

/// What of these can never be granted, naming the limit that it is larger than; nullopt: nothing.
std::optional<std::string> never_fits(const std::vector<Provider>& providers, const std::vector<domain::Need>& needs);

}
