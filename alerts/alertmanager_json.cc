#include "alerts/alertmanager_json.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "platform/definition_json.h"
#include "platform/json_text.h"

namespace impresario::alerts {

using domain::DefinitionFaults;
using domain::TimePoint;
using platform::DefinitionReader;
using Tree = nlohmann::json;

namespace {

constexpr std::size_t kMostAnnotations = 32;
constexpr std::size_t kLongestAnnotation = 4096;

Labels texts(DefinitionReader& members, const char* member, DefinitionFaults& faults) {
    Labels all;
    const Tree* object = members.find(member);
    if (!object || object->is_null()) return all;
    if (!object->is_object()) {
        members.wrong(member, "must be an object");
        return all;
    }
    for (const auto& [name, value] : object->items()) {
        if (!value.is_string())
            faults.push_back({members.at(member) + "/" + platform::pointer_token(name), "must be a string"});
        else if (!value.get_ref<const std::string&>().empty())
            all[name] = value.get<std::string>();
    }
    return all;
}

/// Takes it out of `from`.
std::string taken(Labels& from, const char* name) {
    const auto node = from.extract(name);
    return node.empty() ? std::string() : node.mapped();
}

void read_annotations(DefinitionReader& members, const std::string& at, Alert& alert, DefinitionFaults& faults) {
    auto all = texts(members, "annotations", faults);
    if (all.size() > kMostAnnotations)
        members.wrong("annotations", "must be at most " + std::to_string(kMostAnnotations));
    for (const auto& [name, value] : all)
        if (name.size() > kLongestLabelName || value.size() > kLongestAnnotation)
            faults.push_back({at + "/annotations/" + platform::pointer_token(name.substr(0, 100)),
                              "must have at most " + std::to_string(kLongestAnnotation) + " bytes"});
    alert.summary = taken(all, "summary");
    alert.description = taken(all, "description");
    alert.command = taken(all, "command");
    alert.runbook = taken(all, "runbook_url");
    alert.annotations = std::move(all);
}

Alert read_alert(const Tree& tree, const std::string& at, TimePoint now, DefinitionFaults& faults) {
    Alert alert;
    if (!tree.is_object()) {
        faults.push_back({at, "must be an object"});
        return alert;
    }
    DefinitionReader members(tree, at, faults);
    alert.labels = texts(members, "labels", faults);
    if (alert.labels.empty()) members.wrong("labels", "must have at least one that is not empty");
    for (auto& fault : faults_of(alert.labels, members.at("labels"))) faults.push_back(std::move(fault));
    read_annotations(members, at, alert, faults);
    std::optional<TimePoint> starts;
    members.time("startsAt", starts);
    members.time("endsAt", alert.ends_at);
    members.text("generatorURL", alert.link);
    if (alert.link.size() > kLongestAnnotation) members.wrong("generatorURL", "is too long");
    // Alertmanager's own clients send the year 1 for "not set".
    if (starts && *starts <= domain::kFirstTime + std::chrono::hours{24}) starts.reset();
    if (alert.ends_at && *alert.ends_at <= domain::kFirstTime + std::chrono::hours{24}) alert.ends_at.reset();
    if (starts && alert.ends_at && *alert.ends_at < *starts) members.wrong("endsAt", "must not be before startsAt");
    // One that begins later than now has begun: it was sent.
    alert.since = std::min({starts.value_or(now), now, alert.ends_at.value_or(now)});
    alert.ends_at = std::min(alert.ends_at.value_or(now + kResolveTimeout), now + kLongestReceived);
    if (alert.summary.empty()) alert.summary = alert.name().empty() ? text(alert.labels) : alert.name();
    return alert;
}

}

domain::Result<std::vector<Alert>, DefinitionFaults> parse_alerts(std::string_view body, TimePoint now,
                                                                  const std::string& organization) {
    const auto storable = platform::storable_json(body);
    const auto tree = storable ? Tree::parse(storable->text, nullptr, false) : Tree(Tree::value_t::discarded);
    if (!tree.is_array()) return DefinitionFaults{{"", "must be a JSON array of alerts"}};
    if (tree.size() > kMostReceivedAlerts)
        return DefinitionFaults{{"", "must have at most " + std::to_string(kMostReceivedAlerts) + " alerts"}};
    DefinitionFaults faults;
    // In the order of their fingerprints, so that two who tell the same do not wait for each other in a circle.
    std::map<std::string, Alert> each;
    for (std::size_t i = 0; i < tree.size(); ++i) {
        auto alert = read_alert(tree[i], "/" + std::to_string(i), now, faults);
        if (!organization.empty()) alert.labels["organization"] = organization;
        auto fingerprint = alert.fingerprint();
        each.insert_or_assign(std::move(fingerprint), std::move(alert));
    }
    if (!faults.empty()) return faults;
    std::vector<Alert> alerts;
    for (auto& [fingerprint, alert] : each) alerts.push_back(std::move(alert));
    return alerts;
}

}
