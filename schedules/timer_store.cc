#include "schedules/timer_store.h"

#include "platform/read_rows.h"
#include "platform/writer.h"
#include "schedules_sql.h"

namespace impresario::schedules {

using domain::TimePoint;
using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::Tx;

namespace {
std::vector<Timer> read_timers(const Rows& rows) {
    return platform::read_rows(rows, [](RowReader& row) {
        Timer timer;
        timer.id = row.id<TimerId>();
        timer.organization_id = row.text();
        timer.name = row.text();
        timer.token = row.id<WaitingToken>();
        timer.state = parse_timer_state(row.view()).value_or(TimerState::cancelled);
        timer.due = row.time();
        timer.payload = row.text();
        timer.ended = row.maybe_time();
        timer.updated_at = row.time();
        timer.updated_by = row.text();
        return timer;
    });
}

std::optional<Timer> first_timer(const Rows& rows) {
    auto timers = read_timers(rows);
    if (timers.empty()) return std::nullopt;
    return std::move(timers.front());
}
}

std::optional<Timer> TimerStore::put(Tx& tx, const Timer& timer, std::optional<WaitingToken> token,
                                     const domain::NodeId& writer) const {
    tx.send(sql::hurry);
    platform::write_as(tx, writer);
    return first_timer(tx.exec(sql::put_timer, Params()
                                                   .add(timer.organization_id)
                                                   .add(timer.name)
                                                   .add(timer.due)
                                                   .add(timer.payload)
                                                   .add(timer.updated_by)
                                                   .add(token)));
}

std::optional<Timer> TimerStore::cancel(Tx& tx, const std::string& organization_id, const std::string& name,
                                        const std::string& by, std::optional<WaitingToken> token,
                                        const domain::NodeId& writer) const {
    tx.send(sql::hurry);
    platform::write_as(tx, writer);
    return first_timer(tx.exec(sql::end_timer, Params().add(organization_id).add(name).add(by).add(token)));
}

std::optional<Timer> TimerStore::find(Tx& tx, const std::string& organization_id, const std::string& name) const {
    return first_timer(tx.exec(sql::find_timer, Params().add(organization_id).add(name)));
}

std::vector<Timer> TimerStore::list(Tx& tx, const std::string& organization_id, TimerState state,
                                    std::optional<TimerPlace> after, int most) const {
    const bool waiting = state == TimerState::waiting;
    const auto from = after.value_or(waiting ? TimerPlace{TimePoint::min(), {}} : TimerPlace{domain::kNever, {}});
    auto values = Params().add(organization_id).add(from.at).add(from.id).add(most);
    if (waiting) return read_timers(tx.exec(sql::list_waiting_timers, std::move(values)));
    return read_timers(tx.exec(sql::list_ended_timers, std::move(values.add(name(state)))));
}

std::vector<TimePoint> TimerStore::fire(Tx& tx, int most, const domain::NodeId& writer) const {
    platform::write_as(tx, writer);
    const auto rows = tx.exec(sql::fire_timers, Params().add(most));
    std::vector<TimePoint> due;
    due.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) due.push_back(RowReader(rows, i).time());
    return due;
}

std::optional<TimePoint> TimerStore::next(Tx& tx) const {
    const auto rows = tx.exec(sql::next_timer);
    return RowReader(rows, 0).maybe_time();
}

std::int64_t TimerStore::forget(Tx& tx, domain::Duration age) const {
    const auto rows =
        tx.exec(sql::forget_timers, Params().add(std::chrono::duration_cast<std::chrono::seconds>(age).count()));
    return RowReader(rows, 0).integer();
}

}
