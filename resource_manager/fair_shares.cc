#include "resource_manager/fair_shares.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace impresario::resource_manager {

using domain::Lane;
using domain::TimePoint;

namespace {
bool by_name(const FairShare& a, const FairShare& b) {
    return std::tie(a.organization_id, a.workflow_type) < std::tie(b.organization_id, b.workflow_type);
}

std::int64_t part_of(TimePoint now, int parts) { return now.time_since_epoch() / (LastMinute::kWindow / parts); }
}

void LastMinute::add(double amount, TimePoint now) {
    const auto part = std::max(part_of(now, kParts), part_);
    // Those in between have had nothing.
    for (auto each = std::max(part_, part - kParts) + 1; each <= part; ++each)
        amounts_[static_cast<std::size_t>(each % kParts)] = 0;
    part_ = part;
    amounts_[static_cast<std::size_t>(part % kParts)] += amount;
}

void LastMinute::correct(double more, TimePoint then) {
    const auto part = part_of(then, kParts);
    if (part > part_ - kParts && part <= part_) amounts_[static_cast<std::size_t>(part % kParts)] += more;
}

double LastMinute::sum(TimePoint now) const {
    const auto part = part_of(now, kParts);
    double sum = 0;
    for (auto each = std::max<std::int64_t>(part - kParts + 1, 0); each <= part_; ++each)
        sum += amounts_[static_cast<std::size_t>(each % kParts)];
    return std::max(0.0, sum);
}

FairShares::FairShares(FairnessPolicy policy) { set_policy(std::move(policy)); }

void FairShares::set_policy(FairnessPolicy policy) {
    if (policy_ && policy.measure != policy_->measure) {
        organizations_ = {};
        types_.clear();
    }
    std::sort(policy.shares.begin(), policy.shares.end(), by_name);
    policy_ = std::make_shared<const FairnessPolicy>(std::move(policy));
}

FairShare FairShares::share_of(const std::string& organization_id, const std::string& workflow_type) const {
    FairShare wanted{organization_id, workflow_type};
    const auto found = std::lower_bound(policy_->shares.begin(), policy_->shares.end(), wanted, by_name);
    return found == policy_->shares.end() || by_name(wanted, *found) ? wanted : *found;
}

void FairShares::attend(const std::vector<Lane>& lanes) {
    std::map<std::string, std::set<std::string>> there;
    std::set<std::string> organizations;
    for (const auto& lane : lanes) {
        organizations.insert(lane.organization_id);
        there[lane.organization_id].insert(lane.workflow_type);
    }
    organizations_.clock.attend(organizations);
    for (auto& [organization_id, level] : types_)
        if (!there.contains(organization_id)) level.clock.attend({});
    for (const auto& [organization_id, types] : there) types_[organization_id].clock.attend(types);
}

void FairShares::charge(Level& level, const std::string& name, const FairShare& share, double amount, bool contested,
                        TimePoint now) {
    level.clock.charge(name, amount, share.weight);
    auto& had = level.had[name];
    had.all.add(amount, now);
    if (!contested) return;
    had.contested.add(amount, now);
    level.contested.add(amount, now);
}

/// Who took what nobody else could have is not held to it, more or less.
void FairShares::correct(Level& level, const std::string& name, const FairShare& share, double more, bool contested,
                         TimePoint then) {
    auto& had = level.had[name];
    had.all.correct(more, then);
    if (!contested) return;
    level.clock.correct(name, more, share.weight);
    had.contested.correct(more, then);
    level.contested.correct(more, then);
}

void FairShares::charge(const Lane& lane, const FairCharge& charge, TimePoint now) {
    const auto& [organization_id, workflow_type] = lane;
    this->charge(organizations_, organization_id, share_of(organization_id), charge.amount,
                 charge.organizations_contested, now);
    this->charge(types_[organization_id], workflow_type, share_of(organization_id, workflow_type), charge.amount,
                 charge.types_contested, now);
}

