#include "alerts/preset.h"

namespace impresario::alerts {

using domain::Duration;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

/// What a rule looks at. The mark below which it is clear lies under the one that raises it, so that what wavers around
/// that does not flap.
Rule rule(const char* name, const char* reading, Comparison comparison, double raise, double clear, Severity severity) {
    Rule rule;
    rule.name = name;
    rule.reading = reading;
    rule.comparison = comparison;
    rule.raise = raise;
    rule.clear = clear;
    rule.severity = severity;
    rule.runbook = "docs/runbooks/" + rule.name + ".md";
    return rule;
}

Rule timed(Rule rule, Duration hold, Duration keep) {
    rule.hold = hold;
    rule.keep = keep;
    return rule;
}

Rule told(Rule rule, std::string summary, const char* description, std::vector<std::string> causes, const char* command,
          const char* link) {
    rule.summary = std::move(summary);
    rule.description = description;
    rule.causes = std::move(causes);
    rule.command = command;
    rule.link = link;
    return rule;
}

// What both seeds ask about, with marks of their own.

Rule of_failures(Rule rule) {
    return told(std::move(rule), "{{ value }} of {{ labels.workflow_type }} fails",
                "Failed and dead of all that ended within 5 minutes. Lately: {{ evidence }}",
                {"its endpoint is down or was changed", "a provider that it calls refuses or is slow",
                 "a batch with inputs that it cannot take"},
                "impresario list --status failed,dead --type {{ labels.workflow_type }} --limit 20",
                "/executions?status=failed,dead&type={{ labels.workflow_type }}");
}

Rule of_waiting(Rule rule, const std::string& verb) {
    return told(std::move(rule), "{{ value }} executions of {{ labels.organization }} " + verb,
                "More than {{ threshold }} since {{ since }}.",
                {"more was enqueued than its limits let through", "a gate is closed: a pause, a breaker, a budget",
                 "a provider is cooling"},
                "impresario queue --limit 20", "/queue");
}

std::vector<Rule> seed_003() {
    using enum Severity;
    using enum Comparison;
    return {
        told(timed(rule("orchestrator_down", "scheduler_silent_seconds", at_least, 120, 30, critical), seconds{0},
                   minutes{1}),
             "Nobody has scheduled for {{ value }}",
             "No node has renewed the scheduler's lease; nothing new starts. What runs goes on, and callbacks are "
             "taken.",
             {"the nodes cannot reach the database", "all nodes have stopped or were killed",
              "the clock or the disk of the database has stopped"},
             "impresario nodes", "/nodes"),
        told(timed(rule("cost_budget_exceeded", "budget_used_percent", at_least, 90, 85, critical), seconds{0},
                   minutes{5}),
             "Budget {{ labels.budget }} of {{ labels.organization }} is {{ value }} used",
             "Settled and reserved together; at 100 % nothing that it pays for starts until its window turns.",
             {"a batch was enqueued that costs more than was planned",
              "calls have become dearer or longer than estimated", "retries of what fails are paid for again"},
             "impresario budgets show {{ labels.budget }}", "/budgets/{{ labels.budget }}"),
        of_failures(
            timed(rule("error_rate_high", "failed_percent", at_least, 10, 8, critical), seconds{0}, minutes{5})),
        of_waiting(timed(rule("queue_depth_high", "queue_depth", at_least, 500, 400, warning), minutes{1}, minutes{5}),
                   "wait"),
        told(timed(rule("api_limits_approaching", "provider_used_percent", at_least, 80, 70, warning), seconds{30},
                   minutes{5}),
             "{{ value }} of {{ labels.provider }}'s limit {{ labels.limit }} is used",
             "At 100 % what calls it waits for the next window.",
             {"more work than usual", "a workflow type makes more calls than it declares",
              "another program uses the same key"},
             "impresario providers show {{ labels.provider }}", "/providers/{{ labels.provider }}"),
        told(timed(rule("execution_time_slow", "execution_timeout_percent", at_least, 80, 80, warning), seconds{0},
                   minutes{1}),
             "An execution of {{ labels.workflow_type }} has used {{ value }} of its timeout",
             "When its time is over it counts as failed and is tried again. Slow: {{ evidence }}",
             {"its provider is slow", "its input is larger than usual",
              "its callback was lost, and it has ended long since"},
             "impresario stalled --quiet 60", "/executions?status=running&type={{ labels.workflow_type }}"),
    };
}

std::vector<Rule> seed_000() {
    using enum Severity;
    using enum Comparison;
    return {
        of_failures(timed(rule("failure_rate_high", "failed_percent", above, 5, 4, warning), seconds{0}, minutes{5})),
        of_waiting(timed(rule("pending_high", "queue_depth", above, 100, 80, warning), minutes{5}, minutes{5}),
                   "are pending"),
        told(timed(rule("retries_rising", "retry_rise_percent", at_least, 50, 20, warning), minutes{5}, minutes{10}),
             "Retries of {{ labels.workflow_type }} have risen by {{ value }}",
             "The last 15 minutes against the 15 before.",
             {"its endpoint begins to fail", "a provider refuses more often", "a new version of it is worse"},
             "impresario list --status retrying --type {{ labels.workflow_type }}",
             "/executions?status=retrying&type={{ labels.workflow_type }}"),
    };
}

std::vector<Rule> operations() {
    using enum Severity;
    using enum Comparison;
    return {
        told(timed(rule("outbox_lag", "outbox_lag_seconds", at_least, 300, 60, warning), minutes{1}, minutes{2}),
             "{{ labels.subscriber }} hears of things {{ value }} late",
             "The oldest event that waits for it is that old.",
             {"it does not answer or refuses", "it is slower than events happen", "it was disabled"},
             "impresario subscribers show {{ labels.subscriber }}", "/subscribers/{{ labels.subscriber }}"),
        told(timed(rule("outbox_failed", "outbox_failed", at_least, 1, 1, warning), seconds{0}, minutes{10}),
             "{{ value }} events for {{ labels.subscriber }} were given up", "Within the last hour; they are kept.",
             {"it refuses what it does not understand", "its bearer or signing secret has changed",
              "its address has changed"},
             "impresario subscribers messages {{ labels.subscriber }}", "/subscribers/{{ labels.subscriber }}"),
        told(timed(rule("subscriber_disabled", "subscriber_disabled_seconds", at_least, 0, 0, warning), seconds{0},
                   seconds{0}),
             "{{ labels.subscriber }} is told no more",
             "It took nothing for too long, and the hub has switched it off {{ value }} ago. What has happened since "
             "is kept.",
             {"it was taken out of service", "its address, bearer or signing secret has changed",
              "it is down, or cannot be reached"},
             "impresario subscribers show {{ labels.subscriber }}", "/subscribers/{{ labels.subscriber }}"),
        told(timed(rule("dead_letters", "dead_letters_new", at_least, 1, 1, warning), seconds{0}, minutes{10}),
             "{{ value }} of {{ labels.workflow_type }} ended in the dead-letter queue",
             "Within the last hour. Somebody has to decide: retry or discard. {{ evidence }}",
             {"its endpoint refuses the input", "every try has failed: its endpoint or a provider is down",
              "its answers are lost"},
             "impresario dead-letters list --type {{ labels.workflow_type }}",
             "/dead-letters?type={{ labels.workflow_type }}"),
        told(timed(rule("breaker_open", "breaker_open", at_least, 1, 1, warning), seconds{30}, minutes{2}),
             "An endpoint of {{ labels.workflow_type }} is left alone",
             "Its circuit breaker is open since {{ since }}; it is tried now and then. {{ labels.endpoint }}",
             {"the service is down", "a new version of it fails", "the network or a proxy between"},
             "impresario endpoints list {{ labels.workflow_type }}", "/types/{{ labels.workflow_type }}"),
        told(timed(rule("promise_broken", "promises_broken", at_least, 1, 1, critical), seconds{0}, seconds{0}),
             "Promise {{ labels.promise }} is broken",
             "fsck has found what it cannot repair. Lane, held until it is resumed: {{ labels.workflow_type }}",
             {"a hand in the tables", "the database was brought back from a backup that does not fit",
              "a fault of the hub"},
             "impresario fsck", "/fsck"),
        told(timed(rule("scheduler_changed", "scheduler_changes", at_least, 1, 1, info), seconds{0}, seconds{0}),
             "Another node schedules",
             "It has changed {{ value }} times within 15 minutes. Once is an upgrade or a restart.",
             {"a node was restarted or upgraded", "a node was too slow to renew its lease",
              "the database was away for a moment"},
             "impresario nodes", "/nodes"),
        told(timed(rule("node_lost", "node_silent_seconds", at_least, 60, 30, warning), seconds{0}, minutes{1}),
             "Node {{ labels.node }} was last heard of {{ value }} ago",
             "It did not say that it leaves. What it held is taken over by the others.",
             {"it was killed or its machine is down", "it cannot reach the database",
              "it is out of memory or stands still"},
             "impresario nodes", "/nodes"),
        told(timed(rule("provider_weather", "provider_cooling_seconds", at_least, 60, 60, warning), seconds{0},
                   minutes{5}),
             "{{ labels.provider }} has refused for {{ value }}",
             "What calls it waits, and goes on more slowly afterwards.",
             {"its limits are lower than those that are declared", "another program uses the same key",
              "it is in trouble"},
             "impresario providers show {{ labels.provider }}", "/providers/{{ labels.provider }}"),
        told(
            timed(rule("budget_forecast", "budget_short_seconds", at_least, 900, 0, warning), minutes{10}, minutes{15}),
            "Budget {{ labels.budget }} of {{ labels.organization }} runs out {{ value }} before its reset",
            "At the pace of the last hour.",
            {"more work than usual at this time", "a batch that is dearer than others",
             "the budget is smaller than what is planned"},
            "impresario budgets show {{ labels.budget }}", "/budgets/{{ labels.budget }}"),
        told(timed(rule("anomaly", "anomaly_deviations", at_least, 6, 4, info), minutes{5}, minutes{30}),
             "{{ labels.series }} of {{ labels.workflow_type }} is unlike other weeks",
             "{{ value }} robust deviations from what is usual at this hour. Behind it: {{ evidence }}",
             {"an unusual batch", "a new version of a workflow or of its provider",
              "something that usually runs does not"},
             "impresario list --type {{ labels.workflow_type }} --limit 20",
             "/executions?type={{ labels.workflow_type }}"),
        told(
            timed(rule("reader_failing", "reader_failing_seconds", at_least, 300, 60, warning), seconds{0}, minutes{1}),
            "The hub cannot read {{ labels.reading }}",
            "Since {{ value }}; alerts about it stay as they are meanwhile.",
            {"the database is slow or away", "a table was changed by hand", "the schema is older than the program"},
            "impresario state", "/state"),
        told(timed(rule("receiver_failing", "receiver_failing_seconds", at_least, 300, 1, critical), seconds{0},
                   minutes{1}),
             "Alerts do not reach {{ labels.receiver }}",
             "Nothing was taken for {{ value }}; it is tried again and again.",
             {"its address, key or channel has changed", "the network does not let it out", "it is down"},
             "impresario alerts receivers", "/alerts"),
    };
}

}

std::vector<Rule> preset(std::string_view name) {
    if (name == "003") return seed_003();
    if (name == "000") return seed_000();
    if (name == "operations") return operations();
    return {};
}

std::vector<Rule> default_rules() {
    auto rules = seed_003();
    for (auto& each : operations()) rules.push_back(std::move(each));
    return rules;
}

std::vector<std::string_view> preset_names() { return {"003", "000", "operations"}; }

}
