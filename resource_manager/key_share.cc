// Of the limiters the one about what each key may have of a limit.
#include <algorithm>

#include "domain/limit_keys.h"
#include "resource_manager/limiter.h"

namespace impresario::resource_manager {

using domain::Demand;
using domain::Gate;
using domain::GateKind;
using domain::TimePoint;

namespace {
/// What a start is expected to ask is learnt anew meanwhile.
constexpr std::chrono::seconds kPriceHolds{10};

std::tuple<domain::Lane, std::string, std::string> same_keys(const Demand& demand) {
    return {demand.lane, demand.concurrency_key, demand.limit_keys};
}
}

std::string KeyShare::key(const Demand& demand) const { return domain::limit_key(demand.limit_keys, pointer); }

std::int64_t KeyShare::asked(const Demand& demand) const {
    for (const auto& need : demand.needs)
        if (need.provider == provider) return meter->limit().amount(need);
    return 0;
}

std::int64_t KeyShare::claimed_by_others(const std::string& key, TimePoint now) const {
    const auto& limit = meter->limit();
    if (limit.guaranteed == 0) return 0;
    // Beyond that nobody goes past his guarantee, whatever this turn grants: each grant takes from both.
    const auto enough = std::max<std::int64_t>(0, limit.capacity() - meter->used(now)) + 2 * limit.guaranteed;
    if (!claimed) claimed = keys->claimed(enough, now);
    const auto mine = taken_by.find(key);
    const auto own = keys->claim(key, now) - (mine == taken_by.end() ? 0 : mine->second);
    const auto others = *claimed - claimed_taken - std::max<std::int64_t>(0, own);
    return std::max<std::int64_t>(0, others);
}

std::optional<Gate> KeyShare::check(const Demand& demand, TimePoint now) const {
    const auto& limit = meter->limit();
    const std::string key = this->key(demand);
    const auto amount = asked(demand);
    const auto keeper = kept.find(key);
    const bool before = held.contains(same_keys(demand));
    const bool kept_for_another = amount > 0 && keeper != kept.end() && keeper->second != demand.lane;
    if (amount == 0 && !before) return std::nullopt;

    const auto mine = taken_by.find(key);
    const auto taken_now = mine == taken_by.end() ? 0 : mine->second;
    const auto used = keys->used(key, now) + taken_now;
    const auto fits = keys->fits_at(key, amount + taken_now, now);
    const bool below_ceiling = fits && *fits <= now;
    const bool beyond = used + amount > limit.guaranteed;
    const auto others = beyond ? claimed_by_others(key, now) : 0;
    // Where nothing was to be left for others it is the limit itself that is full: that is all lanes' gate. What they
    // have been given since does not change whose gate it is.
    const bool leaving = beyond && claimed && *claimed > keys->claim(key, now);
    const auto leaves_room = leaving ? meter->fits_at(amount + taken + others, now) : std::optional(now);
    const bool leaves = leaves_room && *leaves_room <= now;
    if (below_ceiling && leaves && !before && !kept_for_another) return std::nullopt;

    Gate gate;
    gate.kind = GateKind::key_limit;
    gate.subject = provider + " " + limit.name + (key.empty() ? "" : " " + key);
    gate.numbers = {{"key", key},
                    {"asks", shown(limit.of, amount)},
                    {"used", shown(limit.of, used)},
                    {"in_flight", shown(limit.of, keys->in_flight(key) + taken_now)},
                    {"ceiling", shown(limit.of, limit.ceiling)},
                    {"guaranteed", shown(limit.of, limit.guaranteed)},
                    {"limit", shown(limit.of, limit.limit)}};
    const std::string whose = key.empty() ? "those without " + limit.key : limit.key + " = " + key;
    if (const auto never = amount > limit.ceiling ? never_given(limit, amount) : std::nullopt) {
        gate.detail = *never + "; raise the ceiling or lower what the workflow type needs";
    } else if (!below_ceiling) {
        gate.opens_at = fits && *fits > now ? fits : std::nullopt;
        gate.detail = whose + ": " + shown(limit.of, used) + " of " + allowed(limit, limit.ceiling) + " are used and " +
                      shown(limit.of, amount) + " more asked; fits " +
                      (gate.opens_at ? "at " + domain::rfc3339(*gate.opens_at) : "when requests under way have ended");
    } else if (!leaves) {
        gate.opens_at = leaves_room && *leaves_room > now ? leaves_room : std::nullopt;
        gate.numbers.emplace_back("kept", shown(limit.of, others));
        gate.detail = whose + " has had the " + shown(limit.of, limit.guaranteed) +
                      " that are guaranteed to it, and of " + allowed(limit, limit.limit) +
                      " what is left is kept for others who wait for theirs";
    } else if (kept_for_another) {
        gate.detail = whose + ": what comes free is kept for one of another lane that has waited beyond its max_wait";
    } else {
        gate.detail = "others with " + whose + " go first";
    }
    return gate;
}

std::optional<TimePoint> KeyShare::closed_until(const Demand& demand, TimePoint now) const {
    const auto key = this->key(demand);
    const auto fits = [&](std::int64_t amount) { return keys->fits_at(key, amount, now).value_or(TimePoint::max()); };
    if (const auto anything = fits(1); anything > now) return anything;
    // What it lacks has to be kept for it.
    if (demand.starving) return std::nullopt;
    const auto its = fits(asked(demand));
    if (its <= now) return std::nullopt;
    return std::min(its, now + kPriceHolds);
}

void KeyShare::take(const Demand& demand, Granted&, TimePoint now) {
    const auto amount = asked(demand);
    if (amount == 0) return;
    const auto key = this->key(demand);
    auto& mine = taken_by[key];
    claimed_taken += std::clamp<std::int64_t>(keys->claim(key, now) - mine, 0, amount);
    mine += amount;
    taken += amount;
}

void KeyShare::hold(const Demand& demand, TimePoint now) {
    held.insert(same_keys(demand));
    left_room = left_room || meter->limit().guaranteed > 0;
    if (!demand.starving) return;
    // What is left for the guarantees of others, who may have this key too, is theirs: kept from them nobody went.
    const auto amount = asked(demand);
    if (amount > 0 && amount <= meter->limit().most_of_one() && !below_ceiling(demand, now))
        kept.try_emplace(key(demand), demand.lane);
}

bool KeyShare::below_ceiling(const Demand& demand, TimePoint now) const {
    const auto key = this->key(demand);
    const auto mine = taken_by.find(key);
    const auto fits = keys->fits_at(key, asked(demand) + (mine == taken_by.end() ? 0 : mine->second), now);
    return fits && *fits <= now;
}

}
