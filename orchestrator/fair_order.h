#pragma once
// Of the lanes of a plan, whose head goes next by the shares of a policy: first those beyond their lane's max_wait,
// then who is below its minimum share, then who has the least virtual time, then the score; of organizations, then of
// the types of the one that is chosen. Pure.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/runner.h"
#include "resource_manager/fair_shares.h"

namespace impresario::orchestrator {

/// Whether a lane that this stops waits for what other lanes take as well, so that it goes on competing.
bool waits_for_shared(const domain::Gate& gate);

/// Who was left behind, and whose lanes took what he waits for.
class Rivals {
  public:
    void waits(const LaneView& lane);
    /// The turn itself had no room for it.
    void waits_for_the_turn(const LaneView& lane);
    bool of_other_organization(const LaneView& lane) const;
    /// Of another type of its organization.
    bool of_other_type(const LaneView& lane) const;

  private:
    /// By limiter, and by organization those of its types; the turn itself is kTurn.
    static constexpr std::size_t kTurn = static_cast<std::size_t>(-1);
    void note(std::size_t place, const domain::Lane& lane);
    template <class Other>
    bool any(const LaneView& lane, Other other) const;
    std::map<std::size_t, std::map<std::string, std::set<std::string>>> waiting_;
};

class FairOrder {
  public:
    /// Borrows the runners. `shares` is a copy that the plan may charge.
    FairOrder(std::vector<Runner>& runners, resource_manager::FairShares shares, domain::TimePoint now);

    bool empty() const { return organizations_.empty(); }
    /// The best one's place; it stays until it is dropped.
    std::size_t next();
    /// Its head starts.
    void granted(std::size_t place);
    /// It has another head now.
    void stays(std::size_t place) { of(place).best.reset(); }
    /// Nothing of it goes any more.
    void drop(std::size_t place);
    /// What each grant counts, in the order of granting.
    const std::vector<double>& amounts() const { return amounts_; }
    std::vector<std::size_t> left() const;

  private:
    struct Organization {
        std::vector<std::size_t> places;
        std::optional<std::size_t> best;
    };
    using Organizations = std::map<std::string, Organization>;
    const priority_queue::Cursor::Candidate& head(std::size_t place) const { return *runners_[place].cursor.head(); }
    std::size_t best_of(const Organization& organization) const;
    Organization& of(std::size_t place) { return organizations_.at(runners_[place].view->lane.organization_id); }

    std::vector<Runner>& runners_;
    resource_manager::FairShares shares_;
    domain::TimePoint now_;
    Organizations organizations_;
    std::vector<double> amounts_;
};

}
