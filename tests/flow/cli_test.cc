// The command line as people and programs use it: what it prints, and what its exit codes say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/hub.h"
#include "tests/support/temporary_directory.h"

namespace impresario::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class Cli : public ::testing::Test {
  protected:
    HubFixture hub;
    Peer peer;

    Said cli(const std::vector<std::string>& arguments) const { return hub.cli(arguments); }
    void answer(const Json& body) {
        peer.set_script([body](const Asked& asked) {
            Peer::call_back(asked, body);
            return Behaviour{};
        });
    }
};

TEST_F(Cli, TailFollowsAnExecutionToItsEnd) {
    answer({{"status", "completed"}, {"result_data", 1}});
    hub.register_type("good", peer.url());
    hub.register_type("bad", peer.url(), {{"retry_policy", quick_retries(0)}});
    const auto good = hub.enqueue("good");
    const auto said = cli({"tail", good, "--json"});
    EXPECT_EQ(said.code, 0);
    EXPECT_THAT(said.text, AllOf(HasSubstr("\"execution.queued\""), HasSubstr("\"execution.completed\"")));
    answer({{"status", "failed"}, {"error_data", "no ink"}});
    const auto bad = cli({"tail", hub.enqueue("bad"), "--table"});
    EXPECT_EQ(bad.code, 5);
    EXPECT_THAT(bad.text, AllOf(HasSubstr("execution.failed"), HasSubstr("error=no ink")));

    // Everything, from the beginning: it has no end of its own.
    platform::ProcessSettings settings;
    settings.command = {program(),          "tail", "--after", "all.0",
                        "--workflow-types", "good", "--types", "execution.completed"};
    settings.environment = {{"IMPRESARIO_URL", "http://127.0.0.1:" + std::to_string(hub.hub->port())},
                            {"IMPRESARIO_KEY", hub.key}};
    settings.log_file = hub.key_file() + ".tail";
    platform::Process tail(std::move(settings));
    const auto printed = [&] {
        std::ifstream file(hub.key_file() + ".tail");
        return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    };
    EXPECT_TRUE(eventually([&] { return printed().find(good) != std::string::npos; })) << printed();
    // It comes back to where it was.
    hub.hub->kill();
    hub.start();
    answer({{"status", "completed"}, {"result_data", 1}});
    const auto next = hub.enqueue("good");
    EXPECT_TRUE(eventually([&] { return printed().find(next) != std::string::npos; })) << printed();
    const auto text = printed();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;

    EXPECT_EQ(cli({"tail", "--topics", "weather"}).code, 4);
    EXPECT_EQ(cli({"tail", "01a228e4-4832-7093-8e88-d1fc8ec356ec"}).code, 4);
    EXPECT_EQ(cli({"tail", "--url", "http://127.0.0.1:1"}).code, 3);
}

TEST_F(Cli, ProvidersAreListedWithTheKeysThatUseMost) {
    answer({{"status", "completed"}, {"result_data", 1}});
    const auto put =
        cli({"providers", "put", "test",
             R"({"limits": [{"name": "rpm", "of": "requests", "limit": 9, "per": "hour", "key": "/customer",
                              "per_key": {"guaranteed": 2, "ceiling": 5}}]})"});
    ASSERT_EQ(put.code, 0) << put.text;
    hub.register_type("t", peer.url(), {{"call_estimates", {{{"provider", "test"}, {"calls", 1}}}}});
    hub.await_end(hub.enqueue("t", {{"customer", "acme"}}));
    const auto table = cli({"providers", "list", "--table"});
    EXPECT_THAT(table.text, ContainsRegex("2 to 5 +/customer = acme +1 +0 +4"));
    const auto shown = cli({"providers", "show", "test"}).json();
    EXPECT_EQ(shown["limits"][0]["per_key"], (Json{{"guaranteed", 2}, {"ceiling", 5}}));
    EXPECT_EQ(shown["use"][0]["keys"][0]["guaranteed_left"], 1);

    hub.register_type("t", peer.url(),
                      {{"enabled", false}, {"call_estimates", {{{"provider", "test"}, {"calls", 1}}}}});
    for (int i = 0; i < 3; ++i) hub.enqueue("t");
    const std::string half = R"({"limits": [{"name": "rate", "of": "requests", "limit": 2, "per": 60}]})";
    EXPECT_THAT(cli({"providers", "preview", "test", half, "--table"}).text,
                ContainsRegex("default +t +3 +3 +1 +now +60 s"));
}

