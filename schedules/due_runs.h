#pragma once
// What is to be done about a schedule now. Pure.

#include <string_view>
#include <vector>

#include "schedules/schedule.h"

namespace impresario::schedules {

enum class RunOutcome {
    started,
    /// Its turn comes once what runs has ended.
    waiting,
    /// Another one ran, or waited.
    skipped,
    /// Nobody could start it in time.
    missed,
    /// It could not be made: its type is gone, or its input does not fit any more.
    refused,
};
std::string_view name(RunOutcome outcome);
std::optional<RunOutcome> parse_run_outcome(std::string_view text);

struct Run {
    domain::TimePoint due{};
    RunOutcome outcome = RunOutcome::started;
    /// Why, for people; empty where it started.
    std::string detail;
};

/// How those stand that were due before.
struct RunFacts {
    bool running = false;
    /// Due times that wait, the oldest first.
    std::vector<domain::TimePoint> waiting;
};

struct DueRuns {
    std::vector<Run> runs;
    /// Before they start, what runs is cancelled.
    bool cancel = false;
    std::optional<domain::TimePoint> next_due;
    /// There is more to do at once.
    bool more = false;
};

/// At most `most` of them.
DueRuns due_runs(const Schedule& schedule, const RunFacts& facts, domain::TimePoint now, std::size_t most = 100);

}
