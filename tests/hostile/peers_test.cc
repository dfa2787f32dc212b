// Peers that mean harm: answers that drip, never end, are packed, are none, or speak for the next one. See also
// flow/failure_test.cc: resets, silence, redirects, lengths that lie, and the egress policy.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "tests/support/crowd.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using namespace std::string_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A beginning at once, the rest a byte at a time, and then one more again and again, with a pause before each.
Behaviour dripping(std::string rest, std::string begin, std::string after, milliseconds pause) {
    Behaviour behaviour;
    behaviour.pieces = [=, first = true, at = std::size_t{0}]() mutable -> std::optional<std::string> {
        if (std::exchange(first, false) && !begin.empty()) return begin;
        std::this_thread::sleep_for(pause);
        if (at < rest.size()) return rest.substr(at++, 1);
        return after;
    };
    return behaviour;
}

/// A beginning, and then the same piece for ever; `sent` counts the bytes.
Behaviour endless(std::string begin, std::string piece, std::atomic<std::size_t>& sent) {
    Behaviour behaviour;
    behaviour.pieces = [begin, piece, first = true, &sent]() mutable -> std::optional<std::string> {
        sent += piece.size();
        return std::exchange(first, false) ? begin : piece;
    };
    return behaviour;
}

Json delivery(const HubFixture& hub, const std::string& id) {
    Json found;
    EXPECT_TRUE(eventually([&] {
        const auto page = hub.get("/v1/executions/" + id + "/deliveries");
        if (page["deliveries"].empty()) return false;
        found = page["deliveries"][0];
        return true;
    }));
    return found;
}

TEST(HostilePeers, AnAnswerThatDripsEndsAtItsDeadlineAndHoldsNobodyUp) {
    HubFixture hub("[webhooks]\nwhole_deadline_ms = 1500\n");
    Peer good([](const Asked&) { return done(); });
    Peer head([](const Asked&) { return dripping("HTTP/1.1 202 Accepted\r\na: ", "", "x", milliseconds{100}); });
    Peer body([](const Asked&) {
        return dripping("", "HTTP/1.1 202 Accepted\r\ncontent-length: 1000000\r\n\r\n", "x", milliseconds{100});
    });
    hub.register_type("good", good.url());
    hub.register_type("head", head.url());
    hub.register_type("body", body.url());
    std::vector<std::string> heads;
    std::vector<std::string> bodies;
    for (int i = 0; i < 10; ++i) {
        heads.push_back(hub.enqueue("head"));
        bodies.push_back(hub.enqueue("body"));
    }
    ASSERT_TRUE(head.wait_for(1) && body.wait_for(1));
    for (int i = 0; i < 10; ++i) {
        const auto begun = steady_clock::now();
        EXPECT_EQ(hub.await_end(hub.enqueue("good"))["status"], "completed");
        EXPECT_LT(seconds_since(begun), 5 * patience());
    }
    EXPECT_EQ(delivery(hub, heads.front())["outcome"], "unknown");
    const auto accepted = delivery(hub, bodies.front());
    EXPECT_EQ(accepted["outcome"], "accepted") << "its status was said";
    EXPECT_LT(accepted["duration_ms"].get<double>(), 6000 * patience()) << accepted;
    ASSERT_TRUE(body.wait_for(bodies.size(), 30)) << "the others have their turn";
}

TEST(HostilePeers, AnAnswerWithoutEndIsCutAndTakesNoMemory) {
    HubFixture hub;
    std::atomic<std::size_t> sent{0};
    const std::string mebibyte(1 << 20, 'x');
    Peer peer([&](const Asked& asked) {
        if (asked.path == "/closing") return endless("HTTP/1.1 202 Accepted\r\n\r\n", mebibyte, sent);
        if (asked.path == "/failing") return endless("HTTP/1.1 500 No\r\n\r\n", mebibyte, sent);
        return endless("HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n", "100000\r\n" + mebibyte + "\r\n",
                       sent);
    });
    for (const auto* path : {"closing", "failing", "chunked"})
        hub.register_type(path, peer.url("/"s + path), {{"retry_policy", "none"}});
    const auto before = hub.hub->memory_kib();
    EXPECT_EQ(delivery(hub, hub.enqueue("closing"))["outcome"], "accepted");
    EXPECT_EQ(delivery(hub, hub.enqueue("chunked"))["outcome"], "accepted");
    EXPECT_EQ(hub.await_end(hub.enqueue("failing"))["status"], "dead");
    EXPECT_LT(sent, 3 * (16 + 16) * mebibyte.size()) << "16 MiB each, and what is in the kernel's buffers";
    EXPECT_LT(hub.hub->memory_kib(), before + 128 * 1024 + sanitizer_kib());
}

TEST(HostilePeers, WhatIsPackedIsNotUnpacked) {
    HubFixture hub;
    // 64 KiB of zeroes, packed as if they were a thousand times as many.
    Peer peer([&](const Asked&) {
        return Behaviour{200, "\x1f\x8b\x08" + std::string(64 * 1024, '\0'), {{"content-encoding", "gzip"}}};
    });
    hub.register_type("packed", peer.url());
    const auto id = hub.enqueue("packed");
    EXPECT_EQ(delivery(hub, id)["outcome"], "accepted") << "a body that nobody can read is no result";
    EXPECT_EQ(peer.asked()[0].headers.at("accept-encoding"), "identity") << "and none was asked for";
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}}).status, 200);
}

