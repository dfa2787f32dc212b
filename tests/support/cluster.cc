// Starts and stops the cluster that a test run shares.
#include <cstdio>
#include <string>

#include "migrations/migrations.h"
#include "platform/local_postgres.h"

int main(int argc, char** argv) {
    using namespace impresario;
    const std::string what = argc > 1 ? argv[1] : "";
    try {
        if (what == "stop") {
            {
                platform::LocalPostgres cluster({IMPRESARIO_TEST_CLUSTER, {}});
                cluster.stop("immediate");
            }
            platform::LocalPostgres::remove(IMPRESARIO_TEST_CLUSTER);
            return 0;
        }
        platform::LocalPostgres cluster({IMPRESARIO_TEST_CLUSTER, {"max_connections = 200", "fsync = on"}});
        cluster.create_database("impresario_template");
        platform::DatabaseSettings settings;
        settings.url = cluster.url("impresario_template");
        const auto migrator = migrations::all();
        {
            platform::Connection connection(settings, nullptr);
            // From the start, so that a changed migration is never tested against an old template.
            migrator.migrate(connection, 0, [](std::string_view, const platform::Migration&) {});
            migrator.migrate(connection, migrator.latest(), [](std::string_view, const platform::Migration&) {});
        }
        std::printf("cluster at %s\n", cluster.home().c_str());
        cluster.detach();
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
