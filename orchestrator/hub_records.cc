// Of the hub: what it writes down for others to read, beside the turns. Why lanes wait, its state, its numbers.
#include "orchestrator/hub.h"

#include <algorithm>

#include "orchestrator/gate_store.h"
#include "orchestrator/lane_events.h"
#include "platform/gate_json.h"
#include "platform/json_writer.h"
#include "platform/log.h"

namespace impresario::orchestrator {

using domain::TimePoint;
using platform::Task;
using platform::Tx;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
namespace asio = platform::asio;
namespace log = platform::log;

namespace {
/// How often orchestrator_metrics gets a new line of each kind.
constexpr auto kMetricsEvery = std::chrono::minutes{1};

/// On a database thread. False: not now, because somebody holds its row or has set its breaker by hand.
bool record_endpoint(Tx& tx, const Node& node, const Board::ChangedEndpoint& changed) {
    const auto& catalogue = node.catalogue_store();
    const auto& endpoint = changed.endpoint;
    // Whoever can write the one has the row.
    if (changed.breaker && !catalogue.move_breaker(tx, endpoint)) return false;
    if (changed.hold && !catalogue.hold_endpoint(tx, endpoint)) return false;
    const auto tell = [&](std::string_view type, std::string payload) {
        append_lane_event(tx, catalogue, changed.lane, node.id(), type, std::move(payload));
    };
    if (changed.hold)
        tell(endpoint.held_until ? domain::event::endpoint_held : domain::event::endpoint_released,
             endpoint_payload(endpoint));
    if (changed.breaker) tell(breaker_event(endpoint.breaker.state), breaker_payload(endpoint));
    return true;
}
}

void Hub::see_gates(const Plan& plan, TimePoint now) {
    for (const auto& passed : gates_.see(plan.gates, now)) {
        node_.probe().gate_closed(passed.lane, passed.kind, passed.length);
        if (auto* tracer = node_.tracer()) tracer->gate_closed(passed.lane, {passed.kind, now - passed.length, now});
    }
}

/// Writes down why lanes wait and which endpoints are held, beside the turns: nothing that starts waits for it, and a
/// lane whose row somebody holds is tried again.
void Hub::record_lanes(TimePoint now) {
    for (auto& each : board_->take_changed_endpoints(now)) {
        auto& pending = changed_endpoints_[each.endpoint.id];
        each.hold = each.hold || pending.hold;
        each.breaker = each.breaker || pending.breaker;
        pending = std::move(each);
    }
    for (auto& [id, changed] : changed_endpoints_) {
        const auto* type = board_->catalogue()->find(changed.lane);
        const auto* known = type ? type->endpoint(id) : nullptr;
        changed.hold = changed.hold && known;
        // Nothing is to be said of a breaker that somebody has set by hand since.
        changed.breaker = changed.breaker && known && known->breaker.orders <= changed.endpoint.breaker.orders;
    }
    std::erase_if(changed_endpoints_, [](const auto& each) { return !each.second.hold && !each.second.breaker; });
    if (recording_ || now < record_at_) return;
    auto gates = gates_.due(now);
    if (gates.empty() && changed_endpoints_.empty()) return;
    recording_ = true;
    asio::co_spawn(node_.executor(), record_lanes_now(std::move(gates), changed_endpoints_, *lead_), asio::detached);
}

Task<void> Hub::record_lanes_now(std::vector<GateWrite> gates, ChangedEndpoints endpoints, std::int64_t epoch) {
    struct Recorded {
        std::set<domain::Lane> lanes;
        std::set<domain::EndpointId> endpoints;
    };
    std::set<domain::Lane> lanes;
    // Only what is told needs the lane's row.
    for (const auto& write : gates)
        if (write.stops || write.opens) lanes.insert(write.lane);
    for (const auto& [id, changed] : endpoints) lanes.insert(changed.lane);
    std::optional<Recorded> recorded;
    try {
        auto recording =
            node_.database().transact([this, epoch, &lanes, &gates, &endpoints, catalogue = node_.catalogue()](Tx& tx) {
                Recorded done;
                const SchedulerStore scheduler;
                scheduler.fence(tx, epoch, node_.id());
                done.lanes = node_.catalogue_store().lock_lanes(tx, lanes);
                // Of a type that is gone there is nothing to lock, only its gate to be closed.
                for (const auto& lane : lanes)
                    if (!catalogue->find(lane)) done.lanes.insert(lane);
                for (const auto& write : gates) {
                    if (!lanes.contains(write.lane)) done.lanes.insert(write.lane);
                    if (!done.lanes.contains(write.lane)) continue;
                    GateStore().write(tx, write);
                    if (write.stops || write.opens)
                        append_lane_event(tx, node_.catalogue_store(), write.lane, node_.id(),
                                          write.stops ? domain::event::lane_stopped : domain::event::lane_opened,
                                          write.stops ? platform::gate_json(write.gate) : "{}");
                }
                for (const auto& [id, changed] : endpoints) {
                    if (done.lanes.contains(changed.lane) && record_endpoint(tx, node_, changed))
                        done.endpoints.insert(id);
                }
                return done;
            });
        recorded = co_await std::move(recording);
    } catch (const platform::StatementRefused& refused) {
        log::warn("why lanes wait could not be written down", {{"error", refused.what()}, {"next", "trying again"}});
    } catch (const std::exception&) {
        // The next turn notices what is wrong.
    }
    recording_ = false;
    if (lead_ != epoch || !board_) co_return;
    const auto now = node_.clock().now();
    gates_.written(gates, recorded ? recorded->lanes : std::set<domain::Lane>{}, now);
    const bool whole = recorded &&
                       std::includes(recorded->lanes.begin(), recorded->lanes.end(), lanes.begin(), lanes.end()) &&
                       recorded->endpoints.size() == endpoints.size();
    record_at_ = whole ? now : now + kSettlePause;
    if (!recorded) co_return;
    for (const auto& id : recorded->endpoints) {
        // Unless it has changed again meanwhile.
        const auto pending = changed_endpoints_.find(id);
        if (pending == changed_endpoints_.end()) continue;
        const auto& now_known = pending->second.endpoint;
        const auto& written = endpoints.at(id).endpoint;
        if (now_known.held_until == written.held_until) pending->second.hold = false;
        if (now_known.breaker == written.breaker) pending->second.breaker = false;
        if (!pending->second.hold && !pending->second.breaker) changed_endpoints_.erase(pending);
    }
    for (const auto& write : gates)
        if (write.stops && recorded->lanes.contains(write.lane))
            log::info("lane stopped", {{"organization_id", write.lane.organization_id},
                                       {"workflow_type", write.lane.workflow_type},
                                       {"gate", name(write.gate.kind)},
                                       {"detail", write.gate.detail}});
}

Task<void> Hub::show_state(bool always) {
    const auto steady = steady_clock::now();
    const bool changed = machine_.moves() != shown_moves_;
    const bool quiet = machine_.state() == HubState::idle || machine_.state() == HubState::cooldown;
    if (!always && (!changed || (!quiet && steady - shown_at_ < milliseconds{250}))) co_return;
    shown_moves_ = machine_.moves();
    shown_at_ = steady;
    const TimePoint now = node_.clock().now();
    ShownState shown;
    shown.node = node_.id();
    shown.state = name(machine_.state());
    shown.since = machine_.since();
    shown.why = machine_.why();
    shown.last_execution = last_execution_;
    shown.next_scheduled = board_->next_due();
    platform::JsonWriter json;
    json.open();
    const auto spent = machine_.time_in(now);
    for (int i = 0; i < kHubStates; ++i)
        json.field(name(static_cast<HubState>(i)),
                   static_cast<double>(spent[static_cast<std::size_t>(i)].count() / 1000) / 1000.0);
    json.close();
    shown.seconds_in = std::move(json).text();
    const auto epoch = *lead_;
    auto showing = node_.database().transact([shown, epoch, id = node_.id()](Tx& tx) {
        SchedulerStore().fence(tx, epoch, id);
        SchedulerStore().write_state(tx, shown);
    });
    co_await std::move(showing);
}

void Hub::show_others(std::function<void(Tx&)> write, std::function<void()> anew) {
    asio::co_spawn(node_.executor(), write_shown(std::move(write), std::move(anew), *lead_), asio::detached);
}

Task<void> Hub::write_shown(std::function<void(Tx&)> write, std::function<void()> anew, std::int64_t epoch) {
    try {
        auto writing = node_.database().transact([&write, epoch, id = node_.id()](Tx& tx) {
            SchedulerStore().fence(tx, epoch, id);
            write(tx);
        });
        co_await std::move(writing);
        co_return;
    } catch (const platform::StatementRefused& refused) {
        log::warn("what others read could not be written down", {{"error", refused.what()}, {"next", "trying again"}});
    } catch (const std::exception&) {
        // The next turn notices what is wrong.
    }
    // It is looked at again a second later.
    anew();
}

void Hub::record_metrics(TimePoint now) {
    const auto steady = steady_clock::now();
    if (measured_at_ && steady - *measured_at_ < kMetricsEvery) return;
    measured_at_ = steady;
    std::vector<journal::Measurement> measurements;
    for (const auto& lane : board_->lanes()) {
        platform::JsonWriter about;
        about.open();
        about.field("organization_id", lane.organization_id).field("workflow_type", lane.workflow_type);
        about.close();
        const std::string metadata = std::move(about).text();
        const auto* order = board_->order(lane);
        const auto oldest = order->oldest_ready();
        const double waiting_for = oldest ? std::chrono::duration<double>(now - *oldest).count() : 0;
        measurements.push_back({"queue_depth", static_cast<double>(order->size()), metadata});
        measurements.push_back({"oldest_waiting_seconds", waiting_for, metadata});
        measurements.push_back({"running", static_cast<double>(board_->in_use(lane)), metadata});
    }
    for (const auto& each : board_->budgets()) {
        platform::JsonWriter about;
        about.open();
        about.field("budget", each.budget.name).field("organization_id", each.budget.scope.organization_id);
        about.close();
        const std::string metadata = std::move(about).text();
        const auto balance = each.counted(now);
        const auto add = [&](const char* type, domain::MicroUsd amount) {
            measurements.push_back({type, static_cast<double>(amount.value) / 1e6, metadata});
        };
        add("budget_limit_usd", each.budget.limit);
        add("budget_settled_usd", balance.settled);
        add("budget_reserved_usd", balance.reserved + balance.suspense);
        add("budget_forecast_usd", resource_manager::forecast(each, now).at_end);
    }
    measurements.push_back({"database_connections_busy", static_cast<double>(node_.database().busy()), "{}"});
    asio::co_spawn(node_.executor(), write_metrics(std::move(measurements)), asio::detached);
}

Task<void> Hub::write_metrics(std::vector<journal::Measurement> measurements) {
    try {
        auto writing =
            node_.database().transact([&measurements](Tx& tx) { journal::MetricStore().record(tx, measurements); });
        co_await std::move(writing);
    } catch (const std::exception& e) {
        log::debug("metrics could not be written", {{"error", e.what()}});
    }
}

}
