// A database that says nothing, is stopped under load (case S06), or has no room left; a node that is stopped for
// longer than its lease.
#include <gtest/gtest.h>
#include <signal.h>

#include <mutex>
#include <random>
#include <thread>

#include "tests/support/crowd.h"
#include "tests/support/event_reader.h"
#include "tests/support/hub.h"
#include "tests/support/own_cluster.h"
#include "tests/support/sql_proxy.h"

namespace impresario::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Clients that enqueue, one after the other, and remember what they were told.
class Clients {
  public:
    Clients(const HubFixture& hub, int count, double each_per_second) {
        for (int i = 0; i < count; ++i)
            threads_.emplace_back([this, &hub, each_per_second] {
                while (!stopping_) {
                    const auto begun = steady_clock::now();
                    const auto reply = hub.api("POST", "/v1/executions", {{"workflow_type", "work"}});
                    note(reply, seconds_since(begun));
                    std::this_thread::sleep_until(begun + std::chrono::duration<double>(1 / each_per_second));
                }
            });
    }
    ~Clients() { stop(); }
    void stop() {
        stopping_ = true;
        for (auto& thread : threads_) thread.join();
        threads_.clear();
    }

    std::vector<std::string> acknowledged() const {
        const std::lock_guard lock(mutex_);
        return acknowledged_;
    }
    int refused() const { return refused_; }
    int in_doubt() const { return in_doubt_; }
    double slowest() const {
        const std::lock_guard lock(mutex_);
        return slowest_;
    }
    /// Anything but 201 and 503 with Retry-After.
    std::string odd() const {
        const std::lock_guard lock(mutex_);
        return odd_;
    }

  private:
    void note(const Reply& reply, double took) {
        const std::lock_guard lock(mutex_);
        slowest_ = std::max(slowest_, took);
        if (reply.status == 201) {
            acknowledged_.push_back(reply.json()["execution_id"]);
        } else if (reply.status == 503 && reply.headers.contains("retry-after")) {
            ++refused_;
            if (reply.json()["type"] == "/problems/in-doubt") ++in_doubt_;
        } else {
            odd_ += std::to_string(reply.status) + " " + reply.body + "\n";
        }
    }

    mutable std::mutex mutex_;
    std::vector<std::string> acknowledged_;
    double slowest_ = 0;
    std::string odd_;
    std::atomic<int> refused_{0};
    std::atomic<int> in_doubt_{0};
    std::atomic<bool> stopping_{false};
    std::vector<std::thread> threads_;
};

void expect_alive(const HubFixture& hub) {
    const auto begun = steady_clock::now();
    EXPECT_EQ(request(hub.hub->port(), "GET", "/livez").status, 200);
    EXPECT_LT(seconds_since(begun), 1 * patience());
}

bool all_ended(const HubFixture& hub, double seconds) {
    return eventually(
        [&] { return hub.database.value("select count(*) from executions where status not in ('completed')") == "0"; },
        seconds);
}

TEST(HostileDatabase, OneThatSaysNothingIsABadMinute) {
    HubFixture hub;
    SqlProxy proxy(hub.database);
    hub.start(proxy.url());
    const int port = hub.hub->port();
    Peer slow;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    hub.register_type("slow", slow.url());
    const auto running = hub.enqueue("slow");
    ASSERT_TRUE(slow.wait_for(1));
    ASSERT_TRUE(hub.await(running, [](const Json& e) { return e["status"] == "running"; }));
    const auto pid = hub.hub->pid();
    Clients clients(hub, 10, 20);
    ASSERT_TRUE(eventually([&] { return clients.acknowledged().size() > 20; }));
    proxy.hold();
    const auto begun = steady_clock::now();
    while (seconds_since(begun) < rounds(16, 60)) {
        expect_alive(hub);
        const auto asking = steady_clock::now();
        EXPECT_EQ(request(port, "GET", "/readyz").status, 503);
        EXPECT_EQ(Peer::call_back(slow.asked()[0], {{"status", "completed"}}).status, 503);
        EXPECT_EQ(hub.api("POST", "/v1/pause", {{"reason", "x"}}).status, 503);
        EXPECT_LT(seconds_since(asking), 36);
    }
    proxy.let_go();
    ASSERT_TRUE(eventually([&, known = clients.acknowledged().size()] {
        return clients.acknowledged().size() > known + 20;
    })) << "it goes on by itself";
    clients.stop();
    EXPECT_EQ(clients.odd(), "");
    EXPECT_GT(clients.refused(), 10);
    EXPECT_LT(clients.slowest(), 11) << "twelve seconds are promised, and there is a proxy between";
    EXPECT_TRUE(eventually([&] {
        return Peer::call_back(slow.asked()[0], {{"status", "completed"}, {"result_data", 1}}).status == 200;
    }));
    hub.api("POST", "/v1/resume", Json::object());
    EXPECT_EQ(hub.hub->pid(), pid);
    EXPECT_TRUE(all_ended(hub, 30));
    const auto stored = std::stoul(hub.database.value("select count(*) from executions where workflow_type = 'work'"));
    EXPECT_GE(stored, clients.acknowledged().size());
    EXPECT_LE(stored, clients.acknowledged().size() + static_cast<std::size_t>(clients.in_doubt()))
        << "'nothing was changed' was true";
}

