// impresario watch: that no hub works is told by whoever is not one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/process.h"
#include "tests/support/hub.h"
#include "tests/support/temporary_directory.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

class Watching {
  public:
    explicit Watching(const std::string& config) : directory_(temporary_directory("watch")) {
        std::ofstream(directory_ + "/watch.toml") << config;
        platform::ProcessSettings settings;
        settings.command = {program(), "watch", "--config", directory_ + "/watch.toml"};
        settings.log_file = directory_ + "/log";
        process_ = std::make_unique<platform::Process>(std::move(settings));
    }
    ~Watching() {
        process_.reset();
        std::filesystem::remove_all(directory_);
    }
    std::string log() const {
        std::ifstream file(directory_ + "/log");
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    platform::Process& process() { return *process_; }

  private:
    std::string directory_;
    std::unique_ptr<platform::Process> process_;
};

std::string config(const std::vector<int>& ports, const Peer& receiver, const std::string& more = "", int after = 2) {
    std::string urls;
    for (const int port : ports)
        urls += std::string(urls.empty() ? "" : ", ") + "\"http://127.0.0.1:" + std::to_string(port) + "\"";
    return "[watch]\nurls = [" + urls + "]\nevery_seconds = 1\nafter_seconds = " + std::to_string(after) + "\n" + more +
           "[[alerts.receivers]]\nname = \"page\"\ntype = \"webhook\"\nurl = \"" + receiver.url() +
           "\"\nsigning_secrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]\n[alerts.route]\nreceiver = \"page\"\n"
           "group_wait_seconds = 0\ngroup_interval_seconds = 1\n";
}

TEST(Watch, ThatAllAreDeadIsToldOnceAndThatOneIsBack) {
    Peer receiver([](const Asked&) { return Behaviour{200, "{}"}; });
    HubFixture hub;
    HubProcess second(hub.database, hub.key_file(), hub.config());
    Watching watch(config({hub.hub->port(), second.port()}, receiver, "key = \"" + hub.key + "\"\n", 6));
    ASSERT_TRUE(eventually([&] { return watch.log().find("watching") != std::string::npos; }));
    hub.hub->kill();
    // One is enough, once it leads.
    EXPECT_FALSE(receiver.wait_for(1, 9 / patience())) << watch.log();
    second.kill();
    ASSERT_TRUE(receiver.wait_for(1)) << watch.log();
    const auto told = receiver.asked()[0];
    EXPECT_EQ(told.json["status"], "firing");
    EXPECT_EQ(told.json["alerts"][0]["labels"]["alertname"], "orchestrator_down");
    EXPECT_EQ(told.json["alerts"][0]["labels"]["severity"], "critical");
    EXPECT_TRUE(told.headers.at("webhook-signature").starts_with("v1,"));
    hub.start();
    ASSERT_TRUE(receiver.wait_for(2)) << watch.log();
    EXPECT_EQ(receiver.asked()[1].json["status"], "resolved");
    EXPECT_EQ(receiver.count(), 2U) << "once each";
    EXPECT_THAT(watch.log(), HasSubstr("a hub works again"));
    EXPECT_THAT(watch.log(), Not(HasSubstr(hub.key)));
    watch.process().signal(SIGTERM);
    EXPECT_EQ(watch.process().wait(), 0);
}

TEST(Watch, AHubWithoutItsDatabaseIsNoHub) {
    Peer receiver([](const Asked&) { return Behaviour{200, "{}"}; });
    HubFixture hub;
    const Watching watch(config({hub.hub->port()}, receiver));
    hub.database.shut();
    ASSERT_TRUE(receiver.wait_for(1)) << watch.log();
    hub.database.open();
    ASSERT_TRUE(receiver.wait_for(2)) << watch.log() << hub.hub->log() << "exit " << hub.hub->poll().value_or(-1);
    EXPECT_EQ(receiver.asked()[1].json["status"], "resolved");
}

TEST(Watch, WhatIsMissingIsNamed) {
    Peer receiver;
    const auto told = [&](const std::string& text) {
        Watching watch(text);
        EXPECT_EQ(watch.process().wait(), 2);
        return watch.log();
    };
    EXPECT_THAT(told("[watch]\nevery_seconds = 1\n"), HasSubstr("watch.urls"));
    EXPECT_THAT(told("[watch]\nurls = [\"http://127.0.0.1:1\"]\n"), HasSubstr("alerts.receivers"));
    EXPECT_THAT(told("[watch]\nurls = [\"nonsense\"]\n"), HasSubstr("watch.urls"));
    EXPECT_THAT(told(config({1}, receiver, "often = 1\n")), HasSubstr("watch.often"));
}

}
}
