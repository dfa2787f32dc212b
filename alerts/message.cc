#include "alerts/message.h"

#include <algorithm>
#include <array>

#include "alerts/reading.h"
#include "alerts/template.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "platform/url.h"

namespace impresario::alerts {

namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::size_t kLongestTitle = 400;
constexpr std::size_t kMostEvidenceShown = 5;

constexpr std::array<std::string_view, 17> kNames{"status",  "kind", "receiver", "incident", "firing",     "resolved",
                                                  "more",    "name", "severity", "summary",  "since",      "causes",
                                                  "command", "link", "runbook",  "evidence", "description"};

std::string_view status_text(NotificationKind kind) {
    switch (kind) {
        case NotificationKind::first:
            return "FIRING";
        case NotificationKind::update:
            return "FIRING, CHANGED";
        case NotificationKind::repeat:
            return "STILL FIRING";
        case NotificationKind::resolved:
            return "RESOLVED";
        case NotificationKind::escalation:
            return "NOT ACKNOWLEDGED";
    }
    return {};
}

std::string time_text(domain::TimePoint at) {
    auto text = domain::rfc3339(at).substr(0, 19) + " UTC";
    text[10] = ' ';
    return text;
}

std::string joined(const std::vector<std::string>& texts, std::size_t most) {
    std::string all;
    for (std::size_t i = 0; i < texts.size() && i < most; ++i) all += (i == 0 ? "" : ", ") + texts[i];
    if (texts.size() > most) all += " and " + std::to_string(texts.size() - most) + " more";
    return all;
}

std::string causes_text(const Alert& alert) {
    std::string all;
    for (std::size_t i = 0; i < alert.causes.size(); ++i)
        all += (i == 0 ? "" : "; ") + std::to_string(i + 1) + ") " + alert.causes[i];
    return all;
}

std::string when_text(const Alert& alert, domain::TimePoint now) {
    if (alert.firing(now))
        return time_text(alert.since) + ", for " + domain::human(std::max(now - alert.since, domain::Duration{0}));
    return time_text(alert.since) + " until " + time_text(*alert.ends_at) + ", " +
           domain::human(*alert.ends_at - alert.since);
}

std::string value_of(const Message& message, const Alert& alert, const Labels& labels, std::string_view name) {
    const auto& notification = message.notification;
    if (const auto label = label_named(name); !label.empty()) return std::string(alerts::value_of(labels, label));
    if (name == "status") return std::string(status_text(notification.kind));
    if (name == "kind") return std::string(alerts::name(notification.kind));
    if (name == "receiver") return notification.receiver;
    if (name == "incident") return notification.incident;
    if (name == "firing") return std::to_string(message.firing.size());
    if (name == "resolved") return std::to_string(message.resolved.size());
    if (name == "name") return std::string(alert.name());
    if (name == "severity") return std::string(alerts::name(alert.severity()));
    if (name == "summary") return alert.summary.empty() ? std::string(alert.name()) : alert.summary;
    if (name == "description") return alert.description;
    if (name == "since") return time_text(alert.since);
    if (name == "causes") return causes_text(alert);
    if (name == "command") return alert.command;
    if (name == "link") return absolute_link(message.hub_url, alert.link);
    if (name == "runbook") return alert.runbook;
    if (name == "evidence") return joined(alert.evidence, kMostEvidenceShown);
    const auto all = message.over() ? message.resolved.size() : message.firing.size();
    if (name == "more" && all > 1) return " (and " + std::to_string(all - 1) + " more)";
    return {};
}

Alert cleaned(Alert alert) {
    const auto clean = [](std::string& text) { text = platform::storable_text(text); };
    Labels labels;
    for (const auto& [name, value] : alert.labels)
        labels[platform::storable_text(name)] = platform::storable_text(value);
    alert.labels = std::move(labels);
    for (auto* text : {&alert.summary, &alert.description, &alert.command, &alert.link, &alert.runbook}) clean(*text);
    for (auto& each : alert.causes) clean(each);
    for (auto& each : alert.evidence) clean(each);
    for (auto& [name, value] : alert.annotations) clean(value);
    if (alert.summary.empty()) alert.summary = alert.name();
    return alert;
}

std::vector<Alert> found(const std::vector<std::string>& fingerprints, const std::vector<Alert>& alerts,
                         const std::vector<std::string>& theirs, bool firing, domain::TimePoint at) {
    std::vector<Alert> all;
    for (const auto& fingerprint : fingerprints) {
        const Alert* best = nullptr;
        for (std::size_t i = 0; i < alerts.size(); ++i)
            if (theirs[i] == fingerprint && (!best || alerts[i].firing(at) == firing)) best = &alerts[i];
        Alert unknown;
        unknown.labels = {{std::string(kAlertName), fingerprint}};
        unknown.since = at;
        all.push_back(cleaned(best ? *best : unknown));
        // What is told to have resolved has; the door's row may not say so any more.
        if (!firing && all.back().firing(at)) all.back().ends_at = std::max(at, all.back().since);
    }
    std::stable_sort(all.begin(), all.end(), [](const Alert& a, const Alert& b) {
        return a.severity() != b.severity() ? a.severity() < b.severity() : a.since < b.since;
    });
    return all;
}

}

std::span<const std::string_view> message_template_names() { return kNames; }

domain::DefinitionFaults faults_of(const MessageTemplates& templates) {
    domain::DefinitionFaults faults;
    if (templates.title.empty()) faults.push_back({"/title", "must not be empty"});
    if (const auto parsed = Template::parse(templates.title, kNames); !parsed)
        faults.push_back({"/title", parsed.error().what});
    if (const auto parsed = Template::parse(templates.alert, kNames); !parsed)
        faults.push_back({"/alert", parsed.error().what});
    return faults;
}

