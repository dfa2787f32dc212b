#pragma once
// Alerts that say nothing new while another one fires: where the hub is down, its queue is long.

#include <set>
#include <string>
#include <utility>
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

/// Those rules over what fires at one moment. An alert of an organization inhibits only that organization's: nobody
/// silences others by what he tells.  What is silenced, or itself inhibited, inhibits all the same. An alert
/// never inhibits itself; and of those that are both source and target of a rule none inhibits another by it, because
/// they would all fall silent together.
class Inhibitor {
  public:
    /// Copies what it needs of the alerts that fire at `now`.
    Inhibitor(const std::vector<Inhibition>& inhibitions, const std::vector<Alert>& alerts, domain::TimePoint now);

    bool inhibits(const Labels& labels) const;

  private:
    /// Whose it is, and the values of the equal labels.
    using Place = std::pair<std::string, std::string>;
    struct Sources {
        Inhibition rule;
        /// The values of the equal labels of sources; and of those that are no targets.
        std::set<Place> all;
        std::set<Place> one_sided;
    };
    std::vector<Sources> rules_;
};

/// What the hub begins with: what is bad beyond a warning about the same thing; and while nobody schedules, what
/// follows from that.
std::vector<Inhibition> default_inhibitions();

}
