#include "simulation/troubles.h"

#include "simulation/process.h"
#include "simulation/server.h"

namespace impresario::simulation {

using domain::Duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

void Troubles::every(Duration mean, void (Troubles::*trouble)()) {
    if (mean.count() == 0) return;
    world_.after(chance_.between(mean / 5, mean * 2), [this, mean, trouble] {
        if (ended_ || world_.over()) return;
        (this->*trouble)();
        every(mean, trouble);
    });
}

void Troubles::start() {
    const auto& weather = world_.weather();
    every(weather.crashes, &Troubles::crash);
    every(weather.pauses, &Troubles::stop);
    every(weather.lost_sessions, &Troubles::lose_session);
    every(weather.partitions, &Troubles::part);
    every(weather.outages, &Troubles::outage);
    every(weather.held_rows, &Troubles::hold_row);
    every(weather.poisoned_rows, &Troubles::poison_row);
}

void Troubles::end() {
    ended_ = true;
    world_.server().mend();
    world_.tables().held.clear();
    world_.tables().held_lanes.clear();
    world_.tables().poisoned.clear();
    bool any = false;
    for (auto& process : world_.processes()) {
        process->mend();
        any = any || !process->leaving();
    }
    if (!any) world_.start_process();
}

Process* Troubles::some_process() {
    const auto open = world_.open_processes();
    if (open.empty()) return nullptr;
    // The scheduler more often than the others.
    if (auto* leader = world_.leader(); leader && leader->open() && chance_.happens(0.4)) return leader;
    return chance_.pick(open);
}

void Troubles::crash() {
    auto* process = some_process();
    if (!process) return;
    if (chance_.happens(0.2)) {
        process->terminate();
    } else {
        process->crash(chance_.happens(0.7));
    }
    world_.after(chance_.happens(0.7) ? chance_.between(milliseconds{200}, seconds{3})
                                      : chance_.between(seconds{3}, seconds{30}),
                 [this] {
                     if (!ended_ && !world_.over()) world_.start_process();
                 });
}

void Troubles::stop() {
    auto* process = some_process();
    if (!process || process->stopped()) return;
    process->stop();
    world_.after(
        chance_.happens(0.5) ? chance_.between(milliseconds{50}, seconds{3}) : chance_.between(seconds{3}, seconds{40}),
        [process] { process->go_on(); });
}

void Troubles::lose_session() {
    if (auto* process = some_process())
        process->lose_session(chance_.happens(0.6) ? chance_.between(milliseconds{1}, milliseconds{900})
                                                   : chance_.between(seconds{1}, seconds{8}));
}

void Troubles::part() {
    if (auto* process = some_process()) process->part(chance_.between(milliseconds{200}, seconds{25}));
}

void Troubles::outage() {
    const auto length = chance_.between(milliseconds{300}, seconds{20});
    world_.tell("the database is away for " + domain::human(length));
    world_.server().go_away(length);
    world_.trouble_for(length);
}

void Troubles::hold_row() {
    const auto& all = world_.tables().executions;
    if (all.empty()) return;
    auto any = all.begin();
    std::advance(any, chance_.between(0, static_cast<int>(all.size()) - 1));
    const auto length =
        chance_.happens(0.7) ? chance_.between(milliseconds{10}, seconds{2}) : chance_.between(seconds{2}, seconds{12});
    world_.tell("somebody holds " + any->first.text().substr(24) + " for " + domain::human(length));
    auto& until = world_.tables().held[any->first];
    until = std::max(until, world_.now() + length);
    if (chance_.happens(0.2)) world_.tables().held_lanes[any->second.lane] = world_.now() + length;
}

void Troubles::poison_row() {
    const auto& all = world_.tables().executions;
    if (all.empty()) return;
    auto any = all.begin();
    std::advance(any, chance_.between(0, static_cast<int>(all.size()) - 1));
    const auto id = any->first;
    const auto length = chance_.between(seconds{1}, seconds{10});
    world_.tell(id.text().substr(24) + " cannot be written for " + domain::human(length));
    world_.tables().poisoned[id] = world_.now() + length;
    world_.after(length, [this, id] { world_.tables().poisoned.erase(id); });
}

}
