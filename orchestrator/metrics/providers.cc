#include "orchestrator/metrics/providers.h"

#include <algorithm>

#include "orchestrator/board.h"

namespace impresario::orchestrator::metrics {

void Providers::show(const Board& board, domain::TimePoint now) {
    for (const auto& each : board.meters().all()) {
        const auto& declared = each.meter->limit();
        const double unit = declared.of == resource_manager::Measure::cost ? 1e6 : 1;
        const auto next = each.meter->fits_at(1, now);
        const platform::LabelValues of{each.provider, declared.name, each.subject};
        limit_used.set(of, static_cast<double>(each.meter->used(now)) / unit);
        limit.set(of, static_cast<double>(declared.capacity()) / unit);
        const auto left = std::max<std::int64_t>(0, declared.capacity() - each.meter->used(now));
        headroom.set(of, static_cast<double>(left) / unit);
        refill.set(of, next ? domain::in_seconds(*next - now) : -1);
        if (!each.keys) continue;
        // How many, never which: there may be a million.
        keys.set({each.provider, declared.name, each.subject, "in_use"}, static_cast<double>(each.keys->size()));
        keys.set({each.provider, declared.name, each.subject, "waiting"}, static_cast<double>(each.keys->waiting()));
    }
    for (const auto& [provider, weather] : board.meters().weather()) {
        const auto& record = weather.record();
        auto until = now;
        if (weather.cooling(now)) until = *record.cooling_until;
        if (weather.left(now) == 0) until = std::max(until, record.quota->until);
        cooling.set({provider}, domain::in_seconds(until - now));
        learnt.set({provider}, static_cast<double>(weather.allowed(now).value_or(-1)));
    }
    show_nothing();
}

void Providers::show_nothing() {
    for (auto* gauge : {&limit_used, &limit, &headroom, &refill, &keys, &cooling, &learnt}) gauge->drop_unset();
}

}