Severity Message::severity() const {
    Severity worst = Severity::info;
    for (const auto& alert : over() ? resolved : firing) worst = std::min(worst, alert.severity());
    return worst;
}

Labels Message::common_labels() const {
    std::vector<const Alert*> all;
    for (const auto& alert : firing) all.push_back(&alert);
    for (const auto& alert : resolved) all.push_back(&alert);
    return alerts::common_labels(all, [](const Alert* alert) -> const Labels& { return alert->labels; });
}

std::string Message::title() const {
    const auto& all = over() ? resolved : firing;
    const Alert& worst = all.empty() ? Alert{} : all.front();
    const auto labels = common_labels();
    const auto parsed = Template::parse(templates.title, kNames);
    const auto title = one_line(parsed ? parsed->render([&](auto name) { return value_of(*this, worst, labels, name); })
                                       : std::string());
    return title.find_first_not_of(' ') == std::string::npos ? std::string(status_text(notification.kind))
                                                             : shortened(title, kLongestTitle);
}

std::string Message::page() const { return absolute_link(hub_url, "/alerts/" + notification.incident); }

std::string Message::command() const { return "impresario alerts show " + notification.incident; }

Message message_of(const Notification& notification, const std::vector<Alert>& alerts, MessageTemplates templates,
                   std::string hub_url, domain::TimePoint at) {
    std::vector<std::string> theirs;
    for (const auto& alert : alerts) theirs.push_back(alert.fingerprint());
    Message message;
    message.notification = notification;
    message.firing = found(notification.firing, alerts, theirs, true, at);
    message.resolved = found(notification.resolved, alerts, theirs, false, at);
    message.templates = std::move(templates);
    message.hub_url = std::move(hub_url);
    message.at = at;
    return message;
}

std::vector<Line> lines_of(const Message& message, const Alert& alert) {
    std::vector<Line> lines;
    const auto add = [&](const char* label, std::string text, Line::Form form = Line::Form::text) {
        if (!text.empty()) lines.push_back({label, std::move(text), form});
    };
    if (!message.templates.alert.empty()) {
        const auto parsed = Template::parse(message.templates.alert, kNames);
        if (parsed) add("", parsed->render([&](auto name) { return value_of(message, alert, alert.labels, name); }));
        return lines;
    }
    add("", alert.description);
    add(alert.firing(message.at) ? "Since" : "From", when_text(alert, message.at));
    if (alert.firing(message.at)) {
        add("Likely", causes_text(alert));
        add("Look", alert.command, Line::Form::code);
    }
    add("Page", absolute_link(message.hub_url, alert.link), Line::Form::link);
    const auto runbook = absolute_link({}, alert.runbook);
    add("Runbook", runbook.empty() ? alert.runbook : runbook, runbook.empty() ? Line::Form::text : Line::Form::link);
    add("Executions", joined(alert.evidence, kMostEvidenceShown));
    if (alert.acknowledged) add("Acknowledged", "by " + platform::storable_text(alert.acknowledged->by));
    return lines;
}

std::string left_out_text(const Message& message, std::size_t left_out) {
    if (left_out == 0) return {};
    const auto page = message.page();
    return std::to_string(left_out) + " more; all of them: " + (page.empty() ? "" : page + " or ") + message.command();
}

std::string plain_text(const Message& message, std::size_t most) {
    std::string text = message.title() + "\n";
    // Room for the last line, which says what was left out.
    const auto reserve = left_out_text(message, 1'000'000).size() + 2;
    const auto room = most > reserve ? most - reserve : 0;
    std::size_t left_out = 0;
    const auto add = [&](const std::vector<Alert>& alerts, const char* heading) {
        std::size_t shown = 0;
        for (const auto& alert : alerts) {
            std::string paragraph = "\n" + std::string(heading) + alert.summary + "\n";
            for (const auto& line : lines_of(message, alert))
                paragraph += (line.label.empty() ? "" : line.label + ": ") + line.text + "\n";
            if (shown == kMostShown || text.size() + paragraph.size() > room) {
                ++left_out;
                continue;
            }
            ++shown;
            text += paragraph;
        }
    };
    add(message.firing, "");
    add(message.resolved, "Resolved: ");
    if (left_out > 0) text += "\n" + left_out_text(message, left_out) + "\n";
    return shortened(text, most);
}

std::string absolute_link(const std::string& hub_url, const std::string& link) {
    const auto address = link.starts_with('/') ? (hub_url.empty() ? "" : hub_url + link) : link;
    if (!address.starts_with("http://") && !address.starts_with("https://")) return {};
    if (address.size() > 2048) return {};
    return platform::parse_url(address) ? address : std::string();
}

Labels annotations_of(const Message& message, const Alert& alert) {
    Labels all = alert.annotations;
    all["summary"] = alert.summary;
    all["description"] = alert.description;
    all["runbook_url"] = alert.runbook;
    all["command"] = alert.command;
    all["page"] = absolute_link(message.hub_url, alert.link);
    all["executions"] = joined(alert.evidence, kMostEvidence);
    for (std::size_t i = 0; i < alert.causes.size(); ++i) all["cause_" + std::to_string(i + 1)] = alert.causes[i];
    if (alert.acknowledged) all["acknowledged_by"] = platform::storable_text(alert.acknowledged->by);
    std::erase_if(all, [](const auto& each) { return each.second.empty(); });
    return all;
}

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    if (most < kEllipsis.size()) return {};
    return std::string(platform::utf8_prefix(text, most - kEllipsis.size())) + std::string(kEllipsis);
}

std::string one_line(std::string_view text) {
    std::string line(text);
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return line;
}

}
