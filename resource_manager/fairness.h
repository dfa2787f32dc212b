#pragma once
// What share of what can be started each organization is to have, and each type of its organization's. Data, versioned.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/definition_fault.h"
#include "domain/time.h"
#include "resource_manager/estimate.h"
#include "resource_manager/price.h"

namespace impresario::resource_manager {

/// What shares are counted in: by what a start is expected to take, and once it has ended by what it took.
enum class FairMeasure { dollars, tokens, seconds, starts };
std::string_view name(FairMeasure measure);
std::optional<FairMeasure> parse_fair_measure(std::string_view text);

/// Of an organization, or of one of its types where that is named.
struct FairShare {
    std::string organization_id;
    std::string workflow_type;
    /// Against the weights of the others on its level.
    double weight = 1;
    /// Of what its level has started lately; who has less and waits goes before who has not.
    double minimum_percent = 0;
    friend bool operator==(const FairShare&, const FairShare&) = default;
};

struct FairnessPolicy {
    FairMeasure measure = FairMeasure::starts;
    std::vector<FairShare> shares;
    int version = 1;
    domain::TimePoint updated_at;
    std::string updated_by;
    std::string reason;
};

inline constexpr double kLeastWeight = 0.001;
inline constexpr double kMostWeight = 1'000'000;
inline constexpr std::size_t kMostShares = 1000;

/// Everything that is wrong with it; empty when it is good.
domain::DefinitionFaults check(const FairnessPolicy& policy);

/// What a start at this price counts, in micro-dollars, tokens, microseconds or starts. Nothing is free: who starts for
/// nothing would never have had his share.
double fair_amount(FairMeasure measure, const PriceList::Price& price);
/// What one has taken that has ended; nullopt: nobody has said.
std::optional<double> fair_amount(FairMeasure measure, const Consumption& used);
/// How many of those are one as people count.
double unit(FairMeasure measure);

}
