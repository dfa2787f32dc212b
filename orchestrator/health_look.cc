#include "orchestrator/health_look.h"

#include "orchestrator/health_store.h"
#include "orchestrator/scheduler_store.h"
#include "platform/log.h"

namespace impresario::orchestrator {

using platform::Task;
using platform::Tx;
using std::chrono::steady_clock;

Task<HealthLook> look_at_health(Node& node, std::string organization_id, std::chrono::seconds quiet,
                                HealthMarks marks) {
    HealthLook look;
    // What a database says of itself may name its users and addresses: it is for the log.
    std::string trouble;
    bool answers = true;
    try {
        // Through the pool that everything goes through: its wait is a turn's wait.
        const auto began = steady_clock::now();
        auto asking = node.database().read([](Tx& tx) { return SchedulerStore().database_health(tx); });
        auto database = co_await std::move(asking);
        database.wait = std::chrono::duration_cast<domain::Duration>(steady_clock::now() - began);
        auto viewing =
            node.database().read([organization_id](Tx& tx) { return HealthStore().view(tx, organization_id); });
        look.view = co_await std::move(viewing);
        look.view.database = database;
        auto finding = node.database().read(
            [organization_id, quiet](Tx& tx) { return HealthStore().stalled(tx, organization_id, quiet); });
        look.view.stalled = co_await std::move(finding);
        look.health = check_health(look.view, marks);
        co_return look;
    } catch (const platform::StatementRefused& refused) {
        trouble = refused.what();
    } catch (const std::exception& e) {
        trouble = e.what();
        answers = false;
    }
    platform::log::debug("health could not be looked at", {{"error", trouble}});
    // The view has its time: where it is there, only what has stalled is not.
    if (answers && look.view.at != domain::TimePoint{}) {
        look.health = check_health(look.view, marks);
        not_known(look.health, "stalled_executions", "the database does not say in time");
    } else {
        look.view = {};
        look.health = health_without_database(answers ? "it does not answer in time" : "it does not answer");
    }
    co_return look;
}

}
