#include <algorithm>
#include <array>
#include <cstdlib>

#include "domain/event.h"
#include "orchestrator/command.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::orchestrator {

namespace {
constexpr std::array<std::string_view, 5> kNames{"accepted", "strained", "trouble", "overload", "fault"};
}

void add_endpoint_news(platform::JsonWriter& payload, const EndpointNews& news) {
    payload.field("endpoint_id", news.endpoint.text())
        .field("news", kNames[static_cast<std::size_t>(news.kind)])
        .field("sent_at", domain::rfc3339(news.began));
    if (news.kind == EndpointNews::Kind::overload) payload.field("retry_after_ms", news.retry_after.count() / 1000);
    if (!news.need_amounts.empty()) payload.field("need_amounts", news.need_amounts);
}

std::optional<EndpointNews> endpoint_news_in(std::string_view payload) {
    // Most events carry none.
    if (payload.find("\"news\"") == std::string_view::npos) return std::nullopt;
    const auto member = [&](std::string_view name) -> std::optional<std::string> {
        const auto raw = platform::json_member(payload, name);
        if (!raw) return std::nullopt;
        return platform::json_string(*raw);
    };
    const auto endpoint = domain::EndpointId::parse(member("endpoint_id").value_or(""));
    const auto kind = member("news");
    if (!endpoint || !kind) return std::nullopt;
    const auto known = std::find(kNames.begin(), kNames.end(), *kind);
    if (known == kNames.end()) return std::nullopt;
    EndpointNews news;
    news.endpoint = *endpoint;
    news.kind = static_cast<EndpointNews::Kind>(known - kNames.begin());
    // What went wrong is told in the words of the event.
    for (const char* told : {"detail", "error", "reason"})
        if (news.detail.empty()) news.detail = member(told).value_or("");
    if (const auto wait = platform::json_member(payload, "retry_after_ms"))
        news.retry_after = std::chrono::milliseconds{std::atol(std::string(*wait).c_str())};
    // An older node does not say it, and is believed.
    news.began = domain::parse_time(member("sent_at").value_or("")).value_or(domain::kNever);
    news.need_amounts = member("need_amounts").value_or("");
    return news;
}

void add_consumption(platform::JsonWriter& payload, const std::optional<resource_manager::Consumption>& consumed) {
    if (!consumed) return;
    if (consumed->cost) payload.field("attempt_cost_usd", domain::decimal(*consumed->cost));
    if (consumed->tokens) payload.field("tokens", *consumed->tokens);
    // Under another name what others are not estimated by: a hub of an older version learns from every attempt_ms.
    if (consumed->duration)
        payload.field(consumed->typical ? "attempt_ms" : "took_ms", consumed->duration->count() / 1000);
}

std::optional<resource_manager::Consumption> consumption_in(std::string_view payload) {
    const auto whole = [&](std::string_view name) -> std::optional<std::int64_t> {
        const auto raw = platform::json_member(payload, name);
        if (!raw) return std::nullopt;
        return std::atoll(std::string(*raw).c_str());
    };
    const auto typical = whole("attempt_ms");
    const auto took = typical ? typical : whole("took_ms");
    if (!took) return std::nullopt;
    resource_manager::Consumption consumed;
    consumed.typical = typical.has_value();
    consumed.duration = std::chrono::milliseconds{*took};
    consumed.tokens = whole("tokens");
    if (const auto raw = platform::json_member(payload, "attempt_cost_usd"))
        if (const auto parsed = domain::parse_money(platform::json_string(*raw))) consumed.cost = parsed->amount;
    return consumed;
}

bool tells_consumption(std::string_view event_type) {
    namespace event = domain::event;
    constexpr std::string_view ends[] = {event::completed, event::progress, event::retrying, event::failed,
                                         event::dead};
    return std::find(std::begin(ends), std::end(ends), event_type) != std::end(ends);
}

}
