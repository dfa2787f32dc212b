#pragma once
// The figures that a hub process shows from outside. Each takes a fresh database; none asserts anything.

#include <string>
#include <vector>

#include "bench/stage.h"

namespace impresario::bench {

struct Figure {
    std::string name;
    double value = 0;
    std::string unit;
    /// What it was measured with, for people.
    std::string detail;
};

struct Counts {
    std::int64_t drain = 20000;
    std::int64_t enqueue = 20000;
    std::int64_t pickup = 300;
    /// Executions at 100 a second.
    std::int64_t callback = 600;
    std::int64_t closed = 100000;
    std::int64_t deep = 1000000;
};

/// From resuming a filled lane until everything has settled: webhook, 202, callback, result. Executions a second.
std::vector<Figure> drain(const StageSettings& settings, platform::LocalPostgres& postgres, Receiver receiver,
                          std::int64_t count);
/// POST /v1/executions, one per request, over 50 connections. Executions a second.
std::vector<Figure> enqueue(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count);
/// From before the POST of an execution until its request has arrived at the peer, one after the other on an idle hub.
std::vector<Figure> pickup(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count);
/// How long a callback waits for its answer at 100 executions a second, timed in peers/subworkflow.mjs.
std::vector<Figure> callback(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count);
/// What a hub holds with `count` executions queued, and how fast it drains beside them when they may not start.
std::vector<Figure> memory(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count);
std::vector<Figure> closed_lane(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t closed,
                                std::int64_t open);
/// How fast it drains with 20 provider limits and 10 budgets that are asked about at every start, and without.
std::vector<Figure> limited(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count);

}
