// The plan under watch: plan.cc as it is, but every plan is shown to the auditor with what it was made from.

#include "orchestrator/plan.h"
#include "simulation/auditor.h"
#include "simulation/world.h"

#define plan plan_unwatched
#include "orchestrator/plan.cc"
#undef plan

namespace impresario::orchestrator {

Plan plan(PlanInput input, domain::TimePoint now) {
    Plan made = plan_unwatched(input, now);
    simulation::World::current().auditor().planned(input, now, made);
    return made;
}

}
