// Subscribers on the running program: every event arrives, whatever breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/signature.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

const auto refuses = [](int status) { return [status](const Asked&) { return Behaviour{status, "no"}; }; };

/// Hears, and takes its time.
const auto slow = [](const Asked&) {
    Behaviour behaviour{200, "{}"};
    behaviour.delay = std::chrono::milliseconds{10};
    return behaviour;
};

/// A hub whose work is done at once, and somebody who is told of it.
struct Telling {
    explicit Telling(Peer::Script ears =
                         [](const Asked&) {
                             return Behaviour{200, "{}"};
                         })
        : work([](const Asked&) { return done(); }), ear(std::move(ears)) {
        hub.register_type("work", work.url());
    }
    Json put(const std::string& name, Json definition = Json::object(), int status = 201) {
        if (!definition.contains("url")) definition["url"] = ear.url("/" + name);
        if (!definition.contains("types")) definition["types"] = {"execution.completed"};
        if (!definition.contains("backoff_seconds")) definition["backoff_seconds"] = 1;
        const auto reply = hub.api("PUT", "/v1/subscribers/" + name, definition);
        EXPECT_EQ(reply.status, status) << reply.body;
        return reply.json();
    }
    Json show(const std::string& name) const { return hub.get("/v1/subscribers/" + name); }
    bool await(const std::string& name, const std::function<bool(const Json&)>& condition, double seconds = 30) const {
        const bool came = eventually([&] { return condition(show(name)); }, seconds);
        if (!came) std::printf("%s\n", show(name).dump(2).c_str());
        return came;
    }
    bool await_published(const std::string& name, int least) const {
        return await(name, [&](const Json& s) { return s["published"] >= least && s["oldest_waiting_at"].is_null(); });
    }
    std::vector<std::string> enqueue(int count) {
        std::vector<std::string> ids;
        for (int i = 0; i < count; ++i) ids.push_back(hub.enqueue("work", {{"i", i}}));
        return ids;
    }
    /// The ids under which events of that type are told.
    std::set<std::string> ids_of(const std::string& type) const {
        std::set<std::string> ids;
        const auto text = hub.database.value(
            "select coalesce(string_agg('evt_' || stream_id || '_' || seq, ','), '') from events where type = '" +
            type + "'");
        for (std::size_t begin = 0; begin < text.size();) {
            const auto end = std::min(text.find(',', begin), text.size());
            ids.insert(text.substr(begin, end - begin));
            begin = end + 1;
        }
        return ids;
    }
    std::set<std::string> told() const {
        std::set<std::string> ids;
        for (const auto& asked : ear.asked()) ids.insert(asked.webhook_id());
        return ids;
    }

    HubFixture hub;
    Peer work;
    Peer ear;
};

