#include "alerts/labels.h"

#include "platform/crypto.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::alerts {

bool good_label_name(std::string_view name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    if (name.empty() || name.size() > kLongestLabelName || !letter(name.front())) return false;
    for (const char c : name)
        if (!letter(c) && (c < '0' || c > '9')) return false;
    return true;
}

domain::DefinitionFaults faults_of(const Labels& labels, const std::string& pointer) {
    domain::DefinitionFaults faults;
    if (labels.size() > kMostLabels)
        faults.push_back({pointer, "has more than " + std::to_string(kMostLabels) + " labels"});
    for (const auto& [name, value] : labels) {
        const auto at = pointer + "/" + platform::pointer_token(name);
        if (!good_label_name(name))
            faults.push_back({at, "must be named with letters, digits and '_', no digit first"});
        if (value.size() > kLongestLabelValue)
            faults.push_back({at, "must have at most " + std::to_string(kLongestLabelValue) + " bytes"});
        if (platform::storable_text(value) != value) faults.push_back({at, "must be UTF-8 without NUL"});
    }
    return faults;
}

std::string_view value_of(const Labels& labels, std::string_view name) {
    const auto found = labels.find(std::string(name));
    return found == labels.end() ? std::string_view() : std::string_view(found->second);
}

std::string text(const Labels& labels) {
    std::string all;
    for (const auto& [name, value] : labels) {
        if (value.empty()) continue;
        all += all.empty() ? "" : ",";
        all += name + "=" + platform::json_quoted(value);
    }
    return "{" + all + "}";
}

std::string labels_json(const Labels& labels) {
    platform::JsonWriter json;
    json.open();
    for (const auto& [name, value] : labels) json.field(name, value);
    json.close();
    return std::move(json).text();
}

Labels parse_labels(std::string_view json) {
    Labels labels;
    const auto members = platform::json_members(json);
    for (const auto& member : members) labels[member.key] = platform::json_string(member.value);
    return labels;
}

std::string fingerprint(const Labels& labels) {
    return platform::hex(platform::view(platform::sha256(text(labels)))).substr(0, 32);
}

}
