#include "domain/retry.h"

#include <algorithm>
#include <cmath>

namespace impresario::domain {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::optional<RetryPolicy> named_retry_policy(std::string_view name) {
    if (name == "master") return RetryPolicy{"master", 3, {}, minutes{1}, 2.0, hours{24}, 0.1, 0.4};
    if (name == "engine") return RetryPolicy{"engine", 4, {}, seconds{5}, 2.0, hours{1}, 0.1, 0.4};
    if (name == "playbook")
        return RetryPolicy{"playbook", 2,  {seconds{5}, seconds{30}, seconds{120}}, seconds{60}, 1.0, hours{24},
                           0.1,        0.4};
    if (name == "none") return RetryPolicy{"none", 0, {}, Duration{0}, 2.0, hours{24}, 0.1, 0.4};
    return std::nullopt;
}

Duration retry_wait(const RetryPolicy& policy, int failures, double unit) {
    const auto nth = static_cast<std::size_t>(std::max(failures, 1) - 1);
    double wait = 0;
    if (nth < policy.steps.size()) {
        wait = static_cast<double>(policy.steps[nth].count());
    } else if (!policy.steps.empty()) {
        wait = static_cast<double>(policy.base.count());
    } else {
        wait = static_cast<double>(policy.base.count()) * std::pow(policy.factor, static_cast<double>(nth));
    }
    wait = std::clamp(wait, 0.0, static_cast<double>(policy.cap.count()));
    wait *= 1.0 + policy.jitter_low + (policy.jitter_high - policy.jitter_low) * std::clamp(unit, 0.0, 1.0);
    return Duration{static_cast<std::int64_t>(wait)};
}

}