TEST(Outbox, EachEventIsToldOnceAndSigned) {
    Telling t;
    const auto made = t.put("crm");
    const auto secret = made.at("signing_secret").get<std::string>();
    EXPECT_THAT(secret, ::testing::StartsWith("whsec_"));
    EXPECT_EQ(made["health"], "ok");
    EXPECT_EQ(made["batch_size"], 50);
    EXPECT_EQ(made["workers"], 2);
    t.enqueue(20);
    ASSERT_TRUE(t.await_published("crm", 20));
    EXPECT_EQ(t.ear.count(), 20U);
    EXPECT_EQ(t.told(), t.ids_of("execution.completed"));
    const auto asked = t.ear.asked().front();
    const domain::TimePoint now{std::chrono::seconds{std::stoll(asked.headers.at("webhook-timestamp"))}};
    EXPECT_FALSE(platform::verify({domain::Secret(secret)}, asked.webhook_id(), asked.headers.at("webhook-timestamp"),
                                  asked.headers.at("webhook-signature"), asked.body, now));
    EXPECT_EQ(asked.json["type"], "execution.completed");
    EXPECT_EQ(asked.json["data"]["kind"], "execution");
    EXPECT_EQ(asked.json["data"]["workflow_type"], "work");
    EXPECT_EQ(asked.json["timestamp"], asked.json["data"]["at"]);
    EXPECT_TRUE(asked.json["data"]["payload"].contains("attempt"));

    const auto messages = t.hub.get("/v1/subscribers/crm/messages?limit=5");
    ASSERT_EQ(messages["messages"].size(), 5U);
    EXPECT_EQ(messages["messages"][0]["state"], "published");
    EXPECT_EQ(messages["messages"][0]["deliveries"], 1);
    const auto before = std::to_string(messages["next_before"].get<int>());
    EXPECT_EQ(t.hub.get("/v1/subscribers/crm/messages?limit=500&before=" + before)["messages"].size(), 15U);
    const auto deliveries = t.hub.get("/v1/subscribers/crm/deliveries?limit=500")["deliveries"];
    ASSERT_EQ(deliveries.size(), 20U);
    EXPECT_EQ(deliveries[0]["status"], 200);
    EXPECT_EQ(deliveries[0]["outcome"], "accepted");
    EXPECT_EQ(deliveries[0]["address"], "127.0.0.1");
    EXPECT_THAT(t.hub.api("GET", "/metrics").body,
                HasSubstr("impresario_outbox_deliveries_total{outcome=\"accepted\"} 20"));
    // Nothing shows the secret again.
    EXPECT_FALSE(t.show("crm").contains("signing_secret"));
    EXPECT_EQ(t.show("crm")["signing_secret_count"], 1);
    EXPECT_EQ(t.hub.database.value("select count(*) from subscribers where secrets_sealed like '%whsec%'"), "0");
    EXPECT_EQ(t.hub.api("DELETE", "/v1/subscribers/crm").status, 200);
    EXPECT_EQ(t.hub.api("GET", "/v1/subscribers/crm").status, 404);
}

TEST(Outbox, WhatFailsForAWhileIsToldAndMarkedOnce) {
    std::atomic<int> count{0};
    Telling t([&](const Asked&) { return count++ < 2 ? Behaviour{500, "not yet"} : Behaviour{200, "{}"}; });
    t.put("crm");
    t.enqueue(1);
    ASSERT_TRUE(t.await_published("crm", 1));
    EXPECT_EQ(t.ear.count(), 3U);
    EXPECT_EQ(t.told().size(), 1U) << "with the same id";
    const auto messages = t.hub.get("/v1/subscribers/crm/messages")["messages"];
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0]["state"], "published");
    EXPECT_EQ(messages[0]["deliveries"], 3);
    EXPECT_EQ(t.show("crm")["published"], 1);
    EXPECT_EQ(t.hub.get("/v1/subscribers/crm/deliveries")["deliveries"][2]["status"], 500);
}

TEST(Outbox, InOrderNothingGoesBeforeWhatHasNotBeenTaken) {
    std::atomic<int> count{0};
    Telling t([&](const Asked&) { return ++count % 7 == 0 ? Behaviour{503, ""} : Behaviour{200, "{}"}; });
    t.put("crm", {{"ordered", true}, {"topics", {"executions"}}, {"types", Json::array()}, {"workers", 4}});
    t.enqueue(10);
    ASSERT_TRUE(eventually([&] { return t.ids_of("execution.completed").size() == 10; }));
    ASSERT_TRUE(t.await(
        "crm", [](const Json& s) { return s["oldest_waiting_at"].is_null() && s["published"] > 20; }, 60));
    const auto all = t.hub.database.value(
        "select string_agg('evt_' || stream_id || '_' || seq, ',' order by event_id) from events where kind = "
        "'execution'");
    std::string told;
    int n = 0;
    for (const auto& asked : t.ear.asked())
        if (++n % 7 != 0) told += (told.empty() ? "" : ",") + asked.webhook_id();
    EXPECT_EQ(told, all);
}

