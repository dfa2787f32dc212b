#pragma once
// Work that is due again and again: what is started, when, and what happens where one is due before the last has ended.

#include <optional>
#include <string>

#include "domain/definition_fault.h"
#include "domain/id.h"
#include "domain/time.h"
#include "schedules/recurrence.h"

namespace impresario::schedules {

using ScheduleId = domain::Id<struct ScheduleTag>;

/// What is done with one that is due while an earlier one runs or waits.
enum class Overlap {
    /// It is left out.
    skip,
    /// It waits; while one waits, others are left out.
    buffer_one,
    /// It waits, however many do.
    buffer_all,
    /// What runs is cancelled, and it starts.
    cancel_running,
    /// It starts beside what runs.
    allow,
};
std::string_view name(Overlap overlap);
std::optional<Overlap> parse_overlap(std::string_view text);

/// Most that wait at once.
inline constexpr std::size_t kMostWaiting = 1000;

struct Schedule {
    ScheduleId id;
    std::string organization_id;
    /// 1 to 200 bytes.
    std::string name;

    std::string workflow_type;
    /// JSON text; empty: null.
    std::string input;
    /// JSON object; empty: none.
    std::string context;
    int priority = 50;
    Recurrence recurrence;
    /// As it was given; empty: by an interval or a calendar.
    std::string cron;
    /// Each is started up to so much later than it is due, so that not all start at once. The same for the same time.
    domain::Duration jitter{0};
    Overlap overlap = Overlap::skip;
    /// What was due while nobody could start it is started afterwards, if it is no older than that.
    domain::Duration catch_up = std::chrono::hours{1};
    std::optional<domain::TimePoint> begins_at;
    std::optional<domain::TimePoint> ends_at;
    std::optional<std::int64_t> most_runs;
    bool enabled = true;

    int version = 0;
    domain::TimePoint updated_at{};
    std::string updated_by;

    struct Pause {
        domain::TimePoint at{};
        std::string by;
        std::string reason;
        std::optional<domain::TimePoint> until;
    };
    /// As it was made; when its time is over it stands here all the same.
    std::optional<Pause> pause;
    bool paused(domain::TimePoint now) const { return pause && (!pause->until || *pause->until > now); }

    /// Grows with everything that the scheduler does about it.
    std::int64_t moves = 0;
    /// nullopt: it has ended.
    std::optional<domain::TimePoint> next_due;
    /// Started so far.
    std::int64_t runs = 0;
    std::optional<domain::TimePoint> last_due;
    std::optional<domain::ExecutionId> last_execution;
};

/// When what is due then is to be started.
domain::TimePoint starts_at(const Schedule& schedule, domain::TimePoint due);
/// The first due time later than `after`, within begin and end.
std::optional<domain::TimePoint> due_after(const Schedule& schedule, domain::TimePoint after);
/// What cannot be, member by member.
domain::DefinitionFaults faults_of(const Schedule& schedule);

}
