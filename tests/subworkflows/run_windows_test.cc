#include "subworkflows/run_windows.h"

#include <gtest/gtest.h>

#include "subworkflows/workflow_type_json.h"

namespace impresario::subworkflows {
namespace {

domain::TimePoint at(const char* text) { return *domain::parse_time(text); }

RunWindows windows(const std::string& json) {
    const auto type = parse_workflow_type(R"({"run_windows": )" + json + "}", {"default", "t"}, nullptr);
    if (!type) throw std::runtime_error(type.error().front().pointer + " " + type.error().front().what);
    return *type->run_windows;
}

/// "open until …" or "shut until …".
std::string shown(const RunWindows& of, const char* when) {
    const auto state = look(of, at(when));
    return std::string(state.open ? "open" : "shut") + " until " +
           (state.until ? domain::rfc3339(*state.until).substr(0, 16) : "never");
}

TEST(RunWindows, OpenAndShutByTheClocksOfTheirZone) {
    const auto night = windows(R"({"time_zone": "Europe/Berlin", "windows": [{"from": "22:00", "to": "06:00"}]})");
    EXPECT_EQ(shown(night, "2026-11-30T20:59:59Z"), "shut until 2026-11-30T21:00");
    EXPECT_EQ(shown(night, "2026-11-30T21:00:00Z"), "open until 2026-12-01T05:00");
    EXPECT_EQ(shown(night, "2026-12-01T04:59:59Z"), "open until 2026-12-01T05:00");
    EXPECT_EQ(shown(night, "2026-12-01T05:00:00Z"), "shut until 2026-12-01T21:00");
    EXPECT_EQ(shown(night, "2026-07-01T19:59:59Z"), "shut until 2026-07-01T20:00") << "summer";
}

TEST(RunWindows, OfTheWeekendLastUntilMonday) {
    const auto weekend = windows(R"({"windows": [{"days": ["sat", "Sunday"], "from": "00:00", "to": "24:00"},
                                                 {"days": ["fri"], "from": "18:00", "to": "00:00"}]})");
    EXPECT_EQ(shown(weekend, "2026-11-26T12:00:00Z"), "shut until 2026-11-27T18:00");
    EXPECT_EQ(shown(weekend, "2026-11-27T18:00:00Z"), "open until 2026-11-30T00:00") << "one runs into the next";
    EXPECT_EQ(shown(weekend, "2026-11-30T00:00:00Z"), "shut until 2026-12-04T18:00");
}

TEST(RunWindows, WhereOneRunsIntoTheNextAllWeekNeverShut) {
    EXPECT_EQ(shown(windows(R"({"windows": [{"from": "00:00", "to": "24:00"}]})"), "2026-11-30T12:00:00Z"),
              "open until never");
    EXPECT_EQ(shown(windows(R"({"windows": [{"from": "08:00", "to": "08:00"}]})"), "2026-11-30T07:59:00Z"),
              "open until never");
    EXPECT_EQ(
        shown(windows(R"({"windows": [{"days": ["wed"], "from": "12:00", "to": "12:01"}]})"), "2026-12-02T12:01:00Z"),
        "shut until 2026-12-09T12:00");
}

TEST(RunWindows, FollowTheClocksOverTheirChanges) {
    // In Berlin 02:00 becomes 03:00 on 2026-03-29, and 03:00 becomes 02:00 on 2026-10-25.
    const auto early = windows(R"({"time_zone": "Europe/Berlin", "windows": [{"from": "01:30", "to": "02:30"}]})");
    EXPECT_EQ(shown(early, "2026-03-29T00:40:00Z"), "open until 2026-03-29T01:00") << "02:30 is skipped";
    EXPECT_EQ(shown(early, "2026-10-24T23:40:00Z"), "open until 2026-10-25T00:30") << "the first 02:30";
    const auto weekly =
        windows(R"({"time_zone": "Europe/Berlin", "windows": [{"days": ["sun"], "from": "02:10", "to": "02:50"}]})");
    EXPECT_EQ(shown(weekly, "2026-03-23T12:00:00Z"), "shut until 2026-04-05T00:10") << "the next is skipped as a whole";
    const auto skipped = windows(R"({"time_zone": "Europe/Berlin", "windows": [{"from": "02:10", "to": "02:50"}]})");
    EXPECT_EQ(shown(skipped, "2026-03-29T00:59:00Z"), "shut until 2026-03-30T00:10") << "there is none that day";
}

TEST(RunWindows, ShownAsTheyWereWritten) {
    const std::string text =
        R"({"time_zone":"Europe/Berlin","windows":[{"days":["mon","fri"],"from":"22:00","to":"06:00"}]})";
    const auto type = parse_workflow_type(R"({"run_windows": )" + text + "}", {"default", "t"}, nullptr);
    ASSERT_TRUE(type);
    EXPECT_NE(workflow_type_json(*type).find("\"run_windows\":{\"time_zone\":\"Europe/Berlin\",\"windows\":[{\"days\":"
                                             "[\"mon\",\"fri\"],\"from\":\"22:00\",\"to\":\"06:00\"}]}"),
              std::string::npos)
        << workflow_type_json(*type);
}

TEST(RunWindows, RefuseWhatIsNoneByName) {
    const auto fault = [](const std::string& json) -> std::string {
        const auto type = parse_workflow_type(json, {"default", "t"}, nullptr);
        return type ? "" : type.error().front().pointer;
    };
    const auto of = [&](const std::string& windows) { return fault(R"({"run_windows": )" + windows + "}"); };
    EXPECT_EQ(of(R"({"time_zone": "Mars/Olympus", "windows": [{"from": "01:00", "to": "02:00"}]})"),
              "/run_windows/time_zone");
    EXPECT_EQ(of(R"({"windows": []})"), "/run_windows/windows");
    EXPECT_EQ(of(R"({})"), "/run_windows/windows");
    EXPECT_EQ(of(R"([])"), "/run_windows");
    EXPECT_EQ(of(R"({"windows": 1})"), "/run_windows/windows");
    EXPECT_EQ(of(R"({"windows": [1]})"), "/run_windows/windows/0");
    EXPECT_EQ(of(R"({"windows": [{"from": "01:00", "to": "24:30"}]})"), "/run_windows/windows/0/to");
    EXPECT_EQ(of(R"({"windows": [{"from": "24:00", "to": "02:00"}]})"), "/run_windows/windows/0/from");
    EXPECT_EQ(of(R"({"windows": [{"from": "1:00", "to": "02:00"}]})"), "/run_windows/windows/0/from");
    EXPECT_EQ(of(R"({"windows": [{"to": "02:00"}]})"), "/run_windows/windows/0/from");
    EXPECT_EQ(of(R"({"windows": [{"days": ["noday"], "from": "01:00", "to": "02:00"}]})"),
              "/run_windows/windows/0/days");
    EXPECT_EQ(of(R"({"windows": [{"days": [], "from": "01:00", "to": "02:00"}]})"), "/run_windows/windows/0/days");
    EXPECT_EQ(of(R"({"windows": [{"from": "01:00", "to": "02:00", "except": 1}]})"), "/run_windows/windows/0/except");
    for (const auto* member : {"execution_interval_seconds", "cool_down_seconds"})
        for (const auto* value : {"0", "0.5", "-1", "2592001"})
            EXPECT_EQ(fault("{\"" + std::string(member) + "\": " + value + "}"), "/" + std::string(member)) << value;
}

}
}