TEST(HostileDatabase, ANodeStopsAlthoughItsDatabaseSaysNothing) {
    HubFixture hub;
    SqlProxy proxy(hub.database);
    HubProcess second(hub.database, hub.key_file(), "[hub]\ndrain_seconds = 1\n", 0, true, proxy.url());
    proxy.hold();
    // Its listening session says something every five seconds, and waits for the answer.
    std::this_thread::sleep_for(std::chrono::seconds{6});
    const auto begun = steady_clock::now();
    EXPECT_EQ(second.terminate(), 0);
    EXPECT_LT(seconds_since(begun), 30);
}

TEST(HostileDatabase, S06StoppedUnderLoad) {
    OwnCluster cluster;
    HubFixture hub("", {}, cluster.sockets());
    Peer peer([](const Asked&) { return done(); });
    Peer slow;
    hub.register_type("work", peer.url());
    hub.register_type("slow", slow.url());
    const auto running = hub.enqueue("slow");
    ASSERT_TRUE(hub.await(running, [](const Json& e) { return e["status"] == "running"; }));
    const auto pid = hub.hub->pid();
    // Fifty wait for an end that does not come.
    std::atomic<bool> stopping{false};
    std::vector<std::thread> waiting;
    for (int i = 0; i < 50; ++i)
        waiting.emplace_back([&] {
            while (!stopping) {
                hub.get("/v1/executions/" + running + "?wait=5");
                std::this_thread::sleep_for(milliseconds{100});
            }
        });
    // Two hundred follow what happens: some hear all of it, the others are about what does not.
    std::vector<std::unique_ptr<EventReader>> readers;
    for (int i = 0; i < 5; ++i)
        readers.push_back(std::make_unique<EventReader>(std::vector{hub.hub->port()},
                                                        "/v1/events?topics=executions&last_event_id=all.0", hub.key));
    auto quiet = crowd(hub.hub->port(), 195);
    for (auto& line : quiet) {
        ASSERT_TRUE(
            line.send("GET /v1/events?types=execution.dead HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer " +
                      hub.key + "\r\n\r\n"));
        ASSERT_TRUE(line.wait_status(200, 20));
    }
    Clients clients(hub, 20, 10);
    ASSERT_TRUE(eventually([&] { return clients.acknowledged().size() > 200; }));
    const auto files = hub.hub->open_files();
    const auto memory = hub.hub->memory_kib();
    for (int round = 0; round < rounds(2, 10); ++round) {
        cluster.postgres().stop("immediate");
        const auto begun = steady_clock::now();
        const auto log_before = hub.hub->log().size();
        while (seconds_since(begun) < rounds(4, 20)) {
            expect_alive(hub);
            EXPECT_EQ(request(hub.hub->port(), "GET", "/readyz").status, 503);
            EXPECT_EQ(Peer::call_back(slow.asked()[0], {{"status", "completed"}}).status, 503);
        }
        const auto lines = hub.hub->log().substr(log_before);
        std::size_t warnings = 0;
        for (auto at = lines.find(" warn "); at != std::string::npos; at = lines.find(" warn ", at + 1)) ++warnings;
        for (auto at = lines.find(" error "); at != std::string::npos; at = lines.find(" error ", at + 1)) ++warnings;
        EXPECT_LT(static_cast<double>(warnings), 3 * seconds_since(begun) + 5) << lines;
        cluster.postgres().start();
        const auto back = steady_clock::now();
        const auto known = clients.acknowledged().size();
        ASSERT_TRUE(eventually([&] { return clients.acknowledged().size() > known + 100; }, 10))
            << "full speed within 10 s: " << clients.acknowledged().size() - known << " in " << seconds_since(back);
    }
    EXPECT_EQ(hub.hub->pid(), pid);
    clients.stop();
    stopping = true;
    EXPECT_EQ(Peer::call_back(slow.asked()[0], {{"status", "completed"}}).status, 200);
    for (auto& thread : waiting) thread.join();
    EXPECT_EQ(clients.odd(), "");
    EXPECT_LT(clients.slowest(), 12);
    EXPECT_TRUE(all_ended(hub, 60)) << hub.database.value("select string_agg(distinct status, ',') from executions");
    EXPECT_EQ(hub.database.value("select count(*) from executions where execution_id in ('" +
                                 [&] {
                                     std::string list;
                                     for (const auto& id : clients.acknowledged())
                                         list += (list.empty() ? "" : "','") + id;
                                     return list;
                                 }() +
                                 "')"),
              std::to_string(clients.acknowledged().size()))
        << "nothing acknowledged is lost";
    const auto all = journal_of_executions(hub.database, 0);
    for (const auto& reader : readers) {
        EXPECT_TRUE(reader->await([&](const auto& events) { return counted(events) == all; }, 60))
            << reader->events().size() << " events came, and there are " << all.size();
        EXPECT_EQ(reader->connections(), 1) << "it keeps its place";
    }
    for (auto& line : quiet) EXPECT_FALSE(line.wait_closed(0));
    EXPECT_TRUE(eventually([&] { return hub.hub->open_files() <= files; })) << files << " " << hub.hub->open_files();
    EXPECT_LT(hub.hub->memory_kib(), memory + memory / 20 + 16 * 1024 + sanitizer_kib()) << memory;
}

