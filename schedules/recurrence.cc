#include "schedules/recurrence.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/predicate.hpp>
#include <charconv>

#include "platform/zone.h"

namespace impresario::schedules {

using domain::TimePoint;

namespace {

/// 29 February of a weekday comes round within 40 years; only one that does not exist is looked for in vain.
constexpr int kMostDays = 41 * 366;

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Field {
    const char* name;
    int least;
    int most;
    /// Of the values from `least` on.
    const std::string_view* names = nullptr;
    std::size_t name_count = 0;
};

std::optional<int> read_value(std::string_view text, const Field& field) {
    for (std::size_t i = 0; i < field.name_count; ++i)
        if (boost::iequals(text, field.names[i])) return field.least + static_cast<int>(i);
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// One field: true at each value that is meant. The error is for people.
domain::Result<std::vector<bool>, domain::Fault> read_field(std::string_view text, const Field& field) {
    std::vector<bool> meant(static_cast<std::size_t>(field.most) + 1, false);
    const auto wrong = [&](std::string_view part, const std::string& why) {
        return domain::Fault{"has " + std::string(field.name) + " '" + std::string(part) + "', which " + why};
    };
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto comma = std::min(text.find(',', begin), text.size());
        const auto part = text.substr(begin, comma - begin);
        begin = comma + 1;
        const auto slash = part.find('/');
        const auto range = part.substr(0, slash);
        int step = 1;
        if (slash != std::string_view::npos) {
            const auto given = read_value(part.substr(slash + 1), Field{field.name, 1, field.most});
            if (!given || *given < 1 || *given > field.most)
                return wrong(part, "must have a step from 1 to " + std::to_string(field.most));
            step = *given;
        }
        int from = field.least;
        int to = field.most;
        if (range != "*") {
            const auto dash = range.find('-');
            const auto first = read_value(range.substr(0, dash), field);
            const auto last = dash == std::string_view::npos ? first : read_value(range.substr(dash + 1), field);
            if (!first || !last) return wrong(part, "is no value, range or list of them");
            from = *first;
            to = dash == std::string_view::npos && slash != std::string_view::npos ? field.most : *last;
            if (from < field.least || to > field.most)
                return wrong(part, "must be from " + std::to_string(field.least) + " to " + std::to_string(field.most));
            if (from > to) return wrong(part, "ends before it begins");
        }
        for (int value = from; value <= to; value += step) meant[static_cast<std::size_t>(value)] = true;
    }
    return meant;
}

std::optional<std::string_view> spelled_out(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> known{{{"@hourly", "0 * * * *"},
                                                                                  {"@daily", "0 0 * * *"},
                                                                                  {"@midnight", "0 0 * * *"},
                                                                                  {"@weekly", "0 0 * * 0"},
                                                                                  {"@monthly", "0 0 1 * *"},
                                                                                  {"@yearly", "0 0 1 1 *"},
                                                                                  {"@annually", "0 0 1 1 *"},
                                                                                  {"@quarterly", "0 0 1 */3 *"}}};
    for (const auto& [name, means] : known)
        if (boost::iequals(text, name)) return means;
    return std::nullopt;
}

}

bool ever_due(const CalendarRule& rule) {
    if (rule.days.test(0) || rule.days.none()) return true;
    if (rule.either_day && !rule.weekdays.all() && rule.weekdays.any()) return true;
    constexpr std::array<int, 13> longest{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (std::size_t month = 1; month <= 12; ++month)
        for (std::size_t day = 1; rule.months.test(month) && day <= static_cast<std::size_t>(longest[month]); ++day)
            if (rule.days.test(day)) return true;
    return false;
}

namespace {

bool all_days(const CalendarRule& rule) {
    for (std::size_t day = 1; day <= 31; ++day)
        if (!rule.days.test(day)) return false;
    return true;
}

bool meant_day(const CalendarRule& rule, date::local_days day) {
    const date::year_month_day civil{day};
    if (!rule.months.test(unsigned{civil.month()})) return false;
    const auto number = unsigned{civil.day()};
    const auto last = unsigned{date::year_month_day_last{civil.year(), date::month_day_last{civil.month()}}.day()};
    const bool of_month = rule.days.test(number) || (rule.days.test(0) && number == last);
    const bool of_week = rule.weekdays.test(date::weekday{day}.c_encoding());
    if (rule.either_day && !all_days(rule) && !rule.weekdays.all()) return of_month || of_week;
    return of_month && of_week;
}

/// The instants of one local day, in order.
std::vector<TimePoint> instants(const CalendarRule& rule, const date::time_zone* zone, date::local_days day) {
    std::vector<TimePoint> found;
    const date::local_seconds midnight{day};
    // Where clocks do not change that day, one look at them is enough.
    bool steady = true;
    std::chrono::seconds offset{0};
    if (zone) {
        const auto first = zone->get_info(midnight);
        const auto last = zone->get_info(midnight + std::chrono::hours{24});
        offset = first.first.offset;
        steady = first.result == date::local_info::unique && last.result == date::local_info::unique &&
                 first.first.begin == last.first.begin;
    }
    for (std::size_t minute = 0; minute < rule.times.size(); ++minute) {
        if (!rule.times.test(minute)) continue;
        const auto local = midnight + std::chrono::minutes{minute};
        if (steady) {
            found.emplace_back(local.time_since_epoch() - offset);
            continue;
        }
        const auto info = zone->get_info(local);
        if (info.result == date::local_info::nonexistent && rule.every_hour) continue;
        found.push_back(platform::first_reached(zone, local));
        if (info.result == date::local_info::ambiguous && rule.every_hour)
            found.emplace_back(local.time_since_epoch() - info.second.offset);
    }
    std::sort(found.begin(), found.end());
    return found;
}

}

domain::Result<CalendarRule, domain::Fault> parse_cron(std::string_view text) {
    if (text.starts_with('@')) {
        const auto means = spelled_out(text);
        if (!means)
            return domain::Fault{"must be five fields, or @hourly, @daily, @weekly, @monthly, @quarterly or @yearly"};
        text = *means;
    }
    std::vector<std::string_view> fields;
    for (std::size_t at = 0; at < text.size();) {
        const auto begin = text.find_first_not_of(" \t", at);
        if (begin == std::string_view::npos) break;
        at = std::min(text.find_first_of(" \t", begin), text.size());
        fields.push_back(text.substr(begin, at - begin));
    }
    if (fields.size() != 5)
        return domain::Fault{"must have five fields (minute, hour, day of month, month, day of week) and has " +
                             std::to_string(fields.size())};
    CalendarRule rule;
    const auto minutes = read_field(fields[0], {"minute", 0, 59});
    if (!minutes) return minutes.error();
    const auto hours = read_field(fields[1], {"hour", 0, 23});
    if (!hours) return hours.error();
    const bool last_day = boost::iequals(fields[2], "l");
    const auto days = read_field(last_day ? "1" : fields[2], {"day of month", 1, 31});
    if (!days) return days.error();
    const auto months = read_field(fields[3], {"month", 1, 12, kMonths.data(), kMonths.size()});
    if (!months) return months.error();
    // Sunday is 0 and 7.
    const auto weekdays = read_field(fields[4], {"day of week", 0, 7, kWeekdays.data(), kWeekdays.size()});
    if (!weekdays) return weekdays.error();
    for (std::size_t i = 0; i < rule.times.size(); ++i) rule.times.set(i, (*hours)[i / 60] && (*minutes)[i % 60]);
    for (std::size_t i = 1; i <= 31; ++i) rule.days.set(i, !last_day && (*days)[i]);
    rule.days.set(0, last_day);
    for (std::size_t i = 1; i <= 12; ++i) rule.months.set(i, (*months)[i]);
    for (std::size_t i = 0; i < 8; ++i)
        if ((*weekdays)[i]) rule.weekdays.set(i % 7);
    rule.every_hour = std::find(hours->begin(), hours->end(), false) == hours->end();
    if (!ever_due(rule)) return domain::Fault{"means a day that none of its months has"};
    return rule;
}

std::optional<TimePoint> next_due(const Recurrence& recurrence, TimePoint after) {
    if (!recurrence.calendar) {
        if (recurrence.interval <= domain::Duration{0}) return std::nullopt;
        const auto anchor = recurrence.anchor.value_or(TimePoint{});
        if (after < anchor) return anchor;
        return anchor + ((after - anchor) / recurrence.interval + 1) * recurrence.interval;
    }
    const auto& rule = *recurrence.calendar;
    const auto* zone = platform::find_zone(recurrence.zone);
    after = std::clamp(after, domain::kFirstTime, domain::kLastTime - std::chrono::hours{24 * kMostDays});
    const auto local = after.time_since_epoch() + platform::offset_at(zone, after);
    // What was due yesterday may have been skipped until today.
    auto day = date::local_days{std::chrono::floor<date::days>(local)} - date::days{1};
    for (int i = 0; i < kMostDays; ++i, day += date::days{1}) {
        if (!meant_day(rule, day)) continue;
        for (const auto at : instants(rule, zone, day))
            if (at > after) return at;
    }
    return std::nullopt;
}

}
