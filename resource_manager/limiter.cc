#include "resource_manager/limiter.h"

#include <algorithm>

#include "platform/redact.h"

namespace impresario::resource_manager {

using domain::Demand;
using domain::Gate;
using domain::GateKind;
using domain::TimePoint;

std::optional<Gate> Pause::check(const Demand&, TimePoint now) const {
    if (until && *until <= now) return std::nullopt;
    Gate gate{GateKind::paused, subject, {}, {}, until};
    gate.detail = reason.empty() ? "paused" : reason;
    if (!by.empty()) gate.detail += " (by " + by + ")";
    gate.detail += until ? "; until " + domain::rfc3339(*until) : "; until it is resumed";
    if (!condition.empty()) gate.detail += ", or " + condition;
    return gate;
}

std::optional<Gate> Lock::check(const Demand&, TimePoint now) const {
    if (holder.empty() || (until && *until <= now)) return std::nullopt;
    Gate gate{GateKind::lock, name, "held by " + holder, {{"holder", holder}}, until};
    gate.detail +=
        until ? " until " + domain::rfc3339(*until) + ", unless it is released before" : " until that is over";
    return gate;
}

std::optional<Gate> Concurrency::check(const Demand&, TimePoint) const {
    if (in_use < limit) return std::nullopt;
    return Gate{GateKind::concurrency,
                subject,
                std::to_string(in_use) + " of " + std::to_string(limit) + " are running; the next end lets one in",
                {{"in_use", std::to_string(in_use)}, {"limit", std::to_string(limit)}},
                std::nullopt};
}

std::optional<Gate> KeyConcurrency::check(const Demand& demand, TimePoint) const {
    if (demand.concurrency_key.empty()) return std::nullopt;
    int used = 0;
    if (const auto found = in_use->find(demand.concurrency_key); found != in_use->end()) used = found->second;
    if (const auto found = taken.find(demand.concurrency_key); found != taken.end()) used += found->second;
    if (used < limit) return std::nullopt;
    return Gate{GateKind::key_concurrency,
                demand.concurrency_key,
                std::to_string(used) + " of " + std::to_string(limit) + " are running with " + pointer + " = " +
                    demand.concurrency_key + "; the next end lets one in",
                {{"in_use", std::to_string(used)}, {"limit", std::to_string(limit)}},
                std::nullopt};
}

void KeyConcurrency::take(const Demand& demand, Granted&, TimePoint) {
    if (!demand.concurrency_key.empty()) ++taken[demand.concurrency_key];
}

std::optional<Gate> LanePace::check(const Demand&, TimePoint now) const {
    const auto closed = [&](GateKind kind, domain::Duration length, const char* what, const char* number,
                            TimePoint since) -> std::optional<Gate> {
        const auto opens = domain::saturating_add(since, length);
        if (opens <= now) return std::nullopt;
        return Gate{kind,
                    subject,
                    std::string(what) + domain::rfc3339(since) + ", and " + domain::human(length) +
                        " are to pass before the next start",
                    {{"seconds", std::to_string(std::chrono::duration_cast<std::chrono::seconds>(length).count())},
                     {number, domain::rfc3339(since)}},
                    opens};
    };
    std::optional<Gate> gate;
    if (interval && started_at)
        gate =
            closed(GateKind::execution_interval, *interval, "the last one started at ", "last_started_at", *started_at);
    if (!gate && cool_down && ended_at)
        gate = closed(GateKind::cool_down, *cool_down, "the last one ended at ", "last_ended_at", *ended_at);
    return gate;
}

namespace {

/// What keeps an endpoint from being asked, and until when; kNever: until somebody says so.
struct Stop {
    GateKind kind;
    TimePoint until;
};

/// Of a hold and an open breaker the one that lasts longer.
std::optional<Stop> stop(const EndpointLoad& endpoint, TimePoint now) {
    std::optional<Stop> found;
    if (endpoint.held_until && *endpoint.held_until > now) found = {GateKind::endpoint, *endpoint.held_until};
    if (!domain::stops(endpoint.breaker, now)) return found;
    const auto until = endpoint.breaker.until.value_or(domain::kNever);
    if (!found || until > found->until) found = {GateKind::breaker, until};
    return found;
}

/// Open, but its time has come: half open, whether anybody has noticed or not.
bool probed(const EndpointLoad& endpoint) { return endpoint.breaker.state != domain::BreakerState::closed; }
int room(const EndpointLoad& endpoint) { return probed(endpoint) ? 1 : endpoint.window; }

const EndpointLoad* least_loaded(const std::vector<EndpointLoad>& endpoints, TimePoint now) {
    const EndpointLoad* best = nullptr;
    for (const auto& each : endpoints) {
        if (stop(each, now) || each.in_flight >= room(each)) continue;
        if (!best) {
            best = &each;
            continue;
        }
        // in_flight / weight, compared without dividing.
        const auto here = static_cast<std::int64_t>(each.in_flight) * best->weight;
        const auto there = static_cast<std::int64_t>(best->in_flight) * each.weight;
        if (here < there || (here == there && each.weight > best->weight)) best = &each;
    }
    return best;
}

Gate stopped(const EndpointLoad& endpoint, const Stop& stop) {
    if (stop.kind == GateKind::endpoint)
        return Gate{stop.kind,
                    platform::shown_url(endpoint.url),
                    endpoint.held_detail + "; tried again at " + domain::rfc3339(stop.until),
                    {},
                    stop.until,
                    true};
    const auto& breaker = endpoint.breaker;
    Gate gate{stop.kind,      platform::shown_url(endpoint.url),
              breaker.detail, {{"openings", std::to_string(breaker.openings)}},
              breaker.until,  breaker.until.has_value()};
    if (!breaker.by.empty())
        gate.detail = "tripped by " + breaker.by + (breaker.detail.empty() ? "" : " (" + breaker.detail + ")");
    gate.detail += breaker.until ? ": open until " + domain::rfc3339(*breaker.until) + ", then one execution tries it"
                                 : ": open until it is reset";
    return gate;
}
}

std::optional<Gate> Endpoints::check(const Demand&, TimePoint now) const {
    if (endpoints.empty())
        return Gate{GateKind::endpoint,
                    subject,
                    "the workflow type has no endpoint; give it one with PUT /v1/workflow-types/" + subject,
                    {},
                    std::nullopt};
    if (least_loaded(endpoints, now)) return std::nullopt;
    const EndpointLoad* first = nullptr;
    std::optional<Stop> first_stop;
    int in_flight = 0;
    int limit = 0;
    bool all_probed = true;
    bool all_stopped = true;
    for (const auto& each : endpoints) {
        const auto found = stop(each, now);
        if (!found) {
            all_stopped = false;
            all_probed = all_probed && probed(each);
            in_flight += each.in_flight;
            limit += room(each);
        } else if (!first || found->until < first_stop->until) {
            first = &each;
            first_stop = found;
        }
    }
    if (all_stopped) return stopped(*first, *first_stop);
    const std::vector<std::pair<std::string, std::string>> numbers{{"in_flight", std::to_string(in_flight)},
                                                                   {"limit", std::to_string(limit)}};
    if (all_probed)
        return Gate{GateKind::breaker, subject,
                    "the breaker is half open: one execution tries the endpoint, and what is taken closes it", numbers,
                    std::nullopt};
    return Gate{GateKind::endpoint, subject,
                std::to_string(in_flight) +
                    " requests are under way, as many as the endpoint takes now; the next answer lets one in",
                numbers, std::nullopt};
}

void Endpoints::take(const Demand&, Granted& granted, TimePoint now) {
    const auto* best = least_loaded(endpoints, now);
    granted.endpoint = best->id;
    ++endpoints[static_cast<std::size_t>(best - endpoints.data())].in_flight;
}

std::optional<Gate> Memory::check(const Demand& demand, TimePoint) const {
    const auto asks = demand.memory_mb;
    if (asks <= 0 || (asks <= limit_mb - reserved_mb && !kept)) return std::nullopt;
    const auto mb = [](std::int64_t amount) { return std::to_string(amount) + " MB"; };
    Gate gate{GateKind::memory,
              demand.lane.workflow_type,
              {},
              {{"asks_mb", std::to_string(asks)},
               {"reserved_mb", std::to_string(reserved_mb)},
               {"limit_mb", std::to_string(limit_mb)}},
              std::nullopt};
    if (asks > limit_mb) {
        gate.detail = "asks " + mb(asks) + ", more than the " + mb(limit_mb) +
                      " that all executions share; raise memory.total_mb or lower the type's memory_mb";
    } else if (kept) {
        gate.detail = mb(limit_mb) + " of memory: " + std::string(kKeptForAnother);
    } else {
        gate.detail = mb(reserved_mb) + " of " + mb(limit_mb) + " are reserved by what runs and " + mb(asks) +
                      " more asked; fits when others have ended";
    }
    return gate;
}

std::string shown(Measure of, std::int64_t amount) {
    return of == Measure::cost ? domain::decimal({amount}) : std::to_string(amount);
}

namespace {
std::string_view unit(Measure of) {
    switch (of) {
        case Measure::requests:
            return "requests";
        case Measure::tokens:
            return "tokens";
        case Measure::items:
            return "items";
        case Measure::cost:
            return "USD";
        case Measure::concurrency:
            return "executions at once";
    }
    return {};
}

std::string per(const ProviderLimit& limit) {
    if (limit.of == Measure::concurrency) return {};
    using namespace std::chrono;
    if (limit.per == seconds{1}) return " per second";
    if (limit.per == minutes{1}) return " per minute";
    if (limit.per == hours{1}) return " per hour";
    if (limit.per == hours{24}) return " per day";
    return " in " + std::to_string(duration_cast<seconds>(limit.per).count()) + " s";
}
}

std::string allowed(const ProviderLimit& limit, std::int64_t amount) {
    return shown(limit.of, amount) + " " + std::string(unit(limit.of)) + per(limit);
}

std::optional<std::string> never_given(const ProviderLimit& limit, std::int64_t amount) {
    // A capacity of 0 is a limit that only a newer hub understands.
    if (amount <= limit.most_of_one() || limit.capacity() == 0) return std::nullopt;
    const bool of_key = limit.keyed() && limit.ceiling < limit.capacity();
    return "asks " + shown(limit.of, amount) + " of " + allowed(limit, of_key ? limit.ceiling : limit.limit) +
           (of_key ? " for each " + limit.key : "") + ", " + std::string(kNeverGiven);
}

std::optional<std::string> never_fits(const std::vector<Provider>& providers, const std::vector<domain::Need>& needs) {
    for (const auto& provider : providers)
        for (const auto& need : needs)
            if (need.provider == provider.name)
                for (const auto& limit : provider.limits)
                    if (const auto why = never_given(limit, limit.amount(need)))
                        return *why + " (" + limit.name + " of " + provider.name +
                               "); ask for less at a time, or raise the limit";
    return std::nullopt;
}

std::int64_t ProviderRate::asked(const Demand& demand) const {
    for (const auto& need : demand.needs)
        if (need.provider == provider) return meter->limit().amount(need);
    return 0;
}

std::optional<Gate> ProviderRate::check(const Demand& demand, TimePoint now) const {
    const auto& limit = meter->limit();
    const std::int64_t amount = asked(demand);
    if (amount == 0) return std::nullopt;
    const auto fits = meter->fits_at(amount + taken, now);
    if (fits && *fits <= now && !kept) return std::nullopt;

    const std::string all = allowed(limit, limit.limit);
    const std::int64_t used = meter->used(now) + taken;
    Gate gate;
    gate.kind = GateKind::provider;
    gate.subject = provider + " " + limit.name;
    gate.numbers = {{"asks", shown(limit.of, amount)},
                    {"used", shown(limit.of, used)},
                    {"in_flight", shown(limit.of, meter->in_flight() + taken)},
                    {"limit", shown(limit.of, limit.limit)}};
    if (limit.capacity() == 0) {
        // provider_json.cc, stored_limits.
        gate.detail = "its limits were set by a newer version than this node's; upgrade this node, or set them again " +
                      std::string("with PUT /v1/providers/") + provider;
        return gate;
    }
    if (const auto never = never_given(limit, amount)) {
        gate.detail = *never + "; raise the limit or lower what the workflow type needs";
        return gate;
    }
    gate.opens_at = fits && *fits > now ? fits : std::nullopt;
    gate.detail = shown(limit.of, used) + " of " + all + " are used and " + shown(limit.of, amount) + " more asked";
    if (kept) {
        gate.detail = all + ": " + std::string(kKeptForAnother);
    } else if (gate.opens_at) {
        gate.detail += "; fits at " + domain::rfc3339(*gate.opens_at);
    } else {
        gate.detail += "; fits when requests under way have ended";
    }
    return gate;
}

}
