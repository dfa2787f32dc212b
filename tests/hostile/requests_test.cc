// Requests that are not what they seem: framing that two servers could read differently, several in one packet, bodies
// in strange pieces. What could carry a second request is refused with 400, and the connection ends.
#include <gtest/gtest.h>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using namespace std::string_literals;

/// The statuses of all answers in what came back.
std::vector<int> statuses(const std::string& bytes) {
    std::vector<int> found;
    for (auto at = bytes.find("HTTP/1.1 "); at != std::string::npos; at = bytes.find("HTTP/1.1 ", at + 1))
        found.push_back(std::atoi(bytes.c_str() + at + 9));
    return found;
}

/// What the server answers to those bytes until it closes; -1 at the end where it does not.
std::vector<int> answers(int port, const std::string& bytes, double seconds = 3) {
    const auto begun = std::chrono::steady_clock::now();
    auto found = statuses(raw_exchange(port, bytes, seconds));
    if (std::chrono::steady_clock::now() - begun > std::chrono::duration<double>(seconds)) found.push_back(-1);
    return found;
}

const std::string kSecond = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

TEST(HostileRequests, WhatCouldBeSmuggledIsRefusedAndTheConnectionEnds) {
    HubFixture hub;
    for (
        const auto& bad : {
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, identity\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\ncontent-length: 0\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ntransfer-encoding:\r\n chunked\r\n\r\n"s,
            "POST /v1/executions HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\ncontent-length: 5\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: 0, 0\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: +0\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length : 0\r\n\r\n"s,
            "POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n"s,
            "GET /livez HTTP/1.1\nhost: x\n\n"s,
            "GET /livez HTTP/1.1\r\nhost: x\na: b\r\n\r\n"s,
            "GET /livez HTTP/1.1\r\nhost: x\r\na: b\r\n folded\r\n\r\n"s,
            "GET /livez HTTP/1.1\r\nhost: x\r\na : b\r\n\r\n"s,
            "GET /livez HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n"s,
            "GET /livez HTTP/1.1\r\nhost: x\r\na\0b: c\r\n\r\n"s,
            "GET /livez\0 HTTP/1.1\r\nhost: x\r\n\r\n"s,
            "GET /livez HTTP/1.1\r\nhost: x\r\na: b\rc\r\n\r\n"s,
            "GET /livez HTTP/1.1\r\n\r\n"s,
            "GET /livez HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n"s,
            "GET  /livez HTTP/1.1\r\nhost: x\r\n\r\n"s,
            "GET /li vez HTTP/1.1\r\nhost: x\r\n\r\n"s,
            "GET /livez\r\nhost: x\r\n\r\n"s,
            "GET /livez HTTP/2.0\r\nhost: x\r\n\r\n"s,
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"s,
            "\x16\x03\x01\x02\x01\x01\n\n"s,
        })
        EXPECT_EQ(answers(hub.hub->port(), bad + kSecond), std::vector<int>{400}) << bad;
}

