// Clients that we did not write: Node-RED with the flows of subworkflows/examples, and npm's standardwebhooks.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

namespace fs = std::filesystem;

const std::string kSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

std::string clients() { return IMPRESARIO_CLIENTS; }

/// A Node-RED with one of our example flows, as a user would import it.
class NodeRed {
  public:
    explicit NodeRed(const std::string& flow) : port_(free_port()) {
        directory_ = clients() + "/node-red-" + std::to_string(port_);
        fs::create_directories(directory_);
        fs::copy_file(std::string(IMPRESARIO_SOURCE_DIR) + "/subworkflows/examples/node-red/" + flow + ".json",
                      directory_ + "/flows.json", fs::copy_options::overwrite_existing);
        platform::ProcessSettings settings;
        settings.command = {"node",
                            clients() + "/node_modules/node-red/red.js",
                            "--userDir",
                            directory_,
                            "--port",
                            std::to_string(port_),
                            directory_ + "/flows.json"};
        settings.environment = {{"IMPRESARIO_BEARER", "lane-bearer"},
                                {"IMPRESARIO_SIGNING_SECRETS", kSecret},
                                {"NODE_RED_HOME", directory_}};
        settings.log_file = directory_ + "/log";
        process_ = std::make_unique<platform::Process>(std::move(settings));
        up = eventually([&] { return process_->poll() || log().find("Started flows") != std::string::npos; }, 60) &&
             !process_->poll();
    }
    ~NodeRed() {
        process_.reset();
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }
    std::string url(const std::string& path) const {
        return "http://127.0.0.1:" + std::to_string(port_) + "/impresario/" + path;
    }
    std::string log() const {
        std::ifstream file(directory_ + "/log");
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    bool up = false;

  private:
    int port_;
    std::string directory_;
    std::unique_ptr<platform::Process> process_;
};

TEST(NodeRed, TheSimpleFlowRunsEndToEnd) {
    HubFixture hub;
    NodeRed red("simple");
    ASSERT_TRUE(red.up) << red.log();
    hub.register_type("red", red.url("simple"), {{"bearer", "lane-bearer"}});
    const auto end = hub.await_end(hub.enqueue("red", {{"name", "Ada"}}));
    EXPECT_EQ(end["status"], "completed") << end << red.log();
    EXPECT_EQ(end["result_data"]["greeting"], "Hello Ada");
    // A wrong bearer is the endpoint's fault, not the execution's.
    hub.register_type("red", red.url("simple"), {{"bearer", "wrong"}});
    const auto id = hub.enqueue("red");
    ASSERT_TRUE(hub.await(
        id, [](const Json& e) { return e["waiting_for"].is_object() && e["waiting_for"]["kind"] == "endpoint"; }));
}

TEST(NodeRed, TheErrorBranchReportsTheFailure) {
    HubFixture hub;
    NodeRed red("error-branch");
    ASSERT_TRUE(red.up) << red.log();
    hub.register_type("red", red.url("error-branch"), {{"bearer", "lane-bearer"}});
    EXPECT_EQ(hub.await_end(hub.enqueue("red", {{"numbers", {1, 2, 3}}}))["result_data"]["sum"], 6);
    const auto end = hub.await_end(hub.enqueue("red", {{"letters", "a"}}));
    EXPECT_EQ(end["status"], "failed") << end << red.log();
    EXPECT_NE(end["error_data"]["message"].get<std::string>().find("numbers is missing"), std::string::npos);
}

TEST(NodeRed, TheSignatureIsVerifiedInAFunctionNode) {
    HubFixture hub;
    NodeRed red("verify-signature");
    ASSERT_TRUE(red.up) << red.log();
    hub.register_type("red", red.url("verify-signature"), {{"signing_secrets", {kSecret}}});
    const auto end = hub.await_end(hub.enqueue("red", {{"name", "Grace é"}}));
    EXPECT_EQ(end["status"], "completed") << end << red.log();
    EXPECT_EQ(end["result_data"]["greeting"], "Hello Grace é");
    ASSERT_TRUE(
        eventually([&] { return hub.get("/v1/workflow-types/red")["endpoints"][0]["learnt_deduplicates"] == true; }));
    hub.register_type("red", red.url("verify-signature"),
                      {{"signing_secrets", {"whsec_" + std::string("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")}}});
    const auto id = hub.enqueue("red");
    ASSERT_TRUE(hub.await(id, [](const Json& e) {
        return e["waiting_for"].is_object() && e["waiting_for"]["kind"] == "endpoint";
    })) << "a forged signature is refused";
}

TEST(StandardWebhooks, TheNpmConsumerVerifiesOurSignatures) {
    HubFixture hub;
    const int port = free_port();
    platform::ProcessSettings settings;
    settings.command = {"node", clients() + "/consumer.mjs", std::to_string(port), kSecret};
    platform::Process consumer(std::move(settings));
    const std::string url = "http://127.0.0.1:" + std::to_string(port) + "/";
    ASSERT_TRUE(eventually([&] { return request(port, "GET", "/").status == 401; }));
    hub.register_type("strict", url, {{"signing_secrets", {kSecret}}});
    const Json input = {{"text", "naïve 日本語 😀 \n\t\"quoted\""}, {"big", 12345678901234567}};
    const auto end = hub.await_end(hub.enqueue("strict", input));
    EXPECT_EQ(end["status"], "completed") << end;
    EXPECT_EQ(end["result_data"]["verified"], true);
    EXPECT_EQ(end["result_data"]["input"]["text"], input["text"]);
    // With a second secret in front, the old one still verifies.
    ASSERT_EQ(hub.api("POST", "/v1/workflow-types/strict/rotate-signing-secret").status, 200);
    EXPECT_EQ(hub.await_end(hub.enqueue("strict"))["status"], "completed");
}

TEST(OpenTelemetry, WhatACollectorIsToldIsInThePublishedDefinition) {
    const int port = free_port();
    platform::ProcessSettings settings;
    settings.command = {"node", clients() + "/collector.mjs", std::to_string(port)};
    platform::Process collector(std::move(settings));
    ASSERT_TRUE(eventually([&] { return request(port, "GET", "/").status == 200; }));
    HubFixture hub("[tracing]\nurl = \"http://127.0.0.1:" + std::to_string(port) + "/v1/traces\"\n");
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    Peer refuses([](const Asked&) { return Behaviour{400, "no"}; });
    Peer calls_back;
    hub.register_type("done", peer.url());
    hub.register_type("refused", refuses.url());
    hub.register_type("works", calls_back.url());
    hub.await_end(hub.enqueue("done"));
    hub.await_end(hub.enqueue("refused"));
    const auto id = hub.enqueue("works");
    ASSERT_TRUE(calls_back.wait_for(1));
    Peer::call_back(calls_back.asked()[0], {{"status", "completed"}});
    hub.await_end(id);
    const auto told = [&] { return request(port, "GET", "/").json(); };
    const auto names = [&] {
        std::set<std::string> found;
        const auto all = told();
        for (const auto& span : all["spans"]) found.insert(span["name"]);
        return found;
    };
    const std::set<std::string> all{"attempt", "callback",        "deliver", "execution done", "execution refused",
                                    "plan",    "execution works", "queue",   "settle"};
    EXPECT_TRUE(eventually([&] { return names() == all; })) << told().dump(1);
    EXPECT_EQ(told()["faults"], Json::array());
}

TEST(EventSource, TheNpmClientComesBackToWhereItWas) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    const auto log = clients() + "/follower-" + std::to_string(hub.hub->port());
    platform::ProcessSettings settings;
    settings.command = {"node",
                        clients() + "/follower.mjs",
                        "http://127.0.0.1:" + std::to_string(hub.hub->port()) + "/v1/events?topics=executions",
                        hub.key,
                        "execution.queued",
                        "execution.completed"};
    settings.log_file = log;
    platform::Process follower(std::move(settings));
    const auto heard = [&] {
        std::vector<Json> lines;
        std::ifstream file(log);
        for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line, nullptr, false));
        return lines;
    };
    const auto times = [&](const std::string& id, const std::string& type) {
        const auto lines = heard();
        return std::count_if(lines.begin(), lines.end(), [&](const Json& line) {
            return line.is_object() && line.value("type", "") == type && line["data"]["stream_id"] == id;
        });
    };
    ASSERT_TRUE(eventually([&] { return !heard().empty(); }));
    const auto before = hub.enqueue("work");
    ASSERT_TRUE(eventually([&] { return times(before, "execution.completed") == 1; }));
    hub.hub->kill();
    // What happens while it is away: the hub queues it at its start.
    const auto meanwhile = hub.database.value("select enqueue_workflow_task('work', 50, '{}')");
    hub.start();
    ASSERT_TRUE(eventually([&] { return times(meanwhile, "execution.completed") == 1; }));
    EXPECT_EQ(times(meanwhile, "execution.queued"), 1);
    EXPECT_EQ(times(before, "execution.completed"), 1) << "nothing comes twice";
    fs::remove(log);
}

