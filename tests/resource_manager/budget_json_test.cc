#include "resource_manager/budget_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace impresario::resource_manager {
namespace budget_json_test {

const auto kId = *domain::BudgetId::parse("01931f2e-0000-7000-8000-000000000001");

std::vector<std::string> faults(const std::string& json) {
    std::vector<std::string> found;
    const auto parsed = parse_budget(json, kId, "default");
    if (!parsed)
        for (const auto& fault : parsed.error()) found.push_back(fault.pointer + " " + fault.what);
    return found;
}
std::string with(const std::string& members) {
    return R"({"name": "daily", "limit_usd": "300", "window": "day")" + (members.empty() ? "" : ", " + members) + "}";
}
std::string limited(const std::string& limit) {
    return R"({"name": "daily", "window": "day", "limit_usd": )" + limit + "}";
}

TEST(BudgetJson, TheLeastThatIsOne) {
    const auto parsed = parse_budget(with(""), kId, "acme");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->id, kId);
    EXPECT_EQ(parsed->scope, (BudgetScope{"acme", "", "", std::nullopt}));
    EXPECT_EQ(parsed->limit, domain::MicroUsd{300'000'000});
    EXPECT_TRUE(parsed->hard);
    ASSERT_EQ(parsed->steps.size(), 1U);
    EXPECT_EQ(parsed->steps[0].at_percent, 90);
    EXPECT_EQ(parsed->steps[0].action, BudgetAction::pause_non_critical);
    EXPECT_TRUE(parsed->steps[0].alert);
}

TEST(BudgetJson, ReadsWhatItWrites) {
    for (
        const auto& text : std::vector<std::string>{
            with(""),
            with(
                R"("scope": {"organization_id": null, "provider": "gemini", "workflow_type": "seo_monitor"}, "hard": false)"),
            with(R"("reason": "a \"quoted\" reason", "steps": [])"), std::string(R"({"name": "w", "limit_usd": 0.1,
              "window": {"unit": "week", "time_zone": "Europe/Berlin", "reset_hour": 6, "first_weekday": "sunday"}})"),
            std::string(
                R"({"name": "r", "limit_usd": "999999999999.999999", "window": {"unit": "rolling", "hours": 5}})"),
            std::string(R"({"name": "b", "limit_usd": 5, "window": {"unit": "batch"},
              "scope": {"batch_id": "01931f2e-0000-7000-8000-000000000009"}})"),
            with(R"("steps": [{"at_percent": 50, "action": "alert"},
              {"at_percent": 60, "action": "defer_low_priority", "below_priority": 30},
              {"at_percent": 70, "action": "smaller_batches", "batch_percent": 25, "alert": false},
              {"at_percent": 75, "action": "cheaper_variant"},
              {"at_percent": 80, "action": "off_peak_hours", "from_hour": 20, "to_hour": 5},
              {"at_percent": 90, "action": "ask_human"},
              {"at_percent": 100, "undone_below_percent": 99, "action": "stop"}])")}) {
        const auto first = parse_budget(text, kId, "default");
        ASSERT_TRUE(first) << text << first.error()[0].pointer << first.error()[0].what;
        const auto second = parse_budget(budget_json(*first), kId, "");
        ASSERT_TRUE(second) << budget_json(*first) << second.error()[0].pointer << second.error()[0].what;
        EXPECT_EQ(budget_json(*first), budget_json(*second));
        EXPECT_EQ(first->scope, second->scope);
        EXPECT_EQ(first->window, second->window);
        EXPECT_EQ(first->limit, second->limit);
        EXPECT_EQ(first->steps, second->steps);
        EXPECT_EQ(stored_steps(steps_json(first->steps)), first->steps);
    }
}

