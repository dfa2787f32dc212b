#include "schedules/schedule_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "platform/definition_json.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::schedules {

using domain::DefinitionFaults;
using platform::DefinitionReader;
using Tree = nlohmann::json;

namespace {

constexpr std::array<std::string_view, 7> kWeekdays{"sunday",   "monday", "tuesday", "wednesday",
                                                    "thursday", "friday", "saturday"};

std::optional<std::size_t> minute_of(const std::string& text) {
    if (text.size() != 5 || text[2] != ':') return std::nullopt;
    int hour = -1;
    int minute = -1;
    const auto read = [&](std::size_t from, int& into) {
        const auto [end, error] = std::from_chars(text.data() + from, text.data() + from + 2, into);
        return error == std::errc{} && end == text.data() + from + 2;
    };
    if (!read(0, hour) || !read(3, minute) || hour < 0 || hour > 23 || minute < 0 || minute > 59) return std::nullopt;
    return static_cast<std::size_t>(hour * 60 + minute);
}

/// A list of values; nothing is all of them.
template <class Read>
void read_list(DefinitionReader& members, const char* member, bool needed, Read read) {
    const Tree* list = members.find(member);
    if (!list) {
        if (needed) members.wrong(member, "is missing");
        return;
    }
    if (!list->is_array() || list->empty()) return members.wrong(member, "must be a list of at least one");
    for (const auto& each : *list)
        if (const auto fault = read(each); !fault.empty()) members.wrong(member, std::string(fault));
}

CalendarRule read_calendar(const Tree& value, DefinitionFaults& faults) {
    CalendarRule rule;
    rule.either_day = false;
    if (!value.is_object()) {
        faults.push_back({"/calendar", "must be an object"});
        return rule;
    }
    DefinitionReader members(value, "/calendar", faults);
    read_list(members, "times", true, [&](const Tree& each) -> std::string_view {
        const auto minute = each.is_string() ? minute_of(each.get<std::string>()) : std::nullopt;
        if (!minute) return "must be times of the day, as in 09:30";
        rule.times.set(*minute);
        return {};
    });
    read_list(members, "weekdays", false, [&](const Tree& each) -> std::string_view {
        const auto* text = each.is_string() ? &each.get_ref<const std::string&>() : nullptr;
        const auto found = text ? std::find(kWeekdays.begin(), kWeekdays.end(), *text) : kWeekdays.end();
        if (found == kWeekdays.end()) return "must be monday, tuesday … or sunday";
        rule.weekdays.set(static_cast<std::size_t>(found - kWeekdays.begin()));
        return {};
    });
    read_list(members, "days", false, [&](const Tree& each) -> std::string_view {
        const auto day = platform::whole_number(each);
        if (!day || *day < -1 || *day == 0 || *day > 31) return "must be from 1 to 31, or -1 for the last of the month";
        rule.days.set(*day == -1 ? 0 : static_cast<std::size_t>(*day));
        return {};
    });
    read_list(members, "months", false, [&](const Tree& each) -> std::string_view {
        const auto month = platform::whole_number(each);
        if (!month || *month < 1 || *month > 12) return "must be from 1 to 12";
        rule.months.set(static_cast<std::size_t>(*month));
        return {};
    });
    if (rule.weekdays.none()) rule.weekdays.set();
    if (rule.days.none()) rule.days.set();
    if (rule.months.none()) rule.months.set();
    members.nothing_else();
    return rule;
}

/// Exactly one of the three.
void read_recurrence(DefinitionReader& members, Schedule& schedule, DefinitionFaults& faults) {
    const int ways =
        (members.has("cron") ? 1 : 0) + (members.has("interval_seconds") ? 1 : 0) + (members.has("calendar") ? 1 : 0);
    if (ways != 1) members.wrong("cron", "or interval_seconds or calendar must say when it is due, one of the three");
    auto& recurrence = schedule.recurrence;
    members.text("time_zone", recurrence.zone);
    members.text("cron", schedule.cron);
    if (members.has("cron") && schedule.cron.empty()) members.wrong("cron", "must not be empty");
    if (!schedule.cron.empty()) {
        auto rule = parse_cron(schedule.cron);
        if (rule) recurrence.calendar = *rule;
        if (!rule) members.wrong("cron", rule.error().what);
    }
    if (const Tree* calendar = members.find("calendar")) recurrence.calendar = read_calendar(*calendar, faults);
    members.seconds("interval_seconds", recurrence.interval);
    members.time("anchor", recurrence.anchor);
    if (members.has("anchor") && !members.has("interval_seconds")) members.wrong("anchor", "is for interval_seconds");
    // What is wrong about it has been said.
    if (!recurrence.calendar && !members.has("interval_seconds")) recurrence.interval = std::chrono::hours{1};
}

Tree calendar_tree(const CalendarRule& rule) {
    Tree tree;
    for (std::size_t minute = 0; minute < rule.times.size(); ++minute) {
        if (!rule.times.test(minute)) continue;
        const auto two = [](std::size_t value) { return (value < 10 ? "0" : "") + std::to_string(value); };
        tree["times"].push_back(two(minute / 60) + ":" + two(minute % 60));
    }
    for (std::size_t day = 0; day < 7 && !rule.weekdays.all(); ++day)
        if (rule.weekdays.test(day)) tree["weekdays"].push_back(kWeekdays[day]);
    for (std::size_t day = 1; day < 32 && !rule.days.all(); ++day)
        if (rule.days.test(day)) tree["days"].push_back(day);
    if (!rule.days.all() && rule.days.test(0)) tree["days"].push_back(-1);
    for (std::size_t month = 1; month < 13 && !rule.months.all(); ++month)
        if (rule.months.test(month)) tree["months"].push_back(month);
    return tree;
}

}

