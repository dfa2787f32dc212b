// Alerts on the running program: what is wrong is told once to whom it concerns, whatever a receiver does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "platform/process.h"
#include "tests/support/hub.h"
#include "tests/support/slack.h"
#include "tests/support/temporary_directory.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

// What a hub that is killed is told of beside, sooner or later, is another test's.
const std::string kQuick =
    "[alerts]\nevery_seconds = 1\n[[alerts.rules]]\nname = \"queue_depth_high\"\nraise = 2\nclear = 1\nfor_seconds = "
    "0\nkeep_seconds = 0\n[[alerts.rules]]\nname = \"scheduler_changed\"\nenabled = false\n";
std::string route(const std::string& receiver, const std::string& more = "") {
    return "[alerts.route]\nreceiver = \"" + receiver +
           "\"\ngroup_by = [\"alertname\"]\ngroup_wait_seconds = 0\ngroup_interval_seconds = "
           "1\nrepeat_interval_seconds = "
           "3600\n" +
           more;
}

/// What waits in a lane that is paused.
struct Alerting {
    explicit Alerting(const std::string& config) : hub(config) {
        hub.register_type("work", peer.url());
        hub.api("POST", "/v1/pause", {{"workflow_type", "work"}, {"reason", "test"}});
    }
    void trouble() {
        for (int i = 0; i < 3; ++i) waiting.push_back(hub.enqueue("work"));
    }
    void calm() {
        for (const auto& id : std::exchange(waiting, {}))
            hub.api("POST", "/v1/executions/" + id + "/cancel", Json::object());
    }
    Json firing(const std::string& name) const {
        const auto answer = hub.get("/v1/alerts?limit=500");
        for (const auto& alert : answer["alerts"])
            if (alert["name"] == name) return alert;
        return nullptr;
    }
    bool await_firing(const std::string& name, bool fires = true) const {
        return eventually([&] { return firing(name).is_object() == fires; });
    }
    std::string events() const {
        return hub.database.value(
            "select string_agg(type, ' ' order by event_id) from events where kind = 'alert' and payload -> 'labels' "
            "->> "
            "'alertname' = 'queue_depth_high'");
    }

    Peer peer{[](const Asked&) { return done(); }};
    HubFixture hub;
    std::vector<std::string> waiting;
};

TEST(Alerts, WhatIsWrongIsToldOnceAndSoIsItsEndAcrossAKill) {
    Slack slack;
    Alerting t(kQuick + slack.config() + route("slack"));
    t.trouble();
    ASSERT_TRUE(t.await_firing("queue_depth_high"));
    const auto alert = t.firing("queue_depth_high");
    EXPECT_EQ(alert["severity"], "warning");
    EXPECT_EQ(alert["labels"]["organization"], "default");
    EXPECT_EQ(alert["value"], 3);
    EXPECT_EQ(alert["causes"].size(), 3U);
    EXPECT_THAT(alert["summary"].get<std::string>(), HasSubstr("3 executions of default wait"));
    EXPECT_THAT(alert["command"].get<std::string>(), HasSubstr("impresario queue"));
    EXPECT_THAT(alert["runbook"].get<std::string>(), HasSubstr("docs/runbooks/queue_depth_high.md"));
    ASSERT_TRUE(slack.await(1));
    EXPECT_THAT(slack.taken()[0].dump(), HasSubstr("3 executions of default wait"));
    // Or nobody knows whether it was taken, and what comes after it waits for that.
    ASSERT_TRUE(eventually(
        [&] { return t.hub.database.value("select count(*) from notifications where state = 'delivered'") == "1"; }));

    t.hub.hub->kill();
    t.hub.start();
    // More of the same is not told again; that it is over is.
    t.calm();
    ASSERT_TRUE(t.await_firing("queue_depth_high", false));
    ASSERT_TRUE(slack.await(2));
    EXPECT_THAT(slack.taken()[1]["text"].get<std::string>(), HasSubstr("esolved"));
    EXPECT_EQ(slack.taken().size(), 2U);
    EXPECT_EQ(t.events(), "alert.raised alert.resolved");
    EXPECT_TRUE(eventually(
        [&] { return t.hub.database.value("select count(*) from notifications where state = 'delivered'") == "2"; }));
    const auto told = t.hub.get("/v1/notifications")["notifications"];
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[0]["kind"], "resolved");
    EXPECT_EQ(told[1]["kind"], "first");
    for (const auto& each : told) EXPECT_EQ(each["state"], "delivered");
    EXPECT_EQ(t.hub.get("/v1/receivers")["receivers"][0]["delivered"], 2);
    EXPECT_THAT(t.hub.api("GET", "/metrics").body, HasSubstr("impresario_alert_messages_total"));
}

