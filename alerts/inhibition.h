#pragma once
// Alerts that say nothing new while another one fires: where the hub is down, its queue is long.

#include <set>
#include <string>
#include <vector>

#include "alerts/alert.h"
#include "alerts/matcher.h"
#include "domain/definition_fault.h"

namespace impresario::alerts {

struct Inhibition {
    /// While one of these fires …
    Matchers source;
    /// … nobody is told of these …
    Matchers target;
    /// … that have the same values of these labels (where neither has one, that is the same).
    std::vector<std::string> equal;
};

domain::DefinitionFaults faults_of(const Inhibition& inhibition);

/// Those rules over what fires at one moment. What is silenced, or itself inhibited, inhibits all the same. An alert
/// never inhibits itself; and of those that are both source and target of a rule none inhibits another by it, because
/// they would all fall silent together.
class Inhibitor {
  public:
    /// Copies what it needs of the alerts that fire at `now`.
    Inhibitor(const std::vector<Inhibition>& inhibitions, const std::vector<Alert>& alerts, domain::TimePoint now);

    bool inhibits(const Labels& labels) const;

  private:
    struct Sources {
        Inhibition rule;
        /// The values of the equal labels of sources; and of those that are no targets.
        std::set<std::string> all;
        std::set<std::string> one_sided;
    };
    std::vector<Sources> rules_;
};

/// What the hub begins with: what is bad beyond a warning about the same thing; and while nobody schedules, what
/// follows from that.
std::vector<Inhibition> default_inhibitions();

}
