// Every store that the orchestrator uses, over tables in memory: what their .sql files do, told in C++. The program is
// linked with these in place of the real ones, so that apply, intake, the hub and its nodes are the real code.

#include <algorithm>

#include "journal/event_store.h"
#include "journal/metric_store.h"
#include "orchestrator/gate_store.h"
#include "orchestrator/health_store.h"
#include "orchestrator/lane_times.h"
#include "orchestrator/scheduler_store.h"
#include "orchestrator/stalled_store.h"
#include "priority_queue/dead_letter_store.h"
#include "priority_queue/queue_store.h"
#include "priority_queue/score.h"
#include "resource_manager/fairness_store.h"
#include "resource_manager/usage_store.h"
#include "resource_manager/weather_store.h"
#include "schedules/lock_store.h"
#include "simulation/auditor.h"
#include "simulation/transaction.h"
#include "simulation/world.h"
#include "subworkflows/catalogue_store.h"
#include "webhooks/attempt_store.h"

using impresario::platform::StatementRefused;
using impresario::platform::Tx;
using impresario::simulation::Auditor;
using impresario::simulation::Tables;
using impresario::simulation::Transaction;
using impresario::simulation::World;
namespace domain = impresario::domain;
using domain::Execution;
using domain::ExecutionId;
using domain::TimePoint;

namespace {

Tables& tables(Tx& tx) { return Transaction::of(tx).tables(); }

bool held(Tx& tx, const ExecutionId& id) { return tables(tx).is_locked(id, Transaction::of(tx).real_now()); }

/// As the columns would give it back.
Execution stored(Execution row) {
    if (row.attempt) row.attempt->number = row.attempts;
    return row;
}

}

// priority_queue

