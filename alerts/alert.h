#pragma once
// Something that somebody must be told.

#include <optional>
#include <string>
#include <vector>

#include "alerts/labels.h"
#include "alerts/severity.h"
#include "domain/time.h"

namespace impresario::alerts {

/// Somebody looks after it: it is not repeated and does not escalate. Ends with the firing that it was given for.
struct Acknowledgement {
    std::string by;
    domain::TimePoint at{};
    std::string comment = {};
    friend bool operator==(const Acknowledgement&, const Acknowledgement&) = default;
};

/// Raised by a rule of ours, or come from elsewhere. Labels say which one it is (fingerprint), the rest may change.
struct Alert {
    /// With alertname, and severity.
    Labels labels;
    /// One line; then as many as it takes.
    std::string summary;
    std::string description = {};
    /// The likeliest first, at most three.
    std::vector<std::string> causes = {};
    /// As it would be typed, to see more.
    std::string command = {};
    /// The page that shows more: a path under the hub's address, or an address.
    std::string link = {};
    std::string runbook = {};
    /// Executions behind it.
    std::vector<std::string> evidence = {};
    /// What else came with an alert from elsewhere.
    Labels annotations = {};

    /// When what it is about began.
    domain::TimePoint since{};
    /// When it resolved, or will if nobody says again that it fires; nullopt: not by itself.
    std::optional<domain::TimePoint> ends_at = std::nullopt;
    std::optional<Acknowledgement> acknowledged = std::nullopt;

    bool firing(domain::TimePoint now) const { return !ends_at || *ends_at > now; }
    std::string fingerprint() const { return alerts::fingerprint(labels); }
    std::string_view name() const { return value_of(labels, kAlertName); }
    /// warning where the label says nothing that we know.
    Severity severity() const { return parse_severity(value_of(labels, kSeverity)).value_or(Severity::warning); }

    friend bool operator==(const Alert&, const Alert&) = default;
};

}