TEST_F(Cli, LocksAreHeldByOne) {
    const auto held = cli({"locks", "acquire", "nightly", "--owner", "a", "--ttl", "600"});
    ASSERT_EQ(held.code, 0) << held.text;
    const auto token = std::to_string(held.json()["token"].get<std::int64_t>());
    const auto other = cli({"locks", "acquire", "nightly", "--owner", "b"});
    EXPECT_EQ(other.code, 7);
    EXPECT_THAT(other.text, HasSubstr("nightly is held by a until"));
    EXPECT_THAT(cli({"locks", "list", "--table"}).text, ContainsRegex("nightly +a +2.* yes"));
    EXPECT_EQ(cli({"locks", "renew", "nightly", "--token", token}).code, 0);
    EXPECT_EQ(cli({"locks", "release", "nightly", "--token", token}).code, 0);
    EXPECT_EQ(cli({"locks", "release", "nightly", "--token", token}).code, 7);
    EXPECT_EQ(cli({"locks", "acquire", "nightly", "--owner", "b"}).code, 0);
    EXPECT_EQ(cli({"locks", "break", "nightly", "--reason", "test"}).json()["owner"], "b");
    EXPECT_EQ(cli({"locks", "show", "nightly"}).code, 4);
}

TEST_F(Cli, FairnessIsPreviewedPutShownAndCleared) {
    const auto none = cli({"fairness", "show"});
    EXPECT_NE(none.code, 0);
    EXPECT_THAT(none.text, HasSubstr("there is no fairness policy"));
    hub.register_type("t", peer.url(), {{"enabled", false}});
    hub.enqueue("t");
    const std::string policy = R"({"measure": "starts", "reason": "their plans", "shares": [
        {"organization_id": "default", "weight": 3, "minimum_percent": 20}]})";
    EXPECT_THAT(cli({"fairness", "preview", policy, "--table"}).text, ContainsRegex("default +1 +100.0 %"));
    ASSERT_EQ(cli({"fairness", "put", policy}).code, 0);
    const auto bad =
        cli({"fairness", "put", R"({"measure": "starts", "shares": [{"organization_id": "a", "weight": 0}]})"});
    EXPECT_NE(bad.code, 0);
    EXPECT_THAT(bad.text, HasSubstr("weight"));
    EXPECT_EQ(cli({"fairness", "show", "--json"}).json()["shares"][0]["weight"], 3);
    EXPECT_THAT(cli({"fairness", "show", "--table"}).text, HasSubstr("in starts, version 1, set by"));
    EXPECT_EQ(cli({"fairness", "clear", "--reason", "over"}).code, 0);
    EXPECT_EQ(cli({"fairness", "history"}).json()["versions"].size(), 2U);
}

TEST_F(Cli, EnqueueAndWaitForTheEnd) {
    answer({{"status", "completed"}, {"result_data", {{"ok", true}}}, {"metrics", {{"items_processed", 7}}}});
    hub.register_type("t", peer.url());
    const auto good = cli({"enqueue", "t", "--input", R"({"n": 1})", "--wait", "30"});
    EXPECT_EQ(good.code, 0) << good.text;
    EXPECT_EQ(good.json()["result_data"]["ok"], true);
    const auto table = cli({"enqueue", "t", "--wait", "30", "--table"});
    EXPECT_EQ(table.code, 0);
    EXPECT_THAT(table.text, HasSubstr("completed"));

    answer({{"status", "failed"}, {"error_data", {{"message", "no"}, {"retry_recommended", false}}}});
    const auto bad = cli({"enqueue", "t", "--wait", "30"});
    EXPECT_EQ(bad.code, 5) << bad.text;

    const auto twice = cli({"enqueue", "t", "--idempotency-key", "k"});
    EXPECT_EQ(twice.json()["execution_id"], cli({"enqueue", "t", "--idempotency-key", "k"}).json()["execution_id"]);
    EXPECT_EQ(cli({"enqueue", "t", "--idempotency-key", "k", "--input", "[1]"}).code, 4) << "another body";
}