namespace impresario::priority_queue {

void QueueStore::insert(Tx& tx, const std::vector<NewExecution>& executions) const {
    for (const auto& each : executions) {
        Execution row = each.execution;
        row.status = domain::Status::queued;
        Transaction::of(tx).change([row](Tables& t, Auditor* auditor) {
            if (auditor) auditor->inserted(row);
            t.executions.emplace(row.id, row);
        });
    }
}

void QueueStore::insert_granted(Tx& tx, const NewExecution& granted) const {
    Transaction::of(tx).change([row = granted.execution](Tables& t, Auditor* auditor) {
        if (auditor) {
            Execution queued = row;
            queued.status = domain::Status::queued;
            queued.ready = true;
            queued.attempt.reset();
            queued.attempts = 0;
            queued.timeout_at.reset();
            queued.last_seq = 1;
            auditor->inserted(queued);
            auditor->written(queued, row, every_column());
        }
        t.executions.emplace(row.id, row);
    });
}

std::map<ExecutionId, std::string> QueueStore::trace_contexts(Tx&, const std::vector<ExecutionId>&) const { return {}; }

QueueStore::Locked QueueStore::lock(Tx& tx, const std::vector<ExecutionId>& ids) const {
    Locked locked;
    const auto now = Transaction::of(tx).now();
    for (const auto& id : ids) {
        const auto found = tables(tx).executions.find(id);
        if (found == tables(tx).executions.end()) continue;
        if (held(tx, id)) {
            locked.held.push_back(id);
        } else {
            locked.rows.push_back({stored(found->second), now});
            Transaction::of(tx).locked.push_back(id);
        }
    }
    return locked;
}

std::vector<ClaimableExecution> QueueStore::lock_claimable(Tx& tx, const std::vector<ExecutionId>& ids) const {
    std::vector<ClaimableExecution> claimable;
    for (auto& row : lock(tx, ids).rows) claimable.push_back({std::move(row.execution), "{}", "", row.now});
    return claimable;
}

std::vector<LockedExecution> QueueStore::read(Tx& tx, const std::vector<ExecutionId>& ids) const {
    std::vector<LockedExecution> rows;
    for (const auto& id : ids)
        if (const auto found = tables(tx).executions.find(id); found != tables(tx).executions.end())
            rows.push_back({stored(found->second), Transaction::of(tx).now()});
    return rows;
}

namespace {
template <class Wanted>
std::vector<LockedExecution> where(Tx& tx, Wanted wanted) {
    std::vector<LockedExecution> rows;
    for (const auto& [id, row] : tables(tx).executions)
        if (wanted(row)) rows.push_back({stored(row), Transaction::of(tx).now()});
    return rows;
}
}

std::vector<LockedExecution> QueueStore::sent_by(Tx& tx, const domain::NodeId& node) const {
    return where(tx, [&](const Execution& row) {
        return row.timeout_at && row.attempt && row.attempt->node == node &&
               row.attempt->state == domain::AttemptState::sending;
    });
}

std::vector<ClaimableExecution> QueueStore::granted_to(Tx& tx, const domain::NodeId& node) const {
    std::vector<ClaimableExecution> claimable;
    for (auto& row : where(tx, [&](const Execution& each) {
             return each.attempt && each.attempt->node == node && each.attempt->state == domain::AttemptState::granted;
         }))
        claimable.push_back({std::move(row.execution), "{}", "", row.now});
    return claimable;
}

void QueueStore::write(Tx& tx, const std::vector<const Execution*>& executions, const Columns& columns) const {
    auto& transaction = Transaction::of(tx);
    for (const auto* each : executions)
        if (const auto found = tables(tx).poisoned.find(each->id);
            found != tables(tx).poisoned.end() && found->second > transaction.real_now())
            throw StatementRefused("invalid byte sequence for encoding \"UTF8\"", "22021");
    for (const auto* each : executions) {
        transaction.change([row = *each, columns](Tables& t, Auditor* auditor) {
            auto& before = t.executions.at(row.id);
            if (auditor) auditor->written(before, row, columns);
            before = row;
        });
    }
}

void QueueStore::write_results(Tx& tx, const std::vector<ResultRecord>& results) const {
    for (const auto& each : results)
        Transaction::of(tx).change([each](Tables& t, Auditor* auditor) {
            if (auditor) auditor->result(each);
            t.results[{each.execution, each.opening}] = each;
        });
}

void QueueStore::write_input(Tx&, const ExecutionId&, const std::string&) const {}

QueueStore::Payload QueueStore::payload(Tx&, const ExecutionId&) const { return {"{}", "{}"}; }

std::vector<ChildResult> QueueStore::children(Tx& tx, const std::vector<ExecutionId>& parents) const {
    const auto& t = tables(tx);
    std::vector<ChildResult> children;
    for (const auto& parent : parents) {
        const auto above = t.executions.find(parent);
        if (above == t.executions.end()) continue;
        for (const auto& [id, row] : t.executions) {
            if (row.parent != parent || !row.parent_attempt) continue;
            const auto attempt = t.attempts.find({parent, *row.parent_attempt});
            if (attempt == t.attempts.end() || attempt->second.opening != above->second.opening) continue;
            ChildResult child{parent, id, row.status, row.retry_count, {}, {}, {}, row.cost, row.reason};
            if (const auto result = t.results.find({id, row.opening}); result != t.results.end()) {
                child.result_data = result->second.result_data;
                child.items = result->second.items;
                child.error_data = result->second.error_data;
            }
            children.push_back(std::move(child));
        }
    }
    return children;
}

std::vector<ResultRecord> QueueStore::results(Tx& tx, const std::vector<std::pair<ExecutionId, int>>& of) const {
    std::vector<ResultRecord> results;
    for (const auto& key : of)
        if (const auto found = tables(tx).results.find(key); found != tables(tx).results.end())
            results.push_back(found->second);
    return results;
}

std::vector<LevelCount> QueueStore::count_levels(Tx& tx) const {
    std::map<std::pair<domain::Lane, int>, std::size_t> counted;
    for (const auto& [id, row] : tables(tx).executions)
        if (row.ready) ++counted[{row.lane, row.priority}];
    std::vector<LevelCount> counts;
    for (const auto& [level, count] : counted) counts.push_back({level.first, level.second, count});
    return counts;
}

std::vector<Entry> QueueStore::load_level(Tx& tx, const domain::Lane& lane, const Order::Refill& refill) const {
    std::vector<Entry> entries;
    for (const auto& [id, row] : tables(tx).executions)
        if (row.ready && row.lane == lane && row.priority == refill.priority &&
            std::tie(row.created_at, id) > std::tie(refill.after_created_at, refill.after_id))
            entries.push_back({id, row.priority, row.created_at, row.ready_at.value_or(row.created_at),
                               row.concurrency_key, row.last_seq, false, row.size_class, row.batch, row.need_amounts,
                               row.limit_keys});
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
    });
    if (entries.size() > refill.count) entries.resize(refill.count);
    return entries;
}