TEST(Outbox, WhoIsDownLosesNothingAndKeepsNobodyWaiting) {
    Telling t;
    int port = 0;
    {
        Peer gone;
        port = gone.port();
    }
    t.put("down", {{"url", "http://127.0.0.1:" + std::to_string(port) + "/"}, {"backoff_max_seconds", 1}});
    t.put("up");
    t.enqueue(300);
    ASSERT_TRUE(t.await_published("up", 300));
    ASSERT_TRUE(t.await("down", [](const Json& s) { return s["health"] == "failing"; }));
    const auto down = t.show("down");
    EXPECT_EQ(down["published"], 0);
    EXPECT_EQ(down["failed"], 0);
    // Two batches before anything was known, and one event more at each try since.
    EXPECT_LE(down["pending"].get<int>() + down["in_flight"].get<int>(), 120) << "the rest waits in the journal";
    EXPECT_GT(down["lag_seconds"], 0);
    EXPECT_THAT(down["last_error"], HasSubstr("refused"));
    EXPECT_TRUE(eventually([&] {
        return t.hub.api("GET", "/metrics")
                   .body.find("impresario_outbox_failing{organization_id=\"default\",subscriber=\"down\"} 1") !=
               std::string::npos;
    }));
    EXPECT_EQ(t.hub.database.value("select count(*) from events where type = 'subscriber.failing'"), "1");
    // It comes back at another address; nothing was lost.
    t.put("down", {{"backoff_max_seconds", 1}}, 200);
    ASSERT_TRUE(t.await_published("down", 300));
    EXPECT_EQ(t.hub.database.value("select count(*) from events where type = 'subscriber.recovered'"), "1");
    EXPECT_EQ(t.told(), t.ids_of("execution.completed"));
}

TEST(Outbox, ARefusedEventIsGivenUpAndToldAgainWhenAsked) {
    std::atomic<bool> mended{false};
    Telling t([&](const Asked& asked) {
        const bool poison = asked.json["data"]["type"] == "execution.queued" && asked.json["data"]["seq"] == 1;
        return poison && !mended ? Behaviour{422, "cannot read it"} : Behaviour{200, "{}"};
    });
    t.put("crm", {{"types", {"execution.queued", "execution.completed"}}, {"attempts", 2}});
    t.enqueue(1);
    ASSERT_TRUE(t.await("crm", [](const Json& s) { return s["published"] >= 1; }));
    // Others are taken meanwhile: so it is the event's own fault.
    ASSERT_TRUE(eventually([&] {
        t.enqueue(1);
        return t.show("crm")["failed"] >= 1;
    }));
    const auto failed = t.hub.get("/v1/subscribers/crm/messages?state=failed")["messages"];
    EXPECT_THAT(failed.back()["error"], HasSubstr("422"));
    EXPECT_EQ(failed.back()["failures"], 2);
    mended = true;
    const auto answer = t.hub.api("POST", "/v1/subscribers/crm/replay", {{"failed", true}});
    EXPECT_EQ(answer.status, 202);
    EXPECT_GE(answer.json()["messages"], 1);
    ASSERT_TRUE(t.await("crm", [](const Json& s) { return s["failed"] == 0 && s["oldest_waiting_at"].is_null(); }));
}

TEST(Outbox, WhatIsRefusedAgainAndAgainKeepsNothingElseWaiting) {
    Telling t([](const Asked& asked) {
        return Behaviour{asked.json["data"]["type"] == "execution.queued" ? 422 : 200, "{}"};
    });
    t.put("crm", {{"types", {"execution.queued", "execution.completed"}}, {"attempts", 2}, {"backoff_max_seconds", 1}});
    t.hub.api("POST", "/v1/pause", {{"reason", "first those that it will not have"}});
    t.enqueue(10);
    ASSERT_TRUE(t.await("crm", [](const Json& s) { return s["health"] == "failing"; }));
    t.hub.api("POST", "/v1/resume", Json::object());
    ASSERT_TRUE(t.await(
        "crm", [](const Json& s) { return s["published"] == 10; }, 60));
    ASSERT_TRUE(t.await(
        "crm", [](const Json& s) { return s["failed"] == 10 && s["oldest_waiting_at"].is_null(); }, 60));
    EXPECT_EQ(t.hub.get("/v1/subscribers/crm/messages?state=published&limit=500")["messages"].size(), 10U);
}

