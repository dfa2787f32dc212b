// Connections that mean harm, or only stay: thousands that ask nothing, heads and bodies that trickle, answers that
// nobody reads, and no descriptors left (case S11). Whoever works is served meanwhile.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/crowd.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using std::chrono::steady_clock;

const std::string kGet = "GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";

std::string post(const std::string& path, const std::string& token, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + token +
           "\r\ncontent-type: application/json\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string callback_path(const Asked& asked) {
    const auto url = asked.callback_url();
    return url.substr(url.find('/', url.find("//") + 2));
}

TEST(HostileConnections, ThousandsThatAskNothingKeepNobodyOut) {
    const int count = raise_connections(10000);
    HubFixture hub("[http]\nconnections = " + std::to_string(count) + "\n");
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    const auto before = hub.hub->memory_kib();
    auto lines = crowd(hub.hub->port(), count);
    EXPECT_TRUE(eventually([&] { return hub.hub->open_files() >= static_cast<std::size_t>(count); }));
    std::cerr << "memory of " << count << " connections: " << (hub.hub->memory_kib() - before) / 1024 << " MiB\n";
    EXPECT_LT(hub.hub->memory_kib() - before, static_cast<std::size_t>(count) * 32 + sanitizer_kib());
    // One after the other they make room, as long as there is anybody who asks.
    ASSERT_TRUE(eventually([&] { return request(hub.hub->port(), "GET", "/livez").status == 200; }, 5));
    for (int i = 0; i < 20; ++i) {
        const auto begun = steady_clock::now();
        EXPECT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed");
        EXPECT_LT(seconds_since(begun), 5 * patience());
    }
    // Sessions that begin now get descriptors with high numbers: the listening one, too, has to work with them.
    hub.database.run(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'impresario%' and "
        "datname = current_database() and pid <> pg_backend_pid()");
    ASSERT_TRUE(eventually([&] { return hub.api("GET", "/v1/queue").status == 200; }));
    EXPECT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed");
    ASSERT_TRUE(eventually([&] {
        return hub.database.value(
                   "select count(*) from pg_stat_activity where application_name = 'impresario-listen' and "
                   "datname = current_database()") == "1";
    }));
    lines.clear();
    EXPECT_TRUE(eventually([&] { return hub.hub->open_files() < 100; }));
}

TEST(HostileConnections, WhoFindsNoPlaceIsToldSoAtOnce) {
    HubFixture hub("[http]\nconnections = 10\nheader_deadline_ms = 60000\n");
    const int port = hub.hub->port();
    // Half a head is work that may not be broken off before its deadline.
    std::vector<Line> lines;
    for (int i = 0; i < 10; ++i) {
        lines.emplace_back(port);
        lines.back().send("GET /livez");
    }
    ASSERT_TRUE(eventually([&] {
        Line late(port);
        late.send(kGet);
        return late.wait_status(503, 5) && late.received().find("retry-after: 2") != std::string::npos &&
               late.wait_closed(5);
    }));
    EXPECT_NE(hub.hub->log().find("every connection is in use"), std::string::npos);
    for (auto& line : lines) {
        EXPECT_TRUE(line.send(" HTTP/1.1\r\nhost: x\r\n\r\n"));
        EXPECT_TRUE(line.wait_status(200, 10)) << "they had their places";
    }
    // Now they are idle ones, and whoever comes need not wait for the end of their 75 seconds.
    EXPECT_TRUE(eventually([&] { return request(port, "GET", "/livez").status == 200; }, 15));
    EXPECT_TRUE(lines.front().wait_closed(5)) << "who has been idle the longest";
}