std::vector<LockedExecution> QueueStore::load_gated(Tx& tx) const {
    return where(tx, [](const Execution& row) { return row.gate.has_value(); });
}

std::vector<QueueStore::LastByScore> QueueStore::last_by_score(Tx& tx, const domain::Lane& lane, int most,
                                                               TimePoint now) const {
    std::vector<LastByScore> found;
    for (const auto& [id, row] : tables(tx).executions)
        if (row.lane == lane && row.claimable() && !row.awaits_decision())
            found.push_back({id, score(row.priority, row.created_at, now), row.created_at, lane});
    std::sort(found.begin(), found.end(), [](const LastByScore& a, const LastByScore& b) {
        return std::tie(a.score, b.created_at, b.id) < std::tie(b.score, a.created_at, a.id);
    });
    if (found.size() > static_cast<std::size_t>(most)) found.resize(static_cast<std::size_t>(most));
    return found;
}

std::vector<ExecutionId> QueueStore::first_by_table(Tx& tx, const domain::Lane& lane, int most, TimePoint now) const {
    const auto* type = tables(tx).catalogue.find(lane);
    const auto starving_before = now - (type ? type->max_wait : domain::Duration{std::chrono::hours{4}});
    std::vector<const Execution*> rows;
    for (const auto& [id, row] : tables(tx).executions)
        if (row.ready && row.lane == lane) rows.push_back(&row);
    const auto starving = [&](const Execution& row) { return row.ready_at && *row.ready_at < starving_before; };
    std::sort(rows.begin(), rows.end(), [&](const Execution* a, const Execution* b) {
        if (starving(*a) != starving(*b)) return starving(*a);
        if (starving(*a)) return std::tie(a->ready_at, a->id) < std::tie(b->ready_at, b->id);
        const auto here = score(a->priority, a->created_at, now);
        const auto there = score(b->priority, b->created_at, now);
        if (here != there) return here > there;
        return std::tie(a->created_at, a->id) < std::tie(b->created_at, b->id);
    });
    std::vector<ExecutionId> ids;
    for (const auto* row : rows)
        if (static_cast<int>(ids.size()) < most) ids.push_back(row->id);
    return ids;
}

std::vector<LockedExecution> QueueStore::load_unsettled(Tx& tx) const {
    return where(tx, [](const Execution& row) { return row.timeout_at || row.open_children > 0; });
}

std::vector<ExecutionId> QueueStore::due(Tx& tx, TimePoint now, int most,
                                         const std::vector<ExecutionId>& put_off) const {
    std::vector<std::pair<TimePoint, ExecutionId>> due;
    for (const auto& [id, row] : tables(tx).executions)
        if (row.due_at && *row.due_at <= now && std::find(put_off.begin(), put_off.end(), id) == put_off.end())
            due.emplace_back(*row.due_at, id);
    std::sort(due.begin(), due.end());
    std::vector<ExecutionId> ids;
    for (const auto& [at, id] : due)
        if (static_cast<int>(ids.size()) < most) ids.push_back(id);
    return ids;
}

std::optional<TimePoint> QueueStore::next_due(Tx& tx, const std::vector<ExecutionId>& put_off) const {
    std::optional<TimePoint> next;
    for (const auto& [id, row] : tables(tx).executions)
        if (std::find(put_off.begin(), put_off.end(), id) == put_off.end()) next = domain::earlier(next, row.due_at);
    return next;
}

