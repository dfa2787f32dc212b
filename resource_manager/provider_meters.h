#pragma once
// Every limit of every provider and what is used of it. Pure; the scheduler's, on the network thread.

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "domain/demand.h"
#include "domain/id.h"
#include "domain/lane.h"
#include "resource_manager/meter.h"
#include "resource_manager/provider.h"

namespace impresario::resource_manager {

/// A start that was charged to a provider, as the tables remember it.
struct PermitRecord {
    domain::ExecutionId execution;
    domain::Lane lane;
    domain::AttemptId attempt;
    /// Of the grant: a redelivery is another one and takes a new permit.
    int fence = 0;
    /// Number of the delivery that it is for.
    int delivery = 1;
    domain::Need need;
    /// Nobody sends it after that.
    domain::TimePoint lease_until;
};

/// What the tables know about permits: of live attempts each, of the others their sums.
struct LoadedPermit {
    domain::Lane lane;
    domain::Need need;
    /// Set for a live attempt, which still holds its place.
    std::optional<domain::ExecutionId> execution;
    domain::AttemptId attempt;
    int fence = 0;
    /// nullopt: its request is under way.
    std::optional<domain::TimePoint> ended_at;
};

class ProviderMeters {
  public:
    /// Everything anew.
    void load(const std::vector<Provider>& providers, const std::vector<LoadedPermit>& permits, domain::TimePoint now);

    void charge(const domain::ExecutionId& execution, const domain::AttemptId& attempt, int fence,
                const domain::Lane& lane, const std::vector<domain::Need>& needs, domain::TimePoint now);
    /// Its request has ended; it may still be running.
    void ended(const domain::ExecutionId& execution, domain::TimePoint now);
    /// It holds no slot any more. Its request, if it has not ended yet, will have by `at`, which may be to come.
    void released(const domain::ExecutionId& execution, domain::TimePoint at);
    /// It was not sent: as if it had never been charged.
    void given_back(const domain::ExecutionId& execution);
    void trim(domain::TimePoint now);

    /// One limit as it applies to a lane.
    struct Applied {
        const std::string* provider = nullptr;
        Meter* meter = nullptr;
    };
    /// Those that a lane's needs are held to, in the providers' order. Valid until load(). A limit that is counted
    /// apart begins to be counted here.
    std::vector<Applied> applied(const domain::Lane& lane, const std::vector<domain::Need>& needs);

    struct Shown {
        std::string provider;
        /// Whom it is counted for: "" for everybody, an organization, or organization/type.
        std::string subject;
        const Meter* meter = nullptr;
    };
    std::vector<Shown> all() const;

  private:
    struct Permit {
        domain::AttemptId attempt;
        int fence = 0;
        domain::Lane lane;
        std::vector<domain::Need> needs;
        bool in_flight = true;
    };
    template <class Each>
    void each_meter(const domain::Lane& lane, const std::vector<domain::Need>& needs, Each each);
    void remember(const domain::Lane& lane, const domain::Need& need, domain::TimePoint ended_at);

    std::vector<Provider> providers_;
    /// By provider, limit and subject.
    std::map<std::tuple<std::string, std::string, std::string>, Meter> meters_;
    std::unordered_map<domain::ExecutionId, Permit> permits_;
};

}
