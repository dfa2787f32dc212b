#pragma once
// What was read of the hub: the values that rules look at.
//
// The room has no readers. The door (orchestrator) takes every reading of a turn in one transaction, hands them over as
// values, and says of each name whether it could be read at all.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alerts/labels.h"
#include "domain/time.h"

namespace impresario::alerts {

/// How a value is written for people.
enum class Unit { count, percent, seconds };

/// "93 %", "2m 03s", "512", "1.5".
std::string value_text(double value, Unit unit);

/// What may be behind a reading: ids of executions, newest first.
inline constexpr std::size_t kMostEvidence = 20;

struct Reading {
    Labels labels;
    /// NaN: this one is not known this time.
    double value = 0;
    /// At most kMostEvidence are kept.
    std::vector<std::string> evidence = {};
};

/// By the name of the reading. A name that is there was read completely: labels that are not in its list are gone, and
/// what they had raised resolves. A name that is not there was not read (its reader failed, or has not run): everything
/// about it stays as it was. So a reader that fails or is forgotten never resolves anything.
using Readings = std::map<std::string, std::vector<Reading>>;

/// A name that readers give, and what it means.
struct ReadingKind {
    std::string_view name;
    Unit unit;
    /// The labels that it comes with, by commas.
    std::string_view labels;
    std::string_view meaning;
};

/// All that the hub reads. Whoever adds a reader adds a line.
std::span<const ReadingKind> reading_kinds();
/// nullptr: there is none.
const ReadingKind* find_reading(std::string_view name);

}