void DeadLetterStore::add(Tx& tx, const std::vector<DeadLetter>& letters) const {
    for (const auto& each : letters)
        Transaction::of(tx).change([each](Tables& t, Auditor*) {
            t.letters.emplace(Tables::Opening{each.execution, each.opening}, simulation::Letter{each, {}});
        });
}

void DeadLetterStore::resolve(Tx& tx, const Resolution& resolution) const {
    Transaction::of(tx).change([resolution](Tables& t, Auditor*) {
        const auto found = t.letters.find({resolution.execution, resolution.opening});
        if (found != t.letters.end() && found->second.resolution.empty()) found->second.resolution = resolution.how;
    });
}

}

// webhooks

namespace impresario::webhooks {

void AttemptStore::close(Tx& tx, const std::vector<ClosedAttempt>& attempts) const {
    for (const auto& each : attempts)
        Transaction::of(tx).change([each, at = Transaction::of(tx).now()](Tables& t, Auditor* auditor) {
            if (auditor) auditor->closed(each, at);
            t.attempts.emplace(Tables::AttemptKey{each.execution, each.attempt.id}, each);
        });
}

void AttemptStore::amend(Tx& tx, const std::vector<ClosedAttempt>& attempts) const {
    for (const auto& each : attempts)
        Transaction::of(tx).change([each](Tables& t, Auditor*) {
            const auto found = t.attempts.find({each.execution, each.attempt.id});
            if (found == t.attempts.end()) return;
            found->second.outcome = each.outcome;
            found->second.callback_sha256 = each.callback_sha256;
            found->second.callback_answer = each.callback_answer;
            found->second.attempt.cost = each.attempt.cost;
        });
}

std::vector<FoundAttempt> AttemptStore::find(Tx& tx,
                                             const std::vector<std::pair<ExecutionId, domain::AttemptId>>& of) const {
    std::vector<FoundAttempt> found;
    for (const auto& key : of)
        if (const auto at = tables(tx).attempts.find(key); at != tables(tx).attempts.end()) {
            const auto& each = at->second;
            found.push_back({each.execution, each.attempt.id, each.attempt.number, each.opening, each.outcome,
                             each.callback_sha256, each.callback_answer, each.attempt.cost});
        }
    return found;
}

void AttemptStore::log_deliveries(Tx& tx, const std::vector<DeliveryRecord>& deliveries) const {
    for (const auto& each : deliveries)
        Transaction::of(tx).change([key = std::tuple(each.attempt, each.number), ended = each.at + each.duration](
                                       Tables& t, Auditor*) { t.deliveries.emplace(key, ended); });
}

void AttemptStore::keep_refused(Tx& tx, const std::vector<RefusedCallback>& callbacks) const {
    for (const auto& each : callbacks)
        Transaction::of(tx).change([each](Tables& t, Auditor*) {
            t.refused.emplace(std::pair{Tables::AttemptKey{each.execution, each.attempt}, each.sha256}, each);
        });
}

}

// resource_manager