TEST_F(Cli, ABatchKeepsItsDigits) {
    hub.register_type("t", peer.url());
    const auto file = fs::temp_directory_path() / ("batch-" + std::to_string(getpid()) + ".json");
    std::ofstream(file) << R"([{"n": 12345678901234567890.123456789}, {"n": 2}])";
    const auto sent = cli({"enqueue", "t", "--batch", file.string(), "--priority", "high"});
    fs::remove(file);
    ASSERT_EQ(sent.code, 0) << sent.text;
    ASSERT_TRUE(peer.wait_for(2));
    bool kept = false;
    for (const auto& asked : peer.asked())
        kept = kept || asked.body.find("12345678901234567890.123456789") != std::string::npos;
    EXPECT_TRUE(kept);
    EXPECT_EQ(cli({"list", "--type", "t"}).json().size(), 2U);
    EXPECT_EQ(cli({"list", "--type", "t", "--limit", "1"}).json().size(), 1U);
    EXPECT_EQ(cli({"list", "--status", "completed"}).json().size(), 0U);
}

TEST_F(Cli, ShowTellsEverything) {
    answer({{"status", "completed"}, {"result_data", {{"answer", 42}}}});
    hub.register_type("t", peer.url());
    const auto id = hub.enqueue("t");
    hub.await_end(id);
    const auto text = cli({"show", id, "--table"}).text;
    for (const std::string& part : std::vector<std::string>{"completed", "execution.queued", "execution.dispatched",
                                                            "execution.completed", "answer", "accepted", peer.url()})
        EXPECT_THAT(text, HasSubstr(part));
    const auto json = cli({"show", id}).json();
    EXPECT_EQ(json["events"].size(), hub.event_types(id).size());
    EXPECT_EQ(json["deliveries"].size(), 1U);
    EXPECT_EQ(cli({"show", "01890000-0000-7000-8000-000000000000"}).code, 4);
    EXPECT_EQ(cli({"show", "nonsense"}).code, 4);
}

TEST_F(Cli, PauseQueueCancelResume) {
    answer({{"status", "completed"}});
    hub.register_type("t", peer.url());
    EXPECT_EQ(cli({"pause", "t", "--reason", "moving house"}).code, 0);
    const auto id = hub.enqueue("t");
    const auto other = hub.enqueue("t", {{"n", 2}}, {{"priority", 90}});
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["waiting_for"].is_object(); }));
    const auto listed = cli({"list", "--table"}).text;
    EXPECT_THAT(listed, HasSubstr("moving house"));
    const auto queue = cli({"queue"}).json();
    ASSERT_EQ(queue["next"].size(), 2U) << queue;
    EXPECT_EQ(queue["next"][0]["execution_id"], other);
    EXPECT_THAT(cli({"queue", "--table"}).text, HasSubstr("900.0"));
    EXPECT_THAT(cli({"state", "--table"}).text, HasSubstr("moving house"));
    EXPECT_EQ(cli({"cancel", id, "--reason", "not needed"}).code, 0);
    EXPECT_EQ(hub.status(id), "cancelled");
    EXPECT_EQ(cli({"cancel", id}).code, 0) << "again is the same";
    EXPECT_EQ(cli({"resume", "t"}).code, 0);
    EXPECT_EQ(hub.await_end(other)["status"], "completed");
    EXPECT_THAT(cli({"resume", "t", "--table"}).text, HasSubstr("was not paused"));
    EXPECT_EQ(cli({"nodes"}).json()["nodes"].size(), 1U);
    EXPECT_EQ(cli({"state"}).json()["today"]["completed"], 1);
}

TEST_F(Cli, ABatchIsOneBatchAndCanBeWaitedFor) {
    answer({{"status", "completed"}});
    hub.register_type("t", peer.url());
    const std::string file = "/tmp/impresario-batch-" + std::to_string(getpid()) + ".json";
    Json inputs = Json::array();
    for (int i = 0; i < 1100; ++i) inputs.push_back({{"i", i}});
    std::ofstream(file) << inputs.dump();
    const auto big = cli({"enqueue", "t", "--batch", file});
    EXPECT_EQ(big.code, 0) << big.text;
    EXPECT_EQ(big.json()["count"], 1100);
    EXPECT_EQ(hub.database.value("select count(distinct batch_id) || ' ' || count(*) from executions"), "1 1100");
    std::ofstream(file) << R"([{"i": 1}, {"i": 2}, {"i": 3}])";
    const auto waited = cli({"enqueue", "t", "--batch", file, "--wait", "60", "--table"});
    EXPECT_EQ(waited.code, 0) << waited.text;
    EXPECT_THAT(waited.text, HasSubstr("3 completed"));
    EXPECT_THAT(waited.text,
                HasSubstr(hub.database.value("select batch_id from executions order by created_at desc limit 1")));
    EXPECT_EQ(cli({"enqueue", "t", "--batch", file, "--input", "{}"}).code, 2) << "one or the other";
    Json bad = Json::array();
    for (int i = 0; i < 100; ++i) bad.push_back(1);
    std::ofstream(file) << bad.dump();
    const auto refused = cli({"enqueue", "t", "--batch", file, "--priority", "999"});
    EXPECT_NE(refused.code, 0);
    EXPECT_THAT(refused.text, HasSubstr("and 80 more"));
    fs::remove(file);
}

