// The outbox's tables: what SQL chooses of the journal is what streams choose.
#include "journal/outbox_store.h"

#include <gtest/gtest.h>

#include <limits>

#include "domain/event.h"
#include "journal/event_store.h"
#include "journal/subscriber_store.h"
#include "platform/crypto.h"
#include "tests/support/database.h"

namespace impresario::journal {
namespace outbox_store_test {

using platform::Tx;
using testing::TestDatabase;

const platform::KeyRing& keys() {
    static const platform::KeyRing ring({domain::Secret(std::string(64, 'a'))});
    return ring;
}

/// A subscriber in a database of its own.
struct Rows {
    explicit Rows(EventChoice choice = {}, const std::string& organization = "default") {
        subscriber.organization_id = organization;
        subscriber.name = "crm";
        subscriber.url = "http://127.0.0.1/";
        subscriber.updated_by = "test";
        subscriber.choice = std::move(choice);
        connect([&](Tx& tx) {
            const SubscriberStore store(keys());
            store.create(tx, subscriber);
            subscriber.version = 1;
            subscriber.id = store.find(tx, organization, "crm")->subscriber.id;
        });
    }
    template <class Body>
    void connect(Body body) {
        database.transact(body);
    }
    Claim claim(ClaimRequest request) {
        Claim claim;
        connect([&](Tx& tx) { claim = OutboxStore().claim(tx, subscriber, request); });
        return claim;
    }
    std::int64_t last() {
        std::int64_t number = 0;
        connect([&](Tx& tx) { number = StreamStore().last_event(tx, std::numeric_limits<std::int64_t>::max()); });
        return number;
    }
    /// One event of each type there is, of two organizations.
    void append_all() {
        connect([](Tx& tx) {
            std::vector<domain::Event> events;
            std::uint8_t stream = 1;
            for (const auto& topic : topics()) {
                for (const auto& organization : {"default", "other"}) {
                    domain::Event event;
                    event.kind = topic.kind.empty() ? "lane" : topic.kind;
                    event.organization_id = organization;
                    const auto types = topic.types.empty()
                                           ? std::vector<std::string_view>{"execution.output", "lane_x.y", "lanexx.y",
                                                                           "node.promise_broken"}
                                           : topic.types;
                    for (const auto type : types) {
                        event.stream.fill(stream);
                        ++event.seq;
                        event.type = type;
                        events.push_back(event);
                    }
                    ++stream;
                }
            }
            const auto lane = tx.run("select lane_id from workflow_types where name = 'seo_monitor'");
            domain::Event of_type;
            of_type.kind = "lane";
            of_type.stream = platform::RowReader(lane, 0).id<domain::LaneId>().value;
            of_type.seq = 1;
            of_type.organization_id = "default";
            of_type.type = "lane.paused";
            events.push_back(of_type);
            EventStore().append(tx, events, domain::NodeId{});
        });
    }
    TestDatabase database;
    Subscriber subscriber;
};

TEST(OutboxStore, WhatSqlChoosesIsWhatStreamsChoose) {
    std::vector<EventChoice> choices{{}};
    for (const auto& topic : topics()) choices.push_back({{&topic}, {}, {}});
    choices.push_back({{find_topic("lanes"), find_topic("notifications")}, {}, {}});
    for (const auto* pattern : {"execution.output", "execution.*", "*.promise_broken", "lane_x.*", "lane.*"})
        choices.push_back({{}, {pattern}, {}});
    choices.push_back({{find_topic("webhooks")}, {"lane.*"}, {}});
    choices.push_back({{}, {}, {"seo_monitor"}});
    choices.push_back({{find_topic("lanes")}, {}, {"seo_monitor", "unknown"}});
    Rows rows;
    rows.connect([](Tx& tx) { tx.run("insert into organizations (organization_id, name) values ('other', 'Other')"); });
    rows.append_all();
    const auto last = rows.last();
    std::size_t chosen = 0;
    for (const auto& choice : choices)
        for (const auto* organization : {"default", "other"}) {
            rows.subscriber.choice = choice;
            rows.subscriber.organization_id = organization;
            std::vector<std::int64_t> expected;
            rows.connect([&](Tx& tx) {
                tx.run("delete from outbox_messages");
                tx.run("update subscriber_states set position = 0");
                for (const auto& event : StreamStore().page(tx, 0, last, 10000).events)
                    if ((rows.subscriber.all_organizations() || event.organization_id == organization) &&
                        choice.matches(event.kind, event.type, event.workflow_type))
                        expected.push_back(event.number);
            });
            std::vector<std::int64_t> claimed;
            const auto claim = rows.claim({500, last, 1000, 0, false});
            for (const auto& message : claim.messages) claimed.push_back(message.event.number);
            EXPECT_EQ(claimed, expected);
            chosen += claimed.size();
        }
    EXPECT_GT(chosen, 300U);
}

TEST(OutboxStore, ClaimsGoOnWhereTheLastEnded) {
    Rows rows;
    rows.append_all();
    const auto last = rows.last();
    std::vector<std::int64_t> claimed;
    for (int i = 0; i < 100; ++i) {
        const auto claim = rows.claim({7, last, 1000, 0, i % 2 == 0});
        for (const auto& message : claim.messages) claimed.push_back(message.event.number);
        if (!claim.more) break;
    }
    EXPECT_TRUE(std::is_sorted(claimed.begin(), claimed.end()));
    rows.connect([&](Tx& tx) { EXPECT_EQ(claimed.size(), StreamStore().page(tx, 0, last, 10000).events.size()); });
    EXPECT_TRUE(rows.claim({7, last, 1000, 0, false}).messages.empty());
    // Who leads next sends them again, all of them.
    rows.connect([](Tx& tx) { OutboxStore().take_over(tx); });
    EXPECT_EQ(rows.claim({1000, last, 1000, 0, false}).messages.size(), claimed.size());
}

TEST(OutboxStore, WhatHasEndedIsForgottenInTime) {
    Rows rows;
    rows.append_all();
    const auto claim = rows.claim({5, rows.last(), 1000, 0, false});
    std::vector<MessageResult> results;
    for (const auto& message : claim.messages) {
        MessageResult result{message.event.number, MessageState::published, {1, 0, {}}, {}, "", {}};
        result.delivery =
            MessageDelivery{message.event.number, 1, domain::TimePoint{}, {}, "u", "a", 200, "accepted", "", ""};
        results.push_back(std::move(result));
    }
    rows.connect([&](Tx& tx) { OutboxStore().record(tx, rows.subscriber.id, results, claim.state); });
    rows.connect([](Tx& tx) {
        EXPECT_TRUE(OutboxStore().forget(tx, std::chrono::hours{1})) << "requests of long ago";
        EXPECT_FALSE(OutboxStore().forget(tx, std::chrono::hours{1}));
        tx.run("update outbox_messages set ended_at = ended_at - interval '2 hours' where state = 'published'");
        EXPECT_TRUE(OutboxStore().forget(tx, std::chrono::hours{1}));
        EXPECT_EQ(tx.run("select from outbox_messages").size(), 0U);
    });
    // One whose event is gone has failed.
    const auto next = rows.claim({5, rows.last(), 1000, 0, false});
    rows.connect([&](Tx& tx) {
        OutboxStore().take_over(tx);
        tx.run("delete from events");
    });
    EXPECT_TRUE(rows.claim({5, rows.last(), 1000, 0, false}).messages.empty());
    rows.connect([&](Tx& tx) {
        EXPECT_EQ(tx.run("select from outbox_messages where state = 'failed' and error like '%not kept%'").size(), 5U);
    });
}

TEST(OutboxStore, AMomentIsFoundAmongTheNumbers) {
    Rows rows;
    rows.connect([](Tx& tx) {
        tx.run(
            "insert into events (kind, stream_id, seq, organization_id, type, at) select 'node', "
            "'01a228e4-4832-7093-8e88-d1fc8ec356ec', i, 'default', 'node.leads', timestamptz '2026-01-01T00:00:00Z' + "
            "i "
            "* interval '1 second' from generate_series(1, 5000) i order by i");
        const auto first = StreamStore().first(tx).value_or(0);
        const auto at = [](int second) {
            return *domain::parse_time("2026-01-01T00:00:00Z") + std::chrono::seconds{second};
        };
        // A minute earlier, because a transaction may have begun then that has taken a later number.
        for (const int second : {62, 1000, 2500, 5000})
            EXPECT_EQ(OutboxStore().number_before(tx, at(second)), first + second - 62) << second;
        EXPECT_EQ(OutboxStore().number_before(tx, at(0)), first - 1);
        EXPECT_EQ(OutboxStore().number_before(tx, at(9999)), first + 4999);
    });
}

}
}
