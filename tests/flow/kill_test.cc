// kill -9 of the hub at every point of the path, and a start again: nothing is lost, nothing is settled twice.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

int terminal_events(const HubFixture& hub, const std::string& id) {
    int count = 0;
    for (const auto& type : hub.event_types(id))
        if (type == "execution.completed" || type == "execution.failed" || type == "execution.dead" ||
            type == "execution.cancelled")
            ++count;
    return count;
}

bool numbers_without_gaps(const HubFixture& hub, const std::string& id) {
    return hub.database.value("select count(*) = max(seq) and min(seq) = 1 from events where stream_id = '" + id +
                              "'") == "t";
}

/// One whose request was accepted: its callback is to come.
struct Accepted {
    Accepted() {
        hub.register_type("work", peer.url());
        id = hub.enqueue("work");
        if (!peer.wait_for(1) || !hub.await(id, [](const Json& e) { return e["status"] == "running"; }))
            throw std::runtime_error("its request was not accepted");
        asked = peer.asked()[0];
    }
    HubFixture hub;
    Peer peer;
    std::string id;
    Asked asked;
};

TEST(Kill, AfterTheEnqueueWasCommitted) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    hub.register_type("work", peer.url());
    hub.api("POST", "/v1/pause", {{"reason", "nothing goes yet"}});
    std::vector<std::string> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(hub.enqueue("work", {{"i", i}}));
    hub.hub->kill();
    hub.database.run("delete from pauses");
    hub.start();
    for (const auto& id : ids) {
        EXPECT_EQ(hub.await_end(id)["status"], "completed");
        EXPECT_EQ(terminal_events(hub, id), 1);
        EXPECT_TRUE(numbers_without_gaps(hub, id));
    }
    EXPECT_EQ(peer.count(), 20U);
}

/// Accepts connections in the kernel and never in the program, its backlog full: whoever connects hangs.
class Unreachable {
  public:
    Unreachable() {
        listener_ = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
        bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        listen(listener_, 0);
        socklen_t size = sizeof address;
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
        for (int i = 0; i < 8; ++i) {
            const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
            fillers_.push_back(fd);
        }
    }
    ~Unreachable() {
        for (const int fd : fillers_) close(fd);
        close(listener_);
    }
    int port = 0;

  private:
    int listener_ = -1;
    std::vector<int> fillers_;
};

TEST(Kill, AfterTheClaimBeforeAnythingLeft) {
    HubFixture hub;
    Unreachable hole;
    hub.register_type("work", "http://127.0.0.1:" + std::to_string(hole.port) + "/run",
                      {{"timeout_seconds", 3}, {"retry_policy", quick_retries(2)}});
    const auto id = hub.enqueue("work");
    ASSERT_TRUE(
        hub.await(id, [](const Json& e) { return e["attempt"].is_object() && e["attempt"]["state"] == "sending"; }));
    hub.hub->kill();
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    hub.start();
    hub.register_type("work", peer.url(), {{"timeout_seconds", 3}, {"retry_policy", quick_retries(2)}});
    // Nobody knows that nothing had left: it is waited for until its deadline, then tried anew.
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_EQ(peer.count(), 1U);
    EXPECT_EQ(terminal_events(hub, id), 1);
    EXPECT_TRUE(numbers_without_gaps(hub, id));
}

TEST(Kill, InTheMiddleOfTheRequest) {
    HubFixture hub;
    Peer peer([](const Asked&) {
        Behaviour behaviour;
        behaviour.silent = true;
        return behaviour;
    });
    hub.register_type("work", peer.url());
    const auto id = hub.enqueue("work");
    ASSERT_TRUE(peer.wait_for(1));
    hub.hub->kill();
    hub.start();
    ASSERT_TRUE(hub.await(
        id, [](const Json& e) { return e["attempt"].is_object() && e["attempt"]["state"] == "unknown"; }, 30))
        << "taken over within two leases";
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}, {"result_data", "survived"}}).status, 200);
    EXPECT_EQ(hub.await_end(id)["result_data"], "survived");
    EXPECT_EQ(peer.count(), 1U) << "what may have begun is not sent again";
    EXPECT_EQ(terminal_events(hub, id), 1);
    EXPECT_TRUE(numbers_without_gaps(hub, id));
}

