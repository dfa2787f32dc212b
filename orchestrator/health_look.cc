#include "orchestrator/health_look.h"

#include "orchestrator/health_store.h"
#include "orchestrator/scheduler_store.h"

namespace impresario::orchestrator {

using platform::Task;
using platform::Tx;
using std::chrono::steady_clock;

Task<HealthLook> look_at_health(Node& node, std::string organization_id, std::chrono::seconds quiet,
                                HealthMarks marks) {
    HealthLook look;
    try {
        // Through the pool that everything goes through: its wait is a turn's wait.
        const auto began = steady_clock::now();
        auto asking = node.database().read([](Tx& tx) { return SchedulerStore().database_health(tx); });
        auto database = co_await std::move(asking);
        database.wait = std::chrono::duration_cast<domain::Duration>(steady_clock::now() - began);
        auto viewing = node.database().read(
            [organization_id, quiet](Tx& tx) { return HealthStore().view(tx, organization_id, quiet); });
        look.view = co_await std::move(viewing);
        look.view.database = database;
        look.health = check_health(look.view, marks);
    } catch (const std::exception& e) {
        look.view = {};
        look.health = health_without_database(e.what());
    }
    co_return look;
}

}