TEST(Alerts, WhatIsNotTakenIsTriedUntilItIs) {
    Slack slack;
    slack.answer_first({{500, "oops"}, {429, "slow down", {{"retry-after", "2"}}}, {404, "no_service"}});
    Alerting t(kQuick + slack.config() + route("slack"));
    t.trouble();
    ASSERT_TRUE(eventually([&] {
        const auto told = t.hub.get("/v1/notifications")["notifications"];
        return !told.empty() && told[0]["state"] == "failed";
    }));
    const auto receiver = t.hub.get("/v1/receivers")["receivers"][0];
    EXPECT_EQ(receiver["delivered"], 0);
    EXPECT_FALSE(receiver["failing_since"].is_null());
    EXPECT_THAT(receiver["last_error"].get<std::string>(), HasSubstr("it answered 500"));
    EXPECT_THAT(t.hub.api("GET", "/v1/receivers").body, Not(HasSubstr("secret"))) << "its address is one";
    ASSERT_TRUE(slack.await(1, 60));
    EXPECT_TRUE(eventually([&] { return t.hub.get("/v1/notifications")["notifications"][0]["state"] == "delivered"; }));
    EXPECT_EQ(slack.taken().size(), 1U);
    EXPECT_THAT(t.hub.hub->log(), Not(HasSubstr("/services/T0")));
}

TEST(Alerts, SomebodyWhoKnowsIsNotToldAgain) {
    Slack slack(false);
    Alerting t(kQuick + slack.config() + route("slack", "[[alerts.route.routes]]\nmatchers = [\"alertname=never\"]\n"));
    const auto silence = t.hub.api("POST", "/v1/silences",
                                   {{"matchers", {"alertname=~queue_.*", "organization=default"}},
                                    {"for_seconds", 3600},
                                    {"comment", "a batch is loaded"}});
    ASSERT_EQ(silence.status, 201) << silence.body;
    t.trouble();
    ASSERT_TRUE(t.await_firing("queue_depth_high"));
    t.calm();
    ASSERT_TRUE(t.await_firing("queue_depth_high", false));
    t.trouble();
    ASSERT_TRUE(t.await_firing("queue_depth_high"));
    EXPECT_EQ(slack.taken().size(), 0U);
    const std::string id = silence.json()["silence_id"];
    EXPECT_EQ(t.hub.api("DELETE", "/v1/silences/" + id).status, 204);
    ASSERT_TRUE(slack.await(1)) << "what still fires is told then";
    EXPECT_EQ(t.hub.api("DELETE", "/v1/silences/" + id).status, 404);
    EXPECT_EQ(t.hub.get("/v1/silences?ended=true")["silences"].size(), 1U) << "who silenced what can be seen later";

    const std::string which = t.firing("queue_depth_high")["fingerprint"];
    const auto known = t.hub.cli({"alerts", "acknowledge", which.substr(0, 8), "--reason", "loading"}).json();
    EXPECT_EQ(known["acknowledged"]["comment"], "loading");
    EXPECT_EQ(t.hub.api("POST", "/v1/alerts/" + which + "/acknowledge", Json::object()).status, 200);
    EXPECT_EQ(t.hub.database.value("select count(*) from events where type = 'alert.acknowledged'"), "1");
    EXPECT_TRUE(t.hub.api("POST", "/v1/alerts/" + which + "/unacknowledge").json()["acknowledged"].is_null());
    t.calm();
    ASSERT_TRUE(t.await_firing("queue_depth_high", false));
    EXPECT_EQ(t.hub.api("POST", "/v1/alerts/" + which + "/acknowledge", Json::object()).status, 409);
    EXPECT_EQ(t.hub.api("POST", "/v1/alerts/0000/acknowledge", Json::object()).status, 404);
    EXPECT_EQ(t.hub.cli({"fsck", "--json"}).code, 0);
}