TEST(Kill, BeforeTheCallbackWasCommitted) {
    Accepted execution;
    HubFixture& hub = execution.hub;
    const std::string& id = execution.id;
    const Asked& asked = execution.asked;
    hub.start("", "sql.write_result=kill");
    const std::string body = R"({"status":"completed","result_data":{"x":1},"metrics":{"cost_usd":0.5}})";
    EXPECT_EQ(Peer::call_back_raw(asked, body, asked.token()).status, 0) << "2xx is said only after the commit";
    EXPECT_EQ(hub.hub->wait_exit(), 137);
    hub.start();
    EXPECT_EQ(hub.status(id), "running");
    const auto again = Peer::call_back_raw(asked, body, asked.token());
    EXPECT_EQ(again.status, 200);
    EXPECT_FALSE(again.json().contains("replayed"));
    EXPECT_EQ(hub.execution(id)["metrics"]["cost_usd"], "0.500000");
    EXPECT_EQ(terminal_events(hub, id), 1);
    EXPECT_TRUE(numbers_without_gaps(hub, id));
}

/// A transaction goes to the server together with its commit, so that may come without anybody there to hear of it.
TEST(Kill, WhileTheDatabaseHasTheWholeTransaction) {
    Accepted execution;
    HubFixture& hub = execution.hub;
    const std::string& id = execution.id;
    const Asked& asked = execution.asked;
    const std::string body = R"({"status":"completed","result_data":{"x":1},"metrics":{"cost_usd":0.5}})";
    Reply lost;
    std::thread sender;
    hub.database.transact([&](platform::Tx& tx) {
        // What the callback has brought waits to be written.
        tx.run("lock table execution_results in exclusive mode");
        sender = std::thread([&] { lost = Peer::call_back_raw(asked, body, asked.token()); });
        ASSERT_TRUE(eventually([&] {
            return hub.database.value(
                       "select count(*) from pg_stat_activity where application_name = 'impresario' and "
                       "wait_event_type = 'Lock' and datname = current_database()") != "0";
        }));
        hub.hub->kill();
    });
    sender.join();
    EXPECT_EQ(lost.status, 0) << "2xx is said only after the commit";
    hub.start();
    EXPECT_TRUE(hub.await(id, [](const Json& e) { return e["status"] == "completed"; }));
    const auto again = Peer::call_back_raw(asked, body, asked.token());
    EXPECT_EQ(again.status, 200);
    EXPECT_TRUE(again.json().contains("replayed")) << "what is recorded is recorded once";
    EXPECT_EQ(hub.execution(id)["metrics"]["cost_usd"], "0.500000");
    EXPECT_EQ(terminal_events(hub, id), 1);
    EXPECT_TRUE(numbers_without_gaps(hub, id));
}

TEST(Kill, AfterTheCallbackWasCommitted) {
    HubFixture hub;
    Peer peer;
    hub.register_type("work", peer.url());
    const auto id = hub.enqueue("work");
    ASSERT_TRUE(peer.wait_for(1));
    const auto asked = peer.asked()[0];
    const std::string body = R"({"status":"completed","metrics":{"cost_usd":0.5}})";
    EXPECT_EQ(Peer::call_back_raw(asked, body, asked.token()).status, 200);
    hub.hub->kill();
    hub.start();
    const auto again = Peer::call_back_raw(asked, body, asked.token());
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.json()["replayed"], true);
    EXPECT_EQ(hub.status(id), "completed");
    EXPECT_EQ(hub.execution(id)["metrics"]["cost_usd"], "0.500000") << "settled once";
    EXPECT_EQ(terminal_events(hub, id), 1);
    EXPECT_EQ(peer.count(), 1U);
}

