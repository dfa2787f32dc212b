#pragma once
// What an alert is about, as names and values: with Alertmanager's rules, so that alerts can come from it and go to it.

#include <map>
#include <string>
#include <string_view>

#include "domain/definition_fault.h"

namespace impresario::alerts {

/// In the order of their names. A label that is not there is the same as one that is empty.
using Labels = std::map<std::string, std::string>;

/// The rule that raised an alert.
inline constexpr std::string_view kAlertName = "alertname";
/// critical, warning or info; what comes from elsewhere may have others.
inline constexpr std::string_view kSeverity = "severity";

inline constexpr std::size_t kMostLabels = 32;
inline constexpr std::size_t kLongestLabelName = 128;
inline constexpr std::size_t kLongestLabelValue = 1024;

/// A letter or '_', then letters, digits and '_'; at most kLongestLabelName.
bool good_label_name(std::string_view name);

/// What is wrong with them, each at `pointer`/<name>.
domain::DefinitionFaults faults_of(const Labels& labels, const std::string& pointer);

/// "" where it is not there.
std::string_view value_of(const Labels& labels, std::string_view name);

/// Those that all of them have, with the same value. `labels_of(each)` gives each one's.
template <class Range, class LabelsOf>
Labels common_labels(const Range& range, LabelsOf labels_of) {
    Labels common;
    bool first = true;
    for (const auto& each : range) {
        const Labels& labels = labels_of(each);
        if (first) common = labels;
        first = false;
        std::erase_if(common, [&](const auto& label) { return value_of(labels, label.first) != label.second; });
    }
    return common;
}

/// {alertname="x",severity="info"}: for people, and as a part of keys. Quotes, backslashes and line ends are escaped,
/// so that different labels never look alike.
std::string text(const Labels& labels);

/// {"a":"1"}.
std::string labels_json(const Labels& labels);
/// Of text that platform::check_json has passed; what is no object has none.
Labels parse_labels(std::string_view json);

/// 32 hex digits that stay the same for the same labels, on every node and in every version. Empty labels do not count.
std::string fingerprint(const Labels& labels);

}
