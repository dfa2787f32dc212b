#include "simulation/weather.h"

#include <array>

namespace impresario::simulation {

using domain::Duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

domain::RetryPolicy policy(Chance& chance) {
    switch (chance.between(0, 4)) {
        case 0:
            return *domain::named_retry_policy("none");
        case 1: {
            auto engine = *domain::named_retry_policy("engine");
            engine.max_retries = chance.between(1, 3);
            return engine;
        }
        case 2:
            return {"steps", 2, {seconds{1}, seconds{4}}, seconds{6}, 1.0, seconds{20}, 0.1, 0.4};
        default: {
            domain::RetryPolicy made{"short", chance.between(1, 4), {},  seconds{chance.between(1, 3)},
                                     2.0,     seconds{12},          0.1, 0.4};
            return made;
        }
    }
}

subworkflows::WorkflowType type(Chance& chance, int number, int& endpoints) {
    subworkflows::WorkflowType made;
    made.lane = {domain::kDefaultOrganization, std::string(1, static_cast<char>('a' + number))};
    made.lane_id.value[15] = static_cast<std::uint8_t>(number + 1);
    made.timeout = seconds{chance.between(5, 40)};
    made.max_runtime = made.timeout + seconds{chance.between(0, 60)};
    if (chance.happens(0.6)) made.max_concurrency = chance.between(1, 6);
    if (chance.happens(0.5)) {
        made.concurrency_key = "/k";
        made.concurrency_key_limit = chance.between(1, 2);
    }
    made.max_wait = chance.happens(0.5) ? Duration{seconds{chance.between(2, 30)}} : Duration{std::chrono::hours{4}};
    if (chance.happens(0.2)) made.queue_hard_limit = chance.between(3, 15);
    if (chance.happens(0.2)) made.queue_ttl = seconds{chance.between(3, 60)};
    if (chance.happens(0.2)) made.execution_interval = seconds{chance.between(3, 6)};
    if (chance.happens(0.3)) made.lock = "shared";
    if (chance.happens(0.2)) made.cool_down = seconds{chance.between(3, 6)};
    made.retry = policy(chance);
    made.retry_rejected = chance.happens(0.2);
    made.accept_late = chance.happens(0.4);
    for (int i = chance.between(1, 2); i > 0; --i) {
        subworkflows::Endpoint endpoint;
        endpoint.id.value[15] = static_cast<std::uint8_t>(++endpoints);
        endpoint.url = "http://127.0.0.1:" + std::to_string(10000 + endpoints) + "/";
        endpoint.weight = chance.between(1, 3);
        endpoint.max_in_flight = chance.between(1, 10);
        if (chance.happens(0.4)) endpoint.deduplicates = chance.happens(0.5);
        if (chance.happens(0.3)) endpoint.status_url = endpoint.url + "status/{execution_id}";
        made.endpoints.push_back(std::move(endpoint));
    }
    return made;
}

/// Limits that are met often and that never make a run last for ever.
resource_manager::Provider provider(Chance& chance, std::string name) {
    using resource_manager::LimitScope;
    using resource_manager::Measure;
    using resource_manager::WindowKind;
    resource_manager::Provider made;
    made.name = std::move(name);
    for (int i = chance.between(1, 2); i > 0; --i) {
        resource_manager::ProviderLimit limit;
        limit.name = "l" + std::to_string(i);
        limit.of = chance.happens(0.3) ? Measure::concurrency : Measure::requests;
        limit.limit = chance.between(3, 8);
        limit.per = seconds{std::array{2, 3, 4, 5}[static_cast<std::size_t>(chance.between(0, 3))]};
        limit.kind = std::array{WindowKind::sliding_window, WindowKind::fixed_window,
                                WindowKind::token_bucket}[static_cast<std::size_t>(chance.between(0, 2))];
        limit.burst = chance.between(3, 8);
        limit.scope = chance.happens(0.7) ? LimitScope::global : LimitScope::workflow_type;
        if (chance.happens(0.3)) {
            limit.key = "/c";
            limit.ceiling = chance.between(3, static_cast<int>(limit.limit));
            limit.guaranteed = chance.happens(0.5) ? chance.between(1, 3) : 0;
        }
        made.limits.push_back(std::move(limit));
    }
    return made;
}

/// So little that work stops, for everybody, a type or a batch.
resource_manager::Budget budget(Chance& chance, int number, const std::array<domain::BatchId, 2>& batches) {
    using resource_manager::BudgetAction;
    resource_manager::Budget made;
    made.id.value[15] = static_cast<std::uint8_t>(number);
    made.name = "b" + std::to_string(number);
    made.limit = domain::MicroUsd{chance.between(5, 100) * 100000};
    made.hard = chance.happens(0.9);
    made.window.unit = resource_manager::WindowUnit::rolling;
    switch (chance.between(0, 3)) {
        case 0:
            break;
        case 1:
            made.scope.workflow_type = "a";
            break;
        case 2:
            made.scope.batch = batches[chance.happens(0.5) ? 1 : 0];
            break;
        default:
            made.scope.provider = "p";
    }
    made.steps.clear();
    int at = 30;
    for (int i = chance.between(0, 3); i > 0; --i) {
        resource_manager::BudgetStep step;
        at += chance.between(0, 30);
        step.at_percent = at;
        step.undone_below_percent = at - 5;
        step.action = std::array{BudgetAction::alert, BudgetAction::defer_low_priority, BudgetAction::smaller_batches,
                                 BudgetAction::pause_non_critical,
                                 BudgetAction::stop}[static_cast<std::size_t>(chance.between(0, 4))];
        made.steps.push_back(step);
    }
    return made;
}
}