TEST(HostileRequests, ABodyInStrangePiecesIsTakenOrRefused) {
    HubFixture hub;
    hub.register_type("work", "http://127.0.0.1:9/");
    hub.api("POST", "/v1/pause", {{"reason", "they wait"}});
    const std::string post = "POST /v1/executions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + hub.key + "\r\n";
    const std::string chunked = post + "transfer-encoding: chunked\r\n\r\n";
    const std::string body = R"({"workflow_type":"work"})";  // 0x18 bytes
    const auto chunk = [](const std::string& extension, const std::string& data) {
        char size[17];
        std::snprintf(size, sizeof size, "%zx", data.size());
        return size + extension + "\r\n" + data + "\r\n";
    };
    const auto port = hub.hub->port();
    using Statuses = std::vector<int>;
    std::string bytes;
    for (const char c : body) bytes += chunk("", std::string(1, c));
    EXPECT_EQ(answers(port, chunked + bytes + "0\r\n\r\n" + kSecond), (Statuses{201, 200})) << "byte by byte";
    EXPECT_EQ(answers(port, chunked + chunk(";a=b;c=\"d\"", body) + "0\r\n\r\n" + kSecond), (Statuses{201, 200}))
        << "extensions mean nothing here";
    EXPECT_EQ(answers(port, chunked + chunk("", body) +
                                "0\r\nidempotency-key: t\r\nconnection: close\r\ncontent-type: x\r\n\r\n" + kSecond),
              (Statuses{201, 200}))
        << "trailers are no headers";
    EXPECT_EQ(hub.database.value("select count(*) from idempotency_keys"), "0");
    EXPECT_EQ(answers(port, post + "content-length: 24\r\n\r\n" + body + "\r\n" + kSecond), (Statuses{201, 200}))
        << "an empty line too many";
    for (const auto& bad :
         {"18;"s + std::string(200000, 'x') + "\r\n" + body + "\r\n0\r\n\r\n", "18;a=\"\r\n" + body + "\r\n0\r\n\r\n",
          "18\n" + body + "\n0\n\n", "0x18\r\n" + body + "\r\n0\r\n\r\n", "-18\r\n" + body + "\r\n0\r\n\r\n",
          "18 \r\n" + body + "\r\n0\r\n\r\n", "18\r\n" + body + "xx0\r\n\r\n",
          "10000000000000018\r\n" + body + "\r\n0\r\n\r\n", "\r\n" + body + "\r\n0\r\n\r\n"})
        EXPECT_EQ(answers(port, chunked + bad + kSecond), Statuses{400}) << bad.substr(0, 50);
    EXPECT_EQ(answers(port, chunked + "ffffffffffffffff\r\n" + body + kSecond), Statuses{413});
    EXPECT_EQ(answers(port, chunked + chunk("", std::string(1 << 20, ' ')) + chunk("", body) + "0\r\n\r\n" + kSecond),
              Statuses{413})
        << "over the limit with the second piece";
    EXPECT_EQ(hub.database.value("select count(*) from executions"), "4");
}

TEST(HostileRequests, SeveralInOnePacketAreAnsweredInOrder) {
    HubFixture hub;
    const auto port = hub.hub->port();
    using Statuses = std::vector<int>;
    const std::string get = "GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";
    const std::string missing = "GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n";
    const std::string body = "POST /livez HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello";
    EXPECT_EQ(answers(port, get + missing + body + get + kSecond), (Statuses{200, 404, 405, 200, 200}));
    EXPECT_EQ(answers(port, get + missing + "GET /livez HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n" + get),
              (Statuses{200, 404, 400}))
        << "nothing behind what is broken";
    std::string many;
    for (int i = 0; i < 1000; ++i) many += get;
    EXPECT_EQ(answers(port, many + kSecond, 20), Statuses(1001, 200));
    EXPECT_EQ(answers(port, kSecond + get), Statuses{200}) << "nothing after the last";
}

TEST(HostileRequests, FormsThatAreAllowedWork) {
    HubFixture hub;
    const auto port = hub.hub->port();
    using Statuses = std::vector<int>;
    EXPECT_EQ(answers(port, "GET http://hub.example/livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
              Statuses{200});
    EXPECT_EQ(answers(port, "OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"), Statuses{404});
    EXPECT_EQ(answers(port, "GET /livez HTTP/1.0\r\n\r\n"), Statuses{200}) << "and it closes";
    EXPECT_EQ(answers(port, "\r\n\r\n" + kSecond), Statuses{200});
    EXPECT_EQ(answers(port, "GET /livez HTTP/1.1\r\nhost: x\r\nexpect: a miracle\r\n\r\n"), Statuses{417});
    EXPECT_EQ(answers(port,
                      "POST /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\nexpect: 100-Continue\r\n"
                      "content-length: 5\r\n\r\nhello"),
              (Statuses{100, 405}));
    EXPECT_EQ(answers(port,
                      "POST /livez HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: "
                      "99999999\r\n\r\n"),
              Statuses{413})
        << "before it is sent";
    EXPECT_EQ(answers(port, "GET /" + std::string(15000, 'a') + " HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
              Statuses{404});
    EXPECT_EQ(answers(port, "GET /" + std::string(17000, 'a') + " HTTP/1.1\r\nhost: x\r\n\r\n"), Statuses{431});
    EXPECT_EQ(answers(port, "GET /" + std::string(1 << 20, 'a')), Statuses{431}) << "without an end";
    std::string many = "GET /livez HTTP/1.1\r\nhost: x\r\n";
    for (int i = 0; i < 100000; ++i) many += "a: b\r\n";
    EXPECT_EQ(answers(port, many + "\r\n"), Statuses{431});
}

}
}
