// R23: a schema that goes on while hubs of several versions run.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "migrations/migrations.h"
#include "orchestrator/scheduler_store.h"
#include "tests/protocol/nodes.h"
#include "tests/support/prompt.h"

namespace impresario::testing {
namespace {

using platform::Migration;
using platform::Migrator;

/// The program's migrations and one more, as the next release would bring it.
Migrator next_release(const std::string& up, const std::string& down, int min_hub = 1) {
    auto list = migrations::all().migrations();
    list.push_back({static_cast<int>(list.size()) + 1, "next", up, down, min_hub});
    return Migrator(std::move(list));
}

void migrate(const TestDatabase& database, const Migrator& migrator, int target,
             const std::function<void(const std::string&)>& held_up = {}) {
    platform::DatabaseSettings settings;
    settings.url = database.url();
    platform::Connection connection(settings, nullptr);
    migrator.migrate(
        connection, target, [](std::string_view, const Migration&) {}, held_up);
}

platform::Finished impresario(const TestDatabase& database, std::vector<std::string> arguments) {
    platform::ProcessSettings settings;
    settings.command = {program()};
    settings.command.insert(settings.command.end(), arguments.begin(), arguments.end());
    settings.environment = {{"IMPRESARIO_DATABASE_URL", database.url().reveal()},
                            {"IMPRESARIO_HUB_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="},
                            {"IMPRESARIO_HTTP_PORT", std::to_string(free_port())}};
    return platform::run_command(std::move(settings));
}

/// The row of a hub of another version, as if it had just been heard of.
void another_hub(const TestDatabase& database, const std::string& name, int version) {
    database.run("insert into nodes (node, name, hub_version, state, lease_until) values (gen_random_uuid(), '" + name +
                 "', " + std::to_string(version) + ", 'delivering', clock_timestamp() + interval '5 minutes')");
}

const Migrator kExpand = next_release(
    "-- A column and a status for the next release.\n"
    "alter table executions add column shade text not null default 'none';\n"
    "alter table executions drop constraint executions_status_check;\n"
    "alter table executions add constraint executions_status_check check (status in ('queued', 'analyzing', "
    "'dispatching', 'running', 'retrying', 'completed', 'failed', 'cancelled', 'dead', 'simmering'));\n"
    "alter table executions drop constraint executions_check1;\n"
    "alter table executions add constraint executions_check1 check (not ready or status in ('queued', 'retrying', "
    "'simmering'))",
    "alter table executions drop column shade");

TEST(R23, NodesFromBeforeAndAfterAnExpandStepWorkTogether) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    ASSERT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed");
    migrate(hub.database, kExpand, kExpand.latest());
    // It started before the step; this one finds a schema that is newer than it.
    HubProcess second(hub.database, hub.key_file(), hub.config());
    EXPECT_TRUE(nodes_work(hub, second, "work", 2));
    EXPECT_EQ(std::to_string(peer.count()), hub.database.value("select count(*) from executions"));
    EXPECT_EQ(impresario(hub.database, {"migrate", "up"}).status, 0) << "nothing for the older program to do";
    const auto down = impresario(hub.database, {"migrate", "down"});
    EXPECT_EQ(down.status, 4) << "what it does not know it cannot undo: " << down.output;
    EXPECT_NE(down.output.find("only a newer one can undo that"), std::string::npos) << down.output;
}

TEST(R23, AStatusThatOnlyANewerHubKnowsIsLeftAlone) {
    HubFixture hub;
    migrate(hub.database, kExpand, kExpand.latest());
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    hub.api("POST", "/v1/pause", {{"reason", "until it has its status"}});
    const auto id = hub.enqueue("work", {{"n", 1}}, {{"priority", 90}});
    hub.database.run("update executions set status = 'simmering', last_seq = last_seq + 1 where execution_id = '" + id +
                     "'");
    hub.api("POST", "/v1/resume", Json::object());
    // A scheduler that has it from before, and one that reads the tables anew.
    for (const bool anew : {false, true}) {
        if (anew) {
            hub.hub->kill();
            hub.start();
        }
        EXPECT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed");
        EXPECT_EQ(hub.status(id), "simmering");
    }
    EXPECT_EQ(hub.api("POST", "/v1/executions/" + id + "/cancel", Json::object()).status, 503);
    EXPECT_EQ(peer.count(), 2U) << "not the one that it does not understand";
    // The newer hub has done with it.
    hub.database.run(
        "update executions set status = 'queued', ready = true, ready_at = now(), last_seq = last_seq + 1 "
        "where execution_id = '" +
        id + "'");
    hub.database.run(
        "select append_execution_event(execution_id, last_seq, organization_id, 'execution.due', '{}') "
        "from executions where execution_id = '" +
        id + "'");
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
}

TEST(R23, AContractStepIsRefusedWhileOlderHubsLive) {
    HubFixture hub;
    const int newer = orchestrator::kHubVersion + 1;
    const auto contract = next_release("alter table executions drop column progress", "select 1", newer);
    const int before = contract.latest() - 1;
    try {
        migrate(hub.database, contract, contract.latest());
        ADD_FAILURE() << "it was applied under the feet of a hub that needs what it removes";
    } catch (const platform::OlderHubs& refused) {
        EXPECT_NE(std::string(refused.what())
                      .find(":" + std::to_string(hub.hub->pid()) + " (version " + std::to_string(newer - 1) + ")"),
                  std::string::npos)
            << "it says which: " << refused.what();
    }
    EXPECT_EQ(hub.database.value("select version || ' ' || min_hub from schema_version"),
              std::to_string(before) + " " + std::to_string(newer - 1));
    EXPECT_EQ(request(hub.hub->port(), "GET", "/readyz").status, 200) << "and nothing has happened to it";
    EXPECT_EQ(hub.hub->terminate(), 0);
    another_hub(hub.database, "newer", newer);
    migrate(hub.database, contract, contract.latest());
    EXPECT_EQ(hub.database.value("select version || ' ' || min_hub from schema_version"),
              std::to_string(before + 1) + " " + std::to_string(newer));
    // Who comes now and is too old does not start.
    const auto late = impresario(hub.database, {"serve"});
    EXPECT_EQ(late.status, 6) << late.output;
    EXPECT_NE(late.output.find("upgrade this node: version " + std::to_string(newer) + " is needed"), std::string::npos)
        << "what to do is said: " << late.output;
}

TEST(R23, TheProgramNamesTheHubsThatAreInTheWay) {
    TestDatabase database;
    // The last step stands for a contract step: to a schema that admits hubs of version 0 it is one.
    ASSERT_EQ(impresario(database, {"migrate", "down"}).status, 0);
    database.run("update schema_version set min_hub = 0");
    another_hub(database, "ancient", 0);
    const auto refused = impresario(database, {"migrate", "up"});
    EXPECT_EQ(refused.status, 4) << refused.output;
    EXPECT_NE(refused.output.find("ancient (version 0)"), std::string::npos) << refused.output;
    EXPECT_NE(refused.output.find("stop or upgrade them"), std::string::npos) << refused.output;
    database.run("delete from nodes");
    EXPECT_EQ(impresario(database, {"migrate", "up"}).status, 0);
}

TEST(R23, WhatIsBookedAndChargedIsReadFromItsRowsAsTheyWereBeforeAndAre) {
    Peer peer([](const Asked&) { return done(); });
    HubFixture hub;
    for (const auto* budget : {"day", "month"})
        ASSERT_EQ(hub.api("PUT", std::string("/v1/budgets/") + budget,
                          {{"limit_usd", 100}, {"window", budget}, {"reason", "a test"}})
                      .status,
                  201);
    Json estimates = Json::array();
    for (const auto* provider : {"gemini", "openai"})
        estimates.push_back({{"provider", provider}, {"calls", 2}, {"tokens", 30}, {"cost_usd", "0.25"}});
    hub.register_type("paid", peer.url(), {{"call_estimates", estimates}});
    for (int i = 0; i < 3; ++i) hub.await_end(hub.enqueue("paid"));
    EXPECT_EQ(hub.database.value("select count(*) from ledger_movements"), "6") << "one for both budgets";
    EXPECT_EQ(hub.database.value("select count(*) from permits"), "3") << "one for both providers";
    EXPECT_EQ(hub.hub->terminate(), 0);
    const auto read = [&] {
        return hub.database.value(
                   "select string_agg(concat_ws(' ', attempt_id, movement, ordinal, budget_id, execution_id, "
                   "window_start, "
                   "window_end, available, reserved, suspense, settled, estimated, at), '; ' order by entry_id, "
                   "budget_id) "
                   "from ledger_entries") +
               "\n" +
               hub.database.value(
                   "select string_agg(concat_ws(' ', attempt_id, fence, provider, execution_id, organization_id, "
                   "workflow_type, delivery, calls, tokens, items, cost_microusd, granted_at, lease_until), '; ' order "
                   "by "
                   "attempt_id, fence, provider) from provider_permits");
    };
    const auto before = read();
    EXPECT_EQ(std::count(before.begin(), before.end(), ';'), 16) << before;
    migrate(hub.database, migrations::all(), 23);
    EXPECT_EQ(hub.database.value("select relkind from pg_class where relname = 'ledger_entries'"), "r");
    EXPECT_EQ(read(), before);
    migrate(hub.database, migrations::all(), migrations::all().latest());
    EXPECT_EQ(read(), before);
    hub.start();
    hub.await_end(hub.enqueue("paid"));
    const auto checked = hub.api("POST", "/v1/fsck", Json::object());
    EXPECT_EQ(checked.json()["found"], 0) << checked.body;
    EXPECT_EQ(hub.database.value("select sum(settled) from budget_balances"), "4000000");
}

TEST(R23, AHubThatTheSchemaNoLongerAdmitsFinishesWhatItHasAndEndsWith6) {
    HubFixture hub("[hub]\nlease_seconds = 6\nheartbeat_ms = 500\n");
    std::atomic<bool> answer{false};
    Peer peer([&](const Asked&) {
        eventually([&] { return answer.load(); });
        return done();
    });
    hub.register_type("work", peer.url());
    const auto id = hub.enqueue("work");
    ASSERT_TRUE(peer.wait_for(1));
    hub.database.run("update schema_version set min_hub = " + std::to_string(orchestrator::kHubVersion + 1));
    ASSERT_TRUE(eventually([&] { return request(hub.hub->port(), "GET", "/readyz").status == 503; }));
    answer = true;
    EXPECT_EQ(hub.hub->wait_exit(), 6) << hub.hub->log();
    EXPECT_EQ(hub.database.value("select status from executions where execution_id = '" + id + "'"), "completed");
}

TEST(R23, AMigrationWaitsForATableInUseWithoutHoldingUpTheHubs) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    Prompt report(hub.database);
    report.run("begin");
    report.run("select count(*) from executions");
    std::atomic<int> told{0};
    std::string who;
    std::thread migrating([&] {
        migrate(hub.database, kExpand, kExpand.latest(), [&](const std::string& in_the_way) {
            if (told == 0) who = in_the_way;
            ++told;
        });
    });
    for (int round = 0; round < 2; ++round) {
        const int seen = told;
        ASSERT_TRUE(eventually([&] { return told > seen; }));
        EXPECT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed") << "between two tries";
    }
    EXPECT_NE(who.find("(prompt)"), std::string::npos) << who;
    report.run("commit");
    migrating.join();
    EXPECT_EQ(hub.database.value("select version from schema_version"), std::to_string(kExpand.latest()));
    EXPECT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed");
}

}
}
