#pragma once
// Who is next by the shares of a policy, and who has had what of them lately: organizations, and below each its types.
// Pure: values and `now` in, values out.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/lane.h"
#include "domain/time.h"
#include "resource_manager/fair_clock.h"
#include "resource_manager/fairness.h"

namespace impresario::resource_manager {

/// What was started in the last minute, to a part of it.
class LastMinute {
  public:
    static constexpr domain::Duration kWindow = std::chrono::seconds{60};

    void add(double amount, domain::TimePoint now);
    /// What was added at `then` was more by so much; no longer counted, that changes nothing.
    void correct(double more, domain::TimePoint then);
    double sum(domain::TimePoint now) const;

  private:
    static constexpr int kParts = 12;
    std::array<double, kParts> amounts_{};
    std::int64_t part_ = 0;
};

/// What one start counts. Contested: another one that waited for the same was left behind.
struct FairCharge {
    double amount = 0;
    bool organizations_contested = false;
    bool types_contested = false;
};

/// How one stands, for people; amounts as people count them. `workflow_type` empty: an organization.
struct FairStanding {
    FairShare share;
    /// It has work that may start, or waits for what others take as well.
    bool waiting = false;
    /// What is due to it of its level's, among those who have work now; nullopt: it has none.
    std::optional<double> asked_percent;
    /// In the last minute: all that it started, and its part of its level's that was contested; nullopt: nothing was.
    double started = 0;
    std::optional<double> had_percent;
    bool below_minimum = false;
    /// What it would have to start to be level with whoever is foremost.
    double behind = 0;
};

class FairShares {
  public:
    explicit FairShares(FairnessPolicy policy);
    /// Weights count from now on; with another measure all begin even.
    void set_policy(FairnessPolicy policy);
    const FairnessPolicy& policy() const { return *policy_; }

    /// Lanes with work that may go, or that waits for what lanes share. Those of others do not gain from waiting.
    void attend(const std::vector<domain::Lane>& lanes);
    void charge(const domain::Lane& lane, const FairCharge& charge, domain::TimePoint now);
    /// What was charged at `then` took `amount` in truth; 0: it did not start after all.
    void correct(const domain::Lane& lane, const FairCharge& charged, double amount, domain::TimePoint then);

    /// Who is below his minimum goes first, then who has the least virtual time.
    struct Place {
        bool below_minimum = false;
        double at = 0;
    };
    Place organization(const std::string& organization_id, domain::TimePoint now) const;
    /// Among those of its organization.
    Place type(const domain::Lane& lane, domain::TimePoint now) const;

    /// Of those it has heard of, and those of the policy; an organization before its types.
    std::vector<FairStanding> standings(domain::TimePoint now) const;

  private:
    struct Had {
        LastMinute all;
        LastMinute contested;
    };
    /// Of one level: who competes, and what was contested together.
    struct Level {
        FairClock clock;
        LastMinute contested;
        std::map<std::string, Had> had;
    };
    /// Who is not named has weight 1 and no minimum.
    FairShare share_of(const std::string& organization_id, const std::string& workflow_type = {}) const;
    static Place place(const Level& level, const std::string& name, const FairShare& share, domain::TimePoint now);
    static void charge(Level& level, const std::string& name, const FairShare& share, double amount, bool contested,
                       domain::TimePoint now);
    static void correct(Level& level, const std::string& name, const FairShare& share, double more, bool contested,
                        domain::TimePoint then);
    void add_standings(std::vector<FairStanding>& all, const Level& level, std::vector<FairShare> shares,
                       domain::TimePoint now) const;

    /// Shares in the order of their names. A copy of all this is made for every plan.
    std::shared_ptr<const FairnessPolicy> policy_;
    Level organizations_;
    std::map<std::string, Level> types_;
};

}
