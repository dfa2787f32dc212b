#include "orchestrator/metrics/scheduler.h"

#include "orchestrator/board.h"
#include "orchestrator/state_machine.h"

namespace impresario::orchestrator::metrics {

void Scheduler::show(const Board* board, const StateMachine* machine, domain::TimePoint now) {
    constexpr double kMegabyte = 1 << 20;
    show_states(machine, now);
    if (board) {
        memory.set({"reserved"}, static_cast<double>(board->memory_reserved_mb()) * kMegabyte);
        memory.set({"limit"}, static_cast<double>(board->memory_total_mb()) * kMegabyte);
    }
    memory.drop_unset();
}

void Scheduler::show_states(const StateMachine* machine, domain::TimePoint now) {
    for (int i = 0; i < kHubStates; ++i) {
        const auto each = static_cast<HubState>(i);
        state.set({name(each)}, machine && machine->state() == each ? 1 : 0);
        const double spent = machine ? domain::in_seconds(machine->time_in(now)[static_cast<std::size_t>(i)]) : 0;
        double& told = told_[name(each)];
        state_seconds.add({name(each)}, spent >= told ? spent - told : spent);
        told = spent;
    }
}

}