namespace impresario::resource_manager {

void UsageStore::record(Tx& tx, const std::vector<UsageRecord>& usage) const {
    for (const auto& each : usage)
        Transaction::of(tx).change([each](Tables& t, Auditor*) {
            t.usage.emplace(std::pair{each.execution, each.usage_id}, each);
        });
}

std::vector<Provider> ProviderStore::load(Tx& tx) const { return tables(tx).providers; }

void ProviderStore::charge(Tx& tx, const std::vector<PermitRecord>& permits) const {
    for (const auto& each : permits)
        Transaction::of(tx).change([permit = Tables::Permit{each, Transaction::of(tx).now()}](Tables& t, Auditor*) {
            t.permits.push_back(permit);
        });
}

void ProviderStore::give_back(Tx& tx, const std::vector<Unsent>& unsent) const {
    for (const auto& each : unsent)
        Transaction::of(tx).change([each](Tables& t, Auditor*) {
            std::erase_if(t.permits, [&](const Tables::Permit& permit) {
                return permit.record.attempt == each.attempt && permit.record.fence == each.fence;
            });
        });
}

// Nobody here takes more than he was granted.
void ProviderStore::charge_usage(Tx&, const std::vector<UsageCharge>&) const {}
bool ProviderStore::any_uncounted(Tx&) const { return false; }
std::vector<LoadedPermit> ProviderStore::count_usage(Tx&, int) const { return {}; }

std::vector<LoadedPermit> ProviderStore::permits(Tx& tx) const {
    const auto& t = tables(tx);
    std::vector<LoadedPermit> permits;
    for (const auto& [record, granted_at] : t.permits) {
        LoadedPermit permit{record.lane,  {},           std::nullopt,     record.attempt,
                            record.fence, std::nullopt, record.limit_keys, record.lease_until};
        const auto delivery = t.deliveries.find({record.attempt, record.delivery});
        if (delivery != t.deliveries.end()) permit.ended_at = delivery->second;
        const auto row = t.executions.find(record.execution);
        const bool live = row != t.executions.end() && row->second.holds_slot() &&
                          row->second.attempt->id == record.attempt && row->second.attempt->fence == record.fence;
        if (live) {
            permit.execution = record.execution;
            const auto state = row->second.attempt->state;
            if (state == domain::AttemptState::granted || state == domain::AttemptState::sending) {
                permit.ended_at.reset();
            } else if (!permit.ended_at) {
                permit.ended_at = record.lease_until;
            }
        } else if (!permit.ended_at) {
            permit.ended_at = record.lease_until;
        }
        for (const auto& need : record.needs) {
            permit.need = need;
            permits.push_back(permit);
        }
    }
    return permits;
}

WeatherRecords WeatherStore::load(Tx& tx) const { return tables(tx).provider_weather; }

std::optional<WeatherStore::Place> WeatherStore::record(Tx& tx, const std::string& provider,
                                                        const WeatherRecord& record, bool told) const {
    Place place;
    std::copy_n(provider.begin(), std::min<std::size_t>(provider.size(), 16), place.stream.begin());
    const auto& seqs = tables(tx).provider_seqs;
    const auto known = seqs.find(provider);
    place.seq = (known == seqs.end() ? 0 : known->second) + (told ? 1 : 0);
    Transaction::of(tx).change([provider, record, seq = place.seq](Tables& t, Auditor*) {
        t.provider_weather[provider] = record;
        t.provider_seqs[provider] = seq;
    });
    return place;
}

std::size_t ProviderStore::forget_permits(Tx&) const { return 0; }

std::optional<FairnessPolicy> FairnessStore::load(Tx& tx) const { return tables(tx).fairness; }
void FairnessStore::write(Tx&, TimePoint, const std::string&) const {}
std::optional<FairnessStore::Standings> FairnessStore::standings(Tx&) const { return std::nullopt; }

}

// schedules: nobody from outside takes a lock

namespace impresario::schedules {

std::set<ExecutionId> LockStore::take(Tx& tx, const std::vector<TypeLock>& locks) const {
    std::set<ExecutionId> without;
    for (const auto& each : locks) {
        const auto known = tables(tx).locks.find(each.lock);
        const auto* holder = known == tables(tx).locks.end() || known->second.first == each.execution
                                 ? nullptr
                                 : &tables(tx).executions.at(known->second.first);
        if (holder && holder->timeout_at && holder->attempt && holder->attempt->id == known->second.second) {
            without.insert(each.execution);
            continue;
        }
        Transaction::of(tx).change([each](Tables& t, Auditor*) { t.locks[each.lock] = {each.execution, each.attempt}; });
    }
    return without;
}

std::vector<HeldLock> LockStore::of_types(Tx&) const { return {}; }

}

// journal

