#include "alerts/settings_json.h"

#include <nlohmann/json.hpp>

#include "platform/definition_json.h"
#include "platform/peer_secrets_json.h"
#include "platform/url.h"

namespace impresario::alerts {

using domain::DefinitionFaults;
using domain::Duration;
using platform::DefinitionReader;
using Json = nlohmann::json;

namespace {

std::string at(const std::string& pointer, std::size_t i) { return pointer + "/" + std::to_string(i); }

/// The elements of an array of objects; anything else is noted.
std::vector<std::pair<const Json*, std::string>> objects(DefinitionReader& reader, const char* name) {
    std::vector<std::pair<const Json*, std::string>> found;
    const auto* list = reader.find(name);
    if (!list) return found;
    if (!list->is_array()) {
        reader.wrong(name, "must be an array of tables");
        return found;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
        if ((*list)[i].is_object()) {
            found.emplace_back(&(*list)[i], at(reader.at(name), i));
        } else {
            reader.wrong(name, "must hold tables only");
        }
    }
    return found;
}

std::optional<std::vector<std::string>> texts(DefinitionReader& reader, const char* name) {
    const auto* list = reader.find(name);
    if (!list) return std::nullopt;
    std::vector<std::string> all;
    bool good = list->is_array();
    if (good)
        for (const auto& each : *list) {
            good = good && each.is_string();
            if (good) all.push_back(each.get<std::string>());
        }
    if (!good) reader.wrong(name, "must be an array of strings");
    return all;
}

Matchers matchers(DefinitionReader& reader, const char* name, DefinitionFaults& faults) {
    const auto said = texts(reader, name);
    auto parsed = parse_matchers(said.value_or(std::vector<std::string>{}), reader.at(name));
    if (parsed) return *std::move(parsed);
    for (const auto& fault : parsed.error()) faults.push_back(fault);
    return {};
}

/// Seconds, or nothing.
void maybe_seconds(DefinitionReader& reader, const char* name, std::optional<Duration>& into) {
    if (!reader.has(name)) return;
    Duration length{0};
    reader.seconds(name, length);
    into = length;
}

void read_texts(DefinitionReader& reader, Rule& rule) {
    reader.text("summary", rule.summary);
    reader.text("description", rule.description);
    if (auto causes = texts(reader, "causes")) rule.causes = *std::move(causes);
    reader.text("command", rule.command);
    reader.text("link", rule.link);
    reader.text("runbook", rule.runbook);
}

template <class Value, std::size_t Size>
void choice(DefinitionReader& reader, const char* name, const domain::NameTable<Value, Size>& table, Value& into) {
    std::string said;
    reader.text(name, said);
    if (said.empty()) return;
    if (const auto found = domain::value_in(table, said)) {
        into = *found;
        return;
    }
    std::string known;
    for (const auto& each : table) known += (known.empty() ? "" : ", ") + std::string(each.second);
    reader.wrong(name, "must be one of " + known);
}

void read_rule(const Json& json, const std::string& pointer, std::vector<Rule>& rules, DefinitionFaults& faults) {
    DefinitionReader reader(json, pointer, faults);
    std::string name;
    reader.text("name", name);
    auto known = std::find_if(rules.begin(), rules.end(), [&](const Rule& each) { return each.name == name; });
    Rule rule;
    if (known != rules.end()) rule = *known;
    rule.name = name;
    reader.text("reading", rule.reading);
    choice(reader, "comparison", kComparisons, rule.comparison);
    const bool raise_anew = reader.has("raise");
    reader.real("raise", rule.raise);
    if (reader.has("clear")) {
        double clear = 0;
        reader.real("clear", clear);
        rule.clear = clear;
    } else if (raise_anew) {
        // The preset's belongs to its own mark.
        rule.clear.reset();
    }
    reader.seconds("for_seconds", rule.hold);
    reader.seconds("keep_seconds", rule.keep);
    choice(reader, "severity", kSeverities, rule.severity);
    if (const auto* labels = reader.find("labels")) {
        rule.labels.clear();
        if (!labels->is_object()) reader.wrong("labels", "must be a table of strings");
        for (const auto& [key, value] : labels->items()) {
            if (value.is_string()) {
                rule.labels[key] = value.get<std::string>();
            } else {
                reader.wrong("labels", "must be a table of strings");
            }
        }
    }
    read_texts(reader, rule);
    reader.flag("enabled", rule.enabled);
    reader.nothing_else();
    for (const auto& fault : faults_of(rule)) {
        const bool length = fault.pointer == "/for" || fault.pointer == "/keep";
        faults.push_back({pointer + fault.pointer + (length ? "_seconds" : ""), fault.what});
    }
    if (known != rules.end()) {
        *known = std::move(rule);
    } else {
        rules.push_back(std::move(rule));
    }
}

void check_url(const Receiver& receiver, DefinitionReader& reader) {
    const auto& url = receiver.url.reveal();
    if (url.empty()) {
        if (receiver.kind != ReceiverKind::pagerduty) reader.wrong("url", "is missing");
        return;
    }
    if (receiver.kind == ReceiverKind::email) {
        const bool known = url.starts_with("smtp://") || url.starts_with("smtps://");
        if (!known) reader.wrong("url", "must begin with smtp:// or smtps://");
        return;
    }
    if (const auto parsed = platform::parse_url(url); !parsed) reader.wrong("url", parsed.error().what);
}

Receiver read_receiver(const Json& json, const std::string& pointer, DefinitionFaults& faults) {
    DefinitionReader reader(json, pointer, faults);
    Receiver receiver;
    reader.text("name", receiver.name);
    if (!domain::good_definition_name(receiver.name)) reader.wrong("name", domain::kDefinitionNameRule);
    if (!reader.has("type")) reader.wrong("type", "is missing: slack, email, webhook, pagerduty or alertmanager");
    choice(reader, "type", kReceiverKinds, receiver.kind);
    const auto secret = [&](const char* name) {
        std::string text;
        reader.text(name, text);
        return domain::Secret(std::move(text));
    };
    receiver.url = secret("url");
    check_url(receiver, reader);
    if (receiver.kind == ReceiverKind::webhook || receiver.kind == ReceiverKind::alertmanager)
        platform::read_peer_secrets(reader, receiver.secrets);
    if (receiver.kind == ReceiverKind::webhook && receiver.secrets.signing.empty())
        reader.wrong("signing_secrets", "is missing: what it is signed with, whsec_…");
    if (receiver.kind == ReceiverKind::pagerduty) {
        receiver.routing_key = secret("routing_key");
        if (receiver.routing_key.empty()) reader.wrong("routing_key", "is missing");
        if (receiver.url.empty()) receiver.url = domain::Secret(std::string(kPagerDutyUrl));
    }
    if (receiver.kind == ReceiverKind::email) {
        reader.text("from", receiver.envelope.from);
        reader.text("from_name", receiver.envelope.from_name);
        if (auto to = texts(reader, "to")) receiver.envelope.to = *std::move(to);
        reader.text("username", receiver.username);
        receiver.password = secret("password");
        reader.flag("allow_plaintext", receiver.allow_plaintext);
        reader.text("extra_trust", receiver.extra_trust);
        for (const auto& fault : faults_of(receiver.envelope)) faults.push_back({pointer + fault.pointer, fault.what});
    }
    reader.text("title", receiver.templates.title);
    reader.text("text", receiver.templates.alert);
    for (const auto& fault : faults_of(receiver.templates)) faults.push_back({pointer + fault.pointer, fault.what});
    reader.nothing_else();
    return receiver;
}

Route read_route(const Json& json, const std::string& pointer, DefinitionFaults& faults, int depth = 0) {
    DefinitionReader reader(json, pointer, faults);
    Route route;
    reader.text("receiver", route.receiver);
    route.matchers = matchers(reader, "matchers", faults);
    reader.flag("continue", route.goes_on);
    route.group_by = texts(reader, "group_by");
    maybe_seconds(reader, "group_wait_seconds", route.group_wait);
    maybe_seconds(reader, "group_interval_seconds", route.group_interval);
    maybe_seconds(reader, "repeat_interval_seconds", route.repeat_interval);
    if (reader.has("escalations")) route.escalations.emplace();
    for (const auto& [each, where] : objects(reader, "escalations")) {
        DefinitionReader one(*each, where, faults);
        Escalation escalation;
        one.seconds("after_seconds", escalation.after);
        one.text("receiver", escalation.receiver);
        one.nothing_else();
        route.escalations->push_back(std::move(escalation));
    }
    for (const auto& [each, where] : objects(reader, "routes"))
        if (depth < kDeepestRoute) route.children.push_back(read_route(*each, where, faults, depth + 1));
    reader.nothing_else();
    return route;
}

Inhibition read_inhibition(const Json& json, const std::string& pointer, DefinitionFaults& faults) {
    DefinitionReader reader(json, pointer, faults);
    Inhibition inhibition;
    inhibition.source = matchers(reader, "source", faults);
    inhibition.target = matchers(reader, "target", faults);
    inhibition.equal = texts(reader, "equal").value_or(std::vector<std::string>{});
    reader.nothing_else();
    for (const auto& fault : faults_of(inhibition)) faults.push_back({pointer + fault.pointer, fault.what});
    return inhibition;
}

void read_presets(DefinitionReader& reader, Settings& settings) {
    const auto presets = texts(reader, "presets");
    if (!presets) return;
    settings.rules.clear();
    for (const auto& each : *presets) {
        auto rules = preset(each);
        if (rules.empty()) {
            std::string known;
            for (const auto name : preset_names()) known += (known.empty() ? "" : ", ") + std::string(name);
            reader.wrong("presets", "knows no " + each.substr(0, 64) + "; there are " + known);
        }
        for (auto& rule : rules) settings.rules.push_back(std::move(rule));
    }
}

void read_receivers(DefinitionReader& reader, Settings& settings, DefinitionFaults& faults) {
    std::set<std::string> names;
    for (const auto& [each, where] : objects(reader, "receivers")) {
        settings.receivers.push_back(read_receiver(*each, where, faults));
        const auto& name = settings.receivers.back().name;
        if (!names.insert(name).second) faults.push_back({where + "/name", "is there twice: " + name});
    }
    const auto* route = reader.find("route");
    if (!route) {
        settings.route = default_route(settings.receivers);
        return;
    }
    if (!route->is_object()) return reader.wrong("route", "must be a table");
    settings.route = read_route(*route, reader.at("route"), faults);
    for (const auto& fault : faults_of(settings.route, names)) {
        // In the words of the file.
        auto pointer = fault.pointer;
        for (auto found = pointer.find("/children/"); found != std::string::npos; found = pointer.find("/children/"))
            pointer.replace(found, 10, "/routes/");
        faults.push_back({reader.at("route") + pointer, fault.what});
    }
}

}

domain::Result<Matchers, DefinitionFaults> parse_matchers(const std::vector<std::string>& texts,
                                                          const std::string& pointer) {
    Matchers all;
    DefinitionFaults faults;
    if (texts.size() > kMostMatchers) faults.push_back({pointer, "must be at most " + std::to_string(kMostMatchers)});
    for (std::size_t i = 0; i < texts.size() && faults.empty(); ++i) {
        auto parsed = parse_matcher(texts[i]);
        if (parsed) {
            all.push_back(*std::move(parsed));
        } else {
            faults.push_back({at(pointer, i), parsed.error().what});
        }
    }
    if (!faults.empty()) return faults;
    return all;
}

domain::Result<Settings, DefinitionFaults> parse_settings(std::string_view text) {
    const auto json = Json::parse(text, nullptr, false);
    DefinitionFaults faults;
    if (!json.is_object()) return DefinitionFaults{{"", "must be a table"}};
    Settings settings;
    DefinitionReader reader(json, "", faults);
    reader.flag("enabled", settings.enabled);
    read_presets(reader, settings);
    for (const auto& [each, where] : objects(reader, "rules")) read_rule(*each, where, settings.rules, faults);
    read_receivers(reader, settings, faults);
    if (reader.has("inhibitions")) settings.inhibitions.clear();
    for (const auto& [each, where] : objects(reader, "inhibitions"))
        settings.inhibitions.push_back(read_inhibition(*each, where, faults));
    reader.seconds("every_seconds", settings.every);
    if (settings.every < std::chrono::seconds{1} || settings.every > std::chrono::hours{1})
        reader.wrong("every_seconds", "must be from 1 to 3600");
    int keep_days = static_cast<int>(settings.keep / std::chrono::hours{24});
    reader.whole("keep_days", keep_days);
    if (keep_days < 1 || keep_days > 3660) reader.wrong("keep_days", "must be from 1 to 3660");
    settings.keep = std::chrono::hours{24} * keep_days;
    reader.nothing_else();
    if (!faults.empty()) return faults;
    return settings;
}

}
