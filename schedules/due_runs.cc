#include "schedules/due_runs.h"

#include <algorithm>

#include "domain/name_table.h"

namespace impresario::schedules {

using domain::TimePoint;

namespace {
constexpr domain::NameTable<RunOutcome, 5> kOutcomes{{
    {RunOutcome::started, "started"},
    {RunOutcome::waiting, "waiting"},
    {RunOutcome::skipped, "skipped"},
    {RunOutcome::missed, "missed"},
    {RunOutcome::refused, "refused"},
}};

/// Nobody is on time to the microsecond, nor while another node takes over: that late is in time.
constexpr std::chrono::seconds kInTime{30};

/// What becomes of one that is due now, after `running` and `waiting` before it.
Run fate(const Schedule& schedule, TimePoint due, bool running, std::size_t waiting) {
    const bool busy = running || waiting > 0;
    switch (schedule.overlap) {
        case Overlap::allow:
        case Overlap::cancel_running:
            return {due, RunOutcome::started, {}};
        case Overlap::skip:
            if (busy) return {due, RunOutcome::skipped, "the one before it had not ended"};
            return {due, RunOutcome::started, {}};
        case Overlap::buffer_one:
            if (waiting > 0) return {due, RunOutcome::skipped, "another one was waiting"};
            if (running) return {due, RunOutcome::waiting, "the one before it has not ended"};
            return {due, RunOutcome::started, {}};
        case Overlap::buffer_all:
            if (waiting >= kMostWaiting)
                return {due, RunOutcome::skipped, std::to_string(kMostWaiting) + " others were waiting"};
            if (busy) return {due, RunOutcome::waiting, "the one before it has not ended"};
            return {due, RunOutcome::started, {}};
    }
    return {due, RunOutcome::skipped, {}};
}
}

std::string_view name(RunOutcome outcome) { return domain::name_in(kOutcomes, outcome); }
std::optional<RunOutcome> parse_run_outcome(std::string_view text) { return domain::value_in(kOutcomes, text); }

DueRuns due_runs(const Schedule& schedule, const RunFacts& facts, TimePoint now, std::size_t most) {
    DueRuns done;
    done.next_due = schedule.next_due;
    if (!schedule.enabled || schedule.paused(now)) return done;
    // What was due during a pause is left out.
    if (schedule.pause && done.next_due && *done.next_due < *schedule.pause->until)
        done.next_due = due_after(schedule, *schedule.pause->until - domain::Duration{1});
    bool running = facts.running;
    auto left = schedule;
    // What waits has its turn before anything that is due later.
    left.runs += static_cast<std::int64_t>(facts.waiting.size());
    auto waiting = facts.waiting.size();
    if (waiting > 0 && !running) {
        done.runs.push_back({facts.waiting.front(), RunOutcome::started, {}});
        running = true;
        --waiting;
    }
    while (done.next_due && starts_at(schedule, *done.next_due) <= now) {
        if (done.runs.size() >= most) {
            done.more = true;
            break;
        }
        const auto due = *done.next_due;
        // A backfill may have asked for it already.
        if (std::find(facts.waiting.begin(), facts.waiting.end(), due) != facts.waiting.end()) {
            done.next_due = due_after(left, due);
            continue;
        }
        if (now - starts_at(schedule, due) > schedule.catch_up + kInTime) {
            const auto kept = now - schedule.catch_up - kInTime - schedule.jitter;
            done.next_due = due_after(left, std::max(due, kept - domain::Duration{1}));
            const auto until = done.next_due ? "before " + domain::rfc3339(*done.next_due) : std::string("after it");
            done.runs.push_back({due, RunOutcome::missed, "nobody could start it in time, nor what was due " + until});
            continue;
        }
        auto run = fate(schedule, due, running, waiting);
        if (run.outcome == RunOutcome::waiting) ++waiting;
        if (run.outcome == RunOutcome::started && running && schedule.overlap == Overlap::cancel_running) {
            done.cancel = facts.running;
            // One of these would be cancelled by the next before it has begun.
            for (auto& earlier : done.runs) {
                if (earlier.outcome != RunOutcome::started) continue;
                earlier = {earlier.due, RunOutcome::skipped, "the next one was due"};
                --left.runs;
            }
        }
        if (run.outcome == RunOutcome::started) running = true;
        if (run.outcome == RunOutcome::started || run.outcome == RunOutcome::waiting) ++left.runs;
        done.runs.push_back(std::move(run));
        done.next_due = due_after(left, due);
    }
    return done;
}

}
