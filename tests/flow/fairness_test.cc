// Shares on the running program: two organizations and one provider, counted at the receiver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

const Json kThreeToOne{
    {"measure", "starts"}, {"shares", {{{"organization_id", "acme"}, {"weight", 3}}}}, {"reason", "their plan"}};

/// Two organizations whose jobs call one provider, which answers one after the other, two at once.
struct Shared {
    Peer peer{[](const Asked&) {
        Behaviour done{200, R"({"status":"completed","result_data":1})"};
        done.delay = std::chrono::milliseconds{20};
        return done;
    }};
    HubFixture hub;
    std::string admin = hub.key;
    std::map<std::string, std::string> keys;

    Shared() {
        EXPECT_EQ(hub.api("PUT", "/v1/providers/shared",
                          {{"limits", {{{"name", "at_once"}, {"of", "concurrency"}, {"limit", 2}}}}})
                      .status,
                  201);
        for (const std::string name : {"acme", "beta"}) {
            hub.database.run("insert into organizations (organization_id, name) values ('" + name + "', '" + name +
                             "')");
            keys[name] = hub.make_key("admin", name, name);
            as(name);
            EXPECT_TRUE(eventually([&] { return hub.api("GET", "/v1/workflow-types").status == 200; }))
                << "the hub has not heard of the key";
            // What a killed node had under way is tried again soon.
            hub.register_type("jobs", peer.url(),
                              {{"call_estimates", {{{"provider", "shared"}, {"calls", 1}}}},
                               {"timeout_seconds", 5},
                               {"retry_policy", quick_retries(3)}});
        }
        as("default");
    }
    /// Whoever asks from now on.
    void as(const std::string& organization) { hub.key = organization == "default" ? admin : keys.at(organization); }

    /// All of it waits before any of it goes: the provider is left alone meanwhile.
    void enqueue(int count) {
        ASSERT_EQ(
            hub.api("POST", "/v1/providers/shared/cool",
                    {{"until", hub.database.value("select to_char(now() at time zone 'utc' + interval '10 minutes', "
                                                  "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")}})
                .status,
            200);
        for (const auto& [name, key] : keys) {
            as(name);
            Json executions = Json::array();
            for (int i = 0; i < count; ++i)
                executions.push_back({{"workflow_type", "jobs"}, {"priority", name == "beta" ? 100 : 0}});
            ASSERT_EQ(hub.api("POST", "/v1/executions/batch", {{"executions", executions}}).status, 201);
        }
        as("default");
    }
    void go() { ASSERT_EQ(hub.api("POST", "/v1/providers/shared/reset").status, 200); }
    /// Of the requests from `from` on.
    int of_acme(std::size_t from, std::size_t count) const {
        const auto asked = peer.asked();
        int acme = 0;
        for (std::size_t i = from; i < from + count; ++i) acme += asked.at(i).json["organization_id"] == "acme";
        return acme;
    }
};

TEST(Fairness, WithoutAPolicyTheBestByScoreGoesWhosoeverItIs) {
    Shared shared;
    EXPECT_EQ(shared.hub.api("GET", "/v1/fairness").status, 404);
    shared.enqueue(40);
    shared.go();
    ASSERT_TRUE(shared.peer.wait_for(80, 60));
    EXPECT_EQ(shared.of_acme(0, 40), 0);
}

TEST(Fairness, ThreeToOneAtTheReceiverWhateverThePriorities) {
    Shared shared;
    ASSERT_EQ(shared.hub.api("PUT", "/v1/fairness", kThreeToOne).status, 201);
    shared.enqueue(90);
    shared.go();
    ASSERT_TRUE(shared.peer.wait_for(80, 60));
    const int acme = shared.of_acme(0, 80);
    std::printf("acme had %d of the first 80\n", acme);
    EXPECT_NEAR(acme, 60, 3);

    // Turned round while it runs, within two seconds on every node.
    Json turned = kThreeToOne;
    turned["shares"][0]["weight"] = 0.5;
    const auto since = shared.peer.count();
    ASSERT_EQ(shared.hub.api("PUT", "/v1/fairness", turned).status, 200);
    ASSERT_TRUE(shared.peer.wait_for(since + 5 + 30, 60));
    EXPECT_LE(shared.of_acme(since + 5, 30), 15);
    const auto versions = shared.hub.get("/v1/fairness/versions")["versions"];
    ASSERT_EQ(versions.size(), 2U);
    EXPECT_EQ(versions[0]["by"], "test");
    EXPECT_EQ(versions[1]["reason"], "their plan");
}