/// Alerts of others, in an Alertmanager's form.
Json others(int count, const std::string& description, const std::string& starts = "2026-11-27T10:00:00Z") {
    Json alerts = Json::array();
    for (int i = 0; i < count; ++i)
        alerts.push_back(
            {{"labels", {{"alertname", "disk_full"}, {"severity", "critical"}, {"host", "h" + std::to_string(i)}}},
             {"annotations", {{"summary", "disk " + std::to_string(i)}, {"description", description}}},
             {"startsAt", starts},
             {"generatorURL", "http://prometheus/graph"}});
    return alerts;
}

// S10 of the cases.
TEST(Alerts, AnAlertAboutEverythingIsStillAnAlert) {
    Slack slack;
    Alerting t(kQuick + slack.config() + route("slack"));
    std::string description;
    while (description.size() < 500) description += "<script> & @channel <!here> \xF0\x9F\x94\xA5 line\nbreak ";
    const auto told = t.hub.api("POST", "/api/v2/alerts", others(200, description));
    ASSERT_EQ(told.status, 200) << told.body;
    ASSERT_TRUE(slack.await(1));
    EXPECT_EQ(slack.refused(), 0);
    EXPECT_EQ(slack.taken().size(), 1U);
    EXPECT_THAT(slack.taken()[0].dump(), HasSubstr("more"));
    EXPECT_EQ(t.hub.get("/v1/alerts?limit=500")["alerts"].size(), 200U);
    // It is the same that is said again, until it is said to be over.
    EXPECT_EQ(t.hub.api("POST", "/api/v2/alerts", others(200, description)).status, 200);
    auto over = others(200, description);
    for (auto& each : over) each["endsAt"] = "2026-11-27T11:00:00Z";
    EXPECT_EQ(t.hub.api("POST", "/api/v2/alerts", over).status, 200);
    ASSERT_TRUE(slack.await(2));
    EXPECT_TRUE(t.hub.get("/v1/alerts")["alerts"].empty());
    EXPECT_EQ(t.hub.database.value("select count(*) from events where type = 'alert.raised'"), "200");
    EXPECT_EQ(t.hub.database.value("select string_agg(distinct ended_why, ' ') from alerts"), "said");

    const auto fault = t.hub.api("POST", "/api/v2/alerts", Json::array({{{"labels", {{"a-b", "x"}}}}}));
    EXPECT_EQ(fault.status, 422);
    EXPECT_THAT(fault.body, HasSubstr("/0/labels/a-b"));
    EXPECT_EQ(t.hub.api("POST", "/api/v2/alerts", Json::object()).status, 422);
}