TEST_F(Cli, MigrateAndKeysNameWhatIsWrongWithTheConfiguration) {
    const std::string file = "/tmp/impresario-wrong-" + std::to_string(getpid()) + ".toml";
    std::ofstream(file) << "[database]\nulr = \"host=x\"\n";
    for (const auto& words :
         {std::vector<std::string>{"migrate", "status"}, std::vector<std::string>{"keys", "list"}}) {
        auto arguments = words;
        arguments.insert(arguments.end(), {"--config", file});
        const auto said = run(arguments);
        EXPECT_EQ(said.code, 2) << said.text;
        EXPECT_THAT(said.text, HasSubstr("database.ulr"));
    }
    // Names that toml++ asserts about, and values that JSON cannot carry.
    for (const auto& [text, what] :
         {std::pair{"[database]\n\n[`a]\n", ":3: the name of a table"}, std::pair{"[[`]]\n", ":1: the name of a table"},
          std::pair{"[database]\né = 1\n", ":2: "},
          std::pair{"[[workflow_types]]\nname = 'a'\nmax_concurrency = inf\n", "max_concurrency"}}) {
        std::ofstream(file) << text;
        const auto said = run({"serve", "--config", file});
        EXPECT_EQ(said.code, 2) << said.text;
        EXPECT_THAT(said.text, HasSubstr(what));
    }
    const auto status = run({"migrate", "status", "--database-url", hub.database.url().reveal()});
    EXPECT_THAT(status.text, HasSubstr("whom we have already answered.")) << "the whole reason";
    fs::remove(file);
}

TEST_F(Cli, DeadLettersAreListedRetriedAndDiscarded) {
    answer({{"status", "failed"}, {"error_data", {{"message", "no"}}}});
    hub.register_type("t", peer.url(), {{"retry_policy", quick_retries(1)}});
    const auto one = hub.enqueue("t");
    const auto two = hub.enqueue("t");
    hub.await_end(one);
    hub.await_end(two);
    EXPECT_EQ(cli({"dead-letters", "list"}).json()["dead_letters"].size(), 2U);
    EXPECT_THAT(cli({"dead-letters", "list", "--table"}).text, HasSubstr(one));
    EXPECT_EQ(cli({"dead-letters", "show", one}).json()["input"]["n"], 1);
    EXPECT_EQ(cli({"dead-letters", "discard", one}).code, 0);
    EXPECT_EQ(cli({"dead-letters", "list"}).json()["dead_letters"].size(), 1U);
    answer({{"status", "completed"}});
    EXPECT_EQ(cli({"dead-letters", "retry", two, "--input", R"({"n": 9})"}).code, 0);
    EXPECT_EQ(hub.await_end(two)["input"]["n"], 9);
    EXPECT_EQ(cli({"dead-letters", "retry", "--type", "t"}).json()["retried"], 0);
    EXPECT_EQ(cli({"retry", two}).code, 4) << "what is completed is not retried";
}

TEST_F(Cli, TypesArePutShownRotatedAndDeleted) {
    EXPECT_EQ(cli({"types", "put", "mine", R"({"endpoints": [")" + peer.url() + R"("], "max_concurrency": 3})"}).code,
              0);
    EXPECT_EQ(cli({"types", "show", "mine"}).json()["max_concurrency"], 3);
    EXPECT_THAT(cli({"types", "list", "--table"}).text, HasSubstr(peer.url()));
    EXPECT_THAT(cli({"types", "rotate-secret", "mine"}).text, HasSubstr("whsec_"));
    EXPECT_THAT(cli({"types", "show", "mine"}).text, Not(HasSubstr("whsec_"))) << "shown once";
    const auto wrong = cli({"types", "put", "mine", R"({"endpoint": []})"});
    EXPECT_EQ(wrong.code, 4);
    EXPECT_THAT(wrong.text, HasSubstr("/endpoint"));
    EXPECT_EQ(cli({"types", "delete", "mine"}).code, 0);
    EXPECT_EQ(cli({"types", "show", "mine"}).code, 4);
}

