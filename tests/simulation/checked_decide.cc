// The decision core under watch: decide.cc as it is, but every decision is shown to the auditor.

#include "orchestrator/decide_callback.h"
#include "orchestrator/decide_delivery.h"
#include "orchestrator/draft.h"
#include "simulation/auditor.h"
#include "simulation/world.h"

#define decide decide_unwatched
#include "orchestrator/decide.cc"
#undef decide

namespace impresario::orchestrator {

Decision decide(const domain::Execution& row, const Command& command, const Circumstances& circumstances) {
    Decision decision = decide_unwatched(row, command, circumstances);
    simulation::World::current().auditor().decided(row, command, circumstances, decision);
    return decision;
}

}
