#include "subworkflows/seo_monitor/score.h"

#include <algorithm>
#include <array>

namespace impresario::subworkflows::seo_monitor {

namespace {

struct Weight {
    int error;
    int warning;
    int notice;
    int most;
};

/// What keeps a page out of an index weighs most; what only makes it nicer, least.
constexpr Weight weight(Check check) {
    switch (check) {
        case Check::status:
            return {100, 20, 0, 100};
        case Check::redirects:
            return {100, 5, 1, 100};
        case Check::robots:
            return {40, 10, 0, 60};
        case Check::title:
            return {15, 6, 1, 20};
        case Check::description:
            return {10, 6, 1, 12};
        case Check::canonical:
            return {15, 6, 1, 20};
        case Check::headings:
            return {10, 4, 1, 15};
        case Check::images:
            return {8, 5, 1, 8};
        case Check::links:
            return {15, 5, 1, 15};
        case Check::structured_data:
            return {8, 4, 1, 12};
        case Check::lang:
            return {5, 4, 1, 5};
        case Check::viewport:
            return {6, 4, 1, 6};
        case Check::charset:
            return {6, 4, 1, 6};
        case Check::size:
            return {10, 5, 1, 10};
        case Check::speed:
            return {10, 5, 1, 10};
        case Check::compression:
            return {4, 3, 2, 4};
    }
    return {0, 0, 0, 0};
}

}

int points(Check check, Severity severity) {
    const auto costs = weight(check);
    switch (severity) {
        case Severity::error:
            return costs.error;
        case Severity::warning:
            return costs.warning;
        case Severity::notice:
            return costs.notice;
    }
    return 0;
}

int most_points(Check check) { return weight(check).most; }

Score score(const Findings& findings) {
    std::array<Deduction, kChecks> sums{};
    for (const auto& finding : findings) {
        auto& sum = sums[static_cast<std::size_t>(finding.check)];
        sum.points += points(finding.check, finding.severity);
        ++sum.findings;
    }
    Score score;
    for (int i = 0; i < kChecks; ++i) {
        auto& sum = sums[static_cast<std::size_t>(i)];
        sum.check = static_cast<Check>(i);
        sum.points = std::min(sum.points, most_points(sum.check));
        if (sum.points == 0) continue;
        score.value -= sum.points;
        score.deductions.push_back(sum);
    }
    score.value = std::max(score.value, 0);
    return score;
}

}