TEST(Alerts, WhoIsOfAnotherOrganizationSpeaksForItAlone) {
    Slack slack(false);
    Alerting t(kQuick + slack.config() + route("slack"));
    t.hub.database.run("insert into organizations (organization_id, name) values ('b', 'B')");
    const std::vector<std::pair<std::string, std::string>> theirs{
        {"authorization", "Bearer " + t.hub.make_key("operator", "theirs", "b")}};
    const auto ask = [&](const std::string& method, const std::string& path, const Json& body = nullptr) {
        return request(t.hub.hub->port(), method, path, theirs, body.is_null() ? "" : body.dump());
    };
    ASSERT_TRUE(eventually([&] { return ask("GET", "/v1/alerts").status == 200; }));
    // As if they were ours, and as if nobody scheduled; one of them twice.
    const Json ours{
        {"labels", {{"alertname", "queue_depth_high"}, {"organization", "default"}, {"severity", "warning"}}},
        {"endsAt", "2099-01-01T00:00:00Z"}};
    const Json down{{"labels", {{"alertname", "orchestrator_down"}, {"severity", "critical"}}}};
    const auto told = ask("POST", "/api/v2/alerts", Json::array({ours, down, ours}));
    ASSERT_EQ(told.status, 200) << told.body;
    t.trouble();
    ASSERT_TRUE(eventually([&] {
        return t.hub.database.value("select count(*) from alerts where labels ->> 'alertname' = 'queue_depth_high'") ==
               "2";
    }));
    ASSERT_TRUE(eventually([&] {
        for (const auto& each : slack.taken())
            if (each.dump().find("3 executions of default wait") != std::string::npos) return true;
        return false;
    })) << "they silence nobody";
    const auto seen = ask("GET", "/v1/alerts").json();
    EXPECT_EQ(seen["alerts"].size(), 2U);
    for (const auto& alert : seen["alerts"]) EXPECT_EQ(alert["labels"]["organization"], "b");
    EXPECT_EQ(t.hub.database.value("select max(ends_at) < now() + interval '25 hours' from alerts where rule is null"),
              "t");
    const auto mine = t.hub.database.value("select fingerprint from alerts where rule = 'queue_depth_high'");
    EXPECT_EQ(ask("GET", "/v1/alerts/" + mine).status, 404);
    EXPECT_EQ(ask("POST", "/v1/alerts/" + mine + "/acknowledge", Json::object()).status, 404);
    EXPECT_EQ(ask("POST", "/v1/alerts/%25/acknowledge", Json::object()).status, 404);
    EXPECT_EQ(ask("GET", "/v1/incidents/%25").status, 404);
    EXPECT_EQ(ask("GET", "/v1/receivers").status, 403);
    EXPECT_EQ(ask("GET", "/v1/silences").status, 403);
    EXPECT_EQ(t.hub.database.value("select count(*) from alerts where acknowledged_at is not null"), "0");
}

TEST(Alerts, AThousandIncidentsAtOnceAreAllTold) {
    Peer webhook([](const Asked&) { return Behaviour{200, "{}"}; });
    const HubFixture hub(
        "[alerts]\nevery_seconds = 1\n[[alerts.receivers]]\nname = \"hook\"\ntype = \"webhook\"\nurl = \"" +
        webhook.url() + "\"\nsigning_secrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]\n" +
        "[alerts.route]\nreceiver = \"hook\"\ngroup_by = [\"alertname\"]\ngroup_wait_seconds = 0\n");
    Json alerts = Json::array();
    for (int i = 0; i < 1000; ++i) alerts.push_back({{"labels", {{"alertname", "a" + std::to_string(i)}}}});
    ASSERT_EQ(hub.api("POST", "/api/v2/alerts", alerts).status, 200);
    ASSERT_TRUE(webhook.wait_for(1000, 60));
    EXPECT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from notifications where state = 'delivered'") == "1000"; }));
    EXPECT_EQ(webhook.count(), 1000U) << "each once";
    for (auto& each : alerts) each["labels"]["more"] = "x";
    EXPECT_EQ(hub.api("POST", "/api/v2/alerts", alerts).status, 200);
    for (auto& each : alerts) each["labels"]["more"] = "y";
    EXPECT_EQ(hub.api("POST", "/api/v2/alerts", alerts).status, 429);
}

TEST(Alerts, ASubscriberThatIsSwitchedOffIsAnAlert) {
    const HubFixture hub("[alerts]\nevery_seconds = 1\n");
    ASSERT_EQ(
        hub.api("PUT", "/v1/subscribers/crm", {{"url", "http://127.0.0.1:9/"}, {"types", {"execution.dead"}}}).status,
        201);
    hub.database.run("update subscribers set disabled_at = now(), disabled_by = 'hub', disabled_reason = 'test'");
    const auto firing = [&] {
        return hub.database.value(
            "select count(*) from alerts where rule = 'subscriber_disabled' and phase = 'firing'");
    };
    EXPECT_TRUE(eventually([&] { return firing() == "1"; }));
    EXPECT_EQ(hub.api("POST", "/v1/subscribers/crm/enable", Json::object()).status, 200);
    EXPECT_TRUE(eventually([&] { return firing() == "0"; }));
}