domain::Result<Schedule, DefinitionFaults> parse_schedule(std::string_view body) {
    DefinitionFaults faults;
    const auto storable = platform::storable_json(body);
    const auto tree = storable ? Tree::parse(storable->text, nullptr, false) : Tree(Tree::value_t::discarded);
    if (!tree.is_object()) return DefinitionFaults{{"", "must be a JSON object"}};
    Schedule schedule;
    DefinitionReader members(tree, "", faults);
    members.text("workflow_type", schedule.workflow_type);
    if (schedule.workflow_type.empty()) members.wrong("workflow_type", "is missing");
    // As it came: numbers keep their digits.
    members.has("input");
    if (const auto input = platform::json_member(storable->text, "input")) schedule.input = std::string(*input);
    if (const Tree* context = members.find("context")) {
        if (!context->is_object()) members.wrong("context", "must be an object");
        schedule.context = std::string(*platform::json_member(storable->text, "context"));
    }
    members.whole("priority", schedule.priority);
    read_recurrence(members, schedule, faults);
    members.seconds("jitter_seconds", schedule.jitter);
    members.seconds("catch_up_seconds", schedule.catch_up);
    std::string overlap;
    members.text("overlap", overlap);
    if (!overlap.empty()) {
        const auto known = parse_overlap(overlap);
        if (known) schedule.overlap = *known;
        if (!known) members.wrong("overlap", "must be skip, buffer_one, buffer_all, cancel_running or allow");
    }
    members.time("begins_at", schedule.begins_at);
    members.time("ends_at", schedule.ends_at);
    if (members.has("most_runs")) {
        std::int64_t most = 0;
        members.large("most_runs", most);
        schedule.most_runs = most;
    }
    members.flag("enabled", schedule.enabled);
    members.nothing_else();
    const auto more = faults_of(schedule);
    faults.insert(faults.end(), more.begin(), more.end());
    if (!faults.empty()) return faults;
    return schedule;
}

std::string definition_json(const Schedule& schedule) {
    const auto seconds = [](domain::Duration length) {
        return std::chrono::duration_cast<std::chrono::seconds>(length).count();
    };
    platform::JsonWriter json;
    json.open();
    json.field("workflow_type", schedule.workflow_type);
    if (!schedule.input.empty()) json.raw("input", schedule.input);
    if (!schedule.context.empty()) json.raw("context", schedule.context);
    json.field("priority", schedule.priority);
    if (!schedule.cron.empty()) {
        json.field("cron", schedule.cron);
    } else if (schedule.recurrence.calendar) {
        json.raw("calendar", calendar_tree(*schedule.recurrence.calendar).dump());
    } else {
        json.field("interval_seconds", seconds(schedule.recurrence.interval));
        if (schedule.recurrence.anchor) json.field("anchor", *schedule.recurrence.anchor);
    }
    json.field("time_zone", schedule.recurrence.zone)
        .field("jitter_seconds", seconds(schedule.jitter))
        .field("overlap", name(schedule.overlap))
        .field("catch_up_seconds", seconds(schedule.catch_up));
    if (schedule.begins_at) json.field("begins_at", *schedule.begins_at);
    if (schedule.ends_at) json.field("ends_at", *schedule.ends_at);
    if (schedule.most_runs) json.field("most_runs", *schedule.most_runs);
    json.field("enabled", schedule.enabled);
    json.close();
    return std::move(json).text();
}

}