TEST(BudgetJson, ALimitIsReadExactlyOrRefused) {
    EXPECT_EQ(parse_budget(limited("0.1"), kId, "")->limit, domain::MicroUsd{100'000});
    EXPECT_EQ(parse_budget(limited("9007199254.740993"), kId, "")->limit, domain::MicroUsd{9'007'199'254'740'993});
    EXPECT_EQ(parse_budget(limited("\"1e3\""), kId, "")->limit, domain::MicroUsd{1'000'000'000});
    using ::testing::ElementsAre;
    for (const auto& [limit, what] : std::vector<std::pair<std::string, std::string>>{
             {"0", "must be more than 0; to stop work, pause it"},
             {"\"0.000\"", "must be more than 0; to stop work, pause it"},
             {"-1", "must not be negative"},
             {"1e308", "is more than 999999999999.999999 USD"},
             {"1000000000000", "is more than 999999999999.999999 USD"},
             {"99999999999999999999", "is more than 999999999999.999999 USD"},
             {"\"NaN\"", "is not a decimal number"},
             {"\"Infinity\"", "is not a decimal number"},
             {"\"\"", "is not a decimal number"},
             {"0.0000001", "must not be finer than 0.000001"},
             {"null", "must be a decimal number or a string of one"},
             {"true", "must be a decimal number or a string of one"},
             {"[1]", "must be a decimal number or a string of one"}})
        EXPECT_THAT(faults(limited(limit)), ElementsAre("/limit_usd " + what)) << limit;
    EXPECT_THAT(faults(R"({"name": "a", "window": "day"})"), ElementsAre("/limit_usd is missing"));
    EXPECT_THAT(faults(limited("NaN")), ElementsAre(::testing::StartsWith("/limit_usd ")));
    EXPECT_THAT(faults(R"({"name": "a", "window": "day", "limit_usd": 1, "scope": {"provider": "a", "provider": "b"},
                           "limit_usd": 2})"),
                ElementsAre("/scope/provider is there twice", "/limit_usd is there twice"));
}

TEST(BudgetJson, NamesEveryFault) {
    using ::testing::ElementsAre;
    using ::testing::UnorderedElementsAre;
    EXPECT_THAT(faults("[]"), ElementsAre(" must be a JSON object"));
    EXPECT_THAT(faults(R"({"name": "A b", "limit_usd": -5, "window": "year", "colour": 1, "scope": {"region": "x"}})"),
                UnorderedElementsAre("/limit_usd must not be negative", "/scope/region is not a member of this object",
                                     "/window must be day, week, month, rolling or batch",
                                     "/colour is not a member of this object",
                                     "/name must have 1 to 63 of the characters a-z, 0-9, '_', '-' and '.'"));
    EXPECT_THAT(faults(R"({"name": "a", "limit_usd": 1})"),
                ElementsAre("/window is missing: day, week, month, batch, or an object with unit"));
    const auto windowed = [&](const std::string& window) {
        return faults(R"({"name": "a", "limit_usd": 1, "window": )" + window + "}");
    };
    EXPECT_THAT(windowed(R"({"unit": "day", "time_zone": "Europe/Atlantis"})"),
                ElementsAre("/window/time_zone 'Europe/Atlantis' is no time zone; use a name as Europe/Berlin"));
    EXPECT_THAT(windowed(R"({"unit": "day", "reset_hour": 24})"),
                ElementsAre("/window/reset_hour must be from 0 to 23"));
    EXPECT_THAT(windowed(R"({"unit": "day", "first_weekday": "monday", "hours": 3})"),
                ElementsAre("/window/first_weekday is for a week", "/window/hours is for a rolling window"));
    EXPECT_THAT(windowed(R"({"unit": "week", "first_weekday": "funday"})"),
                ElementsAre("/window/first_weekday must be monday, tuesday … or sunday"));
    EXPECT_THAT(windowed(R"({"unit": "rolling"})"), ElementsAre("/window/hours is missing"));
    EXPECT_THAT(windowed(R"("rolling")"), ElementsAre("/window rolling needs an object with unit and hours"));
    EXPECT_THAT(windowed(R"({"unit": "rolling", "hours": 0})"), ElementsAre("/window/hours must be from 1 to 744"));
    EXPECT_THAT(windowed(R"({"unit": "rolling", "hours": 1e9})"),
                ElementsAre("/window/hours must be a whole number from -1000000000 to 1000000000"));
    EXPECT_THAT(windowed(R"("batch")"), ElementsAre("/window/unit batch needs a scope with a batch_id"));
    EXPECT_THAT(windowed("7"), ElementsAre("/window must be day, week, month, batch, or an object with unit"));
    const auto stepped = [&](const std::string& step) { return faults(with(R"("steps": [)" + step + "]")); };
    EXPECT_THAT(stepped(R"({"action": "stop"})"), ElementsAre("/steps/0/at_percent is missing"));
    EXPECT_THAT(stepped(R"({"at_percent": 0, "action": "stop"})"),
                ElementsAre("/steps/0/at_percent must be from 1 to 1000"));
    EXPECT_THAT(stepped(R"({"at_percent": 90, "action": "stop"}, {"at_percent": 0, "action": "stop"})"),
                ElementsAre("/steps/1/at_percent must be from 1 to 1000"));
    EXPECT_THAT(stepped(R"({"at_percent": 90, "undone_below_percent": 91, "action": "stop"})"),
                ElementsAre("/steps/0/undone_below_percent must be from 1 to 90"));
    EXPECT_THAT(
        stepped(R"({"at_percent": 90, "action": "stop", "batch_percent": 10, "x": 1})"),
        ElementsAre("/steps/0/batch_percent is for smaller_batches", "/steps/0/x is not a member of this object"));
    EXPECT_THAT(stepped(R"({"at_percent": 90, "action": "off_peak_hours", "from_hour": 6})"),
                ElementsAre("/steps/0/to_hour must be another hour than from_hour"));
    EXPECT_THAT(stepped(R"({"at_percent": 90, "action": "stop"}, {"at_percent": 80, "action": "stop"})"),
                ElementsAre("/steps/1/at_percent must not be less than that of the step before",
                            "/steps/1/undone_below_percent must not be less than that of the step before"));
    EXPECT_THAT(stepped("7"), ElementsAre("/steps/0 must be an object"));
    EXPECT_EQ(stepped(R"({"at_percent": 90, "action": "panic"})").size(), 1U);
    EXPECT_THAT(faults(with(R"("scope": {"batch_id": "7"})")), ElementsAre("/scope/batch_id must be a UUID"));
}

TEST(BudgetJson, AStepOfANewerHubPausesWhatIsNotCritical) {
    const auto steps = stored_steps(R"([{"at_percent": 70, "action": "ask_the_moon", "phase": "full"}])");
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].at_percent, 70);
    EXPECT_EQ(steps[0].action, BudgetAction::pause_non_critical);
    EXPECT_EQ(stored_steps("7"), std::vector<BudgetStep>{BudgetStep{}});
}

}
}