namespace impresario::journal {

void EventStore::append(Tx& tx, const std::vector<domain::Event>& events, const domain::NodeId& writer) const {
    for (const auto& each : events)
        Transaction::of(tx).change([each, writer, xid = Transaction::of(tx).xid()](Tables& t, Auditor* auditor) {
            if (auditor) auditor->event(each);
            t.events.push_back({each, writer, xid});
        });
}

FeedStart EventStore::begin_feed(Tx& tx) const {
    return {std::to_string(tables(tx).events.size()), std::to_string(Transaction::of(tx).xid()), {}};
}

Feed EventStore::feed(Tx& tx, const std::string& position, const std::string& begun, const domain::NodeId& reader,
                      int, std::int64_t) const {
    const auto& all = tables(tx).events;
    const auto first = std::stoull(begun);
    Feed feed;
    feed.position = std::to_string(all.size());
    for (auto i = static_cast<std::size_t>(std::stoull(position)); i < all.size(); ++i) {
        const auto& each = all[i];
        if (each.writer == reader && each.xid >= first) continue;
        feed.events.push_back({std::string(each.event.kind), each.event.stream, each.event.type, each.event.payload});
    }
    return feed;
}

void MetricStore::record(Tx&, const std::vector<Measurement>&) const {}
void MetricStore::forget(Tx&) const {}

}

// subworkflows

namespace impresario::subworkflows {

std::int64_t CatalogueStore::version(Tx& tx) const { return tables(tx).catalogue.version; }
Catalogue CatalogueStore::load(Tx& tx) const { return tables(tx).catalogue; }

std::set<domain::Lane> CatalogueStore::lock_lanes(Tx& tx, const std::set<domain::Lane>& lanes) const {
    std::set<domain::Lane> locked;
    for (const auto& lane : lanes) {
        const auto found = tables(tx).held_lanes.find(lane);
        if (found != tables(tx).held_lanes.end() && found->second > Transaction::of(tx).real_now()) continue;
        if (tables(tx).catalogue.find(lane)) locked.insert(lane);
    }
    return locked;
}

bool CatalogueStore::hold_endpoint(Tx& tx, const Endpoint& endpoint) const {
    Transaction::of(tx).change([endpoint](Tables& t, Auditor*) {
        for (auto& [lane, type] : t.catalogue.types)
            for (auto& each : type.endpoints) {
                if (each.id != endpoint.id) continue;
                each.held_until = endpoint.held_until;
                each.held_since = endpoint.held_since;
                each.held_reason = endpoint.held_reason;
                each.held_detail = endpoint.held_detail;
                each.holds = endpoint.holds;
            }
        ++t.catalogue.version;
    });
    Transaction::of(tx).notices.emplace_back("catalogue");
    return true;
}

bool CatalogueStore::move_breaker(Tx& tx, const Endpoint& endpoint) const {
    Transaction::of(tx).change([endpoint](Tables& t, Auditor*) {
        for (auto& [lane, type] : t.catalogue.types)
            for (auto& each : type.endpoints)
                if (each.id == endpoint.id) each.breaker = endpoint.breaker;
        ++t.catalogue.version;
    });
    Transaction::of(tx).notices.emplace_back("catalogue");
    return true;
}

bool CatalogueStore::resume(Tx& tx, const PauseRecord& pause, std::optional<domain::TimePoint>) const {
    const auto same = [pause](const PauseRecord& each) {
        return each.organization_id == pause.organization_id && each.workflow_type == pause.workflow_type &&
               each.condition == pause.condition;
    };
    const auto& pauses = tables(tx).catalogue.pauses;
    if (std::none_of(pauses.begin(), pauses.end(), same)) return false;
    Transaction::of(tx).change([same](Tables& t, Auditor*) {
        std::erase_if(t.catalogue.pauses, same);
        ++t.catalogue.version;
    });
    return true;
}

void CatalogueStore::learn_deduplicates(Tx& tx, const domain::EndpointId& id) const {
    Transaction::of(tx).change([id](Tables& t, Auditor*) {
        for (auto& [lane, type] : t.catalogue.types)
            for (auto& each : type.endpoints)
                if (each.id == id) each.learnt_deduplicates = true;
        ++t.catalogue.version;
    });
    Transaction::of(tx).notices.emplace_back("catalogue");
}

std::optional<CatalogueStore::StreamPlace> CatalogueStore::next_lane_seq(Tx& tx, const domain::Lane& lane) const {
    const auto* type = tables(tx).catalogue.find(lane);
    if (!type) return std::nullopt;
    const auto id = type->lane_id;
    const int seq = tables(tx).lane_seqs[id] + 1;
    Transaction::of(tx).change([id, seq](Tables& t, Auditor*) { t.lane_seqs[id] = seq; });
    return StreamPlace{id, seq};
}

}