TEST(Examples, TheReceiverOfTheReadmeWorks) {
    const auto text_of = [](const std::string& path) {
        std::ifstream file(IMPRESARIO_SOURCE_DIR + path);
        return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    };
    const auto code = text_of("/subworkflows/examples/receiver.mjs");
    EXPECT_NE(text_of("/README.md").find(code.substr(code.find("import"))), std::string::npos) << "not what is printed";
    HubFixture hub;
    const int port = free_port();
    platform::ProcessSettings settings;
    settings.command = {"node", std::string(IMPRESARIO_SOURCE_DIR) + "/subworkflows/examples/receiver.mjs",
                        std::to_string(port)};
    platform::Process receiver(std::move(settings));
    ASSERT_TRUE(eventually([&] { return request(port, "GET", "/").status == 202; }));
    hub.register_type("mine", "http://127.0.0.1:" + std::to_string(port) + "/");
    EXPECT_EQ(hub.await_end(hub.enqueue("mine", {{"n", 1}}))["result_data"]["echo"]["n"], 1);
}

// n8n is too large for CI: its workflows are held against what an import needs.
TEST(Examples, TheN8nWorkflowsHangTogether) {
    int read = 0;
    for (const auto& entry :
         fs::directory_iterator(std::string(IMPRESARIO_SOURCE_DIR) + "/subworkflows/examples/n8n")) {
        if (entry.path().extension() != ".json") continue;
        ++read;
        std::ifstream file(entry.path());
        const auto workflow = Json::parse(file);
        std::map<std::string, Json> nodes;
        for (const auto& node : workflow["nodes"]) {
            EXPECT_TRUE(nodes.emplace(node["name"], node).second) << "a name twice in " << entry.path();
            for (const auto* needed : {"id", "type", "typeVersion", "position", "parameters"})
                EXPECT_TRUE(node.contains(needed)) << entry.path();
        }
        int webhooks = 0;
        for (const auto& [name, node] : nodes) {
            if (node["type"] == "n8n-nodes-base.webhook") {
                ++webhooks;
                EXPECT_EQ(node["parameters"]["responseMode"], "onReceived") << "accept first, work then";
            }
            if (node["type"] == "n8n-nodes-base.httpRequest") {
                EXPECT_EQ(node["retryOnFail"], true);
                EXPECT_NE(node["parameters"]["headerParameters"]["parameters"][0]["value"].get<std::string>().find(
                              "authentication.token"),
                          std::string::npos);
            }
        }
        EXPECT_EQ(webhooks, 1);
        for (const auto& [from, links] : workflow["connections"].items()) {
            EXPECT_TRUE(nodes.contains(from)) << entry.path() << " " << from;
            for (const auto& output : links["main"])
                for (const auto& link : output)
                    EXPECT_TRUE(nodes.contains(link["node"])) << entry.path() << " " << link;
        }
    }
    EXPECT_EQ(read, 3);
}

}
}
