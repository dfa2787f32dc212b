#pragma once
// How bad an alert is: the words of seed 003, which PagerDuty and Prometheus use too.

#include <optional>
#include <string_view>

#include "domain/name_table.h"

namespace impresario::alerts {

enum class Severity {
    /// Somebody is woken.
    critical,
    /// Somebody should look today.
    warning,
    /// Good to know.
    info,
};

inline constexpr domain::NameTable<Severity, 3> kSeverities{
    {{Severity::critical, "critical"}, {Severity::warning, "warning"}, {Severity::info, "info"}}};

constexpr std::string_view name(Severity severity) { return domain::name_in(kSeverities, severity); }
constexpr std::optional<Severity> parse_severity(std::string_view text) { return domain::value_in(kSeverities, text); }

}
