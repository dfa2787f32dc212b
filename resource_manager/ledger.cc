#include "resource_manager/ledger.h"

#include <algorithm>

#include "domain/name_table.h"

namespace impresario::resource_manager {

using domain::MicroUsd;

namespace {

constexpr domain::NameTable<MovementKind, 6> kKinds{{
    {MovementKind::reserve, "reserve"},
    {MovementKind::top_up, "top_up"},
    {MovementKind::suspend, "suspend"},
    {MovementKind::settle, "settle"},
    {MovementKind::release, "release"},
    {MovementKind::correct, "correct"},
}};

/// Each part in the window where the attempt's money is, and each holding that no part speaks of with nothing asked.
struct Place {
    domain::BudgetId budget;
    BudgetWindow window;
    Balance held;
    std::optional<MicroUsd> amount;
};

std::vector<Place> places(const AttemptAccount& account, const std::vector<Part>& parts) {
    std::vector<Place> places;
    places.reserve(account.holdings().size() + parts.size());
    // The last holding of a budget is the one that its money went to last.
    for (const auto& holding : account.holdings()) {
        const auto same = [&](const Place& place) { return place.budget == holding.budget; };
        if (const auto known = std::find_if(places.begin(), places.end(), same); known != places.end())
            places.erase(known);
        places.push_back({holding.budget, holding.window, holding.balance, std::nullopt});
    }
    for (const auto& part : parts) {
        const auto same = [&](const Place& place) { return place.budget == part.budget; };
        const auto known = std::find_if(places.begin(), places.end(), same);
        if (known != places.end()) {
            known->amount = part.amount;
        } else {
            places.push_back({part.budget, part.window, {}, part.amount});
        }
    }
    return places;
}

/// Its own word came first: what SQL has closed is settled later, and knows less.
bool corrected(const std::vector<Holding>& holdings) {
    const auto waits = [](const Holding& each) { return each.balance.reserved + each.balance.suspense != MicroUsd{0}; };
    const auto settled = [](const Holding& each) { return each.balance.settled != MicroUsd{0}; };
    return std::any_of(holdings.begin(), holdings.end(), settled) &&
           std::none_of(holdings.begin(), holdings.end(), waits);
}

MicroUsd minus(MicroUsd amount) { return MicroUsd{0} - amount; }

LedgerEntry entry(const Place& place, Balance change) {
    return {place.budget, place.window, minus(change.settled + change.reserved + change.suspense), change};
}

/// What the place's balance changes by; nullopt: not at all, and nothing is worth an entry.
std::optional<Balance> change(MovementKind kind, const Place& place, bool estimated = false) {
    const auto& held = place.held;
    const MicroUsd waiting = held.reserved + held.suspense;
    Balance moved;
    switch (kind) {
        case MovementKind::reserve:
            // Free things too: what they turn out to cost belongs to this window.
            if (!place.amount) return std::nullopt;
            moved.reserved = *place.amount;
            return moved;
        case MovementKind::top_up:
            moved.reserved = std::max(MicroUsd{0}, place.amount.value_or(MicroUsd{0}) - waiting);
            break;
        case MovementKind::suspend:
            moved.reserved = minus(held.reserved);
            moved.suspense = held.reserved;
            break;
        case MovementKind::release:
            moved.reserved = minus(held.reserved);
            moved.suspense = minus(held.suspense);
            break;
        case MovementKind::settle:
        case MovementKind::correct:
            moved.reserved = minus(held.reserved);
            moved.suspense = minus(held.suspense);
            moved.settled = (estimated ? waiting : place.amount.value_or(MicroUsd{0})) - held.settled;
            break;
    }
    if (moved == Balance{}) return std::nullopt;
    return moved;
}

}

std::string_view name(MovementKind kind) { return domain::name_in(kKinds, kind); }

std::optional<MovementKind> parse_movement_kind(std::string_view text) { return domain::value_in(kKinds, text); }

bool AttemptAccount::has(MovementKind kind, int ordinal) const {
    return std::find(booked_.begin(), booked_.end(), std::pair{kind, ordinal}) != booked_.end();
}

void AttemptAccount::book(MovementKind kind, int ordinal, const LedgerEntry& entry) {
    // Entries of one movement follow each other.
    if (booked_.empty() || booked_.back() != std::pair{kind, ordinal}) booked_.emplace_back(kind, ordinal);
    const auto same = [&](const Holding& holding) {
        return holding.budget == entry.budget && holding.window == entry.window;
    };
    auto holding = std::find_if(holdings_.begin(), holdings_.end(), same);
    if (holding == holdings_.end()) holding = holdings_.insert(holdings_.end(), {entry.budget, entry.window, {}});
    holding->balance += entry.change;
    // What was reserved last is where later movements go.
    if (kind == MovementKind::reserve) std::rotate(holding, holding + 1, holdings_.end());
}

std::vector<Part> parts(const std::vector<BudgetState>& budgets, const domain::Demand& demand, domain::TimePoint at) {
    std::vector<Part> parts;
    parts.reserve(budgets.size());
    for (const auto& each : budgets)
        if (const auto share = each.budget.scope.share(demand))
            parts.push_back({each.budget.id, window_at(each.budget.window, at), *share});
    return parts;
}

bool same_money(const domain::Demand& a, const domain::Demand& b) {
    return a.cost == b.cost && a.guessed == b.guessed && a.lane == b.lane && a.batch == b.batch && a.needs == b.needs;
}

std::vector<Part> parts(const std::vector<BudgetRoom>& rooms, const domain::Demand& demand) {
    std::vector<Part> parts;
    parts.reserve(rooms.size());
    for (const auto& room : rooms)
        if (const auto share = room.budget().scope.share(demand))
            parts.push_back({room.budget().id, room.window(), *share});
    return parts;
}

bool take(std::vector<BudgetRoom>& rooms, const std::vector<Part>& parts, const domain::Demand& demand) {
    std::vector<BudgetRoom*> of;
    of.reserve(parts.size());
    auto room = rooms.begin();
    for (const auto& part : parts) {
        room = std::find_if(room, rooms.end(), [&](const auto& each) { return each.budget().id == part.budget; });
        // A part of none of them, or out of order: nothing says that there is room for it.
        if (room == rooms.end() || !room->allows(part.amount, demand)) return false;
        of.push_back(&*room);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) of[i]->take(parts[i].amount);
    return true;
}

void reserve(std::vector<BudgetState>& budgets, const domain::Demand& demand, domain::TimePoint at) {
    for (auto& each : budgets)
        if (const auto share = each.budget.scope.share(demand))
            each.book(window_at(each.budget.window, at), {{}, *share, {}});
}

std::vector<LedgerEntry> entries_of(const Movement& movement, const AttemptAccount& account,
                                    const std::vector<Part>& parts) {
    std::vector<LedgerEntry> entries;
    if (account.has(movement.kind, movement.ordinal)) return entries;
    if (movement.kind == MovementKind::settle && corrected(account.holdings())) return entries;
    if (movement.kind == MovementKind::reserve) {
        entries.reserve(parts.size());
        for (const auto& part : parts) {
            const Place place{part.budget, part.window, {}, part.amount};
            entries.push_back(entry(place, *change(movement.kind, place)));
        }
        return entries;
    }
    const auto all = places(account, parts);
    entries.reserve(all.size());
    for (const auto& place : all)
        if (const auto moved = change(movement.kind, place, movement.estimated))
            entries.push_back(entry(place, *moved));
    return entries;
}

}
