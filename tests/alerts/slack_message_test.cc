// Slack's own limits, and nothing that calls anybody.
#include "alerts/slack_message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "platform/json_text.h"
#include "tests/alerts/messages.h"

namespace impresario::alerts {
namespace slack_message_test {

using namespace testing;
using Tree = nlohmann::json;

/// What the real one would answer 400 to; "" where it would not. Counts bytes: more than it counts.
std::string refusal(const std::string& body) {
    const auto tree = Tree::parse(body, nullptr, false);
    if (!tree.is_object()) return "not JSON";
    if (!tree.contains("text") || tree["text"].get<std::string>().empty()) return "no text";
    if (tree["text"].get<std::string>().size() > 4000) return "text too long";
    if (!tree.contains("blocks")) return "";
    if (tree["blocks"].size() > 50) return "too many blocks";
    for (const auto& block : tree["blocks"]) {
        if (block["type"] == "header") {
            const auto text = block["text"]["text"].get<std::string>();
            if (text.empty() || text.size() > 150 || block["text"]["type"] != "plain_text") return "header";
        } else if (block["type"] == "section") {
            const auto text = block["text"]["text"].get<std::string>();
            if (text.empty() || text.size() > 3000 || block["text"]["type"] != "mrkdwn") return "section";
        } else if (block["type"] == "context") {
            if (block["elements"].empty() || block["elements"].size() > 10) return "context";
        } else {
            return "type";
        }
    }
    return "";
}

/// All texts in it.
void collect(const Tree& tree, std::vector<std::string>& texts) {
    if (tree.is_string()) texts.push_back(tree.get<std::string>());
    if (tree.is_structured())
        for (const auto& each : tree) collect(each, texts);
}

void expect_harmless(const std::string& body) {
    std::vector<std::string> texts;
    collect(Tree::parse(body), texts);
    for (const auto& text : texts) {
        EXPECT_EQ(platform::storable_text(text), text) << "whole characters";
        for (const auto* mention : {"<!", "<@", "<#", "@channel", "@here", "@everyone", "@Channel"})
            EXPECT_EQ(text.find(mention), std::string::npos) << mention << " in " << text;
        // What stands in angle brackets is an address of ours.
        for (auto at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1))
            EXPECT_EQ(text.compare(at, 9, "<https://"), 0) << text.substr(at, 40);
        for (auto at = text.find('&'); at != std::string::npos; at = text.find('&', at + 1)) {
            const auto rest = text.substr(at, 5);
            EXPECT_TRUE(rest.starts_with("&amp;") || rest.starts_with("&lt;") || rest.starts_with("&gt;")) << rest;
        }
    }
}

TEST(SlackMessage, AnAlertAboutEverythingIsStillAnAlert) {
    const auto message = message_about(hostile_alerts(200));
    for (const auto& body : {slack_message(message), slack_plain_message(message)}) {
        EXPECT_EQ(refusal(body), "");
        expect_harmless(body);
        EXPECT_LT(body.size(), 40000U);
        EXPECT_NE(body.find("190 more; all of them: https://hub.example.org/alerts/fedcba"), std::string::npos);
    }
    EXPECT_TRUE(Tree::parse(slack_plain_message(message)).size() == 1);
}

TEST(SlackMessage, AnOrdinaryOne) {
    const auto tree = Tree::parse(slack_message(message_about({full_alert()}, {alert_of("x", "Deep")})));
    EXPECT_EQ(tree["blocks"][0]["text"]["text"], "FIRING: Budget day is 93 % used");
    EXPECT_EQ(tree["blocks"][1]["text"]["text"],
              "*Budget day is 93 % used*\nSettled and reserved together.\n"
              "*Since:* 2026-11-27 22:18:11 UTC, for 5m 00s\n"
              "*Likely:* 1) a batch; 2) dearer calls; 3) retries\n"
              "*Look:* `impresario budgets show day`\n"
              "*Page:* <https://hub.example.org/budgets/day>\n"
              "*Runbook:* docs/runbooks/cost_budget_exceeded.md\n"
              "*Executions:* e1, e2, e3, e4, e5 and 1 more");
    EXPECT_TRUE(tree["blocks"][1]["text"]["verbatim"].get<bool>());
    EXPECT_EQ(tree["blocks"][2]["text"]["text"], "*Resolved*\n• Deep");
    EXPECT_EQ(tree["blocks"][3]["type"], "context");
}

TEST(SlackMessage, EscapesAndCutsAtWholeCharactersNeverInsideAnEntity) {
    EXPECT_EQ(slack_escaped("a & <b> \t\r\x01", 100), "a &amp; &lt;b&gt;  ");
    EXPECT_EQ(slack_escaped("@channel @HERE @ann", 100), "@\u200Bchannel @\u200BHERE @ann");
    EXPECT_EQ(slack_escaped("<<<", 12), "&lt;&lt;&lt;");
    EXPECT_EQ(slack_escaped("<<<", 11), "&lt;&lt;…");
    EXPECT_EQ(slack_escaped("<<<", 10), "&lt;…");
    EXPECT_EQ(slack_escaped("😀😀", 7), "😀…");
    EXPECT_EQ(slack_escaped("abc", 2), "");
    const std::string text = "a<b>&@channel😀é\n@here";
    for (std::size_t most = 3; most < 80; ++most) {
        const auto escaped = slack_escaped(text, most);
        EXPECT_LE(escaped.size(), most);
        EXPECT_EQ(platform::storable_text(escaped), escaped);
    }
}

TEST(SlackMessage, RandomTextsAreNeverRefusedNorMarkup) {
    const std::vector<std::string> pieces{
        "<!here>", "@channel", "&amp;", "&",        "<", ">",    "|",
        "`",       "*",        "_",     "😀",        "é", "\n",   "\\",
        "\"",      "\xff",     "@",     "everyone", " ", "word", std::string(1, '\0')};
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        const auto text = [&](int most) {
            std::string all;
            for (auto left = random() % static_cast<unsigned>(most); left > 0; --left)
                all += pieces[random() % pieces.size()];
            return all;
        };
        std::vector<Alert> alerts;
        for (auto left = random() % 30 + 1; left > 0; --left) {
            auto alert = alert_of("a" + std::to_string(left), text(100));
            alert.description = text(2000);
            alert.causes = {text(50), text(500)};
            alert.command = text(100);
            alert.link = "/" + text(3);
            alert.runbook = "https://r.example.org/" + text(3);
            alert.evidence = {text(20)};
            alerts.push_back(alert);
        }
        const auto half = alerts.begin() + static_cast<std::ptrdiff_t>(alerts.size() / 2);
        const auto message = message_about({alerts.begin(), half}, {half, alerts.end()}, NotificationKind::update,
                                           seed % 2 == 0 ? "" : "https://hub.example.org");
        for (const auto& body : {slack_message(message), slack_plain_message(message)}) {
            ASSERT_EQ(refusal(body), "") << seed;
            expect_harmless(body);
            ASSERT_FALSE(::testing::Test::HasFailure()) << seed;
        }
    }
}

}
}
