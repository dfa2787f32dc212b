// Work that is due again and again.
#include "api/api.h"
#include "api/execution_request.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "orchestrator/run_forecast.h"
#include "platform/gate_json.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "resource_manager/budget_store.h"
#include "resource_manager/estimate_store.h"
#include "resource_manager/price.h"
#include "schedules/schedule_json.h"
#include "schedules/schedule_store.h"

namespace impresario::api {

using domain::TimePoint;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;
using schedules::Schedule;
using schedules::ScheduleStore;

namespace {

/// Due times that one backfill asks for.
constexpr std::size_t kMostBackfill = 1000;
constexpr int kUsualPreview = 10;
constexpr int kMostPreview = 200;
constexpr std::size_t kLongestScheduleName = 200;

HttpResponse no_such_schedule() {
    return problem(404, "not-found", "there is no such schedule; GET /v1/schedules lists them");
}

void write_schedule(JsonWriter& json, const Schedule& schedule, TimePoint now) {
    json.open();
    json.field("name", schedule.name);
    const auto definition = definition_json(schedule);
    const auto members = platform::json_members(definition);
    for (const auto& member : members) json.raw(member.key, member.value);
    json.field("version", schedule.version)
        .field("updated_at", schedule.updated_at)
        .field("updated_by", schedule.updated_by);
    if (schedule.paused(now)) {
        JsonWriter paused;
        paused.open();
        paused.field("at", schedule.pause->at).field("by", schedule.pause->by).field("reason", schedule.pause->reason);
        paused.field("until", schedule.pause->until);
        paused.close();
        json.raw("paused", paused.text());
    } else {
        json.raw("paused", "null");
    }
    json.field("next_due_at", schedule.next_due).field("runs", schedule.runs).field("last_due_at", schedule.last_due);
    json.field("last_execution_id",
               schedule.last_execution ? std::optional(schedule.last_execution->text()) : std::nullopt);
    json.close();
}

/// The next so many due times after `after`, and what would stop their runs as things are now.
std::string due_json(const Schedule& schedule, TimePoint after, int count, orchestrator::RunForecast forecast) {
    JsonWriter json;
    json.open();
    json.open("due", '[');
    auto ahead = schedule;
    for (int i = 0; i < count; ++i) {
        const auto due = schedules::due_after(ahead, after);
        if (!due) break;
        json.open();
        const auto starts = schedules::starts_at(schedule, *due);
        const auto stopped = forecast.stops(starts);
        json.field("due_at", *due).field("starts_at", starts).field("fits", !stopped);
        json.raw("stopped_by", stopped ? platform::gate_json(*stopped) : "null");
        json.close();
        after = *due;
        ++ahead.runs;
    }
    json.close(']');
    json.close();
    return std::move(json).text();
}

void anchor_at(Schedule& schedule, TimePoint now) {
    auto& recurrence = schedule.recurrence;
    if (!recurrence.calendar && !recurrence.anchor) recurrence.anchor = std::chrono::floor<std::chrono::seconds>(now);
}

}

orchestrator::MadeExecution Api::make_execution(const std::string& organization_id, const std::string& request) {
    orchestrator::MadeExecution made;
    auto intent = read_single(request, organization_id, *node_.catalogue(), node_.clock().now());
    if (!intent.faults.empty()) {
        made.fault = intent.faults.front();
        return made;
    }
    take_limit_keys(intent.executions, *node_.catalogue(), *node_.providers());
    made.execution = std::move(intent.executions.front());
    made.execution->execution.id = node_.ids().make<domain::ExecutionId>(made.execution->execution.created_at);
    return made;
}

Task<std::optional<Schedule>> Api::find_schedule(const Call& call) {
    auto reading = node_.database().read([organization = call.caller.organization_id, name = call.path.at("name")](
                                             Tx& tx) { return ScheduleStore().find(tx, organization, name); });
    co_return co_await std::move(reading);
}

Task<HttpResponse> Api::list_schedules(Call call) {
    auto reading = node_.database().read(
        [organization = call.caller.organization_id](Tx& tx) { return ScheduleStore().list(tx, organization); });
    const auto all = co_await std::move(reading);
    const auto now = node_.clock().now();
    JsonWriter json;
    json.open();
    json.open("schedules", '[');
    for (const auto& schedule : all) {
        JsonWriter one;
        write_schedule(one, schedule, now);
        json.element(one.text());
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::get_schedule(Call call) {
    const auto schedule = co_await find_schedule(call);
    if (!schedule) co_return no_such_schedule();
    JsonWriter json;
    write_schedule(json, *schedule, node_.clock().now());
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::put_schedule(Call call) {
    if (auto refused = refuse_name(call.path["name"], kLongestScheduleName)) co_return *std::move(refused);
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    auto parsed = schedules::parse_schedule(call.request.body);
    if (!parsed) co_return invalid(parsed.error());
    auto schedule = *std::move(parsed);
    schedule.organization_id = call.caller.organization_id;
    schedule.name = call.path["name"];
    schedule.updated_by = call.caller.name;
    const auto now = node_.clock().now();
    // What it would start now is what it starts later, as far as anybody knows today.
    const auto request = orchestrator::request_of(schedule, now);
    auto made = make_execution(schedule.organization_id, request);
    if (!made.execution) {
        // Its type may have been registered at another node a moment ago.
        co_await node_.refresh_catalogue();
        made = make_execution(schedule.organization_id, request);
    }
    if (!made.execution) co_return invalid({made.fault});
    const auto before = co_await find_schedule(call);
    if (before) {
        schedule.id = before->id;
        schedule.runs = before->runs;
    }
    // An interval counts from when it was made, unless its definition says from when.
    if (before && !schedule.recurrence.calendar && !schedule.recurrence.anchor)
        schedule.recurrence.anchor = before->recurrence.anchor;
    anchor_at(schedule, now);
    schedule.next_due = schedules::due_after(schedule, now);
    if (schedule.enabled && !schedule.next_due) {
        const bool by_number = schedule.most_runs && schedule.runs >= *schedule.most_runs;
        const std::string why = by_number ? "has been reached: it has run " + std::to_string(schedule.runs) + " times"
                                          : "leaves no time at which it is due: it has ended already";
        co_return invalid({{by_number ? "/most_runs" : "/ends_at", why}});
    }
    auto putting = node_.database().transact([schedule](Tx& tx) {
        ScheduleStore().put(tx, schedule);
        return ScheduleStore().find(tx, schedule.organization_id, schedule.name);
    });
    const auto stored = co_await std::move(putting);
    co_await node_.refresh_catalogue();
    JsonWriter json;
    write_schedule(json, stored.value_or(schedule), now);
    co_return json_response(before ? 200 : 201, std::move(json).text());
}

Task<HttpResponse> Api::delete_schedule(Call call) {
    auto deleting = node_.database().transact([organization = call.caller.organization_id, name = call.path["name"]](
                                                  Tx& tx) { return ScheduleStore().remove(tx, organization, name); });
    const bool deleted = co_await std::move(deleting);
    if (!deleted) co_return no_such_schedule();
    co_await node_.refresh_catalogue();
    co_return json_response(200, "{\"ok\":true}");
}

Task<HttpResponse> Api::pause_schedule(Call call) {
    const auto now = node_.clock().now();
    auto said = read_by_hand(call.request.body, 500, now);
    if (said.refused) co_return *std::move(said.refused);
    Schedule::Pause pause{now, call.caller.name, said.reason, said.until};
    auto pausing =
        node_.database().transact([organization = call.caller.organization_id, name = call.path["name"],
                                   pause](Tx& tx) { return ScheduleStore().pause(tx, organization, name, pause); });
    const bool paused = co_await std::move(pausing);
    if (!paused) co_return no_such_schedule();
    co_await node_.refresh_catalogue();
    co_return co_await get_schedule(std::move(call));
}

Task<HttpResponse> Api::resume_schedule(Call call) {
    const auto schedule = co_await find_schedule(call);
    if (!schedule) co_return no_such_schedule();
    auto resuming =
        node_.database().transact([schedule = *schedule, next = schedules::due_after(*schedule, node_.clock().now())](
                                      Tx& tx) { return ScheduleStore().resume(tx, schedule, next); });
    co_await std::move(resuming);
    co_await node_.refresh_catalogue();
    co_return co_await get_schedule(std::move(call));
}

/// What each run of the schedule would ask, and everything that says whether it may have it.
Task<std::string> Api::due_of_schedule(std::string organization_id, Schedule schedule, TimePoint after, int count) {
    struct Loaded {
        std::vector<resource_manager::BudgetState> budgets;
        std::map<domain::Lane, resource_manager::TypeEstimates> estimates;
    };
    auto loading = node_.database().read([now = node_.clock().now()](Tx& tx) {
        return Loaded{resource_manager::BudgetStore().load(tx, now), resource_manager::EstimateStore().load(tx)};
    });
    auto loaded = co_await std::move(loading);
    const auto catalogue = node_.catalogue();
    const auto providers = node_.providers();
    const domain::Lane lane{organization_id, schedule.workflow_type};
    const auto* type = catalogue->find(lane);
    domain::Demand demand;
    demand.lane = lane;
    demand.priority = schedule.priority;
    if (type) {
        const auto learnt = loaded.estimates.find(lane);
        const resource_manager::PriceList prices(type->needs, type->cost_estimate,
                                                 learnt == loaded.estimates.end() ? nullptr : &learnt->second,
                                                 hub_.settings().unknown_cost);
        const auto amounts = subworkflows::need_amounts(type->from_input, schedule.input);
        const auto text = amounts ? domain::need_amounts_text(*amounts) : std::string();
        const auto price = prices.at(resource_manager::size_class(static_cast<std::int64_t>(schedule.input.size())),
                                     text.empty() ? nullptr : &text);
        demand.needs = price.needs;
        demand.cost = price.cost;
        demand.guessed = price.guessed;
        demand.importance = type->importance;
        demand.memory_mb = type->memory_mb.value_or(0);
    }
    const auto weather = node_.weather();
    orchestrator::RunForecast forecast(type, catalogue->pauses, *providers, weather, std::move(loaded.budgets),
                                       std::move(demand));
    co_return due_json(schedule, after, count, std::move(forecast));
}

Task<HttpResponse> Api::next_of_schedule(Call call) {
    std::vector<FieldFault> faults;
    const int count = page_limit(call.request, kUsualPreview, kMostPreview, faults);
    if (!faults.empty()) co_return invalid(faults);
    const auto schedule = co_await find_schedule(call);
    if (!schedule) co_return no_such_schedule();
    auto after = node_.clock().now();
    // One that is due and has not started yet is among them.
    if (schedule->next_due && *schedule->next_due <= after) after = *schedule->next_due - domain::Duration{1};
    auto looking = due_of_schedule(call.caller.organization_id, *schedule, after, count);
    const auto due = co_await std::move(looking);
    co_return json_response(200, due);
}

/// What a definition would do, without making it.
Task<HttpResponse> Api::preview_schedule(Call call) {
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    std::vector<FieldFault> faults;
    const int count = page_limit(call.request, kUsualPreview, kMostPreview, faults);
    auto parsed = schedules::parse_schedule(call.request.body);
    if (!parsed) {
        const auto wrong = parsed.error();
        faults.insert(faults.end(), wrong.begin(), wrong.end());
    }
    if (!faults.empty()) co_return invalid(faults);
    auto schedule = *std::move(parsed);
    const auto now = node_.clock().now();
    anchor_at(schedule, now);
    auto looking = due_of_schedule(call.caller.organization_id, std::move(schedule), now, count);
    const auto due = co_await std::move(looking);
    co_return json_response(200, due);
}

Task<HttpResponse> Api::runs_of_schedule(Call call) {
    std::vector<FieldFault> faults;
    const int limit = page_limit(call.request, 50, 500, faults);
    const auto before = time_parameter(call.request, "before", faults);
    if (!faults.empty()) co_return invalid(faults);
    const auto schedule = co_await find_schedule(call);
    if (!schedule) co_return no_such_schedule();
    auto reading = node_.database().read(
        [id = schedule->id, before, limit](Tx& tx) { return ScheduleStore().runs(tx, id, before, limit); });
    const auto runs = co_await std::move(reading);
    JsonWriter json;
    json.open();
    json.open("runs", '[');
    for (const auto& run : runs) {
        json.open();
        json.field("due_at", run.due).field("outcome", name(run.outcome)).field("detail", run.detail);
        json.field("at", run.at);
        json.field("execution_id", run.execution ? std::optional(run.execution->text()) : std::nullopt);
        json.field_or_null("status", run.status);
        json.close();
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

/// Lets the due times of a range wait for their turn, one after the other.
Task<HttpResponse> Api::backfill_schedule(Call call) {
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    const auto now = node_.clock().now();
    BodyReader body(call.request.body);
    const auto from = body.time("from");
    const auto to = body.time("to");
    if (!from && body.faults().empty()) body.wrong("from", "is missing: the first due time that is meant");
    if (!to && body.faults().empty()) body.wrong("to", "is missing: the last due time that is meant");
    if (to && *to > now) body.wrong("to", "must not be later than now: what is due later starts by itself");
    if (from && to && *to < *from) body.wrong("to", "must not be before from");
    body.nothing_else();
    if (!body.faults().empty()) co_return invalid(body.faults());
    const auto schedule = co_await find_schedule(call);
    if (!schedule) co_return no_such_schedule();
    std::vector<TimePoint> due;
    auto after = *from - domain::Duration{1};
    while (const auto next = schedules::next_due(schedule->recurrence, after)) {
        if (*next > *to) break;
        due.push_back(*next);
        if (due.size() > kMostBackfill)
            co_return invalid(
                {{"to", "leaves more than " + std::to_string(kMostBackfill) + " due times; ask for a shorter range"}});
        after = *next;
    }
    auto writing = node_.database().transact([id = schedule->id, due, by = call.caller.name](Tx& tx) {
        return ScheduleStore().let_wait(tx, id, due, "backfill by " + by);
    });
    const auto waiting = co_await std::move(writing);
    co_await node_.refresh_catalogue();
    JsonWriter json;
    json.open();
    json.field("due", due.size()).field("waiting", waiting);
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
