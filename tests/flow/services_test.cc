// The four services as they ship, driven by a hub: every sample, partial results, and what the kit refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/clock.h"
#include "platform/signature.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const domain::Secret kSecret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");

/// A program of ours on a port of its own, with the secrets that register_with() hands to the hub.
class Program {
  public:
    explicit Program(const std::string& name, std::vector<std::pair<std::string, std::string>> environment = {},
                     int wanted_port = 0, const std::vector<std::string>& arguments = {})
        : port(wanted_port == 0 ? free_port() : wanted_port),
          log_file_((fs::temp_directory_path() / (name + "-" + std::to_string(port) + ".log")).string()) {
        platform::ProcessSettings settings;
        settings.command = {(fs::path(program()).parent_path() / name).string(), "--port",
                            std::to_string(port)};
        settings.command.insert(settings.command.end(), arguments.begin(), arguments.end());
        settings.environment = std::move(environment);
        settings.environment.emplace_back("IMPRESARIO_SERVICE_BEARER", "lane-bearer");
        settings.environment.emplace_back("IMPRESARIO_SERVICE_SIGNING_SECRETS", kSecret.reveal());
        settings.environment.emplace_back("IMPRESARIO_EGRESS_ALLOW", "127.0.0.0/8");
        settings.log_file = log_file_;
        process = std::make_unique<platform::Process>(std::move(settings));
        if (!eventually([this] { return request(port, "GET", "/").status != 0; }))
            throw std::runtime_error(name + " does not listen: " + log());
    }
    ~Program() {
        process.reset();
        fs::remove(log_file_);
    }
    std::string log() const {
        std::ifstream file(log_file_);
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    std::string url(const std::string& path = "/run") const {
        return "http://127.0.0.1:" + std::to_string(port) + path;
    }
    void register_with(const HubFixture& hub, const std::string& type, Json more = Json::object()) const {
        more["bearer"] = "lane-bearer";
        more["signing_secrets"] = {kSecret.reveal()};
        // A child of a partial result begins after the policy's wait.
        if (!more.contains("retry_policy")) more["retry_policy"] = quick_retries(1);
        hub.register_type(type, url(), more);
    }

    int port;
    std::unique_ptr<platform::Process> process;

  private:
    std::string log_file_;
};

/// The samples of a service by name, without ".json".
std::map<std::string, Json> samples(const std::string& service, const std::string& site = "") {
    std::map<std::string, Json> all;
    for (const auto& entry :
         fs::directory_iterator(std::string(IMPRESARIO_SOURCE_DIR) + "/subworkflows/" + service + "/samples")) {
        if (entry.path().extension() != ".json") continue;
        std::ifstream file(entry.path());
        std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        for (auto at = text.find("{site}"); at != std::string::npos; at = text.find("{site}"))
            text.replace(at, 6, site);
        all[entry.path().stem()] = Json::parse(text);
    }
    return all;
}

/// Runs every sample to its end; executions by sample.
std::map<std::string, Json> run_all(const HubFixture& hub, const std::string& service, const std::string& site = "") {
    std::map<std::string, std::string> ids;
    const auto inputs = samples(service, site);
    for (const auto& [name, input] : inputs) ids[name] = hub.enqueue(service, input);
    std::map<std::string, Json> ends;
    for (const auto& [name, id] : ids) ends[name] = hub.await_end(id, 60);
    return ends;
}

TEST(Services, AProviderThatRefusesBurnsNoAttemptAndSendsItsBill) {
    HubFixture hub;
    Program provider("mock_provider", {}, 0, {"--name", "gemini", "--limit", "6", "--window", "2"});
    Program service("echo-service", {{"IMPRESARIO_PROVIDER", "gemini=" + provider.url("/v1/generate")}});
    const Json declared{{"limits", {{{"name", "rpm"}, {"of", "requests"}, {"limit", 1000}, {"per", 2}}}}};
    ASSERT_EQ(hub.api("PUT", "/v1/providers/gemini", declared).status, 200);
    service.register_with(hub, "paid",
                          {{"call_estimates", {{{"provider", "gemini"}, {"calls", 1}}}}, {"retry_policy", "none"}});
    Json batch = Json::array();
    for (int i = 0; i < 20; ++i) batch.push_back({{"workflow_type", "paid"}, {"input", {{"n", i}}}});
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", {{"executions", batch}}).status, 201);
    ASSERT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from executions where status = 'completed'") == "20"; }, 90));
    const auto counted = request(provider.port, "GET", "/").json();
    EXPECT_EQ(counted["answered"], 20);
    EXPECT_EQ(hub.database.value("select max(retry_count) from executions"), "0");
    // {"n":1} is a token, {"n":10} two, and every answer 200.
    EXPECT_EQ(hub.database.value("select sum(usage_amount) from workflow_resource_usage where provider = 'gemini' and "
                                 "resource_type = 'tokens'"),
              "4030");
    EXPECT_EQ(hub.database.value(
                  "select count(*) > 0 from workflow_resource_usage where provider = 'gemini' and cost_usd > 0"),
              "t");
    // Without a provider nothing is asked and nothing billed.
    Program plain("echo-service");
    plain.register_with(hub, "plain");
    EXPECT_TRUE(hub.await_end(hub.enqueue("plain"))["metrics"]["cost_usd"].is_null());
}

TEST(Services, ContentPipelineDraftsEverySample) {
    HubFixture hub;
    Program service("content_pipeline", {{"CONTENT_PIPELINE_DATABASE_URL", hub.database.url().reveal()}});
    service.register_with(hub, "content_pipeline");
    const auto ends = run_all(hub, "content_pipeline");
    ASSERT_EQ(ends.size(), 5U);
    std::size_t drafts = 0;
    std::size_t bad = 0;
    int completed = 0;
    for (const auto& [name, end] : ends) {
        drafts += end["result_data"]["drafts"].size();
        for (const auto& draft : end["result_data"]["drafts"])
            for (const auto* part : {"title", "slug", "summary", "keywords", "reading_minutes", "words"})
                EXPECT_FALSE(draft[part].is_null()) << name << " " << part;
        EXPECT_GT(end["metrics"]["duration_ms"], 0) << name;
        if (end["status"] == "completed") {
            ++completed;
            EXPECT_EQ(end["metrics"]["items_processed"], end["result_data"]["drafts"].size()) << name;
            continue;
        }
        const auto children = hub.get("/v1/executions?parent_execution_id=" + end["execution_id"].get<std::string>());
        ASSERT_EQ(children["executions"].size(), 1U) << name << " " << end;
        const std::string child = children["executions"][0]["execution_id"];
        const auto context = hub.execution(child)["context"];
        bad += context["retry_items"].size();
    }
    EXPECT_EQ(completed, 2);
    EXPECT_EQ(drafts, 34U);
    EXPECT_EQ(bad, 4U);
    EXPECT_EQ(hub.database.value("select count(*) from content_pipeline.drafts"), "34") << "in a table of its own";
    EXPECT_EQ(hub.database.value("select count(*) from content_pipeline.drafts where duplicate_of is not null"), "3");
}

TEST(Services, SeoMonitorFindsThePlantedFaults) {
    HubFixture hub;
    Program service("seo_monitor");
    Program site("seo_sample_site");
    service.register_with(hub, "seo_monitor");
    const auto ends = run_all(hub, "seo_monitor", "http://127.0.0.1:" + std::to_string(site.port));
    ASSERT_EQ(ends.size(), 7U);
    std::set<std::string> checks;
    std::size_t pages = 0;
    for (const auto& [name, end] : ends)
        for (const auto& page : end["result_data"]["pages"]) {
            ++pages;
            EXPECT_TRUE(page["score"].is_number()) << name;
            for (const auto& finding : page["findings"]) checks.insert(finding["check"]);
        }
    EXPECT_GE(pages, 35U);
    for (const auto* check : {"title", "description", "canonical", "robots", "headings", "images", "links",
                              "structured_data", "redirects", "status", "speed"})
        EXPECT_TRUE(checks.contains(check)) << check << " among " << Json(checks);
}

TEST(Services, RevenueOptimizerAdvisesEverySample) {
    HubFixture hub;
    Program service("revenue_optimizer");
    service.register_with(hub, "revenue_optimizer");
    const auto ends = run_all(hub, "revenue_optimizer");
    ASSERT_EQ(ends.size(), 4U);
    for (const auto* name : {"store_history", "spreadsheet_exports", "landing_pages"})
        EXPECT_EQ(ends.at(name)["status"], "completed") << name << ends.at(name)["error_data"];
    EXPECT_EQ(ends.at("store_history")["result_data"]["products"].size(), 12U);
    EXPECT_EQ(ends.at("landing_pages")["result_data"]["experiments"].size(), 14U);
    for (const auto& product : ends.at("store_history")["result_data"]["products"]) {
        EXPECT_LE(product["price_low"], product["recommended_price"]);
        EXPECT_GE(product["price_high"], product["recommended_price"]);
    }
    // A child of the failed items cannot mend them, and the good ones are kept.
    const auto& mixed = ends.at("mixed_partial");
    EXPECT_EQ(mixed["status"], "failed");
    EXPECT_EQ(mixed["result_data"]["products"].size(), 6U);
    EXPECT_EQ(mixed["result_data"]["experiments"].size(), 4U);
}

TEST(Services, IntelligenceEngineReadsTheHubsOwnHistory) {
    HubFixture hub;
    const std::string key = hub.make_key("viewer", "intelligence");
    Program service("intelligence_engine",
                    {{"INTELLIGENCE_ENGINE_HUB_KEY", key},
                     {"INTELLIGENCE_ENGINE_HUB_URL", "http://127.0.0.1:" + std::to_string(hub.hub->port())}});
    service.register_with(hub, "intelligence_engine");
    // A history of the hub's own: twelve that cost something, three that fail.
    Peer peer([](const Asked& asked) {
        if (asked.json["input_data"].value("fail", false))
            return Behaviour{200, R"({"status":"failed","error_data":{"message":"no","retry_recommended":false}})"};
        return Behaviour{200, R"({"status":"completed","metrics":{"cost_usd":0.25,"duration_ms":40}})"};
    });
    hub.register_type("paid", peer.url());
    std::vector<std::string> ids;
    for (int i = 0; i < 15; ++i) ids.push_back(hub.enqueue("paid", {{"fail", i >= 12}}));
    for (const auto& id : ids) hub.await_end(id);
    const auto end = hub.await_end(hub.enqueue("intelligence_engine", {{"hours", 1}, {"workflow_types", {"paid"}}}));
    ASSERT_EQ(end["status"], "completed") << end << service.log();
    const auto types = end["result_data"]["types"];
    ASSERT_EQ(types.size(), 1U) << end;
    EXPECT_EQ(types[0]["executions"], 15) << types;
    EXPECT_EQ(types[0]["completed"], 12);
    EXPECT_EQ(types[0]["failed"], 3);
    EXPECT_EQ(types[0]["cost_usd"], "3.000000") << types;
    EXPECT_EQ(end["metrics"]["items_processed"], 15);

    const auto ends = run_all(hub, "intelligence_engine");
    ASSERT_EQ(ends.size(), 4U);
    for (const auto& [name, sample] : ends) EXPECT_EQ(sample["status"], "completed") << name << sample["error_data"];
    EXPECT_THAT(ends.at("cost_spike")["result_data"].dump(), HasSubstr("cost_per_execution"));
    EXPECT_THAT(ends.at("outage_and_silence")["result_data"].dump(), HasSubstr("silence"));
    EXPECT_THAT(ends.at("slow_and_retried")["result_data"].dump(), HasSubstr("duration"));
}

/// A trigger as a hub would sign it.
struct Signed {
    std::string id = "msg-1";
    std::int64_t seconds = 0;
    std::string bearer = "lane-bearer";
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers(const std::string& body_signed) const {
        return {{"content-type", "application/json"},
                {"authorization", "Bearer " + bearer},
                {"webhook-id", id},
                {"webhook-timestamp", std::to_string(seconds)},
                {"webhook-signature", platform::sign_all({kSecret}, id, seconds, body_signed)}};
    }
};

TEST(Kit, RefusesWhatIsNotTheHubs) {
    Program service("echo-service");
    platform::SystemClock clock;
    Peer hub([](const Asked&) { return Behaviour{200}; });
    Signed trigger;
    trigger.body = Json{{"execution_id", "01890000-0000-7000-8000-000000000001"},
                        {"workflow_type", "echo"},
                        {"timeout_seconds", 30},
                        {"callback_url", hub.url()},
                        {"authentication", {{"type", "bearer"}, {"token", "t"}}},
                        {"input_data", Json::object()}}
                       .dump();
    trigger.seconds = domain::micros(clock.now()) / 1'000'000;
    const auto post = [&](const Signed& s, const std::string& body) {
        return request(service.port, "POST", "/", s.headers(s.body), body).status;
    };
    auto other = trigger;
    other.bearer = "wrong";
    EXPECT_EQ(post(other, other.body), 401);
    EXPECT_EQ(post(trigger, trigger.body + " "), 401) << "not the bytes that were signed";
    other = trigger;
    other.seconds -= 301;
    EXPECT_EQ(post(other, other.body), 401) << "stale";
    other.seconds = trigger.seconds + 330;  // the clock goes on while the test runs
    EXPECT_EQ(post(other, other.body), 401) << "from the future";
    other = trigger;
    other.body = "{}";
    EXPECT_EQ(post(other, other.body), 422);
    EXPECT_EQ(post(trigger, trigger.body), 202);
    EXPECT_EQ(post(trigger, trigger.body), 409) << "a replay";
    ASSERT_TRUE(hub.wait_for(1));
    EXPECT_EQ(hub.asked()[0].json["status"], "completed");
    auto unsigned_headers = trigger.headers(trigger.body);
    unsigned_headers.pop_back();
    EXPECT_EQ(request(service.port, "POST", "/", unsigned_headers, trigger.body).status, 401);
    EXPECT_EQ(request(service.port, "PUT", "/", trigger.headers(trigger.body), trigger.body).status, 405);
}

/// Pages that take their time, for a service to be busy with.
Json slow_pages(const Peer& peer, int count) {
    Json pages = Json::array();
    for (int i = 0; i < count; ++i) pages.push_back(peer.url("/page/" + std::to_string(i)));
    return {{"pages", pages}, {"check_links", false}};
}
std::size_t pages_asked(const std::vector<Asked>& asked) {
    return static_cast<std::size_t>(
        std::count_if(asked.begin(), asked.end(), [](const Asked& each) { return each.path.starts_with("/page/"); }));
}
Behaviour slowly(const Asked&) {
    Behaviour behaviour;
    behaviour.status = 404;
    behaviour.delay = std::chrono::milliseconds{250};
    return behaviour;
}

TEST(Kit, HeartbeatsKeepTheDeadlineAway) {
    HubFixture hub;
    Program service("seo_monitor");
    Peer pages(slowly);
    service.register_with(hub, "seo_monitor", {{"timeout_seconds", 1}});
    const auto id = hub.enqueue("seo_monitor", slow_pages(pages, 8));
    EXPECT_TRUE(hub.await(id, [](const Json& e) { return e["progress"].is_object() && e["progress"]["done"] > 2; }));
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "completed") << "eight times a quarter of a second, with one second of patience" << end;
    EXPECT_EQ(end["attempts"], 1);
}