TEST(Outbox, WhatWasToldIsToldAgainByIdSinceATimeAndByAFilter) {
    Telling t;
    t.put("crm", {{"types", {"execution.queued", "execution.completed"}}});
    t.enqueue(5);
    ASSERT_TRUE(t.await_published("crm", 10));
    const auto first = t.told();
    const auto one = t.ear.asked().front().webhook_id();
    EXPECT_EQ(t.hub.api("POST", "/v1/subscribers/crm/replay", {{"event", one}}).status, 202);
    ASSERT_TRUE(t.await_published("crm", 11));
    EXPECT_EQ(t.ear.asked().back().webhook_id(), one);
    const auto since = t.hub.database.value("select to_json(min(at) - interval '1 second') #>> '{}' from events");
    EXPECT_EQ(
        t.hub.api("POST", "/v1/subscribers/crm/replay", {{"since", since}, {"types", {"execution.completed"}}}).status,
        202);
    ASSERT_TRUE(t.await_published("crm", 16));
    EXPECT_EQ(t.hub.api("POST", "/v1/subscribers/crm/replay", {{"since", since}}).status, 202);
    ASSERT_TRUE(t.await_published("crm", 26));
    EXPECT_EQ(t.told(), first) << "under the same ids, and nothing else";
    EXPECT_EQ(t.ear.count(), 26U);
    EXPECT_EQ(t.hub.database.value("select count(*) from outbox_replays"), "0");
    const auto later = t.hub.database.value("select to_json(now() + interval '1 hour') #>> '{}'");
    EXPECT_EQ(t.hub.api("POST", "/v1/subscribers/crm/replay", {{"since", later}}).status, 202);
    EXPECT_EQ(t.hub.api("POST", "/v1/subscribers/crm/replay", {{"event", "evt_01a228e4-4832-7093-8e88-d1fc8ec356ec_1"}})
                  .status,
              404);
    for (const auto& [body, names] :
         std::vector<std::pair<Json, std::string>>{{Json::object(), "since"},
                                                   {{{"event", "nonsense"}}, "event"},
                                                   {{{"failed", true}, {"since", since}}, "since"},
                                                   {{{"types", {"execution.completed"}}}, "since"},
                                                   {{{"since", "yesterday"}}, "since"},
                                                   {{{"since", since}, {"until", since}}, "until"}}) {
        const auto reply = t.hub.api("POST", "/v1/subscribers/crm/replay", body);
        EXPECT_EQ(reply.status, 422) << body;
        EXPECT_THAT(reply.body, HasSubstr("\"/" + names + "\"")) << body;
    }
}

TEST(Outbox, NothingIsLostWhenTheHubIsKilledAgainAndAgain) {
    Telling t([](const Asked&) {
        Behaviour behaviour{200, "{}"};
        behaviour.delay = std::chrono::milliseconds{25};
        return behaviour;
    });
    t.put("crm", {{"batch_size", 10}});
    for (std::size_t i = 1; i <= 4; ++i) {
        // Killed in the middle of telling, not of working: what is unknown there waits for its deadline.
        t.enqueue(50);
        ASSERT_TRUE(eventually([&] { return t.ids_of("execution.completed").size() == 50 * i; }));
        t.hub.hub->kill();
        t.hub.start();
    }
    ASSERT_TRUE(t.await(
        "crm", [](const Json& s) { return s["oldest_waiting_at"].is_null(); }, 60));
    EXPECT_EQ(t.told(), t.ids_of("execution.completed"));
    EXPECT_EQ(t.hub.database.value("select count(*) from outbox_messages where state <> 'published'"), "0");
    EXPECT_EQ(t.hub.database.value("select count(*) from outbox_messages"), "200") << "each is marked once";
}

TEST(Outbox, AnotherNodeGoesOnWhereTheFirstEnded) {
    Telling t(slow);
    const HubProcess second(t.hub.database, t.hub.key_file(), t.hub.config());
    t.put("crm");
    t.enqueue(20);
    ASSERT_TRUE(t.await_published("crm", 20));
    EXPECT_EQ(t.ear.count(), 20U) << "one node tells";
    t.enqueue(40);
    ASSERT_TRUE(eventually([&] { return t.ids_of("execution.completed").size() == 60; }));
    t.hub.hub->kill();
    ASSERT_TRUE(eventually([&] { return t.told().size() == 60; }, 40));
    t.hub.start();
    EXPECT_EQ(t.told(), t.ids_of("execution.completed"));
}

