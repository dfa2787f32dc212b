#include "orchestrator/metrics/node.h"

#include "platform/own_process.h"

namespace impresario::orchestrator::metrics {

void Node::show_process() {
    const auto own = platform::own_process();
    if (own.cpu_seconds > cpu_told_) cpu.add({}, own.cpu_seconds - cpu_told_);
    cpu_told_ = own.cpu_seconds;
    resident.set({}, static_cast<double>(own.resident_bytes));
    open_files.set({}, static_cast<double>(own.open_files));
    most_files.set({}, static_cast<double>(own.most_files));
    started.set({}, own.started);
}

}