TEST(Alerts, WhatIsReceivedAgainGoesOn) {
    const HubFixture hub("[alerts]\nevery_seconds = 1\n");
    const auto tell = [&](const std::string& summary, const std::string& starts, const Json& ends) {
        Json alert{{"labels", {{"alertname", "x"}}}, {"annotations", {{"summary", summary}}}, {"startsAt", starts}};
        if (!ends.is_null()) alert["endsAt"] = ends;
        const auto reply = hub.api("POST", "/api/v2/alerts", Json::array({alert}));
        EXPECT_EQ(reply.status, 200) << reply.body;
    };
    tell("old", "2026-01-01T10:00:00Z", nullptr);
    const auto before = hub.get("/v1/alerts")["alerts"][0];
    const std::string which = before["fingerprint"];
    EXPECT_EQ(hub.api("POST", "/v1/alerts/" + which + "/acknowledge", Json::object()).status, 200);
    tell("new", "2026-01-02T10:00:00Z", nullptr);
    const auto after = hub.get("/v1/alerts")["alerts"][0];
    EXPECT_EQ(after["since"], before["since"]);
    EXPECT_GT(after["ends_at"], before["ends_at"]);
    EXPECT_EQ(after["summary"], "new");
    EXPECT_TRUE(after["acknowledged"].is_object());
    tell("over", "2026-01-02T10:00:00Z", "2026-01-03T10:00:00Z");
    EXPECT_TRUE(hub.get("/v1/alerts")["alerts"].empty());
    tell("another", "2026-01-04T10:00:00Z", nullptr);
    const auto another = hub.get("/v1/alerts")["alerts"][0];
    EXPECT_EQ(another["since"], "2026-01-04T10:00:00.000000Z") << "that one is over, this is another";
    EXPECT_TRUE(another["acknowledged"].is_null());
    EXPECT_NE(another["stream_id"], before["stream_id"]);
}

TEST(Alerts, ARefusedFormIsSaidInPlainWordsOnceAndNeverCalledSent) {
    Slack slack;
    slack.answer_first({{400, "invalid_blocks"}, {400, "no_text"}});
    Alerting t(kQuick + slack.config() + route("slack"));
    t.trouble();
    ASSERT_TRUE(eventually([&] {
        const auto told = t.hub.get("/v1/notifications")["notifications"];
        return !told.empty() && told[0]["state"] == "refused";
    }));
    const auto asked = slack.peer().asked();
    ASSERT_GE(asked.size(), 2U);
    EXPECT_TRUE(asked[0].json.contains("blocks"));
    EXPECT_FALSE(asked[1].json.contains("blocks"));
    EXPECT_EQ(t.hub.get("/v1/receivers")["receivers"][0]["delivered"], 0);
    EXPECT_THAT(t.hub.hub->log(), HasSubstr("a message about alerts was not taken"));
}

TEST(Alerts, AWebhookIsSignedAndPagerDutyKnowsAnIncidentByItsKey) {
    Peer webhook([](const Asked&) { return Behaviour{200, "{}"}; });
    Peer pager([](const Asked&) { return Behaviour{202, R"({"status":"success"})"}; });
    const std::string secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    Alerting t(kQuick + "[[alerts.receivers]]\nname = \"hook\"\ntype = \"webhook\"\nurl = \"" + webhook.url() +
               "\"\nsigning_secrets = [\"" + secret +
               "\"]\n[[alerts.receivers]]\nname = \"page\"\ntype = \"pagerduty\"\nurl = \"" + pager.url("/v2/enqueue") +
               "\"\nrouting_key = \"R0UT1NGKEY\"\n" +
               route("hook",
                     "[[alerts.route.routes]]\nmatchers = [\"alertname=queue_depth_high\"]\nreceiver = "
                     "\"page\"\ncontinue = true\n[[alerts.route.routes]]\nreceiver = \"hook\"\nmatchers = "
                     "[\"alertname=queue_depth_high\"]\n"));
    t.trouble();
    ASSERT_TRUE(webhook.wait_for(1));
    ASSERT_TRUE(pager.wait_for(1));
    const auto told = webhook.asked()[0];
    EXPECT_EQ(told.json["version"], "4");
    EXPECT_EQ(told.json["status"], "firing");
    EXPECT_EQ(told.json["alerts"][0]["labels"]["alertname"], "queue_depth_high");
    EXPECT_TRUE(told.headers.at("webhook-signature").starts_with("v1,"));
    EXPECT_EQ(told.webhook_id(), told.json["notification_id"]);
    const auto paged = pager.asked()[0].json;
    EXPECT_EQ(paged["event_action"], "trigger");
    EXPECT_EQ(paged["routing_key"], "R0UT1NGKEY");
    t.calm();
    ASSERT_TRUE(pager.wait_for(2));
    EXPECT_EQ(pager.asked()[1].json["event_action"], "resolve");
    EXPECT_EQ(pager.asked()[1].json["dedup_key"], paged["dedup_key"]);
    EXPECT_THAT(t.hub.hub->log(), Not(HasSubstr("R0UT1NGKEY")));
    const auto test = t.hub.cli({"alerts", "test", "page"});
    EXPECT_EQ(test.code, 0) << test.text;
    EXPECT_EQ(t.hub.cli({"alerts", "test", "nobody"}).code, 4);
}