TEST(Fairness, SaysHowEachStands) {
    Shared shared;
    HubProcess second(shared.hub.database, shared.hub.key_file());
    ASSERT_TRUE(second.wait_ready());
    ASSERT_EQ(shared.hub.api("PUT", "/v1/fairness", kThreeToOne).status, 201);
    shared.enqueue(200);
    shared.go();
    ASSERT_TRUE(shared.peer.wait_for(60, 60));
    const auto of = [](const Json& fairness, const std::string& organization) {
        for (const auto& each : fairness["standing"])
            if (each["organization_id"] == organization && !each.contains("workflow_type")) return each;
        return Json{};
    };
    const auto fairness = shared.hub.get("/v1/fairness");
    EXPECT_EQ(fairness["measure"], "starts");
    EXPECT_EQ(of(fairness, "acme")["asked_percent"], 75);
    EXPECT_EQ(of(fairness, "beta")["weight"], 1);
    EXPECT_NEAR(of(fairness, "acme")["had_percent"].get<double>(), 75, 5);
    EXPECT_GE(of(fairness, "acme")["started"].get<double>(), 40);
    // The other node knows it from the tables.
    ASSERT_TRUE(eventually([&] {
        const auto theirs =
            request(second.port(), "GET", "/v1/fairness", {{"authorization", "Bearer " + shared.admin}}).json();
        const auto acme = of(theirs, "acme");
        return acme.is_object() && acme["had_percent"].is_number() && acme["had_percent"] > 60;
    }));
    const auto metrics = shared.hub.api("GET", "/metrics").body + request(second.port(), "GET", "/metrics").body;
    EXPECT_THAT(metrics,
                HasSubstr(R"(impresario_fair_share{organization_id="acme",what="asked",workflow_type=""} 0.75)"));

    // One that waits says whose share it waits for.
    shared.as("acme");
    const auto waits = shared.hub.enqueue("jobs", {{"n", 1}}, {{"priority", 0}});
    const auto why = shared.hub.get("/v1/executions/" + waits + "/explain");
    EXPECT_THAT(why["why"].get<std::string>(), HasSubstr("its organization acme with weight 3 is to have 75 %"));
    EXPECT_THAT(why["change"]["what"].get<std::string>(), HasSubstr("more weight in the fairness policy"));
    EXPECT_EQ(why["share"]["organization"]["asked_percent"], 75);
    // An organization sees its own, and changes nothing.
    EXPECT_TRUE(of(shared.hub.get("/v1/fairness"), "beta").is_null());
    EXPECT_EQ(shared.hub.api("PUT", "/v1/fairness", kThreeToOne).status, 403);
    EXPECT_EQ(shared.hub.api("DELETE", "/v1/fairness").status, 403);
    shared.as("default");

    const auto preview =
        shared.hub.api("POST", "/v1/fairness/preview",
                       {{"measure", "starts"}, {"shares", {{{"organization_id", "beta"}, {"weight", 3}}}}});
    ASSERT_EQ(preview.status, 200);
    bool found = false;
    const auto standing = preview.json()["standing"];
    for (const auto& each : standing)
        if (each["organization_id"] == "acme" && each["workflow_type"].is_null()) {
            found = true;
            EXPECT_EQ(each["asked_percent_before"], 75);
            EXPECT_EQ(each["asked_percent_after"], 25);
            EXPECT_GT(each["waiting"], 50);
        }
    EXPECT_TRUE(found) << standing;
    EXPECT_EQ(shared.hub.get("/v1/fairness")["version"], 1) << "a preview changes nothing";

    ASSERT_EQ(shared.hub.api("DELETE", "/v1/fairness?reason=enough").status, 204);
    EXPECT_EQ(shared.hub.api("GET", "/v1/fairness").status, 404);
    const auto versions = shared.hub.get("/v1/fairness/versions")["versions"];
    EXPECT_EQ(versions[0]["reason"], "enough");
    EXPECT_TRUE(versions[0]["policy"].is_null());
    ASSERT_EQ(shared.hub.api("PUT", "/v1/fairness", kThreeToOne).json()["version"], 3);
}

TEST(Fairness, BadPoliciesAreRefusedByName) {
    HubFixture hub;
    const auto refused = [&](Json change) {
        Json policy = kThreeToOne;
        policy.merge_patch(change);
        const auto reply = hub.api("PUT", "/v1/fairness", policy);
        EXPECT_EQ(reply.status, 422) << policy;
        return reply.json()["errors"][0]["pointer"].get<std::string>();
    };
    EXPECT_EQ(refused({{"shares", {{{"organization_id", "acme"}, {"weight", 0}}}}}), "/shares/0/weight");
    EXPECT_EQ(refused({{"measure", "euros"}}), "/measure");
    EXPECT_EQ(refused({{"shares", {{{"organization_id", "a"}}, {{"organization_id", "a"}}}}}), "/shares/1");
    EXPECT_EQ(refused({{"shares",
                        {{{"organization_id", "a"}, {"minimum_percent", 60}},
                         {{"organization_id", "b"}, {"minimum_percent", 50}}}}}),
              "/shares/1/minimum_percent");
    EXPECT_EQ(hub.api("GET", "/v1/fairness").status, 404) << "nothing of it was kept";
}

TEST(Fairness, ANewSchedulerSharesFromThenOn) {
    Shared shared;
    ASSERT_EQ(shared.hub.api("PUT", "/v1/fairness", kThreeToOne).status, 201);
    shared.enqueue(90);
    shared.go();
    ASSERT_TRUE(shared.peer.wait_for(20, 60));
    shared.hub.hub->kill();
    const auto before = shared.peer.count();
    shared.hub.start();
    ASSERT_TRUE(shared.peer.wait_for(before + 60, 90));
    EXPECT_NEAR(shared.of_acme(before, 60), 45, 4);
}

}
}