TEST(Kill, S04CountsOnWhateverHappens) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{500, "no", {}, "", false, false, std::chrono::milliseconds{150}}; });
    hub.register_type("refusing", peer.url(), {{"timeout_seconds", 1}, {"retry_policy", quick_retries(2, 0.2)}});
    const auto id = hub.enqueue("refusing");
    int kills = 0;
    int shown = 0;
    for (std::size_t request = 1; kills < 3; ++request) {
        if (!peer.wait_for(request, 15)) break;
        hub.hub->kill();
        ++kills;
        hub.start();
        const int now = hub.execution(id)["retry_count"];
        EXPECT_GE(now, shown) << "the count shown never goes down";
        shown = now;
    }
    const auto end = hub.await_end(id, 60);
    EXPECT_EQ(end["status"], "dead");
    EXPECT_LE(peer.count(), 3U + static_cast<unsigned>(kills));
    EXPECT_TRUE(numbers_without_gaps(hub, id));
}

// S07: a crash on the last attempt must not lock the line.
TEST(Kill, S07AKeyIsFreedWhenItsHolderWasLost) {
    HubFixture hub;
    std::atomic<int> silent_first{1};
    Peer peer([&](const Asked&) {
        Behaviour behaviour{200, R"({"status":"completed","result_data":1})"};
        if (silent_first-- > 0) behaviour.silent = true;
        return behaviour;
    });
    hub.register_type("keyed", peer.url(),
                      {{"concurrency_key", "/k"}, {"retry_policy", "none"}, {"timeout_seconds", 4}});
    std::vector<std::string> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(hub.enqueue("keyed", {{"k", "k"}, {"i", i}}));
    ASSERT_TRUE(peer.wait_for(1));
    hub.hub->kill();
    hub.start();
    const auto first = hub.await_end(ids[0]);
    EXPECT_EQ(first["status"], "dead");
    EXPECT_EQ(first["reason"], "lost");
    EXPECT_EQ(hub.await_end(ids[1])["status"], "completed");
    EXPECT_EQ(hub.await_end(ids[2])["status"], "completed");
}

TEST(Kill, S07AnAcceptedOneEndsByItsDeadlineOrItsCallback) {
    for (const bool calls_back : {false, true}) {
        HubFixture hub;
        Peer peer;
        hub.register_type("keyed", peer.url(),
                          {{"concurrency_key", "/k"},
                           {"concurrency_key_limit", 2},
                           {"retry_policy", "none"},
                           {"timeout_seconds", 4}});
        std::vector<std::string> ids;
        for (int i = 0; i < 4; ++i) ids.push_back(hub.enqueue("keyed", {{"k", "k"}}));
        ASSERT_TRUE(peer.wait_for(2));
        ASSERT_TRUE(hub.await(ids[0], [](const Json& e) { return e["status"] == "running"; }));
        ASSERT_TRUE(hub.await(ids[1], [](const Json& e) { return e["status"] == "running"; }));
        hub.hub->kill();
        hub.start();
        if (calls_back)
            for (int i = 0; i < 2; ++i)
                EXPECT_EQ(Peer::call_back(peer.asked()[static_cast<std::size_t>(i)], {{"status", "completed"}}).status,
                          200);
        const auto first = hub.await_end(ids[0]);
        EXPECT_EQ(first["status"], calls_back ? "completed" : "dead");
        if (!calls_back) EXPECT_EQ(first["reason"], "timeout");
        ASSERT_TRUE(peer.wait_for(4));
        for (std::size_t i = 2; i < 4; ++i)
            EXPECT_EQ(Peer::call_back(peer.asked()[i], {{"status", "completed"}}).status, 200);
        EXPECT_EQ(hub.await_end(ids[3])["status"], "completed");
    }
}

TEST(Kill, S07CancelledWhileTheHubWasDown) {
    HubFixture hub;
    Peer peer;
    hub.register_type("keyed", peer.url(), {{"concurrency_key", "/k"}, {"retry_policy", "none"}});
    const auto first = hub.enqueue("keyed", {{"k", "k"}});
    const auto second = hub.enqueue("keyed", {{"k", "k"}});
    ASSERT_TRUE(peer.wait_for(1));
    hub.hub->kill();
    EXPECT_EQ(hub.database.value("select update_execution_status('" + first + "', 'cancelled')"), "t");
    hub.start();
    ASSERT_TRUE(peer.wait_for(2));
    EXPECT_EQ(peer.asked()[1].execution_id(), second);
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}}).status, 409);
    EXPECT_EQ(Peer::call_back(peer.asked()[1], {{"status", "completed"}}).status, 200);
}

