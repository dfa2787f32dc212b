#pragma once
// The things that may stop an execution now, each as a value. A limiter is asked (`check`), and when all have agreed it
// is charged (`take`). Pure.
//
// A new kind (provider, budget, memory) is a struct with these two members and `kWholeLane`, added to the
// variant; nothing else changes.

#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "domain/breaker.h"
#include "domain/demand.h"
#include "domain/gate.h"
#include "domain/id.h"
#include "domain/time.h"
#include "resource_manager/budget_state.h"
#include "resource_manager/meter.h"

namespace impresario::resource_manager {

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

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand&, Granted&, domain::TimePoint) {}
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
};

/// One budget. A head that does not fit holds its lane (protocol R15). A lane's own check needs the
/// lane's importance in its demand.
struct BudgetLimit {
    static constexpr bool kWholeLane = true;
    /// Borrowed from whoever made the snapshot.
    const BudgetState* state = nullptr;
    /// Granted since.
    domain::MicroUsd taken;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand& demand, Granted&, domain::TimePoint);
};

/// Its step that lets what is of little priority wait: others of the lane may go.
struct BudgetPriority {
    static constexpr bool kWholeLane = false;
    const BudgetState* state = nullptr;

    std::optional<domain::Gate> check(const domain::Demand& demand, domain::TimePoint now) const;
    void take(const domain::Demand&, Granted&, domain::TimePoint) {}
};

using Limiter = std::variant<Pause, Concurrency, KeyConcurrency, Endpoints, ProviderRate, BudgetLimit, BudgetPriority>;

}