TEST(Kit, ACancelledRunStops) {
    HubFixture hub;
    Program service("seo_monitor");
    Peer pages(slowly);
    service.register_with(hub, "seo_monitor");
    const auto id = hub.enqueue("seo_monitor", slow_pages(pages, 40));
    ASSERT_TRUE(pages.wait_until([](const std::vector<Asked>& asked) { return pages_asked(asked) >= 2; }));
    EXPECT_EQ(hub.api("POST", "/v1/executions/" + id + "/cancel").status, 200);
    EXPECT_TRUE(eventually([&] { return service.log().find("cancelled") != std::string::npos; })) << service.log();
    EXPECT_EQ(hub.status(id), "cancelled");
    // The next one gets the worker, and finds it free.
    const auto next = hub.enqueue("seo_monitor", slow_pages(pages, 1));
    hub.await_end(next);
    EXPECT_LT(pages_asked(pages.asked(true)), 20U);
}

TEST(Kit, AKilledServiceIsNoticedByTheDeadlineAndASecondOneByItsWord) {
    HubFixture hub;
    auto service = std::make_unique<Program>("seo_monitor");
    const int port = service->port;
    Peer pages(slowly);
    // Enough for the requests that come while nobody listens: they are tries too.
    service->register_with(hub, "seo_monitor", {{"timeout_seconds", 2}, {"retry_policy", quick_retries(20)}});
    const auto id = hub.enqueue("seo_monitor", slow_pages(pages, 8));
    ASSERT_TRUE(pages.wait_until([](const std::vector<Asked>& asked) { return pages_asked(asked) >= 2; }));
    service->process->signal(SIGKILL);
    service = std::make_unique<Program>("seo_monitor", std::vector<std::pair<std::string, std::string>>{}, port);
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["attempts"] == 2 && e["status"] == "running"; }));
    const auto so_far = pages_asked(pages.asked(true));
    ASSERT_TRUE(pages.wait_until([&](const std::vector<Asked>& asked) { return pages_asked(asked) > so_far + 1; }));
    // Told to stop, it says so, and does not leave the hub to find out.
    service->process->signal(SIGTERM);
    EXPECT_EQ(service->process->wait(), 0);
    service = std::make_unique<Program>("seo_monitor", std::vector<std::pair<std::string, std::string>>{}, port);
    const auto end = hub.await_end(id, 60);
    EXPECT_EQ(end["status"], "completed") << end;
    const auto attempts = hub.get("/v1/executions/" + id + "/attempts")["attempts"];
    ASSERT_EQ(attempts.size(), 3U) << attempts;
    EXPECT_THAT(attempts.dump(), HasSubstr("the service was stopped"));
}

}
}