TEST_F(Cli, BreakersAreShownTrippedAndReset) {
    hub.register_type("t", peer.url());
    const auto listed = [&] { return cli({"endpoints", "list", "t"}).json()["endpoints"][0]; };
    const std::string id = listed()["endpoint_id"];
    EXPECT_EQ(listed()["breaker"]["state"], "closed");
    EXPECT_THAT(cli({"endpoints", "list", "--table"}).text, AllOf(HasSubstr(id), HasSubstr("closed")));
    const auto tripped =
        cli({"endpoints", "trip", "t", id, "--reason", "being moved", "--until", "2099-12-01T06:00:00Z"});
    EXPECT_EQ(tripped.code, 0) << tripped.text;
    EXPECT_EQ(tripped.json()["breaker"]["until"], "2099-12-01T06:00:00.000000Z");
    for (const auto& shown : {cli({"endpoints", "list", "t", "--table"}), cli({"types", "list", "--table"})})
        EXPECT_THAT(shown.text, AllOf(HasSubstr("breaker open"), HasSubstr("by test: being moved")));
    EXPECT_THAT(cli({"endpoints", "reset", "t", id, "--table"}).text, HasSubstr("closed"));
    EXPECT_THAT(cli({"endpoints", "trip", "t", id, "--table"}).text, HasSubstr("breaker open until it is reset"));
    const auto wrong = cli({"endpoints", "trip", "t", id, "--until", "soon"});
    EXPECT_EQ(wrong.code, 4);
    EXPECT_THAT(wrong.text, HasSubstr("until"));
    EXPECT_EQ(cli({"endpoints", "trip", "t", "nothing"}).code, 4);
    EXPECT_EQ(cli({"endpoints", "trip", "t"}).code, 2);
}

TEST_F(Cli, AKeyIsValidAtOnceAndRevokedForGood) {
    const std::vector<std::pair<std::string, std::string>> database{
        {"IMPRESARIO_DATABASE_URL", hub.database.url().reveal()}};
    const std::string url = "http://127.0.0.1:" + std::to_string(hub.hub->port());
    const auto made = run({"keys", "create", "--name", "new", "--role", "viewer", "--json"}, database).json();
    const std::string key = made["key"];
    EXPECT_EQ(run({"state", "--url", url}, {{"IMPRESARIO_KEY", key}}).code, 0);
    const auto refused = run({"pause", "--url", url}, {{"IMPRESARIO_KEY", key}});
    EXPECT_EQ(refused.code, 4);
    EXPECT_THAT(refused.text, HasSubstr("operator"));
    const auto keys = run({"keys", "list", "--json"}, database).json();
    std::string id;
    for (const auto& each : keys["keys"])
        if (each["name"] == "new") id = each["key_id"];
    EXPECT_THAT(keys.dump(), Not(HasSubstr(key)));
    EXPECT_EQ(run({"keys", "revoke", id}, database).code, 0);
    EXPECT_TRUE(eventually([&] { return run({"state", "--url", url}, {{"IMPRESARIO_KEY", key}}).code == 4; }, 5));
    EXPECT_EQ(run({"keys", "revoke", id}, database).code, 4);
    EXPECT_EQ(run({"keys", "create", "--role", "king"}, database).code, 2);
}

TEST(CliAlone, ExitCodesSayWhatIsWrong) {
    EXPECT_EQ(run({}).code, 2);
    EXPECT_EQ(run({"--help"}).code, 0);
    EXPECT_EQ(run({"enqueue"}).code, 2);
    EXPECT_EQ(run({"enqueue", "t", "--input", "{"}, {{"IMPRESARIO_KEY", "imp_x"}}).code, 2);
    EXPECT_EQ(run({"state", "--url", "http://127.0.0.1:1"}, {{"IMPRESARIO_KEY", "imp_x"}}).code, 3);
    EXPECT_EQ(run({"migrate", "status", "--database-url", "host=/nowhere connect_timeout=2"}).code, 3);
    // Every command explains itself.
    for (const auto* command : {"serve", "dev", "migrate", "keys", "enqueue", "list", "show", "cancel", "retry",
                                "pause", "resume", "state", "queue", "nodes", "dead-letters", "types"}) {
        const auto help = run({command, "--help"});
        EXPECT_EQ(help.code, 0) << command;
        EXPECT_THAT(help.text, HasSubstr("Example")) << command << " --help has no example";
    }
}

