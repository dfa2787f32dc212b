#pragma once
// What is asked of the engine and what it answers, as values; analyse() is the whole of its thinking. Pure.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/money.h"
#include "subworkflows/intelligence_engine/anomaly.h"
#include "subworkflows/intelligence_engine/forecast.h"
#include "subworkflows/intelligence_engine/history.h"

namespace impresario::subworkflows::intelligence_engine {

/// The input, with its defaults.
struct Request {
    /// Length of the window that is judged, 1 to 720.
    int hours = 24;
    /// Length of the baseline before it, 1 to 2160.
    int baseline_hours = 168;
    /// Empty: all that are seen.
    std::vector<std::string> workflow_types;
    /// Robust z of an alarm, 2 to 10.
    double sensitivity = 3.5;
    std::optional<domain::MicroUsd> daily_budget;
    /// Replaces the trigger's time.
    std::optional<domain::TimePoint> now;
    /// History given in the input, by type and in its order; nullopt: the hub is asked.
    std::optional<std::vector<TypeHistory>> inline_history;
};

/// From where on history is needed: the baseline, and today from 00:00 UTC for the forecast.
domain::TimePoint needed_from(const Request& request, domain::TimePoint now);

/// The types that the inline history tells of, or that were asked for; `wants` leaves out what this run is not about.
/// A type that was asked for and not seen is there with no executions.
std::vector<TypeHistory> given_history(const Request& request, domain::TimePoint now,
                                       const std::function<bool(const std::string&)>& wants);

struct TypeReport {
    std::string workflow_type;
    /// Executions that ended in the window, and those created in it that have not ended.
    std::int64_t executions = 0;
    std::int64_t completed = 0;
    std::int64_t failed = 0;
    std::int64_t dead = 0;
    /// failed and dead among those and the completed; nullopt where there is none of them.
    std::optional<double> failure_rate;
    domain::MicroUsd cost;
    std::optional<double> median_duration_ms;
    std::optional<double> p95_duration_ms;
    /// The part of the baseline that the history holds.
    Span baseline_span;
    std::int64_t baseline_executions = 0;
    TypeBaseline baseline;
    std::vector<Anomaly> anomalies;
    std::vector<std::string> notes;
    /// Why its history could not be read; then nothing else is filled.
    std::string failure;
};

struct Report {
    Windows windows;
    std::vector<TypeReport> types;
    Forecast forecast;
    /// The types whose spend the forecast holds.
    std::vector<std::string> forecast_types;
    /// For people, the most important first.
    std::vector<std::string> summary;
};

/// Judges each type against its own baseline and forecasts the day over all that were read. What lies at or after `now`
/// is not looked at. The forecast's dice have a fixed seed: the same history gives the same report.
Report analyse(const Request& request, domain::TimePoint now, const std::vector<TypeHistory>& histories);

}
