#include "resource_manager/fairness.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace impresario::resource_manager {

namespace {

constexpr std::array<std::string_view, 4> kNames{"dollars", "tokens", "seconds", "starts"};

// The least that a start counts: a hundredth of a cent, one token, a millisecond.
constexpr double kLeastDollars = 100;
constexpr double kLeastTokens = 1;
constexpr double kLeastSeconds = 1000;
/// How long one takes of whose kind none has ended yet.
constexpr double kUnknownSeconds = 10e6;

std::string percent(double value) {
    auto text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
}

}

std::string_view name(FairMeasure measure) { return kNames[static_cast<std::size_t>(measure)]; }

std::optional<FairMeasure> parse_fair_measure(std::string_view text) {
    const auto found = std::find(kNames.begin(), kNames.end(), text);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<FairMeasure>(found - kNames.begin());
}

domain::DefinitionFaults check(const FairnessPolicy& policy) {
    domain::DefinitionFaults faults;
    if (policy.shares.size() > kMostShares)
        faults.push_back({"/shares", "must be at most " + std::to_string(kMostShares)});
    std::set<std::pair<std::string, std::string>> met;
    // Of all organizations (""), and of each one's types.
    std::map<std::string, double> minimum;
    for (std::size_t i = 0; i < policy.shares.size(); ++i) {
        const auto& share = policy.shares[i];
        const auto at = "/shares/" + std::to_string(i);
        if (share.organization_id.empty() || share.organization_id.size() > 200)
            faults.push_back({at + "/organization_id", "must have 1 to 200 characters"});
        if (share.workflow_type.size() > 200)
            faults.push_back({at + "/workflow_type", "must have at most 200 characters"});
        // Written so that what is no number is wrong too.
        if (!(share.weight >= kLeastWeight && share.weight <= kMostWeight))
            faults.push_back({at + "/weight", "must be from 0.001 to 1000000"});
        if (!(share.minimum_percent >= 0 && share.minimum_percent <= 100)) {
            faults.push_back({at + "/minimum_percent", "must be from 0 to 100"});
            continue;
        }
        if (!met.emplace(share.organization_id, share.workflow_type).second) {
            faults.push_back({at, "names " + share.organization_id +
                                      (share.workflow_type.empty() ? "" : "/" + share.workflow_type) +
                                      " a second time; give each one share"});
            continue;
        }
        auto& sum = minimum[share.workflow_type.empty() ? std::string{} : share.organization_id];
        const bool was_good = sum <= 100;
        sum += share.minimum_percent;
        if (was_good && sum > 100)
            faults.push_back(
                {at + "/minimum_percent", "makes the minimum shares of " +
                                              (share.workflow_type.empty() ? std::string("all organizations")
                                                                           : "the types of " + share.organization_id) +
                                              " " + percent(sum) + " % together; they may be 100 % at most"});
    }
    return faults;
}

double fair_amount(FairMeasure measure, const PriceList::Price& price) {
    switch (measure) {
        case FairMeasure::dollars:
            return std::max(static_cast<double>(price.cost.value), kLeastDollars);
        case FairMeasure::tokens:
            return std::max(static_cast<double>(price.tokens.value_or(0)), kLeastTokens);
        case FairMeasure::seconds:
            return price.duration ? std::max(static_cast<double>(price.duration->count()), kLeastSeconds)
                                  : kUnknownSeconds;
        case FairMeasure::starts:
            break;
    }
    return 1;
}

std::optional<double> fair_amount(FairMeasure measure, const Consumption& used) {
    const auto at_least = [](auto amount, double least) { return std::max(static_cast<double>(amount), least); };
    switch (measure) {
        case FairMeasure::dollars:
            if (used.cost) return at_least(used.cost->value, kLeastDollars);
            break;
        case FairMeasure::tokens:
            if (used.tokens) return at_least(*used.tokens, kLeastTokens);
            break;
        case FairMeasure::seconds:
            if (used.duration) return at_least(used.duration->count(), kLeastSeconds);
            break;
        case FairMeasure::starts:
            return 1;
    }
    return std::nullopt;
}

double unit(FairMeasure measure) {
    return measure == FairMeasure::dollars || measure == FairMeasure::seconds ? 1e6 : 1;
}

}