TEST(CliAlone, DevNamesTheProgramsThatAreMissing) {
    const auto directory = temporary_directory("dev");
    fs::copy_file(program(), directory + "/impresario");
    platform::ProcessSettings settings;
    settings.command = {directory + "/impresario", "dev", "--directory", directory + "/state"};
    const auto said = platform::run_command(std::move(settings));
    EXPECT_EQ(said.status, 1);
    EXPECT_THAT(said.output,
                AllOf(HasSubstr("not in " + directory + ": seo_sample_site, mock_provider, content_pipeline"),
                      HasSubstr("install them there")));
    EXPECT_FALSE(fs::exists(directory + "/state")) << "nothing was begun";
    fs::remove_all(directory);
}

TEST(Migrate, UpDownAndBackLoseNoSchema) {
    TestDatabase database;
    const std::vector<std::pair<std::string, std::string>> there{{"IMPRESARIO_DATABASE_URL", database.url().reveal()}};
    const auto at = [&] { return run({"migrate", "status", "--json"}, there).json(); };
    const auto shape = [&] {
        return database.value(
            "select md5(string_agg(line, '|' order by line)) from ("
            " select table_name || '.' || column_name || ' ' || data_type || coalesce(column_default, '') as line"
            "   from information_schema.columns where table_schema = 'public' and table_name <> 'schema_migrations'"
            " union all select indexdef from pg_indexes where schemaname = 'public'"
            " union all select pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace"
            " union all select prosrc from pg_proc where pronamespace = 'public'::regnamespace"
            " union all select tgname from pg_trigger where not tgisinternal) as all_of_it");
    };
    const auto before = shape();
    const int latest = at()["latest"];
    ASSERT_EQ(at()["version"], latest);
    const auto dry = run({"migrate", "down", "--to", "0", "--dry-run"}, there);
    EXPECT_EQ(dry.code, 0);
    EXPECT_THAT(dry.text, HasSubstr("drop table"));
    EXPECT_EQ(at()["version"], latest) << "a dry run changes nothing";
    EXPECT_EQ(run({"migrate", "down"}, there).code, 0);
    EXPECT_EQ(at()["version"], latest - 1);
    EXPECT_EQ(run({"migrate", "down", "--to", "0"}, there).code, 0);
    EXPECT_EQ(database.value("select count(*) from pg_tables where schemaname = 'public'"), "1")
        << "only the list of migrations is left";
    EXPECT_EQ(run({"migrate", "down", "--to", "99"}, there).code, 2);
    const auto up = run({"migrate", "up"}, there);
    EXPECT_EQ(up.code, 0) << up.text;
    EXPECT_EQ(shape(), before);
    EXPECT_EQ(run({"migrate", "up"}, there).code, 0) << "again is nothing";
}

TEST(Migrate, AHubWaitsForItsSchema) {
    TestDatabase database;
    const std::vector<std::pair<std::string, std::string>> there{{"IMPRESARIO_DATABASE_URL", database.url().reveal()}};
    ASSERT_EQ(run({"migrate", "down"}, there).code, 0);
    const auto key_file = fs::temp_directory_path() / ("hub-key-" + std::to_string(getpid()));
    std::ofstream(key_file) << "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
    chmod(key_file.c_str(), 0600);
    HubProcess hub(database, key_file.string(), "", 0, false);
    ASSERT_TRUE(eventually([&] { return hub.log().find("impresario migrate up") != std::string::npos; })) << hub.log();
    EXPECT_EQ(request(hub.port(), "GET", "/livez").status, 200);
    const auto ready = request(hub.port(), "GET", "/readyz");
    EXPECT_EQ(ready.status, 503);
    EXPECT_THAT(ready.body, HasSubstr("migrate up"));
    ASSERT_EQ(run({"migrate", "up"}, there).code, 0);
    EXPECT_TRUE(hub.wait_ready());
    EXPECT_EQ(hub.terminate(), 0);
    fs::remove(key_file);
}

}
}
