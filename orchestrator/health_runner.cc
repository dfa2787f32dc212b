#include "orchestrator/health_runner.h"

#include "journal/metric_store.h"
#include "orchestrator/health_look.h"
#include "orchestrator/health_store.h"
#include "platform/json_writer.h"
#include "platform/log.h"
#include "platform/own_process.h"

namespace impresario::orchestrator {

namespace log = platform::log;
using platform::Task;
using platform::Tx;
using std::chrono::steady_clock;

namespace {
constexpr std::chrono::minutes kEvery{1};
constexpr std::chrono::milliseconds kBoardPause{200};
/// A look at the whole ledger is followed by a rest of so many times as long.
constexpr int kLedgerRest = 100;
}

Task<steady_clock::duration> HealthRunner::turn() {
    // Whoever has just come to lead does not know yet what there is.
    if (!hub_.board()) co_return kBoardPause;
    const auto began = steady_clock::now();
    // Each for itself: one that takes too long keeps none of the others.
    co_await check();
    co_await count();
    co_await check_ledger();
    const steady_clock::duration left = kEvery - (steady_clock::now() - began);
    co_return std::max<steady_clock::duration>(left, std::chrono::seconds{1});
}

/// 1: every check is healthy, and nothing is held back for want of database or memory.
Task<void> HealthRunner::check() {
    auto looking = look_at_health(node_, {}, hub_.settings().quiet, hub_.settings().health);
    const auto [view, health] = co_await std::move(looking);
    if (!goes_on() || !hub_.board()) co_return;
    node_.probe().show_health(health);
    std::map<std::string_view, std::int64_t> stalled;
    for (const auto& [cause, count] : view.stalled) stalled[name(cause)] = count;
    node_.probe().show_stalled(stalled);
    const bool whole = hub_.batch_limit() >= hub_.max_batch_size();
    platform::JsonWriter about;
    about.open();
    about.field("node", node_.id().text())
        .field("state", name(hub_.state()->state()))
        .field("waiting", view.waiting)
        .field("running", static_cast<std::int64_t>(hub_.board()->live()))
        .field("batch_limit", hub_.batch_limit())
        .field("uptime_seconds", platform::uptime_seconds(node_.clock().now()))
        .texts("degraded_because", health.because());
    about.close();
    const std::vector<journal::Measurement> sample{
        {"health", health.healthy() && whole ? 1.0 : 0.0, std::move(about).text()}};
    try {
        auto writing = node_.database().transact([&sample](Tx& tx) { journal::MetricStore().record(tx, sample); });
        co_await std::move(writing);
    } catch (const std::exception& e) {
        log::debug("how the hub is could not be written down", {{"error", e.what()}});
    }
}

Task<void> HealthRunner::count() {
    try {
        auto counting = node_.database().read([](Tx& tx) { return HealthStore().count(tx); });
        const auto counts = co_await std::move(counting);
        if (goes_on()) node_.probe().show_counts(counts);
    } catch (const std::exception& e) {
        log::debug("what the tables count could not be read", {{"error", e.what()}});
    }
}

/// Where it takes longer than a statement may, fsck has to do it.
Task<void> HealthRunner::check_ledger() {
    const auto began = steady_clock::now();
    if (began < ledger_check_at_) co_return;
    std::optional<domain::MicroUsd> difference;
    try {
        auto summing = node_.database().read([](Tx& tx) { return HealthStore().ledger_difference(tx); });
        difference = co_await std::move(summing);
        if (difference->value != 0)
            log::error("balances differ from the sums of their entries",
                       {{"usd", domain::decimal(*difference)}, {"next", "impresario fsck"}});
    } catch (const std::exception& e) {
        log::debug("the ledger could not be summed", {{"error", e.what()}});
    }
    ledger_check_at_ = steady_clock::now() + (steady_clock::now() - began) * kLedgerRest;
    if (goes_on()) node_.probe().show_ledger(difference, node_.clock().now());
}

}
