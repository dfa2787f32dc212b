#include "orchestrator/retention.h"

#include <algorithm>
#include <limits>

#include "platform/log.h"
#include "resource_manager/usage_store.h"
#include "schedules/timer_store.h"
#include "webhooks/attempt_store.h"

namespace impresario::orchestrator {

namespace log = platform::log;
using domain::ExecutionId;
using domain::Family;
using domain::TimePoint;
using journal::RetentionStore;
using platform::Task;
using platform::Tx;
using priority_queue::EndedStore;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {
/// Families of one look, and executions of one transaction (or one family, if that is larger).
constexpr int kPage = 500;
constexpr std::size_t kMostRemoved = 200;
/// After a step it rests for so many times as long as the step took, and at least so long: it is nobody's rival.
constexpr int kRest = 4;
constexpr milliseconds kShortestRest{20};
/// After somebody has come to lead.
constexpr seconds kSettling{60};
/// While the database or the hub is short of something.
constexpr seconds kPressed{5};
constexpr seconds kTroublePause{2};
/// Whether its time has come is looked at this often.
constexpr seconds kLook{1};
constexpr auto kAnywhere = std::numeric_limits<std::int64_t>::max();

struct Look {
    std::vector<Family> families;
    std::int64_t told = 0;
};

Look look(Tx& tx, const std::string& organization_id, const EndedStore::Place& after, TimePoint before) {
    Look look;
    look.told = RetentionStore().told(tx, organization_id);
    look.families = EndedStore().families(tx, organization_id, after, before, kPage);
    return look;
}

EndedStore::Place end_of(const std::vector<Family>& families) {
    return {families.back().created, families.back().members.front().id};
}
}

Retention::Retention(Node& node, Hub& hub, RetentionSettings settings)
    : LeaderLoop(node, hub, "what may go has to wait"), settings_(std::move(settings)) {}

Task<steady_clock::duration> Retention::turn() {
    if (hub_.epoch() != epoch_) {
        // Who has just come to lead has more urgent things to do.
        epoch_ = hub_.epoch();
        next_ = steady_clock::now() + std::min<steady_clock::duration>(settings_.every, kSettling);
    }
    if (steady_clock::now() < next_) co_return kLook;
    bool whole = false;
    try {
        co_await pass();
        whole = true;
        troubled_ = false;
    } catch (const platform::StatementRefused& refused) {
        if (!std::exchange(troubled_, true))
            log::warn("what ended long ago stays: the database refuses to look for it or to remove it",
                      {{"error", refused.what()}, {"next", "it is tried again and again"}});
    } catch (const std::exception& e) {
        log::debug("what may go has to wait", {{"error", e.what()}});
    }
    next_ =
        steady_clock::now() + (whole ? steady_clock::duration(settings_.every) : steady_clock::duration(kTroublePause));
    co_return kLook;
}

/// What stops at one organization does not keep the others from being looked at.
Task<void> Retention::pass() {
    const auto begun = steady_clock::now();
    auto asking = node_.database().read(
        [](Tx& tx) { return std::pair(EndedStore().organizations(tx), RetentionStore().standing(tx)); });
    const auto [organizations, before] = co_await std::move(asking);
    std::exception_ptr failure;
    if (settings_.policy.shortest())
        for (const auto& organization : organizations) {
            try {
                co_await pass_organization(organization);
            } catch (...) {
                failure = std::current_exception();
            }
        }
    if (settings_.policy.events) {
        co_await pass_timers();
        co_await pass_events();
    }
    if (failure) std::rethrow_exception(failure);
    if (!goes_on()) co_return;
    const auto took = std::chrono::duration<double>(steady_clock::now() - begun).count();
    auto noting = node_.database().transact([this, epoch = epoch_, took](Tx& tx) {
        SchedulerStore().fence(tx, epoch, node_.id());
        RetentionStore().note_pass(tx, took);
        return RetentionStore().standing(tx);
    });
    const auto after = co_await std::move(noting);
    if (after.executions > before.executions || after.events > before.events)
        log::info("what has ended long ago was removed", {{"executions", after.executions - before.executions},
                                                          {"events", after.events - before.events},
                                                          {"latency_ms", static_cast<std::int64_t>(took * 1000)}});
}

/// Rests, and waits while something is short.
Task<void> Retention::rest(steady_clock::duration took) {
    co_await pause(std::max<steady_clock::duration>(took * kRest, kShortestRest));
    while (goes_on() && hub_.batch_limit() < hub_.max_batch_size()) co_await pause(kPressed);
}

Task<void> Retention::pass_organization(std::string organization_id) {
    EndedStore::Place place;
    for (;;) {
        if (!goes_on()) co_return;
        const auto begun = steady_clock::now();
        const auto now = node_.clock().now();
        auto looking = node_.database().read([organization_id, place, before = now - *settings_.policy.shortest()](
                                                 Tx& tx) { return look(tx, organization_id, place, before); });
        const auto seen = co_await std::move(looking);
        if (seen.families.empty()) co_return;
        place = end_of(seen.families);
        const bool last = seen.families.size() < static_cast<std::size_t>(kPage);
        co_await rest(steady_clock::now() - begun);
        std::vector<ExecutionId> firsts;
        std::size_t members = 0;
        for (const auto& family : seen.families) {
            const auto at = journal::goes_at(settings_.policy, family, seen.told);
            if (!at || *at > now) continue;
            if (!firsts.empty() && members + family.members.size() > kMostRemoved) {
                co_await remove_all(organization_id, firsts);
                firsts.clear();
                members = 0;
                if (!goes_on()) co_return;
            }
            firsts.push_back(family.members.front().id);
            members += family.members.size();
        }
        if (!firsts.empty()) co_await remove_all(organization_id, firsts);
        if (last) co_return;
    }
}

/// Where the database refuses some together, each is tried by itself: one that cannot go keeps nobody else.
Task<void> Retention::remove_all(const std::string& organization_id, const std::vector<ExecutionId>& firsts) {
    std::string refused;
    try {
        co_await remove(organization_id, firsts);
    } catch (const platform::StatementRefused& refusal) {
        refused = refusal.what();
    }
    if (refused.empty()) co_return;
    for (const auto& first : firsts) {
        if (!goes_on()) co_return;
        refused.clear();
        const std::vector<ExecutionId> one{first};
        try {
            co_await remove(organization_id, one);
        } catch (const platform::StatementRefused& refusal) {
            refused = refusal.what();
        }
        if (!refused.empty())
            log::warn("what ended long ago could not be removed",
                      {{"execution_id", first}, {"error", refused}, {"next", "the others go on; it is tried again"}});
    }
}

/// Decides once more, now that nothing can change about them.
Task<void> Retention::remove(const std::string& organization_id, const std::vector<ExecutionId>& firsts) {
    const auto begun = steady_clock::now();
    auto removing = node_.database().transact([this, epoch = epoch_, organization_id, firsts](Tx& tx) {
        const auto now = SchedulerStore().fence(tx, epoch, node_.id());
        const RetentionStore journal;
        journal.lock(tx);
        const auto told = journal.told(tx, organization_id);
        std::vector<ExecutionId> going;
        std::int64_t last = 0;
        const auto families = EndedStore().lock(tx, firsts);
        for (const auto& family : families) {
            const auto at = journal::goes_at(settings_.policy, family, told);
            if (!at || *at > now) continue;
            for (const auto& member : family.members) {
                going.push_back(member.id);
                // Of one without its last event, what is there may be anywhere.
                last = std::max(last, member.last_event > 0 ? member.last_event : kAnywhere);
            }
        }
        if (going.empty()) return std::pair<std::int64_t, std::int64_t>{};
        journal.sum_up(tx, going);
        const auto events = journal.remove_events(tx, going, last);
        webhooks::AttemptStore().remove(tx, going);
        resource_manager::UsageStore().remove(tx, going);
        EndedStore().remove(tx, going);
        return std::pair(static_cast<std::int64_t>(going.size()), events);
    });
    const auto [executions, events] = co_await std::move(removing);
    node_.probe().removed(static_cast<std::size_t>(executions), static_cast<std::size_t>(events));
    co_await rest(steady_clock::now() - begun);
}

/// As long as their events are kept they can be read by name.
Task<void> Retention::pass_timers() {
    while (goes_on()) {
        const auto begun = steady_clock::now();
        auto forgetting = node_.database().transact([this, epoch = epoch_, age = *settings_.policy.events](Tx& tx) {
            SchedulerStore().fence(tx, epoch, node_.id());
            return schedules::TimerStore().forget(tx, age);
        });
        const auto gone = co_await std::move(forgetting);
        if (gone == 0) co_return;
        co_await rest(steady_clock::now() - begun);
    }
}

Task<void> Retention::pass_events() {
    std::int64_t after = 0;
    while (goes_on()) {
        const auto begun = steady_clock::now();
        auto looking = node_.database().read([after, age = *settings_.policy.events](Tx& tx) {
            const RetentionStore journal;
            return journal.old_events(tx, after, age, journal.told(tx, ""));
        });
        const auto old = co_await std::move(looking);
        if (!old.numbers.empty()) {
            auto forgetting = node_.database().transact([this, epoch = epoch_, numbers = old.numbers](Tx& tx) {
                SchedulerStore().fence(tx, epoch, node_.id());
                const RetentionStore journal;
                journal.lock(tx);
                // Somebody may have asked meanwhile to be told again.
                if (journal.told(tx, "") < numbers.back()) return std::int64_t{0};
                return journal.forget_events(tx, numbers);
            });
            const auto events = co_await std::move(forgetting);
            node_.probe().removed(0, static_cast<std::size_t>(events));
        }
        if (!old.until) co_return;
        after = *old.until;
        co_await rest(steady_clock::now() - begun);
    }
}

Task<RetentionPreview> Retention::preview(std::string organization_id, steady_clock::duration longest) {
    RetentionPreview preview;
    const auto until = steady_clock::now() + longest;
    const auto now = node_.clock().now();
    const auto shortest = settings_.policy.shortest();
    if (!shortest) co_return preview;
    std::vector<std::string> organizations{organization_id};
    if (organization_id.empty()) {
        auto asking = node_.database().read([](Tx& tx) { return EndedStore().organizations(tx); });
        organizations = co_await std::move(asking);
    }
    for (const auto& organization : organizations) {
        EndedStore::Place place;
        for (bool more = true; more;) {
            preview.cut = steady_clock::now() > until;
            if (preview.cut) co_return preview;
            auto looking = node_.database().read([organization, place, before = now - *shortest](Tx& tx) {
                return look(tx, organization, place, before);
            });
            const auto seen = co_await std::move(looking);
            more = seen.families.size() == static_cast<std::size_t>(kPage);
            if (seen.families.empty()) continue;
            place = end_of(seen.families);
            std::vector<ExecutionId> going;
            for (const auto& family : seen.families) {
                const auto at = journal::goes_at(settings_.policy, family, seen.told);
                const bool goes = at && *at <= now;
                const auto& first = family.members.front();
                const auto& age = settings_.policy.of(first.status);
                if (!goes && age && first.ended && *first.ended + *age <= now) ++preview.held;
                if (!goes) continue;
                for (const auto& member : family.members) going.push_back(member.id);
            }
            if (going.empty()) continue;
            struct Counted {
                std::vector<EndedStore::Size> sizes;
                std::vector<EndedStore::Count> counts;
            };
            auto counting = node_.database().read([going](Tx& tx) {
                return Counted{EndedStore().sizes(tx, going), EndedStore().counts(tx, going)};
            });
            const auto counted = co_await std::move(counting);
            for (const auto& each : counted.counts) preview.executions[{each.lane, each.status}] += each.executions;
            for (const auto& each : counted.sizes) {
                auto& size = preview.sizes[each.table];
                size.rows += each.rows;
                size.bytes += each.bytes;
            }
        }
    }
    co_return preview;
}

}