TEST(Kill, AnotherNodeTakesOver) {
    HubFixture hub;
    Peer peer;
    hub.register_type("work", peer.url());
    HubProcess second(hub.database, hub.key_file(), hub.config());
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/nodes")["nodes"].size() == 2; }));
    int schedulers = 0;
    const auto nodes_page = hub.get("/v1/nodes");
    for (const auto& node : nodes_page["nodes"]) schedulers += node["scheduler"] == true ? 1 : 0;
    EXPECT_EQ(schedulers, 1);
    hub.hub->kill();
    // Enqueued through the one that is left; the dead one's lease runs out, or its session is seen to be gone.
    const auto reply = request(second.port(), "POST", "/v1/executions", {{"authorization", "Bearer " + hub.key}},
                               R"({"workflow_type":"work"})");
    ASSERT_EQ(reply.status, 201);
    ASSERT_TRUE(peer.wait_for(1, 10));
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}}).status, 200);
}

TEST(Kill, BothNodesDeliver) {
    HubFixture hub;
    Peer peer([](const Asked&) {
        return Behaviour{
            200, R"({"status":"completed","result_data":1})", {}, "", false, false, std::chrono::milliseconds{20}};
    });
    hub.register_type("work", peer.url());
    HubProcess second(hub.database, hub.key_file(), hub.config());
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/nodes")["nodes"].size() == 2; }));
    std::this_thread::sleep_for(std::chrono::milliseconds{1200});  // the scheduler reads who is alive once a second
    Json batch = Json::array();
    for (int i = 0; i < 200; ++i) batch.push_back({{"workflow_type", "work"}});
    ASSERT_EQ(request(second.port(), "POST", "/v1/executions/batch", {{"authorization", "Bearer " + hub.key}},
                      Json{{"executions", batch}}.dump())
                  .status,
              201);
    ASSERT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from executions where status = 'completed'") == "200"; }, 40));
    EXPECT_EQ(peer.count(), 200U) << "nothing runs twice";
    EXPECT_EQ(hub.database.value("select count(distinct node) from attempts"), "2");
}

TEST(Kill, WhoWaitsForAnEndIsAnsweredBeforeTheHubStops) {
    HubFixture hub;
    Peer peer;
    hub.register_type("work", peer.url());
    const auto id = hub.enqueue("work");
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["status"] == "running"; }));
    Reply reply;
    std::thread client([&] { reply = hub.api("GET", "/v1/executions/" + id + "?wait=60"); });
    ASSERT_TRUE(eventually([&] {
        const auto metrics = request(hub.hub->port(), "GET", "/metrics").body;
        return metrics.find("impresario_http_waiting 1") != std::string::npos;
    }));
    EXPECT_EQ(hub.hub->terminate(), 0);
    client.join();
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.json().value("status", ""), "running");
}

TEST(Kill, SigtermDrains) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{202, "{}", {}, "", false, false, std::chrono::milliseconds{700}}; });
    hub.register_type("work", peer.url());
    const auto id = hub.enqueue("work");
    ASSERT_TRUE(peer.wait_for(1));
    hub.hub->signal(SIGTERM);
    ASSERT_TRUE(eventually([&] { return request(hub.hub->port(), "GET", "/readyz").status == 503; }, 2));
    EXPECT_EQ(request(hub.hub->port(), "GET", "/livez").status, 200);
    EXPECT_EQ(hub.hub->wait_exit(), 0);
    EXPECT_EQ(
        hub.database.value("select status || ' ' || attempt_state from executions where execution_id = '" + id + "'"),
        "running accepted")
        << "the request under way was waited for";
    EXPECT_EQ(hub.database.value("select lease_until < now() from scheduler"), "t");
    EXPECT_EQ(hub.database.value("select count(*) from nodes"), "0");
}

}
}
