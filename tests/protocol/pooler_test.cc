// R4: sessions are bounded, and what a transaction needs it sets itself, so that pooled sessions behave.
#include <gtest/gtest.h>

#include "tests/protocol/nodes.h"
#include "tests/support/pgbouncer.h"

namespace impresario::testing {
namespace {

using testing::Peer;

/// The transactions through the pooler, the listening session past it.
std::string pooled(const TestDatabase& database) {
    return "[database]\npooled = true\nlisten_url = \"" + database.url().reveal() + "\"\n";
}

TEST(R04, BehindAPoolerTheWholeLifeWorks) {
    HubFixture hub;
    PgBouncer pooler(hub.database);
    const int port = hub.hub->port();
    hub.hub.reset();
    hub.hub =
        std::make_unique<HubProcess>(hub.database, hub.key_file(), pooled(hub.database), port, true, pooler.url());
    HubProcess second(hub.database, hub.key_file(), pooled(hub.database), 0, true, pooler.url());
    Peer peer([](const Asked&) { return Behaviour{202, "{}", {}, "", false, false, std::chrono::milliseconds{20}}; });
    hub.register_type("work", peer.url());
    std::size_t answered = 0;
    ASSERT_TRUE(eventually(
        [&] {
            for (int i = 0; i < 6; ++i) hub.enqueue("work");
            if (!peer.wait_for(answered + 6)) return true;
            for (const auto all = peer.asked(); answered < all.size(); ++answered) {
                EXPECT_EQ(call_back(second, all[answered], {{"status", "running"}, {"progress", {{"done", 1}}}}).status,
                          200);
                EXPECT_EQ(call_back(*hub.hub, all[answered], {{"status", "completed"}}).status, 200);
            }
            return hub.database.value("select count(distinct node) from attempts") == "2";
        },
        40))
        << "both deliver: grants of the other are heard of";
    EXPECT_EQ(hub.database.value("select count(*) from executions where status <> 'completed'"), "0");
    EXPECT_EQ(std::to_string(peer.count()), hub.database.value("select count(*) from executions"));
    // From SQL, through the pooler as well as past it.
    const auto id = hub.database.value("select enqueue_workflow_task('work', 70, '{}')");
    ASSERT_TRUE(peer.wait_for(answered + 1));
    EXPECT_EQ(call_back(second, peer.asked().back(), {{"status", "completed"}}).status, 200);
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_LE(std::stoi(hub.database.value("select count(*) from pg_stat_activity where datname = current_database() "
                                           "and application_name = 'impresario'")),
              4)
        << "their transactions share the pooler's sessions";
    EXPECT_EQ(second.terminate(), 0);
    EXPECT_EQ(hub.hub->terminate(), 0);
    EXPECT_EQ(second.log().find("error"), std::string::npos) << second.log();
}

TEST(R04, NothingIsLeftBehindInAPooledSession) {
    HubFixture hub;
    PgBouncer pooler(hub.database, 2);
    const int port = hub.hub->port();
    hub.hub.reset();
    hub.hub =
        std::make_unique<HubProcess>(hub.database, hub.key_file(), pooled(hub.database), port, true, pooler.url());
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed");
    platform::DatabaseSettings settings;
    settings.url = domain::Secret(pooler.url());
    settings.pooled = true;
    platform::Connection one(settings, nullptr);
    platform::Connection other(settings, nullptr);
    const auto left = [](platform::Tx& tx) {
        // What this transaction has set itself is taken back first.
        tx.run("rollback; begin");
        const auto rows = tx.run(
            "select current_setting('statement_timeout') || ' ' || current_setting('lock_timeout') || ' ' || "
            "current_setting('idle_in_transaction_session_timeout') || ' ' || "
            "(select count(*) from pg_prepared_statements)");
        return std::string(rows.text(0, 0));
    };
    // One after the other, while the other is taken: both sessions.
    one.transact([&](platform::Tx& tx) {
        EXPECT_EQ(left(tx), "0 0 0 0");
        other.transact([&](platform::Tx& second) { EXPECT_EQ(left(second), "0 0 0 0"); });
    });
}

TEST(R04, AWrongWayToTheDatabaseIsSaidAndEndsTheHub) {
    TestDatabase database;
    TestDatabase elsewhere;
    PgBouncer pooler(database);
    struct Case {
        std::string what;
        std::vector<std::pair<std::string, std::string>> environment;
        std::string says;
    };
    const std::string direct = database.url().reveal();
    const std::vector<Case> cases{
        {"through the pooler, and not told so",
         {{"IMPRESARIO_DATABASE_URL", pooler.url()}},
         "set database.pooled = true"},
        {"told so, but nowhere to listen",
         {{"IMPRESARIO_DATABASE_URL", pooler.url()}, {"IMPRESARIO_DATABASE_POOLED", "true"}},
         "database.listen_url: is needed with database.pooled"},
        {"listening through the pooler too",
         {{"IMPRESARIO_DATABASE_URL", pooler.url()},
          {"IMPRESARIO_DATABASE_POOLED", "true"},
          {"IMPRESARIO_LISTEN_DATABASE_URL", pooler.url()}},
         "LISTEN is lost there"},
        {"only listening through it",
         {{"IMPRESARIO_DATABASE_URL", direct}, {"IMPRESARIO_LISTEN_DATABASE_URL", pooler.url()}},
         "LISTEN is lost there"},
        {"listening to another database",
         {{"IMPRESARIO_DATABASE_URL", direct}, {"IMPRESARIO_LISTEN_DATABASE_URL", elsewhere.url().reveal()}},
         "leads to another database"}};
    for (const auto& each : cases) {
        platform::ProcessSettings settings;
        settings.command = {program(), "serve"};
        settings.environment = each.environment;
        settings.environment.emplace_back("IMPRESARIO_HUB_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=");
        settings.environment.emplace_back("IMPRESARIO_HTTP_PORT", std::to_string(free_port()));
        const auto finished = platform::run_command(std::move(settings));
        EXPECT_EQ(finished.status, 2) << each.what << ": " << finished.output;
        EXPECT_NE(finished.output.find(each.says), std::string::npos) << each.what << ": " << finished.output;
    }
    EXPECT_EQ(database.value("select count(*) from nodes"), "0") << "none of them was there for the others";
}

}
}
