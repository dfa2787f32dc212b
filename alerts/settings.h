#pragma once
// How alerting is set up: rules, receivers, and who is told of what. From the configuration file; the same on all
// nodes.

#include <string>
#include <string_view>
#include <vector>

#include "alerts/email.h"
#include "alerts/inhibition.h"
#include "alerts/message.h"
#include "alerts/pagerduty_message.h"
#include "alerts/preset.h"
#include "alerts/route.h"
#include "alerts/rule.h"
#include "domain/name_table.h"
#include "domain/secret.h"
#include "platform/peer_secrets.h"

namespace impresario::alerts {

enum class ReceiverKind { slack, email, webhook, pagerduty, alertmanager };

inline constexpr domain::NameTable<ReceiverKind, 5> kReceiverKinds{{{ReceiverKind::slack, "slack"},
                                                                    {ReceiverKind::email, "email"},
                                                                    {ReceiverKind::webhook, "webhook"},
                                                                    {ReceiverKind::pagerduty, "pagerduty"},
                                                                    {ReceiverKind::alertmanager, "alertmanager"}}};
constexpr std::string_view name(ReceiverKind kind) { return domain::name_in(kReceiverKinds, kind); }

/// Where messages go.
struct Receiver {
    /// As domain::good_definition_name wants it; unique.
    std::string name;
    ReceiverKind kind = ReceiverKind::slack;
    /// Of a Slack webhook it is the secret itself; of e-mail smtp://host:587 (STARTTLS) or smtps://host:465.
    domain::Secret url;
    /// How a webhook is signed and what it gets along; an Alertmanager's headers.
    platform::PeerSecrets secrets = {};
    /// PagerDuty's.
    domain::Secret routing_key = {};
    EmailEnvelope envelope = {};
    std::string username = {};
    domain::Secret password = {};
    /// Mail may leave unencrypted where the server offers nothing else.
    bool allow_plaintext = false;
    /// PEM file of certificates to trust beside the system's.
    std::string extra_trust = {};
    MessageTemplates templates = {};
};

/// nullptr: there is none of that name.
const Receiver* find_receiver(const std::vector<Receiver>& receivers, std::string_view name);

struct Settings {
    bool enabled = true;
    std::vector<Rule> rules = default_rules();
    std::vector<Receiver> receivers = {};
    Route route = {};
    std::vector<Inhibition> inhibitions = default_inhibitions();
    /// How often it is looked, beside when something is known to change.
    domain::Duration every = std::chrono::seconds{15};
    /// What has resolved is kept for so long.
    domain::Duration keep = std::chrono::hours{24 * 90};
};

/// Of Slack's, which takes one a second; of the others none.
domain::Duration pace_of(ReceiverKind kind);

/// Whether it keeps an incident open until it is told that it is over: PagerDuty and Alertmanager.
bool keeps_incidents(ReceiverKind kind);

/// The default tree, where each name that no receiver has is another's: page is the first PagerDuty, Alertmanager or
/// webhook, slack the first Slack, email the first e-mail, and who is missing the first that there is.
Route default_route(const std::vector<Receiver>& receivers);

}