TEST(Alerts, DebiansAlertmanagerTakesOursAndTellsUsItsOwn) {
    const int port = free_port();
    const std::string directory = temporary_directory("alertmanager");
    platform::ProcessSettings settings;
    settings.command = {"/bin/sh", "-c",
                        "printf 'route: {receiver: nobody}\\nreceivers: [{name: nobody}]\\n' > " + directory +
                            "/config.yml && exec prometheus-alertmanager --config.file=" + directory +
                            "/config.yml --storage.path=" + directory +
                            " --cluster.listen-address= --web.listen-address=127.0.0.1:" + std::to_string(port)};
    settings.log_file = directory + "/log";
    const platform::Process alertmanager(settings);
    const auto ready = [&] {
        try {
            return request(port, "GET", "/-/ready").status == 200;
        } catch (const std::exception&) {
            return false;
        }
    };
    ASSERT_TRUE(eventually(ready));
    Alerting t(kQuick + "[[alerts.receivers]]\nname = \"am\"\ntype = \"alertmanager\"\nurl = \"http://127.0.0.1:" +
               std::to_string(port) + "\"\n" + route("am"));
    t.trouble();
    const auto known = [&] { return request(port, "GET", "/api/v2/alerts?active=true").json(); };
    ASSERT_TRUE(eventually([&] { return known().size() == 1; }));
    EXPECT_EQ(known()[0]["labels"]["alertname"], "queue_depth_high");
    EXPECT_EQ(known()[0]["labels"]["organization"], "default");
    t.calm();
    EXPECT_TRUE(eventually([&] { return known().empty(); })) << "and that it is over";

    // Its own tool takes the hub for an Alertmanager.
    const std::string http = directory + "/http.yml";
    settings.command = {"/bin/sh", "-c",
                        "printf 'authorization: {credentials: " + t.hub.key + "}\\n' > " + http +
                            " && exec amtool alert add disk_full severity=critical host=h1 --annotation=summary=full "
                            "--http.config.file=" +
                            http + " --alertmanager.url=http://127.0.0.1:" + std::to_string(t.hub.hub->port())};
    EXPECT_EQ(platform::Process(settings).wait(), 0);
    ASSERT_TRUE(t.await_firing("disk_full"));
    EXPECT_EQ(t.firing("disk_full")["labels"]["host"], "h1");
    ASSERT_TRUE(eventually([&] { return known().size() == 1; })) << "and is told of it by its receiver";
}

TEST(Alerts, MistakesOfTheConfigurationAreAllNamed) {
    HubFixture hub;
    const auto config =
        hub.config() +
        "[alerts]\npresets = [\"042\"]\n[[alerts.rules]]\nname = \"mine\"\nreading = \"mood\"\nraise = "
        "1\nsummary = \"{{ feeling }}\"\n[[alerts.receivers]]\nname = \"mail\"\ntype = \"email\"\nurl = "
        "\"http://x\"\nfrom = \"a b\"\n[alerts.route]\nreceiver = \"nobody\"\n";
    HubProcess wrong(hub.database, hub.key_file(), config, 0, false);
    EXPECT_EQ(wrong.wait_exit(), 2);
    const auto log = wrong.log();
    for (const auto* each : {"alerts/presets", "alerts/rules/0/reading", "alerts/rules/0/summary",
                             "alerts/receivers/0/url", "alerts/receivers/0/from", "alerts/route/receiver"})
        EXPECT_THAT(log, HasSubstr(each));
}

}
}
