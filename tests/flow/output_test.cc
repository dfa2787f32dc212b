// What an execution says while it runs: chunks of output and log lines, by its callback token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/event_reader.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

/// One that runs, with its token.
struct Running {
    Running() {
        hub.register_type("work", peer.url());
        id = hub.enqueue("work");
        if (!peer.wait_for(1) || !hub.await(id, [](const Json& e) { return e["status"] == "running"; }))
            throw std::runtime_error("it does not run");
        asked = peer.asked()[0];
    }
    Json output(const std::string& query = "") const { return hub.get("/v1/executions/" + id + "/output" + query); }
    Json logs(const std::string& query = "") const { return hub.get("/v1/executions/" + id + "/logs" + query); }

    HubFixture hub;
    Peer peer;
    std::string id;
    Asked asked;
};

TEST(Output, IsAppendedWhileItRunsAndReadByWhoLooksAfterIt) {
    Running one;
    const EventReader reader({one.hub.hub->port()}, "/v1/executions/" + one.id + "/events?types=execution.output",
                             one.hub.key);
    EXPECT_EQ(Peer::say(one.asked, "/output", {{"text", "Once upon\n"}}).json(), (Json{{"written", 1}, {"known", 0}}));
    EXPECT_EQ(Peer::say(one.asked, "/output", {{"chunks", {{{"text", "a "}}, {{"text", "time"}}}}}).status, 200);
    const Json line{{"level", "warn"}, {"message", "the model was slow"}, {"meta", {{"ms", 9000}}}};
    EXPECT_EQ(Peer::say(one.asked, "/logs", line).status, 200);
    EXPECT_EQ(Peer::say(one.asked, "/logs", {{"message", "said plainly"}}).status, 200);

    const auto output = one.output();
    std::string text;
    for (const auto& chunk : output["chunks"]) text += chunk["text"].get<std::string>();
    EXPECT_EQ(text, "Once upon\na time");
    EXPECT_EQ(output["chunks"][0]["attempt"], 1);
    EXPECT_EQ(output["more"], false);
    const auto page = one.output("?limit=1&after=" + output["chunks"][0]["seq"].dump());
    EXPECT_EQ(page["chunks"][0]["text"], "a ");
    EXPECT_EQ(page["more"], true);
    const auto logs = one.logs();
    ASSERT_EQ(logs["lines"].size(), 2U);
    EXPECT_EQ(logs["lines"][0]["level"], "warn");
    EXPECT_EQ(logs["lines"][0]["meta"]["ms"], 9000);
    EXPECT_EQ(logs["lines"][1]["level"], "info");
    ASSERT_TRUE(reader.await_count(3));
    EXPECT_EQ(reader.events()[0].data["payload"]["text"], "Once upon\n");

    EXPECT_EQ(Peer::call_back(one.asked, {{"status", "completed"}}).status, 200);
    const auto late = Peer::say(one.asked, "/output", {{"text", "the end"}});
    EXPECT_EQ(late.status, 409);
    EXPECT_THAT(late.body, HasSubstr("attempt-closed"));
    EXPECT_EQ(one.hub.database.value("select count(*) = max(seq) from events where stream_id = '" + one.id + "'"), "t");
    EXPECT_EQ(one.hub.api("POST", "/v1/fsck", {{"checks", {"events"}}}).json()["found"], 0);
}

TEST(Output, WhatItsPublisherNamesIsWrittenOnce) {
    Running one;
    const Json chunk{{"text", "a"}, {"event_id", "chunk-1"}};
    EXPECT_EQ(Peer::say(one.asked, "/output", chunk).json(), (Json{{"written", 1}, {"known", 0}}));
    EXPECT_EQ(Peer::say(one.asked, "/output", chunk).json(), (Json{{"written", 0}, {"known", 1}}));
    EXPECT_EQ(
        Peer::say(one.asked, "/output", {{"chunks", {chunk, {{"text", "b"}, {"event_id", "chunk-2"}}, chunk}}}).json(),
        (Json{{"written", 1}, {"known", 2}}));
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            EXPECT_EQ(Peer::say(one.asked, "/output", {{"text", "c"}, {"event_id", "chunk-3"}}).status, 200);
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(one.output()["chunks"].size(), 3U);
}

TEST(Output, WhatIsWrongIsNamedAndNothingOfItIsWritten) {
    Running one;
    const auto names = [](const Reply& reply, const std::string& field) {
        return reply.status == 422 && reply.body.find("\"pointer\":\"" + field + "\"") != std::string::npos;
    };
    EXPECT_TRUE(names(Peer::say(one.asked, "/output", Json::object()), "/text"));
    EXPECT_TRUE(names(Peer::say(one.asked, "/output", {{"text", "a"}, {"colour", "red"}}), "/colour"));
    EXPECT_TRUE(names(Peer::say(one.asked, "/output", {{"text", std::string(40000, 'x')}}), "/text"));
    EXPECT_TRUE(
        names(Peer::say(one.asked, "/output", {{"chunks", {{{"text", "a"}}, Json::object()}}}), "/chunks/1/text"));
    EXPECT_TRUE(names(Peer::say(one.asked, "/output", {{"chunks", Json::array()}}), "/chunks"));
    EXPECT_TRUE(names(Peer::say(one.asked, "/logs", {{"message", "a"}, {"level", "loud"}}), "/level"));
    EXPECT_TRUE(names(Peer::say(one.asked, "/logs", {{"message", "a"}, {"meta", 1}}), "/meta"));
    EXPECT_TRUE(names(Peer::say(one.asked, "/logs", {{"level", "info"}}), "/message"));
    for (const auto* part : {"output", "logs", "events"})
        EXPECT_EQ(one.hub.api("GET", "/v1/executions/" + one.id + "/" + part + "?after=1x").status, 422) << part;
    auto stranger = one.asked;
    stranger.json["authentication"]["token"] = "cbt_nothing";
    EXPECT_EQ(Peer::say(stranger, "/output", {{"text", "a"}}).status, 401);
    Json many = Json::array();
    for (int i = 0; i < 500; ++i) many.push_back({{"message", "x"}});
    for (int i = 0; i < 4; ++i) EXPECT_EQ(Peer::say(one.asked, "/logs", {{"lines", many}}).status, 200);
    const auto full = Peer::say(one.asked, "/logs", {{"message", "one more"}});
    EXPECT_EQ(full.status, 422);
    EXPECT_THAT(full.body, HasSubstr("too-much-output"));
    EXPECT_EQ(one.output()["chunks"].size(), 0U);
    EXPECT_EQ(one.hub.database.value("select count(*) from events where type = 'execution.log'"), "2000");
    EXPECT_EQ(Peer::call_back(one.asked, {{"status", "completed"}}).status, 200) << "its work counts all the same";
}

}
}
