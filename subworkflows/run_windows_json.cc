#include "subworkflows/run_windows_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platform/definition_json.h"

namespace impresario::subworkflows {

using nlohmann::json;
using platform::DefinitionReader;

namespace {

void read_days(const json& days, DefinitionReader& members, RunWindow& window) {
    window.days.fill(false);
    bool good = days.is_array() && !days.empty();
    for (const auto& each : days) {
        const auto day = each.is_string() ? parse_day_of_week(each.get<std::string>()) : std::nullopt;
        good = good && day;
        if (good) window.days[static_cast<std::size_t>(*day)] = true;
    }
    if (!good) members.wrong("days", R"(must be an array of days, as in ["mon", "fri"]; left out it is all of them)");
}

int read_time(DefinitionReader& members, const char* name, int least, int most) {
    std::string text;
    members.text(name, text);
    const auto read = parse_time_of_day(text);
    if (read && *read >= least && *read <= most) return *read;
    members.wrong(name, "must be a time of day from " + time_of_day(least) + " to " + time_of_day(most));
    return least;
}

RunWindow read_window(const json& value, const std::string& at, domain::DefinitionFaults& faults) {
    RunWindow window;
    if (!value.is_object()) {
        faults.push_back({at, "must be an object with from and to"});
        return window;
    }
    DefinitionReader members(value, at, faults);
    if (const json* days = members.find("days")) read_days(*days, members, window);
    window.from = read_time(members, "from", 0, 1439);
    window.to = read_time(members, "to", 0, 1440);
    members.nothing_else();
    return window;
}

}

RunWindows read_run_windows(std::string_view text, domain::DefinitionFaults& faults) {
    const json value = json::parse(text, nullptr, false);
    RunWindows read;
    if (!value.is_object()) {
        faults.push_back({"/run_windows", "must be an object with windows, or null for any time"});
        return read;
    }
    DefinitionReader members(value, "/run_windows", faults);
    members.text("time_zone", read.zone);
    const json* windows = members.find("windows");
    if (windows && !windows->is_array()) members.wrong("windows", "must be an array");
    if (windows && windows->is_array())
        for (std::size_t i = 0; i < std::min(windows->size(), kMostRunWindows + 1); ++i)
            read.windows.push_back(read_window((*windows)[i], "/run_windows/windows/" + std::to_string(i), faults));
    members.nothing_else();
    return read;
}

std::string run_windows_json(const RunWindows& windows) {
    json value{{"time_zone", windows.zone}, {"windows", json::array()}};
    for (const auto& window : windows.windows) {
        json each{{"days", json::array()}, {"from", time_of_day(window.from)}, {"to", time_of_day(window.to)}};
        for (int day = 0; day < 7; ++day)
            if (window.days[static_cast<std::size_t>(day)]) each["days"].push_back(day_of_week(day));
        value["windows"].push_back(std::move(each));
    }
    return value.dump();
}

std::optional<RunWindows> stored_run_windows(std::string_view text) {
    if (text.empty()) return std::nullopt;
    domain::DefinitionFaults faults;
    return read_run_windows(text, faults);
}

}