TEST(Outbox, WhoTakesNothingForTooLongIsToldNoMoreUntilSomebodyEnablesIt) {
    Telling t(refuses(404));
    t.put("crm", {{"disable_after_seconds", 2}, {"backoff_max_seconds", 1}});
    t.enqueue(10);
    ASSERT_TRUE(t.await("crm", [](const Json& s) { return s["health"] == "disabled"; }));
    const auto shown = t.show("crm");
    EXPECT_EQ(shown["disabled"]["by"], "hub");
    EXPECT_THAT(shown["disabled"]["reason"], HasSubstr("404"));
    EXPECT_EQ(t.hub.database.value("select count(*) from events where type = 'subscriber.disabled'"), "1");
    const auto quiet = t.ear.count();
    t.put("witness");
    t.ear.set_script([](const Asked&) { return Behaviour{200, "{}"}; });
    t.enqueue(10);
    ASSERT_TRUE(t.await_published("witness", 10));
    EXPECT_EQ(t.ear.count(), quiet + 10) << "it is told nothing";
    EXPECT_EQ(t.hub.api("DELETE", "/v1/subscribers/witness").status, 200);
    EXPECT_EQ(t.hub.api("POST", "/v1/subscribers/crm/enable").status, 200);
    ASSERT_TRUE(t.await_published("crm", 20));
    EXPECT_EQ(t.told(), t.ids_of("execution.completed")) << "what happened meanwhile too";
    EXPECT_EQ(t.hub.api("POST", "/v1/subscribers/crm/disable", {{"reason", "moving"}}).status, 200);
    EXPECT_EQ(t.show("crm")["disabled"]["reason"], "moving");
}

TEST(Outbox, WhatASubscriberIsToHearFromNowOnItHears) {
    Telling t;
    t.put("crm");
    for (int i = 0; i < 15; ++i) {
        // Something else happens meanwhile, so that the journal is being looked through.
        t.enqueue(3);
        t.put("crm", {{"types", {"execution.queued", "execution.completed"}}}, 200);
        const auto id = t.hub.enqueue("work");
        ASSERT_TRUE(eventually([&] { return t.told().contains("evt_" + id + "_1"); })) << i;
        t.put("crm", Json::object(), 200);
    }
}

TEST(Outbox, WhoIsSwitchedOffAndOnWhileARequestIsUnderWayIsToldOnce) {
    std::atomic<int> count{0};
    Telling t([&](const Asked&) {
        Behaviour behaviour{200, "{}"};
        if (count++ == 0) behaviour.delay = std::chrono::milliseconds{1500};
        return behaviour;
    });
    t.put("crm", {{"workers", 1}});
    t.enqueue(10);
    ASSERT_TRUE(t.ear.wait_for(1));
    EXPECT_EQ(t.hub.api("POST", "/v1/subscribers/crm/disable").status, 200);
    EXPECT_EQ(t.hub.api("POST", "/v1/subscribers/crm/enable").status, 200);
    ASSERT_TRUE(t.await_published("crm", 10));
    EXPECT_EQ(t.ear.count(), 10U);
    EXPECT_EQ(t.show("crm")["published"], 10);
}

TEST(Outbox, AReplayDoesNotOvertakeWhatHasNotBeenTold) {
    std::atomic<bool> deaf{true};
    Telling t([&](const Asked&) { return Behaviour{deaf ? 503 : 200, "{}"}; });
    t.put("crm", {{"ordered", true}, {"backoff_max_seconds", 1}});
    t.enqueue(5);
    ASSERT_TRUE(eventually([&] { return t.ids_of("execution.completed").size() == 5; }));
    const auto middle = t.hub.database.value("select to_json(now()) #>> '{}'");
    t.enqueue(5);
    ASSERT_TRUE(eventually([&] { return t.ids_of("execution.completed").size() == 10; }));
    EXPECT_EQ(t.hub.api("POST", "/v1/subscribers/crm/replay", {{"since", middle}}).status, 202);
    const auto heard = t.ear.count();
    deaf = false;
    ASSERT_TRUE(t.await("crm", [](const Json& s) { return s["published"] >= 10 && s["replays"] == 0; }));
    std::string first_ten;
    std::set<std::string> seen;
    const auto asked = t.ear.asked();
    for (std::size_t i = heard; i < asked.size(); ++i)
        if (seen.insert(asked[i].webhook_id()).second)
            first_ten += (first_ten.empty() ? "" : ",") + asked[i].webhook_id();
    EXPECT_EQ(first_ten,
              t.hub.database.value("select string_agg('evt_' || stream_id || '_' || seq, ',' order by event_id) "
                                   "from events where type = 'execution.completed'"));
}

