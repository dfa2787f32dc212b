// The database or the hub's own memory is short, on the running program: less starts at once, then nothing, and it
// recovers.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

/// From the metrics; -1 where it is not there.
int batch(const HubFixture& hub) {
    const auto text = hub.api("GET", "/metrics").body;
    const std::string name = "\nimpresario_batch_limit ";
    const auto at = text.find(name);
    return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + name.size());
}

std::string told(const HubFixture& hub, const std::string& type, const std::string& of) {
    return hub.database.value("select count(*) from events where type = '" + type + "' and payload ->> 'of' = '" + of +
                              "'");
}

TEST(Pressure, AnExhaustedPoolShrinksBatchesThenStopsAndRecovers) {
    Peer peer;
    HubFixture hub(
        "[database]\nconnections = 2\nquery_timeout_ms = 700\n[pressure]\nwait_ms = 50\nlook_ms = 200\n"
        "[hub]\nmax_batch_size = 16\n");
    hub.register_type("mine", peer.url());
    ASSERT_TRUE(eventually([&] { return batch(hub) == 16; }));
    const auto known = hub.enqueue("mine");
    ASSERT_TRUE(peer.wait_for(1));

    // Reads that wait for a lock take both connections, again and again; what the hub itself needs is free.
    std::atomic<bool> over{false};
    std::vector<std::thread> clients;
    std::thread holder([&] {
        hub.database.transact([&](platform::Tx& tx) {
            tx.run("lock table deliveries in access exclusive mode");
            for (int i = 0; i < 4; ++i)
                clients.emplace_back([&] {
                    while (!over) hub.api("GET", "/v1/executions/" + known + "/deliveries");
                });
            // Not idle, or the server ends it.
            while (!over) tx.run("select pg_sleep(0.02)");
        });
    });
    int least = 16;
    EXPECT_TRUE(eventually(
        [&] {
            const int now = batch(hub);
            if (now >= 0) least = std::min(least, now);
            return least < 16 && told(hub, "node.pressed", "database") != "0";
        },
        40))
        << "less starts at once";
    EXPECT_TRUE(eventually(
        [&] {
            return hub.database.value(
                       "select count(*) from events where type = 'node.pressed' and payload ->> 'batch' = "
                       "'0'") != "0";
        },
        60))
        << "then nothing starts";
    const auto waits = hub.database.value("select enqueue_workflow_task('mine', 50, '{}')");
    EXPECT_TRUE(eventually(
        [&] {
            return hub.database.value(
                       "select gate from lane_gates where workflow_type = 'mine' and ended_at is null") == "database";
        },
        40));
    EXPECT_EQ(peer.count(), 1U);

    over = true;
    holder.join();
    for (auto& each : clients) each.join();
    ASSERT_TRUE(peer.wait_for(2, 60));
    EXPECT_EQ(peer.asked()[1].execution_id(), waits);
    EXPECT_TRUE(eventually([&] { return batch(hub) == 16; }, 60));
    EXPECT_TRUE(eventually([&] { return told(hub, "node.eased", "database") != "0"; }, 40));
}

TEST(Pressure, TooMuchMemoryOfItsOwnHalvesBatchesUntilItIsFreed) {
    Peer peer;
    std::size_t usual = 0;
    {
        HubFixture plain;
        usual = plain.hub->memory_kib() / 1024;
    }
    HubFixture hub("[memory]\nhub_mb = " + std::to_string(usual * 2 + 40) + "\n[pressure]\nlook_ms = 200\n");
    hub.register_type("mine", peer.url());
    EXPECT_EQ(batch(hub), 100);
    // Bodies that do not come to an end.
    const std::size_t length = 15 * 1024 * 1024;
    std::atomic<bool> over{false};
    std::vector<std::thread> clients;
    const int count = static_cast<int>((usual * 2 + 80) / 15) + 1;
    for (int i = 0; i < count; ++i)
        clients.emplace_back([&] {
            while (!over)
                raw_exchange(hub.hub->port(),
                             "POST /v1/executions/batch HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer " + hub.key +
                                 "\r\ncontent-length: " + std::to_string(length + 1) + "\r\n\r\n" +
                                 std::string(length, ' '),
                             3);
        });
    EXPECT_TRUE(eventually([&] { return told(hub, "node.pressed", "memory") != "0"; }, 60))
        << hub.hub->memory_kib() / 1024 << " MB";
    EXPECT_TRUE(eventually([&] { return batch(hub) < 100; }, 30));
    hub.enqueue("mine");
    EXPECT_TRUE(peer.wait_for(1, 30)) << "it goes on, by fewer at once";
    over = true;
    for (auto& each : clients) each.join();
    EXPECT_TRUE(eventually([&] { return batch(hub) == 100; }, 60)) << hub.hub->memory_kib() / 1024 << " MB";
    EXPECT_TRUE(eventually([&] { return told(hub, "node.eased", "memory") != "0"; }, 30));
}

}
}