// orchestrator

namespace impresario::orchestrator {

namespace {

SchedulerRow row_of(Tx& tx) {
    const auto& line = tables(tx).scheduler;
    SchedulerRow row;
    row.epoch = line.epoch;
    row.node = line.node;
    row.session = line.session;
    row.session_missing = line.session != 0 && !tables(tx).sessions.contains(line.session);
    row.renewed_at = line.renewed_at;
    row.lease_over = line.lease_until < Transaction::of(tx).real_now();
    row.outage = line.outage;
    row.now = Transaction::of(tx).real_now();
    return row;
}

/// FOR UPDATE: not while a transaction of the scheduler is open.
void lock_scheduler(Tx& tx) {
    const auto& line = tables(tx).scheduler;
    if (std::max(line.shared_until, line.locked_until) > Transaction::of(tx).real_now())
        throw StatementRefused("canceling statement due to lock timeout", "55P03");
    Transaction::of(tx).locks_scheduler = true;
}

void renew_line(Tx& tx, std::int64_t epoch, const domain::NodeId& node, int session, std::chrono::seconds lease,
                const std::optional<Outage>& outage) {
    const auto now = Transaction::of(tx).real_now();
    Transaction::of(tx).change([=](Tables& t, Auditor* auditor) {
        auto& line = t.scheduler;
        if (auditor) auditor->leads(line.epoch, epoch, node);
        line.epoch = epoch;
        line.node = node;
        line.session = session;
        line.renewed_at = now;
        line.lease_until = now + lease;
        line.outage = outage;
    });
}

}

SchedulerRow SchedulerStore::look(Tx& tx) const { return row_of(tx); }

std::optional<Lead> SchedulerStore::take_lead(Tx& tx, const domain::NodeId& node, int backend_pid,
                                              std::chrono::seconds lease, int missed_session) const {
    lock_scheduler(tx);
    const auto row = row_of(tx);
    if (!row.to_be_had(node, missed_session)) return std::nullopt;
    const auto outage = outage_after(row.outage, row.renewed_at, row.now, lease);
    renew_line(tx, row.epoch + 1, node, backend_pid, lease, outage);
    return Lead{row.epoch + 1, outage, row.now};
}

std::optional<Lead> SchedulerStore::renew(Tx& tx, std::int64_t epoch, const domain::NodeId& node, int backend_pid,
                                          std::chrono::seconds lease) const {
    lock_scheduler(tx);
    const auto row = row_of(tx);
    if (row.epoch != epoch || row.node != node) return std::nullopt;
    const auto outage = outage_after(row.outage, row.renewed_at, row.now, lease);
    renew_line(tx, epoch, node, backend_pid, lease, outage);
    return Lead{epoch, outage, row.now};
}

void SchedulerStore::resign(Tx& tx, std::int64_t epoch, const domain::NodeId& node) const {
    Transaction::of(tx).change([=](Tables& t, Auditor*) {
        if (t.scheduler.epoch != epoch || t.scheduler.node != node) return;
        t.scheduler.lease_until = TimePoint::min();
        t.scheduler.session = 0;
    });
}

TimePoint SchedulerStore::fence(Tx& tx, std::int64_t epoch, const domain::NodeId& node) const {
    const auto& line = tables(tx).scheduler;
    if (line.locked_until > Transaction::of(tx).real_now())
        throw StatementRefused("canceling statement due to lock timeout", "55P03");
    if (line.epoch != epoch || line.node != node) throw Fenced();
    Transaction::of(tx).shares_scheduler = true;
    return Transaction::of(tx).now();
}

void SchedulerStore::insist_on_lead(Tx& tx, std::int64_t epoch, const domain::NodeId& node) const {
    try {
        fence(tx, epoch, node);
    } catch (const Fenced&) {
        throw StatementRefused("division by zero", "22012");
    }
}

std::function<TimePoint()> SchedulerStore::ask_fence(Tx& tx, std::int64_t epoch, const domain::NodeId& node) const {
    const auto now = fence(tx, epoch, node);
    return [now] { return now; };
}

int SchedulerStore::heartbeat(Tx& tx, const domain::NodeId& node, const std::string&, bool draining, int backend_pid,
                              int lease_seconds) const {
    const auto now = Transaction::of(tx).real_now();
    const auto until = now + std::chrono::seconds{lease_seconds};
    Transaction::of(tx).change([=](Tables& t, Auditor*) {
        auto& row = t.nodes[node];
        row.draining = draining;
        row.session = backend_pid;
        row.heartbeat_at = now;
        row.lease_until = until;
    });
    return kHubVersion;
}

std::optional<int> SchedulerStore::next_node_seq(Tx& tx, const domain::NodeId& node) const {
    const auto found = tables(tx).nodes.find(node);
    if (found == tables(tx).nodes.end()) return std::nullopt;
    const int seq = found->second.seq + 1;
    Transaction::of(tx).change([node, seq](Tables& t, Auditor*) { t.nodes[node].seq = seq; });
    return seq;
}

void SchedulerStore::leave(Tx& tx, const domain::NodeId& node) const {
    Transaction::of(tx).change([node](Tables& t, Auditor*) { t.nodes.erase(node); });
}

std::vector<NodeSeen> SchedulerStore::alive(Tx& tx) const {
    std::vector<NodeSeen> alive;
    for (const auto& [id, row] : tables(tx).nodes)
        if (row.lease_until > Transaction::of(tx).real_now())
            alive.push_back({id, !row.draining, row.session,
                             row.session != 0 && !tables(tx).sessions.contains(row.session), row.heartbeat_at});
    return alive;
}

void SchedulerStore::forget_nodes(Tx&) const {}
HealthCounts HealthStore::count(Tx&) const { return {}; }
domain::MicroUsd HealthStore::ledger_difference(Tx&) const { return {}; }
StalledList StalledStore::find(Tx&, const std::string&, std::chrono::seconds, int) const { return {}; }

void LaneTimesStore::note(Tx& tx, const std::vector<LaneTimes>& times) const {
    Transaction::of(tx).change([times](Tables& t, Auditor*) {
        for (const auto& each : times) {
            auto& known = t.lane_times[each.lane];
            known.lane = each.lane;
            known.started_at = std::max(known.started_at, each.started_at);
            known.ended_at = std::max(known.ended_at, each.ended_at);
        }
    });
}

std::vector<LaneTimes> LaneTimesStore::lock(Tx& tx, const std::set<domain::Lane>& lanes) const {
    std::vector<LaneTimes> found;
    for (const auto& lane : lanes)
        if (const auto known = tables(tx).lane_times.find(lane); known != tables(tx).lane_times.end())
            found.push_back(known->second);
    return found;
}

std::vector<LaneTimes> LaneTimesStore::load(Tx& tx) const {
    std::vector<LaneTimes> all;
    for (const auto& [lane, each] : tables(tx).lane_times) all.push_back(each);
    return all;
}

std::vector<RecordedGate> GateStore::closed(Tx&) const { return {}; }
void GateStore::write(Tx&, const GateWrite&) const {}
void GateStore::forget(Tx&) const {}
resource_manager::DatabaseReading SchedulerStore::database_health(Tx&) const { return {}; }

void SchedulerStore::write_queue_lengths(Tx&, const QueueLengths&) const {}

QueueLengths SchedulerStore::queue_lengths(Tx&) const { return {}; }

void SchedulerStore::write_state(Tx&, const ShownState&) const {}

}