TEST(Outbox, AnOrganizationHearsOfItsOwnAlone) {
    Telling t;
    t.hub.database.run("insert into organizations (organization_id, name) values ('acme', 'Acme')");
    const auto key = t.hub.make_key("admin", "acme", "acme");
    const auto ask = [&](const std::string& method, const std::string& path, const Json& body) {
        return request(t.hub.hub->port(), method, path, {{"authorization", "Bearer " + key}}, body.dump());
    };
    EXPECT_EQ(ask("PUT", "/v1/subscribers/mine", {{"url", t.ear.url("/mine")}, {"topics", {"executions"}}}).status,
              201);
    EXPECT_EQ(ask("PUT", "/v1/workflow-types/work", {{"endpoints", {{{"url", t.work.url()}}}}}).status, 201);
    t.put("all");
    const auto theirs = t.enqueue(1).front();
    const auto mine =
        ask("POST", "/v1/executions", {{"workflow_type", "work"}}).json().at("execution_id").get<std::string>();
    ASSERT_TRUE(t.await_published("all", 2));
    ASSERT_TRUE(eventually([&] {
        const auto told = t.ear.asked();
        return std::any_of(told.begin(), told.end(), [&](const Asked& a) {
            return a.path == "/mine" && a.json["type"] == "execution.completed";
        });
    }));
    for (const auto& asked : t.ear.asked())
        if (asked.path == "/mine") EXPECT_EQ(asked.json["data"]["stream_id"], mine);
    EXPECT_EQ(ask("POST", "/v1/subscribers/mine/replay", {{"event", "evt_" + theirs + "_1"}}).status, 404);
    EXPECT_EQ(ask("GET", "/v1/subscribers/all", nullptr).status, 404);
    EXPECT_EQ(ask("DELETE", "/v1/subscribers/all", nullptr).status, 404);
}

TEST(Outbox, WhoIsDeletedIsGoneAtOnceAndItsRowsSoon) {
    Telling t;
    t.put("crm");
    t.enqueue(3);
    ASSERT_TRUE(t.await_published("crm", 3));
    const auto id = t.hub.database.value("select subscriber_id from subscribers");
    EXPECT_EQ(t.hub.api("DELETE", "/v1/subscribers/crm").status, 200);
    EXPECT_EQ(t.hub.api("DELETE", "/v1/subscribers/crm").status, 404);
    EXPECT_EQ(t.show("crm")["status"], 404);
    const auto again = t.put("crm");
    EXPECT_EQ(again["published"], 0);
    EXPECT_EQ(again["version"], 1);
    t.hub.hub->kill();
    t.hub.start();
    EXPECT_TRUE(eventually([&] {
        return t.hub.database.value("select count(*) from subscribers where subscriber_id = '" + id + "'") == "0";
    }));
    EXPECT_EQ(t.hub.database.value("select count(*) from outbox_messages where subscriber_id = '" + id + "'"), "0");
}

TEST(Outbox, WhatTheDatabaseRefusesIsSaidAndNothingIsLost) {
    Telling t;
    t.put("crm");
    t.hub.database.run("alter table outbox_messages add constraint spoilt check (event_id < 0) not valid");
    t.enqueue(3);
    ASSERT_TRUE(eventually([&] {
        return t.hub.hub->log().find("the database refuses what is to be written about them") != std::string::npos;
    }));
    t.hub.database.run("alter table outbox_messages drop constraint spoilt");
    ASSERT_TRUE(t.await_published("crm", 3));
    EXPECT_EQ(t.told(), t.ids_of("execution.completed"));
}

TEST(Outbox, ABusySubscriberIsLeftAloneAsLongAsItAsks) {
    std::atomic<int> count{0};
    Telling t([&](const Asked&) {
        Behaviour behaviour{200, "{}"};
        if (count++ == 0) {
            behaviour.status = 429;
            behaviour.headers = {{"retry-after", "3"}};
        }
        return behaviour;
    });
    t.put("crm", {{"workers", 1}});
    t.enqueue(5);
    ASSERT_TRUE(t.await_published("crm", 5));
    const auto waited = t.hub.database.value(
        "select extract(epoch from max(at) - min(at))::int from (select at from outbox_deliveries order by at limit 2) "
        "d");
    EXPECT_GE(std::stoi(waited), 3);
    EXPECT_EQ(t.ear.count(), 6U);
    EXPECT_EQ(t.hub.database.value("select max(failures) from outbox_messages"), "0") << "no event counts it";
}

