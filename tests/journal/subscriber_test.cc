// Subscribers as JSON, and the ids of what they are told.
#include <gtest/gtest.h>

#include "journal/event_json.h"
#include "journal/subscriber_json.h"

namespace impresario::journal {
namespace subscriber_test {

TEST(Subscriber, ADefinitionIsReadAndGivenBack) {
    const auto parsed = parse_subscriber(
        R"({"url":"https://crm.example.org/hook","topics":["executions"],"types":["execution.*"],"workflow_types":["demo"],
            "ordered":true,"batch_size":10,"workers":3,"attempts":4,"backoff_seconds":2,"backoff_max_seconds":60,
            "timeout_seconds":5,"disable_after_seconds":null,"bearer":"b","headers":{"x-a":"1"}})",
        nullptr);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->choice.topics.size(), 1U);
    EXPECT_FALSE(parsed->disable_after);
    EXPECT_EQ(parsed->secrets.bearer.reveal(), "b");
    const auto text = definition_json(*parsed);
    EXPECT_EQ(text.find("\"b\""), std::string::npos) << text;
    const auto again = parse_subscriber(text, &*parsed);
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(definition_json(*again), text);
    EXPECT_EQ(again->secrets.headers.size(), 1U) << "what nobody can send back stays";
}

TEST(Subscriber, WhatIsMissingHasADefault) {
    const auto parsed = parse_subscriber(R"({"url":"http://crm.example.org/"})", nullptr);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->batch, 50);
    EXPECT_EQ(parsed->workers, 2);
    EXPECT_EQ(parsed->disable_after, std::chrono::hours{120});
    EXPECT_TRUE(parsed->choice.matches("node", "node.leads", ""));
}

TEST(Subscriber, EveryFaultIsNamed) {
    const auto parsed = parse_subscriber(R"({"types":["x"],"workers":0,"what":1})", nullptr);
    ASSERT_FALSE(parsed);
    const auto faults = parsed.error();
    std::string pointers;
    for (const auto& fault : faults) pointers += fault.pointer + " ";
    EXPECT_EQ(pointers, "/types /what /url /workers ");
}

TEST(EventKey, IsReadBackAndNothingElseIs) {
    NumberedEvent event;
    event.stream = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    event.seq = 17;
    const auto text = event_key(event);
    const auto key = parse_event_key(text);
    ASSERT_TRUE(key) << text;
    EXPECT_EQ(key->stream, event.stream);
    EXPECT_EQ(key->seq, 17);
    for (const auto* wrong :
         {"", "evt_", "evt_x_1", "msg_01020304-0506-0708-090a-0b0c0d0e0f10_17",
          "evt_01020304-0506-0708-090a-0b0c0d0e0f10_", "evt_01020304-0506-0708-090a-0b0c0d0e0f10_0",
          "evt_01020304-0506-0708-090a-0b0c0d0e0f10_17x", "evt_01020304-0506-0708-090a-0b0c0d0e0f10_99999999999"})
        EXPECT_FALSE(parse_event_key(wrong)) << wrong;
}

}
}
