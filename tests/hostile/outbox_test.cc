// A subscriber that is down while very much happens.
#include <gtest/gtest.h>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using std::chrono::steady_clock;

TEST(HostileOutbox, WhoIsDownWithAHundredThousandEventsWaitingCostsNobodyAnything) {
    HubFixture hub;
    Peer work([](const Asked&) { return done(); });
    Peer ear([](const Asked&) { return Behaviour{200, "{}"}; });
    hub.register_type("work", work.url());
    int port = 0;
    {
        Peer gone;
        port = gone.port();
    }
    const auto put = [&](const std::string& name, Json definition) {
        definition["backoff_seconds"] = 1;
        definition["backoff_max_seconds"] = 1;
        EXPECT_LE(hub.api("PUT", "/v1/subscribers/" + name, definition).status, 201);
    };
    put("down", {{"url", "http://127.0.0.1:" + std::to_string(port) + "/"}, {"types", {"test.*"}}, {"ordered", true}});
    put("up", {{"url", ear.url("/up")}, {"types", {"execution.completed"}}});
    const auto run = [&](int count) {
        for (int i = 0; i < count; ++i) hub.await_end(hub.enqueue("work"));
    };
    run(20);
    ASSERT_TRUE(ear.wait_for(20));
    const auto before = hub.hub->memory_kib();
    hub.database.run(
        "insert into events (kind, stream_id, seq, organization_id, type, payload) select 'test', "
        "'01a228e4-4832-7093-8e88-d1fc8ec356ec', i, 'default', 'test.flood', json_build_object('text', repeat('x', "
        "500)) "
        "from generate_series(1, 100000) i");
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/subscribers/down")["health"] == "failing"; }, 60));
    const auto begun = steady_clock::now();
    run(50);
    ASSERT_TRUE(ear.wait_for(70)) << "nobody else waits";
    const auto took = seconds_since(begun);
    // Its own: what the other has just been told may not be marked so yet.
    const auto rows =
        std::stol(hub.database.value("select count(*) from outbox_messages m join subscribers s using (subscriber_id) "
                                     "where s.name = 'down' and m.state <> 'published'"));
    const auto grown = static_cast<long>(hub.hub->memory_kib()) - static_cast<long>(before);
    std::printf("50 executions and their events took %.2f s; %ld rows; %ld KiB more memory\n", took, rows, grown);
    EXPECT_LE(rows, 50) << "a batch; the rest waits in the journal";
    EXPECT_LT(grown, 30 * 1024 + static_cast<long>(sanitizer_kib()));
    EXPECT_LT(took, 20 * patience());

    // It comes back elsewhere, and is told in order, from the first on.
    Peer back([](const Asked&) { return Behaviour{200, "{}"}; });
    put("down", {{"url", back.url("/")}, {"types", {"test.*"}}, {"ordered", true}});
    constexpr std::size_t kEnough = 2000;
    ASSERT_TRUE(back.wait_for(1));
    const auto heard = steady_clock::now();
    ASSERT_TRUE(back.wait_for(kEnough, 120));
    std::printf("%.0f events a second, one after the other\n", static_cast<double>(kEnough) / seconds_since(heard));
    const auto told = back.asked();
    for (std::size_t i = 0; i < kEnough; ++i) ASSERT_EQ(told[i].json["data"]["seq"], i + 1);
    EXPECT_LT(static_cast<long>(hub.hub->memory_kib()) - static_cast<long>(before),
              30 * 1024 + static_cast<long>(sanitizer_kib()));
}

}
}
