#pragma once
// Every limit of every provider and what is used of it. Pure; the scheduler's, on the network thread.

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "domain/demand.h"
#include "domain/id.h"
#include "domain/lane.h"
#include "resource_manager/key_meters.h"
#include "resource_manager/meter.h"
#include "resource_manager/provider.h"
#include "resource_manager/provider_weather.h"

namespace impresario::resource_manager {

/// A grant and what it takes of its providers, as the tables remember it.
struct PermitRecord {
    domain::ExecutionId execution;
    domain::Lane lane;
    domain::AttemptId attempt;
    /// Of the grant: a redelivery is another one and takes a new permit.
    int fence = 0;
    /// Number of the delivery that it is for.
    int delivery = 1;
    /// At least one, each of another provider.
    std::vector<domain::Need> needs;
    /// Of its execution.
    std::string limit_keys = {};
    /// Nobody sends it after that.
    domain::TimePoint lease_until;
};

/// What an attempt says it took of a provider, all until now. What is more than its grant took counts too (protocol
/// R19: calls inside a sub-workflow are bounded by what it declares and reports).
struct UsageCharge {
    domain::ExecutionId execution;
    domain::AttemptId attempt;
    domain::Lane lane;
    /// Of its execution.
    std::string limit_keys = {};
    domain::Need need;
};

/// What the tables know about permits: of live attempts each, of the others their sums; and of what was charged beyond
/// them.
struct LoadedPermit {
    domain::Lane lane;
    domain::Need need;
    /// Set for a live attempt, which still holds its place.
    std::optional<domain::ExecutionId> execution;
    domain::AttemptId attempt;
    int fence = 0;
    /// nullopt: its request is under way.
    std::optional<domain::TimePoint> ended_at;
    /// Of its execution.
    std::string limit_keys = {};
    /// Of a live one: nobody sends it after that.
    domain::TimePoint lease_until = {};
    /// Beyond a grant: it is counted, and says nothing of how many starts go well.
    bool beyond = false;
};

class ProviderMeters {
  public:
    ProviderMeters() = default;
    ProviderMeters(const ProviderMeters&) = delete;
    ProviderMeters& operator=(const ProviderMeters&) = delete;

    /// Everything anew, but what is known of a provider's weather; `weather` is for those of which nothing is.
    void load(const std::vector<Provider>& providers, const std::vector<LoadedPermit>& permits, domain::TimePoint now,
              const WeatherRecords& weather = {});

    void charge(const domain::ExecutionId& execution, const domain::Lane& lane, const std::vector<domain::Need>& needs,
                const std::string& limit_keys, domain::TimePoint now);
    /// Its request has ended; it may still be running.
    void ended(const domain::ExecutionId& execution, domain::TimePoint now);
    /// It holds no slot any more. Its request, if it has not ended yet, will have by `at`, which may be to come.
    void released(const domain::ExecutionId& execution, domain::TimePoint at);
    /// It was not sent: as if it had never been charged.
    void given_back(const domain::ExecutionId& execution);
    /// What was used beyond grants, at its `ended_at`.
    void charge_beyond(const LoadedPermit& usage, domain::TimePoint now) {
        remember(usage, usage.ended_at.value_or(now));
    }
    void trim(domain::TimePoint now);

    /// One limit as it applies to a lane.
    struct Applied {
        const std::string* provider = nullptr;
        Meter* meter = nullptr;
        /// Of a limit with a key; null for others.
        KeyMeters* keys = nullptr;
    };
    /// Those that a lane's needs are held to, in the providers' order. Valid until load(). A limit that is counted
    /// apart begins to be counted here.
    std::vector<Applied> applied(const domain::Lane& lane, const std::vector<domain::Need>& needs);

    struct Shown {
        std::string provider;
        /// Whom it is counted for: "" for everybody, an organization, or organization/type.
        std::string subject;
        const Meter* meter = nullptr;
        const KeyMeters* keys = nullptr;
    };
    std::vector<Shown> all() const;
    /// Of every limit with a key nobody is known to wait for it.
    void nobody_waits();

    /// What was set by hand since is taken as the tables say.
    void set_weather(const WeatherRecords& records);
    /// Each is true when what is to be remembered has changed.
    bool hear(const ProviderNews& news, domain::TimePoint now);
    bool went_well(const std::vector<domain::Need>& needs, domain::TimePoint began, domain::TimePoint now);
    /// Those whose weather has changed since the last call, and it.
    WeatherRecords take_changed_weather(domain::TimePoint now);
    const std::map<std::string, ProviderWeather>& weather() const { return weather_; }

  private:
    /// One limit and whom it is counted for.
    struct Counter {
        explicit Counter(const ProviderLimit& limit) : meter(limit) {
            if (limit.keyed()) keys.emplace(limit);
        }
        Meter meter;
        std::optional<KeyMeters> keys;
    };
    /// What a lane's need of one provider is counted by, in the order of its limits.
    struct LaneCounters {
        const Provider* provider = nullptr;
        std::vector<Counter*> counters;
    };
    /// A need, and where it is counted.
    struct Use {
        domain::Need need;
        const LaneCounters* counters = nullptr;
        /// nullptr: nothing is known of it.
        ProviderWeather* weather = nullptr;
    };
    struct Permit {
        std::vector<Use> uses;
        std::string limit_keys;
        bool in_flight = false;
    };
    using CountersByProvider = std::map<std::string, LaneCounters>;
    const LaneCounters& counters(CountersByProvider& known, const domain::Lane& lane, const std::string& provider);
    std::vector<Use> uses(const domain::Lane& lane, const std::vector<domain::Need>& needs);
    /// One account of a limit after another: its meter, then its key's, which are used alike.
    template <class Each>
    static void each_account(const std::vector<Use>& uses, const std::string& limit_keys, Each each);
    template <class Each>
    static void each_weather(const std::vector<Use>& uses, Each each);
    /// Its request has ended, if it has not before.
    static void end(Permit& permit, domain::TimePoint at);
    /// And it runs no longer.
    static void release(Permit& permit, domain::TimePoint at);
    void remember(const LoadedPermit& permit, domain::TimePoint ended_at);

    // What permits point at; all of it is made anew by `load`, and so are they.
    std::vector<Provider> providers_;
    /// By provider, limit and subject.
    std::map<std::tuple<std::string, std::string, std::string>, Counter> meters_;
    /// What was looked up in it: every grant and every end asks again.
    std::map<domain::Lane, CountersByProvider> counters_;
    std::unordered_map<domain::ExecutionId, Permit> permits_;
    std::map<std::string, ProviderWeather> weather_;
    std::set<std::string> changed_weather_;
};

}