void FairShares::correct(const Lane& lane, const FairCharge& charged, double amount, TimePoint then) {
    const auto& [organization_id, workflow_type] = lane;
    const double more = amount - charged.amount;
    if (more == 0) return;
    correct(organizations_, organization_id, share_of(organization_id), more, charged.organizations_contested, then);
    correct(types_[organization_id], workflow_type, share_of(organization_id, workflow_type), more,
            charged.types_contested, then);
}

namespace {
std::optional<double> percent(double part, double whole) {
    return whole > 0 ? std::optional(std::min(100.0, 100 * part / whole)) : std::nullopt;
}
}

FairShares::Place FairShares::place(const Level& level, const std::string& name, const FairShare& share,
                                    TimePoint now) {
    Place place;
    place.at = level.clock.at(name);
    if (share.minimum_percent <= 0) return place;
    const auto had = level.had.find(name);
    const auto part = percent(had == level.had.end() ? 0 : had->second.contested.sum(now), level.contested.sum(now));
    place.below_minimum = part && *part < share.minimum_percent;
    return place;
}

FairShares::Place FairShares::organization(const std::string& organization_id, TimePoint now) const {
    return place(organizations_, organization_id, share_of(organization_id), now);
}

FairShares::Place FairShares::type(const Lane& lane, TimePoint now) const {
    const auto level = types_.find(lane.organization_id);
    if (level == types_.end()) return {};
    return place(level->second, lane.workflow_type, share_of(lane.organization_id, lane.workflow_type), now);
}

void FairShares::add_standings(std::vector<FairStanding>& all, const Level& level, std::vector<FairShare> shares,
                               TimePoint now) const {
    double weights = 0;
    for (const auto& share : shares) {
        const auto& name = share.workflow_type.empty() ? share.organization_id : share.workflow_type;
        if (level.clock.present(name)) weights += share.weight;
    }
    const double foremost = level.clock.spread();
    for (auto& share : shares) {
        const auto name = share.workflow_type.empty() ? share.organization_id : share.workflow_type;
        FairStanding standing;
        standing.waiting = level.clock.present(name);
        if (standing.waiting) {
            standing.asked_percent = percent(share.weight, weights);
            standing.behind = std::max(0.0, foremost - level.clock.at(name)) * share.weight / unit(policy_->measure);
        }
        if (const auto had = level.had.find(name); had != level.had.end()) {
            standing.started = had->second.all.sum(now) / unit(policy_->measure);
            standing.had_percent = percent(had->second.contested.sum(now), level.contested.sum(now));
        } else {
            standing.had_percent = percent(0, level.contested.sum(now));
        }
        standing.below_minimum = standing.waiting && place(level, name, share, now).below_minimum;
        standing.share = std::move(share);
        all.push_back(std::move(standing));
    }
}

std::vector<FairStanding> FairShares::standings(TimePoint now) const {
    std::map<std::string, std::set<std::string>> known;
    for (const auto& share : policy_->shares) {
        auto& types = known[share.organization_id];
        if (!share.workflow_type.empty()) types.insert(share.workflow_type);
    }
    for (const auto& [organization_id, level] : types_)
        for (const auto& [workflow_type, had] : level.had) known[organization_id].insert(workflow_type);
    // Those who have waited and started nothing yet.
    for (const auto& [organization_id, level] : types_)
        for (const auto& name : level.clock.all_present()) known[organization_id].insert(name);
    std::vector<FairShare> organizations;
    for (const auto& [organization_id, types] : known) organizations.push_back(share_of(organization_id));
    std::vector<FairStanding> tops;
    add_standings(tops, organizations_, std::move(organizations), now);
    std::vector<FairStanding> all;
    const Level nothing;
    for (auto& top : tops) {
        const auto organization_id = top.share.organization_id;
        all.push_back(std::move(top));
        std::vector<FairShare> types;
        for (const auto& workflow_type : known[organization_id])
            types.push_back(share_of(organization_id, workflow_type));
        const auto level = types_.find(organization_id);
        add_standings(all, level == types_.end() ? nothing : level->second, std::move(types), now);
    }
    return all;
}

}