TEST(HostileConnections, WhatTricklesIsCutOff) {
    HubFixture hub("[http]\nheader_deadline_ms = 1000\nbody_deadline_ms = 1500\n");
    const int port = hub.hub->port();
    const std::string head = "GET /livez HTTP/1.1\r\nhost: x\r\na: ";
    Line slow_head(port);
    Line slow_body(port);
    Line slow_chunks(port);
    Line silent(port);
    slow_body.send("POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n");
    slow_chunks.send("POST /v1/executions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    const auto begun = steady_clock::now();
    std::size_t sent = 0;
    double head_cut = 0;
    double body_cut = 0;
    double chunks_cut = 0;
    const auto drip = [&](Line& line, const std::string& bytes, double& cut) {
        if (cut > 0) return;
        line.send(bytes);
        if (line.wait_closed(0)) cut = seconds_since(begun);
    };
    ASSERT_TRUE(eventually(
        [&] {
            drip(slow_head, sent < head.size() ? head.substr(sent, 1) : "x", head_cut);
            drip(slow_body, "x", body_cut);
            drip(slow_chunks, "1\r\nx\r\n", chunks_cut);
            ++sent;
            std::this_thread::sleep_for(std::chrono::milliseconds{40});
            return head_cut > 0 && body_cut > 0 && chunks_cut > 0;
        },
        15));
    EXPECT_GT(head_cut, 0.9);
    EXPECT_LT(head_cut, 4);
    EXPECT_GT(body_cut, 1.4);
    EXPECT_LT(body_cut, 5);
    EXPECT_LT(chunks_cut, 5);
    EXPECT_TRUE(silent.wait_closed(5)) << "who says nothing at all";
    EXPECT_EQ(request(port, "GET", "/livez").status, 200);
}

TEST(HostileConnections, AnAnswerThatNobodyReadsHoldsNothingUp) {
    HubFixture hub("[http]\nwrite_deadline_ms = 1000\n");
    hub.register_type("work", "http://127.0.0.1:9/");
    hub.api("POST", "/v1/pause", {{"reason", "they wait"}});
    const auto files = hub.hub->open_files();
    std::string many;
    for (int i = 0; i < 2000; ++i) many += "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";
    std::vector<Line> lines;
    for (int i = 0; i < 20; ++i) {
        lines.emplace_back(hub.hub->port(), 4096);
        lines.back().send(many.substr(0, many.size() / 5));
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(hub.api("POST", "/v1/executions", {{"workflow_type", "work"}}).status, 201);
    EXPECT_TRUE(eventually([&] { return hub.hub->open_files() <= files + 1; }, 15)) << hub.hub->open_files();
    EXPECT_LT(hub.hub->memory_kib(), 400U * 1024 + sanitizer_kib());
}

TEST(HostileConnections, LargeBodiesOfStrangersTakeNoMoreThanTheirRoom) {
    HubFixture hub("[http]\nbodies_mib = 32\nbody_deadline_ms = 3000\n");
    const int port = hub.hub->port();
    const std::string head = "POST /v1/callbacks/x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    const std::string most = "f00000\r\n" + std::string(15 << 20, ' ') + "\r\n";
    // They never end, and hold what they have until their deadline.
    std::vector<Line> lines;
    for (int i = 0; i < 2; ++i) {
        lines.emplace_back(port);
        EXPECT_TRUE(lines.back().send(head + most));
    }
    Line third(port);
    third.send(head + most);
    EXPECT_TRUE(third.wait_status(503, 10));
    EXPECT_EQ(hub.api("POST", "/v1/pause", {{"reason", "small ones are taken"}}).status, 200);
    for (auto& line : lines) EXPECT_TRUE(line.wait_closed(15));
    Line next(port);
    next.send(head + most + "0\r\n\r\n");
    EXPECT_TRUE(next.wait_status(401, 10)) << "when they are gone, there is room";
}

TEST(HostileConnections, S11OutOfDescriptorsIsABadMinute) {
    HubFixture hub("[http]\nheader_deadline_ms = 1000\n", {"prlimit", "--nofile=256:256"});
    const int port = hub.hub->port();
    Peer slow;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("slow", slow.url());
    hub.register_type("work", peer.url());
    EXPECT_NE(hub.hub->log().find("limit of open files"), std::string::npos) << "said at the start";
    std::size_t files = 0;
    for (int round = 0; round < rounds(2, 20); ++round) {
        const auto running = hub.enqueue("slow");
        ASSERT_TRUE(slow.wait_for(static_cast<std::size_t>(round) + 1));
        ASSERT_TRUE(hub.await(running, [](const Json& e) { return e["status"] == "running"; }));
        Line open(port);
        open.send(kGet);
        ASSERT_TRUE(open.wait_status(200, 5));
        ASSERT_TRUE(eventually([&] { return hub.hub->open_files() < 60; })) << "of the round before";
        if (round == 0) files = hub.hub->open_files();

        const auto cpu = hub.hub->cpu_seconds();
        const auto begun = steady_clock::now();
        std::vector<Line> lines = crowd(port, 400);
        const auto asked = slow.asked().back();
        open.send(post(callback_path(asked), asked.token(), R"({"status":"completed"})"));
        open.send(post("/v1/executions", hub.key, R"({"workflow_type":"work"})"));
        EXPECT_TRUE(open.wait_status(201, 10)) << "who had a connection goes on: " << open.received();
        EXPECT_EQ(open.received().find("HTTP/1.1 5"), std::string::npos) << open.received();
        ASSERT_TRUE(peer.wait_for(static_cast<std::size_t>(round) * 2 + 1)) << "there are descriptors for peers";
        hub.database.run(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'impresario%' and "
            "datname = current_database() and pid <> pg_backend_pid()");
        open.send("GET /v1/executions/" + running + " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + hub.key +
                  "\r\n\r\n");
        EXPECT_TRUE(eventually([&] { return open.received().find("\"completed\"") != std::string::npos; }, 10))
            << "and for the database";
        // New ones meanwhile: an answer or a refusal, at once.
        int served = 0;
        const std::string half = "GET /livez HTTP/1.1\r\nhost: x\r\nx: " + std::string(200, 'x');
        std::vector<double> cut(50, 0);
        for (std::size_t drop = 0; seconds_since(begun) < rounds(4, 30); ++drop) {
            for (std::size_t i = 0; i < cut.size(); ++i) {
                auto& line = lines[i * 8];
                if (cut[i] > 0) continue;
                line.send(half.substr(drop % half.size(), 1));
                if (line.wait_closed(0)) cut[i] = seconds_since(begun);
            }
            const auto asking = steady_clock::now();
            Line fresh(port);
            fresh.send(kGet);
            const bool well = fresh.wait_status(200, 5);
            if (well) ++served;
            EXPECT_TRUE(well || fresh.wait_closed(5));
            EXPECT_LT(seconds_since(asking), 3 * patience());
            std::this_thread::sleep_for(std::chrono::milliseconds{100});
        }
        EXPECT_GT(served, 0) << "who asks nothing makes room for who does";
        for (const auto each : cut) EXPECT_GT(each, 0) << "half a head, however slowly it grows, is cut off";
        EXPECT_LT(hub.hub->cpu_seconds() - cpu, seconds_since(begun)) << "less than a core";
        lines.clear();
        const auto ended = steady_clock::now();
        EXPECT_TRUE(eventually([&] { return request(port, "GET", "/livez").status == 200; }));
        EXPECT_LT(seconds_since(ended), 5 * patience());
        EXPECT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed");
    }
    EXPECT_TRUE(eventually([&] { return hub.hub->open_files() <= files; }, 15))
        << files << " before, now " << hub.hub->open_files();
}

}
}
