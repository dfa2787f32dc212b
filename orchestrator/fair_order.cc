#include "orchestrator/fair_order.h"

#include <algorithm>

namespace impresario::orchestrator {

using domain::GateKind;
using resource_manager::FairShares;

bool waits_for_shared(const domain::Gate& gate) {
    return gate.kind == GateKind::provider || gate.kind == GateKind::memory || gate.kind == GateKind::database ||
           gate.kind == GateKind::budget;
}

void Rivals::note(std::size_t place, const domain::Lane& lane) {
    waiting_[place][lane.organization_id].insert(lane.workflow_type);
}

void Rivals::waits(const LaneView& lane) {
    for (const auto place : lane.limiters) note(place, lane.lane);
}

void Rivals::waits_for_the_turn(const LaneView& lane) { note(kTurn, lane.lane); }

template <class Other>
bool Rivals::any(const LaneView& lane, Other other) const {
    const auto at = [&](std::size_t place) {
        const auto found = waiting_.find(place);
        return found != waiting_.end() && std::any_of(found->second.begin(), found->second.end(), other);
    };
    return at(kTurn) || std::any_of(lane.limiters.begin(), lane.limiters.end(), at);
}

bool Rivals::of_other_organization(const LaneView& lane) const {
    return any(lane, [&](const auto& each) { return each.first != lane.lane.organization_id; });
}

bool Rivals::of_other_type(const LaneView& lane) const {
    return any(lane, [&](const auto& each) {
        const auto& [organization_id, types] = each;
        return organization_id == lane.lane.organization_id &&
               (types.size() > 1 || !types.contains(lane.lane.workflow_type));
    });
}

FairOrder::FairOrder(std::vector<Runner>& runners, FairShares shares, domain::TimePoint now)
    : runners_(runners), shares_(std::move(shares)), now_(now) {
    for (std::size_t i = 0; i < runners_.size(); ++i)
        organizations_[runners_[i].view->lane.organization_id].places.push_back(i);
}

namespace {
/// Among those of one level: nullopt where only the score tells them apart.
std::optional<bool> goes_before(const FairShares::Place& a, const FairShares::Place& b) {
    if (a.below_minimum != b.below_minimum) return a.below_minimum;
    if (a.at != b.at) return a.at < b.at;
    return std::nullopt;
}
}

std::size_t FairOrder::best_of(const Organization& organization) const {
    auto best = organization.places.front();
    auto best_place = shares_.type(runners_[best].view->lane, now_);
    for (const auto each : organization.places) {
        if (each == best) continue;
        const auto place = shares_.type(runners_[each].view->lane, now_);
        const bool by_age = head(each).starving || head(best).starving;
        const auto by_share = by_age ? std::nullopt : goes_before(place, best_place);
        if (!by_share.value_or(before(head(each), head(best)))) continue;
        best = each;
        best_place = place;
    }
    return best;
}

std::size_t FairOrder::next() {
    const Organization* best = nullptr;
    FairShares::Place best_place;
    for (auto& [name, organization] : organizations_) {
        if (!organization.best) organization.best = best_of(organization);
        const auto place = shares_.organization(name, now_);
        if (best) {
            const auto& ours = head(*organization.best);
            const auto& theirs = head(*best->best);
            const auto by_share = ours.starving || theirs.starving ? std::nullopt : goes_before(place, best_place);
            if (!by_share.value_or(before(ours, theirs))) continue;
        }
        best = &organization;
        best_place = place;
    }
    return *best->best;
}

void FairOrder::granted(std::size_t place) {
    const auto& view = *runners_[place].view;
    const auto& price = view.prices.at(head(place).size_class, head(place).need_amounts);
    amounts_.push_back(fair_amount(shares_.policy().measure, price));
    // As if it were contested: within this turn what was given counts.
    shares_.charge(view.lane, {amounts_.back(), true, true}, now_);
}

void FairOrder::drop(std::size_t place) {
    auto& organization = of(place);
    std::erase(organization.places, place);
    organization.best.reset();
    if (organization.places.empty()) organizations_.erase(runners_[place].view->lane.organization_id);
}

std::vector<std::size_t> FairOrder::left() const {
    std::vector<std::size_t> left;
    for (const auto& [name, organization] : organizations_)
        left.insert(left.end(), organization.places.begin(), organization.places.end());
    return left;
}

}
