#pragma once
// Sentences for people: how large, against what, since when, and why most likely.

#include <string>
#include <vector>

#include "subworkflows/intelligence_engine/anomaly.h"

namespace impresario::subworkflows::intelligence_engine {

/// How the executions behind an anomaly stand to what is usual: medians as factors, 1 where unknown or usual.
struct Evidence {
    double cost = 1;
    double duration = 1;
    double items = 1;
    double cost_per_item = 1;
    /// Share of them that was retried, less the usual share.
    double more_retries = 0;
    /// Of those that failed: the share that used up its attempts, and the hub's most frequent word for why.
    double dead = 0;
    std::string reason;
    /// Executions of the type that wait without ever having begun.
    std::int64_t waiting = 0;
};
Evidence evidence_of(const std::vector<const Execution*>& behind, const Parts& parts, const TypeBaseline& baseline);

/// The likeliest cause, to follow "most likely".
std::string likeliest(const Anomaly& anomaly, const Evidence& evidence);

/// The whole sentence; expects the anomaly's other fields, the explanation among them. `longest_pause` is told of a
/// silence only.
std::string sentence(const std::string& workflow_type, const Anomaly& anomaly, const RateBaseline& rate,
                     domain::TimePoint now, domain::Duration longest_pause);

/// "2026-11-27 14:05 UTC".
std::string minute_text(domain::TimePoint at);
/// "0.0412 USD": six places, without the zeros at the end beyond two.
std::string dollars(domain::MicroUsd amount);
/// A number with so many places, without zeros at the end.
std::string number(double value, int places);

}