TEST(Outbox, WhatCannotBeIsRefusedByName) {
    Telling t;
    const auto refused = [&](const Json& body, const std::string& member) {
        const auto reply = t.hub.api("PUT", "/v1/subscribers/crm", body);
        EXPECT_EQ(reply.status, 422) << body;
        EXPECT_THAT(reply.body, HasSubstr("\"" + member)) << body;
        return reply.body;
    };
    EXPECT_THAT(refused({{"url", "http://10.1.2.3/"}}, "/url"), HasSubstr("egress policy denies 10.1.2.3"));
    refused({{"url", "http://169.254.169.254/latest/meta-data"}}, "/url");
    refused({{"url", "ftp://example.org/"}}, "/url");
    refused(Json::object(), "/url");
    const auto url = t.ear.url();
    refused({{"url", url}, {"topics", {"weather"}}}, "/topics");
    refused({{"url", url}, {"types", {"nonsense"}}}, "/types");
    refused({{"url", url}, {"batch_size", 0}}, "/batch_size");
    refused({{"url", url}, {"workers", 100}}, "/workers");
    refused({{"url", url}, {"signing_secrets", {"short"}}}, "/signing_secrets/0");
    refused({{"url", url}, {"headers", {{"webhook-id", "mine"}}}}, "/headers/webhook-id");
    refused({{"url", url}, {"backoff_seconds", 0}}, "/backoff_seconds");
    refused({{"url", url}, {"surprise", 1}}, "/surprise");
    EXPECT_EQ(t.hub.api("PUT", "/v1/subscribers/No%20Name", {{"url", url}}).status, 422);
    EXPECT_EQ(t.hub.api("GET", "/v1/subscribers/crm").status, 404);
    t.put("crm");
    EXPECT_EQ(t.hub.api("GET", "/v1/subscribers/crm/messages?state=lost").status, 422);
    EXPECT_EQ(t.hub.api("GET", "/v1/subscribers/crm/messages?before=x").status, 422);
    const std::string viewer = t.hub.make_key("viewer", "reads");
    EXPECT_EQ(
        request(t.hub.hub->port(), "PUT", "/v1/subscribers/x", {{"authorization", "Bearer " + viewer}}, "{}").status,
        403);
}

TEST(Outbox, SecretsAreReplacedWithoutAGap) {
    Telling t;
    const auto first = t.put("crm", {{"bearer", "let-me-in"}, {"headers", {{"x-team", "crm"}}}})
                           .at("signing_secret")
                           .get<std::string>();
    const auto rotated = t.hub.api("POST", "/v1/subscribers/crm/rotate-signing-secret").json();
    const auto second = rotated.at("signing_secret").get<std::string>();
    EXPECT_EQ(rotated["signing_secret_count"], 2);
    t.enqueue(1);
    ASSERT_TRUE(t.await_published("crm", 1));
    const auto asked = t.ear.asked().front();
    EXPECT_EQ(asked.headers.at("authorization"), "Bearer let-me-in");
    EXPECT_EQ(asked.headers.at("x-team"), "crm");
    const domain::TimePoint now{std::chrono::seconds{std::stoll(asked.headers.at("webhook-timestamp"))}};
    for (const auto& secret : {first, second})
        EXPECT_FALSE(platform::verify({domain::Secret(secret)}, asked.webhook_id(),
                                      asked.headers.at("webhook-timestamp"), asked.headers.at("webhook-signature"),
                                      asked.body, now));
    // What is shown can be given back, and what a definition does not say about secrets stays.
    t.put("crm", t.show("crm"), 200);
    EXPECT_EQ(t.show("crm")["signing_secret_count"], 2);
    EXPECT_EQ(t.show("crm")["has_bearer"], true);
    const auto test = t.hub.api("POST", "/v1/subscribers/crm/test").json();
    EXPECT_EQ(test["outcome"], "accepted");
    EXPECT_EQ(t.ear.asked().back().json["type"], "subscriber.test");
}

}
}