TEST(HostilePeers, HeadsWithoutEndAreCutOffLongBeforeTheDeadline) {
    HubFixture hub;
    std::atomic<std::size_t> sent{0};
    Peer flood([&](const Asked&) { return endless("HTTP/1.1 202 Accepted\r\n", "a: b\r\n", sent); });
    Peer line([&](const Asked&) { return endless("HTTP/1.1 202 Accepted\r\na: ", std::string(1000, 'x'), sent); });
    Peer interim([&](const Asked&) { return endless("", "HTTP/1.1 100 Continue\r\n\r\n", sent); });
    Peer hints([&](const Asked&) { return endless("", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", sent); });
    const auto begun = steady_clock::now();
    for (const auto* peer : {&flood, &line, &interim, &hints}) {
        const auto type = "t" + std::to_string(peer->port());
        hub.register_type(type, peer->url());
        const auto found = delivery(hub, hub.enqueue(type));
        EXPECT_EQ(found["outcome"], "unknown") << found;
        EXPECT_TRUE(found["status"].is_null());
    }
    EXPECT_LT(seconds_since(begun), 15 * patience()) << "four deadlines are eighty";
    Peer polite([](const Asked&) {
        Behaviour behaviour;
        behaviour.garbage =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 202 Accepted\r\n"
            "content-length: 0\r\n\r\n";
        return behaviour;
    });
    hub.register_type("polite", polite.url());
    EXPECT_EQ(delivery(hub, hub.enqueue("polite"))["outcome"], "accepted") << "a few are allowed";
}

TEST(HostilePeers, GarbageHasAnOutcome) {
    // One peer answers all of it: its breaker is not to end that.
    HubFixture hub("[breaker]\nresults = 1000\n");
    std::mutex guard;
    std::string answer;
    Peer peer([&](const Asked&) {
        const std::lock_guard lock(guard);
        Behaviour behaviour;
        behaviour.garbage = answer;
        return behaviour;
    });
    hub.register_type("odd", peer.url());
    struct Case {
        std::string bytes;
        const char* outcome;
    };
    for (const auto& each : {
             Case{"\0\0\0\0\r\n\r\n"s, "unknown"},
             Case{"HTTP/1.1 202", "unknown"},
             Case{"HTTP/1.1 20x OK\r\n\r\n", "unknown"},
             Case{"HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n", "unknown"},
             Case{"HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n", "unknown"},
             Case{"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", "unknown"},
             Case{"HTTP/1.1 202 OK\r\ncontent-length: -5\r\n\r\n", "unknown"},
             Case{"HTTP/1.1 202 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello", "unknown"},
             Case{"HTTP/1.1 202 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "unknown"},
             Case{"HTTP/1.1 202 OK\r\nno colon\r\n\r\n", "unknown"},
             Case{"HTTP/1.1 202 OK\r\na: b\0c\r\n\r\n"s, "unknown"},
             // A status that was said stands, whatever came of the body.
             Case{"HTTP/1.1 202 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "accepted"},
             Case{"HTTP/1.1 202 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nx", "accepted"},
             Case{"HTTP/1.1 202 OK\r\ncontent-length: 18446744073709551615\r\n\r\nx", "accepted"},
             Case{"HTTP/1.1 200 OK\r\ncontent-length: 60\r\n\r\n{\"status\":\"completed\"}", "accepted"},
             Case{"HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n" + std::string(200000, '['), "accepted"},
         }) {
        {
            const std::lock_guard lock(guard);
            answer = each.bytes;
        }
        const auto id = hub.enqueue("odd");
        const auto found = delivery(hub, id);
        EXPECT_EQ(found["outcome"], each.outcome) << each.bytes.substr(0, 100) << "\n" << found;
        EXPECT_EQ(hub.status(id), "running");
    }
}

TEST(HostilePeers, OneAnswerDoesNotSpeakForTheNext) {
    HubFixture hub;
    Peer peer([](const Asked&) {
        Behaviour behaviour;
        // Two answers to one request, on a connection that is kept.
        behaviour.body = "{}";
        const std::string second = R"({"status":"completed","result_data":"forged"})";
        behaviour.pieces = [first = true, second]() mutable -> std::optional<std::string> {
            if (std::exchange(first, false))
                return "HTTP/1.1 202 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\ncontent-length: " +
                       std::to_string(second.size()) + "\r\n\r\n" + second;
            std::this_thread::sleep_for(milliseconds{2000});
            return std::nullopt;
        };
        return behaviour;
    });
    hub.register_type("forging", peer.url());
    for (int i = 0; i < 5; ++i) {
        const auto id = hub.enqueue("forging");
        EXPECT_EQ(delivery(hub, id)["outcome"], "accepted");
        EXPECT_EQ(hub.status(id), "running");
    }
}

TEST(HostilePeers, ConnectionsToManyHostsAreClosedAgain) {
    HubFixture hub;
    const auto files = hub.hub->open_files();
    std::vector<std::unique_ptr<Peer>> peers;
    std::vector<std::string> ids;
    for (int i = 0; i < 30; ++i) {
        peers.push_back(std::make_unique<Peer>([](const Asked&) { return done(); }));
        const auto type = "t" + std::to_string(i);
        hub.register_type(type, peers.back()->url());
        ids.push_back(hub.enqueue(type));
    }
    for (const auto& id : ids) EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_TRUE(eventually([&] { return hub.hub->open_files() <= files + 3; }))
        << "nobody asks there again: " << files << " before, now " << hub.hub->open_files();
}

}
}
