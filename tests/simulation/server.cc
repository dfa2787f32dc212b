#include "simulation/server.h"

#include "simulation/auditor.h"
#include "simulation/process.h"
#include "simulation/transaction.h"
#include "simulation/world.h"

namespace impresario::simulation {

using domain::Duration;
using platform::DatabaseInDoubt;
using platform::DatabaseUnavailable;
using platform::StatementRefused;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {
/// More than any world needs: something asks again and again.
constexpr std::size_t kMostTransactions = 60000;

template <class Failure, class... Args>
std::exception_ptr failure(Args&&... args) {
    return std::make_exception_ptr(Failure(std::forward<Args>(args)...));
}

platform::SteadyPoint steady(domain::TimePoint at) { return platform::SteadyPoint{at.time_since_epoch()}; }
}

bool Server::away() const { return world_.now() < away_until_; }

void Server::go_away(Duration length) { away_until_ = std::max(away_until_, world_.now() + length); }

void Server::ask(Process& by, platform::DatabaseClock* clock, Asked asked) {
    if (++world_.report().transactions > kMostTransactions)
        return world_.fail("P7", "the hub asks the database without end");
    if (by.cut_off() || away() || by.partitioned() || world_.over()) {
        const auto wait = by.cut_off() ? milliseconds{1} : chance_.between(milliseconds{1}, milliseconds{300});
        world_.after(wait, [answer = std::move(asked.answer)] {
            answer(failure<DatabaseUnavailable>("the database cannot be reached"));
        });
        return;
    }
    const auto sent = world_.now();
    auto travel = chance_.delay(microseconds{1200}, milliseconds{60});
    if (chance_.happens(world_.weather().slow)) travel = chance_.between(milliseconds{5}, milliseconds{1500});
    // now() is when the transaction began; it may have waited since, for a lock.
    const auto begun = sent + travel / 4;
    if (asked.transaction && clock) clock->learn(begun, steady(sent), steady(sent + travel / 2));
    world_.after(travel, [this, &by, begun, asked = std::move(asked)]() mutable { run(by, begun, std::move(asked)); });
}

Server::Fate Server::fate_of(Process& by, const Asked& asked) {
    const bool broken = by.cut_off() || away() || by.partitioned();
    if (broken) {
        if (!asked.transaction) return Fate::unavailable;
        const double drawn = chance_.unit();
        return drawn < 0.4   ? Fate::unavailable
               : drawn < 0.6 ? Fate::doubt_lost
               : drawn < 0.8 ? Fate::doubt_done
                             : Fate::doubt_late;
    }
    if (world_.healed()) return Fate::done;
    const auto& weather = world_.weather();
    double drawn = chance_.unit();
    const auto falls = [&](double share) {
        drawn -= share;
        return drawn < 0;
    };
    if (falls(weather.unavailable)) return Fate::unavailable;
    if (falls(weather.refused_for_now)) return Fate::refused;
    if (!asked.transaction) return Fate::done;
    if (falls(weather.doubt_lost)) return Fate::doubt_lost;
    if (falls(weather.doubt_done)) return Fate::doubt_done;
    if (falls(weather.doubt_late)) return Fate::doubt_late;
    return Fate::done;
}

void Server::run(Process& by, domain::TimePoint begun, Asked asked) {
    const Fate fate = fate_of(by, asked);
    std::exception_ptr told;
    switch (fate) {
        case Fate::unavailable:
            told = failure<DatabaseUnavailable>("the connection broke");
            break;
        case Fate::refused:
            told = failure<StatementRefused>("canceling statement due to lock timeout", "55P03");
            break;
        case Fate::doubt_lost:
            told = failure<DatabaseInDoubt>("the connection broke during a commit");
            break;
        case Fate::done:
        case Fate::doubt_done:
        case Fate::doubt_late: {
            auto& tables = world_.tables();
            // Where it may yet be undone it works on a copy: a reservation may be refused after other writes.
            const bool deferred = fate == Fate::doubt_late ||
                                  (asked.transaction && (!tables.poisoned.empty() || !tables.budgets.empty()));
            std::optional<Tables> copy;
            std::optional<Transaction> made;
            const auto try_it = [&] {
                if (deferred) copy = tables;
                made.emplace(deferred ? *copy : tables, deferred ? nullptr : &world_.auditor(), begun, world_.now(),
                             by.id(), ++xid_);
                if (!deferred) world_.auditor().begin(*made);
                asked.body(*made);
            };
            try {
                try {
                    try_it();
                } catch (const platform::TryAgain&) {
                    if (!deferred) throw;
                    try_it();
                }
            } catch (...) {
                told = std::current_exception();
                if (!deferred && made->wrote) world_.fail("simulation", "what was written cannot be undone");
            }
            Transaction& tx = *made;
            if (fate == Fate::doubt_late && !told) {
                const auto wait =
                    chance_.between(milliseconds{1}, chance_.happens(0.2) ? seconds{3} : milliseconds{50});
                for (const auto& id : tx.locked) {
                    auto& until = tables.locked[id];
                    until = std::max(until, world_.now() + wait + microseconds{1});
                }
                auto& line = tables.scheduler;
                const auto until = world_.now() + wait + microseconds{1};
                if (tx.shares_scheduler) line.shared_until = std::max(line.shared_until, until);
                if (tx.locks_scheduler) line.locked_until = std::max(line.locked_until, until);
                if (tx.locks_budgets) tables.budgets_locked_until = std::max(tables.budgets_locked_until, until);
                auto late =
                    std::make_shared<Transaction>(tables, &world_.auditor(), begun, world_.now(), by.id(), tx.xid());
                late->redo = std::move(tx.redo);
                late->notices = std::move(tx.notices);
                world_.after(wait, [this, late] {
                    world_.auditor().begin(*late);
                    for (const auto& write : late->redo) write(late->tables(), &world_.auditor());
                    commit(*late);
                });
            } else if (!told) {
                if (deferred) {
                    Transaction real(tables, &world_.auditor(), begun, world_.now(), by.id(), tx.xid());
                    world_.auditor().begin(real);
                    for (const auto& write : tx.redo) write(tables, &world_.auditor());
                    real.notices = std::move(tx.notices);
                    commit(real);
                } else {
                    commit(tx);
                }
                // Its locks go with its commit, which others may see a moment later.
                if (asked.transaction && !world_.healed() && chance_.happens(0.05))
                    for (const auto& id : tx.locked) {
                        auto& until = tables.locked[id];
                        until = std::max(until, world_.now() + chance_.between(microseconds{100}, milliseconds{4}));
                    }
            }
            if (fate != Fate::done && !told) told = failure<DatabaseInDoubt>("the connection broke during a commit");
            break;
        }
    }
    auto travel = chance_.delay(microseconds{800}, milliseconds{40});
    if (chance_.happens(world_.weather().slow)) travel = chance_.between(milliseconds{5}, milliseconds{1000});
    world_.after(travel, [answer = std::move(asked.answer), told] { answer(told); });
}

void Server::commit(Transaction& tx) {
    world_.auditor().commit();
    for (const auto& notice : tx.notices)
        for (auto& process : world_.processes()) {
            if (!world_.healed() && chance_.happens(world_.weather().lost_notice)) continue;
            world_.after(chance_.delay(milliseconds{2}, milliseconds{300}),
                         [p = process.get(), notice] { p->hear(notice); });
        }
}

void Server::prompt(const std::function<void(Transaction&)>& body) {
    Transaction tx(world_.tables(), &world_.auditor(), world_.now(), world_.now(), {}, ++xid_);
    world_.auditor().begin(tx);
    body(tx);
    commit(tx);
}

}