Weather::Weather(Chance& chance) {
    processes = chance.between(1, 3);
    executions = chance.between(12, 40);
    active = seconds{chance.between(25, 70)};
    max_batch_size = chance.happens(0.5) ? chance.between(1, 6) : 100;
    keys = chance.between(1, 4);
    int endpoints = 0;
    const int types = chance.between(1, 4);
    for (int i = 0; i < types; ++i) {
        auto made = type(chance, i, endpoints);
        const auto lane = made.lane;
        catalogue.types.emplace(lane, std::move(made));
    }
    catalogue.version = 1;
    if (chance.happens(0.6)) {
        for (const char* name : {"p", "q"}) {
            providers.push_back(provider(chance, name));
            for (auto& [lane, made] : catalogue.types)
                if (chance.happens(0.6)) made.needs.push_back({name, chance.between(1, 3)});
        }
    }

    for (std::size_t i = 0; i < batches.size(); ++i) batches[i].value[15] = static_cast<std::uint8_t>(i + 1);
    for (auto& [lane, made] : catalogue.types) {
        if (chance.happens(0.7)) made.cost_estimate = domain::MicroUsd{chance.between(1, 9) * 100000};
        made.importance = std::array{domain::Importance::critical, domain::Importance::normal,
                                     domain::Importance::low}[static_cast<std::size_t>(chance.between(0, 2))];
    }
    if (chance.happens(0.5))
        for (int i = chance.between(1, 3); i > 0; --i) budgets.push_back(budget(chance, i, batches));
    if (chance.happens(0.3)) {
        using resource_manager::FairMeasure;
        fairness.emplace();
        fairness->measure = std::array{FairMeasure::dollars, FairMeasure::seconds,
                                       FairMeasure::starts}[static_cast<std::size_t>(chance.between(0, 2))];
        for (const auto& [lane, made] : catalogue.types)
            if (chance.happens(0.7))
                fairness->shares.push_back({lane.organization_id, lane.workflow_type,
                                            static_cast<double>(chance.between(1, 5)),
                                            chance.happens(0.2) ? 20.0 : 0.0});
    }
    if (chance.happens(0.3)) pressure = milliseconds{chance.between(20, 200)};
    // Sometimes less than all together may take, never less than one.
    if (chance.happens(0.5)) {
        memory_total_mb = chance.between(300, 600);
        for (auto& [lane, made] : catalogue.types)
            if (chance.happens(0.7)) made.memory_mb = chance.between(100, 300);
    }

    // Now and then nothing goes wrong but what peers do.
    const bool calm = chance.happens(0.1);
    const auto rate = [&](double most) { return !calm && chance.happens(0.5) ? most * chance.unit() : 0.0; };
    unavailable = rate(0.03);
    refused_for_now = rate(0.02);
    doubt_lost = rate(0.02);
    doubt_done = rate(0.02);
    doubt_late = rate(0.02);
    slow = rate(0.1);
    lost_notice = rate(0.5);
    const auto every = [&](int least, int most, double probability) {
        return !calm && chance.happens(probability) ? Duration{seconds{chance.between(least, most)}} : Duration{0};
    };
    crashes = every(8, 40, 0.5);
    pauses = every(8, 40, 0.4);
    lost_sessions = every(10, 40, 0.3);
    partitions = every(15, 60, 0.3);
    outages = every(20, 80, 0.3);
    held_rows = every(2, 20, 0.4);
    poisoned_rows = every(15, 60, 0.2);

    const auto weight = [&](int usual) { return chance.happens(0.6) ? chance.between(0, usual * 2) : 0; };
    answers.done = weight(answers.done);
    answers.reject = weight(answers.reject);
    answers.overload = weight(answers.overload);
    answers.busy = weight(answers.busy);
    answers.failure = weight(answers.failure);
    answers.proxy = weight(answers.proxy);
    answers.fault = weight(answers.fault);
    answers.silent_started = weight(answers.silent_started);
    answers.silent_lost = weight(answers.silent_lost);
    answers.no_connection = weight(answers.no_connection);
    runs.failed = weight(runs.failed);
    runs.hopeless = weight(runs.hopeless);
    runs.timeout = weight(runs.timeout);
    runs.partial = weight(runs.partial);
    runs.never = weight(runs.never);
    breaker.least_results = chance.between(2, 10);
    breaker.opening = seconds{chance.between(1, 30)};
    breaker.longest = std::chrono::minutes{2};
}

}
