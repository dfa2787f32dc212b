#pragma once
// A message to be written: what all receivers' forms have in common.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alerts/notifier_plan.h"
#include "domain/definition_fault.h"

namespace impresario::alerts {

/// What a user may say in other words, for each receiver; templates (template.h) over message_template_names().
struct MessageTemplates {
    /// One line: subject, header, summary.
    std::string title = "{{ status }}: {{ summary }}{{ more }}";
    /// What is said of each alert after its summary; empty: description, since when, likeliest causes, where to look.
    std::string alert = {};
};

domain::DefinitionFaults faults_of(const MessageTemplates& templates);

/// status, kind, receiver, incident, firing, resolved (their numbers), more, and of an alert (in the title: of the
/// worst) name, severity, summary, description, since, causes, command, link, runbook, evidence; labels.<name>.
std::span<const std::string_view> message_template_names();

struct Message {
    Notification notification;
    /// The worst first, then the oldest. Texts are UTF-8 without NUL.
    std::vector<Alert> firing;
    std::vector<Alert> resolved;
    MessageTemplates templates = {};
    /// Where people reach the hub, "https://hub.example.org"; "": it is not known.
    std::string hub_url = {};
    domain::TimePoint at{};

    bool over() const { return firing.empty(); }
    /// Of all alerts.
    Severity severity() const;
    std::string title() const;
    Labels common_labels() const;
    /// The page and the command that show all of it; the page is "" where the hub's address is not known.
    std::string page() const;
    std::string command() const;
};

/// `alerts`: in any order, more than needed is fine. What is not among them is named by its fingerprint alone.
Message message_of(const Notification& notification, const std::vector<Alert>& alerts, MessageTemplates templates,
                   std::string hub_url, domain::TimePoint at);

/// What is said of an alert after its summary, line by line.
struct Line {
    enum class Form { text, code, link };
    /// "Since", "Likely", "More"; "" for running text.
    std::string label;
    std::string text;
    Form form = Form::text;
};
std::vector<Line> lines_of(const Message& message, const Alert& alert);

/// All of it as plain text, at most `most` bytes, cut at a whole character; says what was left out.
std::string plain_text(const Message& message, std::size_t most);

/// So many alerts of each kind are shown in full where people read; the others are counted.
inline constexpr std::size_t kMostShown = 10;

/// "190 more; all of them: impresario alerts show 0a1b…"; "" where nothing was left out.
std::string left_out_text(const Message& message, std::size_t left_out);

/// An absolute http(s) address: a path under the hub's address, or one that stands for itself; "" where it is neither,
/// or holds what no address does.
std::string absolute_link(const std::string& hub_url, const std::string& link);

/// What an alert says, by Alertmanager's customary names: summary, description, runbook_url; command, page, cause_1 …
/// cause_3, executions, acknowledged_by; and what it came with. None is empty.
Labels annotations_of(const Message& message, const Alert& alert);

/// At most `most` bytes, with "…" where it was cut.
std::string shortened(std::string_view text, std::size_t most);

/// Control characters become blanks: it stays on one line.
std::string one_line(std::string_view text);

}
