#include "webhooks/outcome.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "platform/callback_json.h"

namespace impresario::webhooks {

using domain::Duration;
using domain::TimePoint;
using std::chrono::hours;
using std::chrono::seconds;

std::string_view name(const DeliveryOutcome& outcome) {
    static constexpr std::array<std::string_view, 7> names{"accepted", "done",     "transient", "overload",
                                                           "endpoint", "rejected", "unknown"};
    return names[outcome.index()];
}

std::string_view reason(const DeliveryOutcome& outcome) {
    return std::visit(
        [](const auto& each) -> std::string_view {
            if constexpr (requires { each.reason; }) return each.reason;
            return {};
        },
        outcome);
}

namespace {

/// "Sun, 06 Nov 1994 08:49:37 GMT", the form that RFC 9110 requires of senders: every character has its place.
std::optional<TimePoint> http_date(std::string_view text) {
    static constexpr std::string_view form = "ddd, 00 mmm 0000 00:00:00 GMT";
    if (text.size() != form.size()) return std::nullopt;
    for (std::size_t i = 0; i < form.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        const bool any = form[i] == 'd' || form[i] == 'm';
        if (!any && (form[i] == '0' ? !digit : text[i] != form[i])) return std::nullopt;
    }
    const auto place = [](std::string_view names, std::string_view name) -> std::optional<std::size_t> {
        const auto at = names.find(name);
        if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
        return at / 3;
    };
    const auto number = place("JanFebMarAprMayJunJulAugSepOctNovDec", text.substr(8, 3));
    if (!number || !place("MonTueWedThuFriSatSun", text.substr(0, 3))) return std::nullopt;
    const auto month = std::to_string(101 + *number).substr(1);
    return domain::parse_time(std::string(text.substr(12, 4)) + "-" + month + "-" + std::string(text.substr(5, 2)) +
                              "T" + std::string(text.substr(17, 8)) + "Z");
}

std::string status_reason(int status, std::string_view what) {
    return "status " + std::to_string(status) + ": " + std::string(what);
}

DeliveryOutcome classify_answer(const platform::HttpAnswer& answer, const OutcomeRules& rules, TimePoint now) {
    const int status = answer.status;
    const bool deduplicates = platform::header_is(answer.header("webhook-deduplicates"), "true");
    if (status >= 200 && status <= 299) {
        if (!answer.cut && platform::looks_like_callback(answer.body)) return Done{answer.body, deduplicates};
        return Accepted{deduplicates};
    }
    if (status == 409) return Accepted{deduplicates};
    const auto wait = retry_after(answer.header("retry-after"), now);
    if (status == 429) return Overload{status_reason(status, "too many requests"), wait.value_or(seconds{5})};
    if (status == 503 && wait) return Overload{status_reason(status, "overloaded"), *wait};
    if (std::find(rules.unknown_statuses.begin(), rules.unknown_statuses.end(), status) !=
        rules.unknown_statuses.end()) {
        if (rules.deduplicates) return Transient{status_reason(status, "from a proxy"), wait};
        return Unknown{status_reason(status, "a proxy answers so after the service may have begun")};
    }
    if (status == 408 || status == 425 || (status >= 500 && status <= 599))
        return Transient{status_reason(status, "the peer failed"), wait};
    if (status == 401 || status == 403)
        return EndpointFault{status_reason(status, "the endpoint does not let us in; check its bearer and headers")};
    if (status == 404 || status == 410)
        return EndpointFault{
            status_reason(status, "nothing is at this address; is the workflow published and active?")};
    if (status == 405) return EndpointFault{status_reason(status, "the address does not take POST")};
    if (status >= 300 && status <= 399)
        return EndpointFault{status_reason(status, "redirects are not followed; register the final address")};
    if (status >= 400 && status <= 499) {
        if (rules.retry_rejected) return Transient{status_reason(status, "refused by the peer"), wait};
        return Rejected{status_reason(status, "refused by the peer")};
    }
    return Unknown{status_reason(status, "not an answer that HTTP knows")};
}

DeliveryOutcome classify_not_sent(const platform::NotSent& failure) {
    using Why = platform::NotSent::Why;
    switch (failure.why) {
        case Why::denied:
            return EndpointFault{failure.detail};
        case Why::tls:
            return EndpointFault{"TLS: " + failure.detail};
        case Why::resolve:
        case Why::connect:
        case Why::write:
            break;
    }
    return Transient{failure.detail, std::nullopt};
}

}

std::optional<Duration> retry_after(std::string_view value, TimePoint now) {
    if (value.empty()) return std::nullopt;
    std::int64_t number = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    Duration wait{0};
    if (read.ptr == value.data() + value.size() && read.ec != std::errc::invalid_argument) {
        // Out of range is a long time, or none at all, not an error.
        const bool negative = value.front() == '-';
        const bool outsize = read.ec == std::errc::result_out_of_range || number > 86400;
        wait = negative ? Duration{0} : outsize ? Duration{hours{24}} : Duration{seconds{number}};
    } else {
        const auto date = http_date(value);
        if (!date) return std::nullopt;
        wait = *date - now;
    }
    return std::clamp<Duration>(wait, seconds{1}, hours{24});
}

DeliveryOutcome classify(const platform::HttpOutcome& http, const OutcomeRules& rules, TimePoint now) {
    if (const auto* answer = std::get_if<platform::HttpAnswer>(&http)) return classify_answer(*answer, rules, now);
    if (const auto* failure = std::get_if<platform::NotSent>(&http)) return classify_not_sent(*failure);
    return Unknown{"sent, but not answered: " + std::get<platform::NoAnswer>(http).detail};
}

}
