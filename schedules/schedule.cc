#include "schedules/schedule.h"

#include <cstring>

#include "domain/name_table.h"
#include "platform/crypto.h"
#include "platform/zone.h"

namespace impresario::schedules {

using domain::TimePoint;

namespace {
constexpr domain::NameTable<Overlap, 5> kOverlaps{{
    {Overlap::skip, "skip"},
    {Overlap::buffer_one, "buffer_one"},
    {Overlap::buffer_all, "buffer_all"},
    {Overlap::cancel_running, "cancel_running"},
    {Overlap::allow, "allow"},
}};
constexpr domain::Duration kLongest = std::chrono::hours{24 * 366};

/// A length as a definition has it: seconds without a fraction.
bool whole_within(domain::Duration length, domain::Duration least, domain::Duration most) {
    return length >= least && length <= most && length % std::chrono::seconds{1} == domain::Duration{0};
}
}

std::string_view name(Overlap overlap) { return domain::name_in(kOverlaps, overlap); }
std::optional<Overlap> parse_overlap(std::string_view text) { return domain::value_in(kOverlaps, text); }

TimePoint starts_at(const Schedule& schedule, TimePoint due) {
    const auto span = static_cast<std::uint64_t>(schedule.jitter.count());
    if (span == 0) return due;
    // Spread evenly, and the same on every node.
    const auto digest = platform::sha256(schedule.id.text() + std::to_string(domain::micros(due)));
    std::uint64_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof hash);
    return due + domain::Duration{static_cast<std::int64_t>(hash % span)};
}

std::optional<TimePoint> due_after(const Schedule& schedule, TimePoint after) {
    if (schedule.most_runs && schedule.runs >= *schedule.most_runs) return std::nullopt;
    if (schedule.begins_at && after < *schedule.begins_at) after = *schedule.begins_at - domain::Duration{1};
    const auto due = next_due(schedule.recurrence, after);
    if (due && schedule.ends_at && *due > *schedule.ends_at) return std::nullopt;
    return due;
}

domain::DefinitionFaults faults_of(const Schedule& schedule) {
    domain::DefinitionFaults faults;
    const auto& recurrence = schedule.recurrence;
    if (!platform::known_zone(recurrence.zone))
        faults.push_back({"/time_zone", "is no time zone that this machine knows, as in Europe/Berlin"});
    if (!recurrence.calendar && !whole_within(recurrence.interval, std::chrono::seconds{1}, kLongest))
        faults.push_back({"/interval_seconds", "must be a whole number from 1 to 31622400"});
    if (recurrence.calendar && recurrence.calendar->times.none())
        faults.push_back({"/calendar/times", "must name at least one time"});
    if (recurrence.calendar && !ever_due(*recurrence.calendar))
        faults.push_back({"/calendar", "means a day that none of its months has"});
    if (schedule.priority < 0 || schedule.priority > 100) faults.push_back({"/priority", "must be from 0 to 100"});
    if (!whole_within(schedule.jitter, domain::Duration{0}, std::chrono::hours{24}))
        faults.push_back({"/jitter_seconds", "must be a whole number from 0 to 86400"});
    if (!whole_within(schedule.catch_up, domain::Duration{0}, kLongest))
        faults.push_back({"/catch_up_seconds", "must be a whole number from 0 to 31622400"});
    if (schedule.most_runs && *schedule.most_runs < 1) faults.push_back({"/most_runs", "must be at least 1"});
    if (schedule.begins_at && schedule.ends_at && *schedule.ends_at < *schedule.begins_at)
        faults.push_back({"/ends_at", "must not be before begins_at"});
    return faults;
}

}