TEST(HostileDatabase, WithoutRoomNothingIsAcknowledgedThatIsNotStored) {
    if (!OwnCluster::room_can_be_limited()) GTEST_SKIP() << "only root can limit a file system's size, by a mount";
    OwnCluster cluster(200);
    HubFixture hub("", {}, cluster.sockets());
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    hub.await_end(hub.enqueue("work"));
    const auto pid = hub.hub->pid();
    cluster.fill();
    // What does not shrink when it is packed.
    std::mt19937 dice(7);
    const auto large = [&] {
        std::string text;
        for (int i = 0; i < 50000; ++i) text += static_cast<char>('!' + dice() % 90);
        for (auto& c : text)
            if (c == '"' || c == '\\') c = 'x';
        return Json{{"workflow_type", "work"}, {"input", {{"text", text}}}};
    };
    std::vector<std::string> acknowledged;
    int refused = 0;
    for (int i = 0; i < 200 && refused < 10; ++i) {
        const auto reply = hub.api("POST", "/v1/executions", large());
        if (reply.status == 201) {
            acknowledged.push_back(reply.json()["execution_id"]);
        } else {
            ++refused;
            EXPECT_EQ(reply.status, 503) << reply.body;
            EXPECT_TRUE(reply.headers.contains("retry-after"));
        }
        expect_alive(hub);
    }
    EXPECT_EQ(refused, 10) << "the room was not full";
    cluster.empty();
    if (!cluster.postgres().alive()) cluster.postgres().start();
    ASSERT_TRUE(eventually([&] {
        const auto reply = hub.api("POST", "/v1/executions", large());
        if (reply.status == 201) acknowledged.push_back(reply.json()["execution_id"]);
        return reply.status == 201;
    })) << "it goes on by itself";
    for (const auto& id : acknowledged) EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_EQ(hub.hub->pid(), pid);
    EXPECT_EQ(hub.database.value("select count(*) from executions"), std::to_string(acknowledged.size() + 1));
}

TEST(HostileDatabase, ANodeThatStandsStillBeyondItsLeaseHoldsUpNobodyAndComesBack) {
    HubFixture hub("[hub]\nlease_seconds = 3\nheartbeat_ms = 500\n");
    Peer slow;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    hub.register_type("slow", slow.url());
    HubProcess frozen(hub.database, hub.key_file(), hub.config());
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/nodes")["nodes"].size() == 2; }));
    std::vector<std::string> ids;
    for (int i = 0; i < 6; ++i) ids.push_back(hub.enqueue("slow"));
    ASSERT_TRUE(slow.wait_for(ids.size()));
    for (const auto& id : ids) ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["status"] == "running"; }));
    frozen.signal(SIGSTOP);
    // Its own callbacks would be addressed to it: another node takes them as well.
    const auto begun = steady_clock::now();
    for (const auto& asked : slow.asked()) {
        const auto reply = request(hub.hub->port(), "POST", "/v1/callbacks/" + asked.execution_id(),
                                   {{"authorization", "Bearer " + asked.token()}}, R"({"status":"completed"})");
        EXPECT_EQ(reply.status, 200) << reply.body;
    }
    EXPECT_LT(seconds_since(begun), 10 * patience());
    for (const auto& id : ids) EXPECT_EQ(hub.await_end(id)["status"], "completed");
    // Whatever it was given is taken back after its lease.
    std::vector<std::string> given;
    for (int i = 0; i < 20; ++i) given.push_back(hub.enqueue("work"));
    for (const auto& id : given) EXPECT_EQ(hub.await_end(id, 40)["status"], "completed");
    ASSERT_TRUE(eventually([&] { return seconds_since(begun) > 5; }));
    frozen.signal(SIGCONT);
    EXPECT_TRUE(frozen.wait_ready());
    ASSERT_TRUE(eventually([&] {
        const auto created = request(frozen.port(), "POST", "/v1/executions", {{"authorization", "Bearer " + hub.key}},
                                     R"({"workflow_type":"work"})");
        return created.status == 201 && hub.await_end(created.json()["execution_id"])["status"] == "completed";
    })) << "it takes work again";
    EXPECT_TRUE(eventually([&] {
        std::vector<std::string> together;
        for (int i = 0; i < 4; ++i) together.push_back(hub.enqueue("work"));
        for (const auto& id : together) hub.await_end(id);
        return hub.database.value("select count(distinct node) from attempts where execution_id in ('" + together[0] +
                                  "','" + together[1] + "','" + together[2] + "','" + together[3] + "')") == "2";
    })) << "and is given some";
}

}
}
