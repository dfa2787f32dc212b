#include "orchestrator/report_runner.h"

#include <algorithm>

#include "alerts/email.h"
#include "journal/metric_store.h"
#include "orchestrator/report_maker.h"
#include "orchestrator/scheduler_store.h"
#include "platform/json_writer.h"
#include "platform/log.h"
#include "platform/zone.h"
#include "reports/document_json.h"
#include "reports/document_text.h"
#include "reports/report_json.h"

namespace impresario::orchestrator {

namespace log = platform::log;
using alerts::DeliveryResult;
using domain::Duration;
using platform::Task;
using platform::Tx;
using reports::Kind;
using reports::ReportStore;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

/// It is looked for what is due at least this often.
constexpr minutes kEvery{1};
constexpr std::chrono::hours kForgetEvery{24};
constexpr seconds kSending{25};
constexpr seconds kShortestPause{30};
constexpr minutes kLongestPause{30};
/// One that may have arrived is sent once more, and not again.
constexpr int kMostInDoubt = 2;

Duration pause_after(int attempts) {
    return std::min<Duration>(kLongestPause, kShortestPause * (1 << std::min(attempts - 1, 10)));
}

/// Of orchestrator_metrics: a line for each report (003: daily_summary, weekly_optimization), and its numbers.
std::vector<journal::Measurement> lines_of(const reports::Report& report) {
    const auto total = report.total();
    platform::JsonWriter about;
    about.open();
    about.field("period", reports::period_text(report.period, platform::find_zone(report.zone)))
        .field("from", report.period.from)
        .field("to", report.period.to)
        .field("completed", total.completed)
        .field("failed", total.failed + total.dead)
        .field("cancelled", total.cancelled)
        .field("success_percent", total.success_percent())
        .field("cost_usd", domain::decimal(total.cost))
        .field("items", total.items)
        .field("cost_per_item_usd", total.cost_per_item())
        .field("retries", total.retries)
        .field("alerts", report.alerts.size())
        .field("proposals", report.proposals.size());
    about.close();
    if (report.kind == Kind::daily)
        return {{"daily_summary", static_cast<double>(total.all()), std::move(about).text()}};
    return {{"weekly_optimization", static_cast<double>(report.proposals.size()), std::move(about).text()}};
}

std::string mail_of(const reports::Delivery& delivery, const alerts::EmailEnvelope& envelope) {
    const auto document = reports::parse_document(delivery.document);
    alerts::EmailContent content;
    content.id = delivery.report.text();
    // All daily ones are a thread, and all weekly ones.
    content.thread = std::string(reports::name(delivery.kind)) + "-report";
    content.subject = document.title;
    content.at = delivery.made_at;
    content.headers = {{"X-Impresario-Report", std::string(reports::name(delivery.kind))}};
    content.text = reports::plain_text(document, alerts::kLongestEmail);
    content.html = reports::html_text(document, alerts::kLongestEmail);
    return alerts::email_of(content, envelope);
}

}

ReportRunner::ReportRunner(Node& node, Hub& hub, AlertSender& sender, const reports::Settings& settings)
    : LeaderLoop(node, hub, "reports have to wait"), sender_(sender), settings_(settings) {}

Task<steady_clock::duration> ReportRunner::turn() {
    if (!settings_.enabled) co_return kEvery;
    for (const auto kind : {Kind::daily, Kind::weekly}) {
        auto& refused = refused_[kind];
        if (steady_clock::now() < refused.next) continue;
        std::string trouble;
        try {
            co_await make(kind);
            refused.times = 0;
        } catch (const platform::StatementRefused& refusal) {
            trouble = refusal.what();
        }
        if (trouble.empty()) continue;
        // The other kind, and those that are made, have nothing to do with it.
        refused.next = steady_clock::now() + kEvery * (1 << std::min(refused.times++, 6));
        log::warn("a report could not be made",
                  {{"kind", reports::name(kind)}, {"error", trouble}, {"next", "it is tried again later"}});
    }
    co_await deliver();
    auto asking = node_.database().read([](Tx& tx) { return ReportStore().next_due(tx); });
    const auto pending = co_await std::move(asking);
    const auto now = node_.clock().now();
    Duration idle = kEvery;
    for (const auto kind : {Kind::daily, Kind::weekly})
        idle = std::min<Duration>(idle, reports::next_due(kind, now, settings_) - now);
    if (pending) idle = std::min(idle, *pending);
    co_return std::max<steady_clock::duration>(idle, seconds{1});
}

Task<void> ReportRunner::make(Kind kind) {
    const auto due = reports::latest_due(kind, node_.clock().now(), settings_);
    auto asking = node_.database().read([kind, due](Tx& tx) {
        // Of the time before there was a hub nothing is reported.
        return ReportStore().installed_at(tx) < due.at && !ReportStore().find(tx, kind, due.period);
    });
    const bool wanted = co_await std::move(asking);
    if (wanted) co_await make_now(kind, due.period);
}

Task<void> ReportRunner::make_now(Kind kind, reports::Period period) {
    const auto began = steady_clock::now();
    auto making = make_report(node_, {kind, period, settings_.zone, {}, true}, [this] { return goes_on(); });
    auto report = co_await std::move(making);
    if (!report) co_return;
    auto writing = node_.database().transact([this, epoch = hub_.epoch(), &report](Tx& tx) {
        SchedulerStore().fence(tx, epoch, node_.id());
        const auto content = reports::report_json(*report);
        const auto document = reports::document_json(reports::document_of(*report));
        if (!ReportStore().put(tx, *report, content, document, settings_.receivers)) return false;
        journal::MetricStore().record(tx, lines_of(*report));
        return true;
    });
    const bool made = co_await std::move(writing);
    if (made)
        log::info("a report was made",
                  {{"kind", reports::name(kind)},
                   {"from", period.from},
                   {"to", period.to},
                   {"latency_ms", std::chrono::duration_cast<milliseconds>(steady_clock::now() - began).count()}});
}

Task<DeliveryResult> ReportRunner::send(const alerts::Receiver& receiver, reports::Delivery delivery) {
    const auto not_after = steady_clock::now() + kSending;
    switch (receiver.kind) {
        case alerts::ReceiverKind::email: {
            auto mailing = sender_.mail(receiver, mail_of(delivery, receiver.envelope));
            co_return co_await std::move(mailing);
        }
        case alerts::ReceiverKind::slack: {
            auto posting = sender_.post(receiver, delivery.report.text(),
                                        reports::slack_text(reports::parse_document(delivery.document)), not_after);
            co_return co_await std::move(posting);
        }
        case alerts::ReceiverKind::webhook: {
            auto posting = sender_.post(receiver, delivery.report.text(), std::move(delivery.content), not_after);
            co_return co_await std::move(posting);
        }
        case alerts::ReceiverKind::pagerduty:
        case alerts::ReceiverKind::alertmanager:
            break;
    }
    co_return DeliveryResult{DeliveryResult::Kind::refused, {}, "it takes alerts and no reports"};
}

/// One after the other: there are few, and nobody waits for them.
Task<void> ReportRunner::deliver() {
    const bool forgets = steady_clock::now() >= forget_at_;
    auto claiming = node_.database().transact([this, epoch = hub_.epoch(), forgets](Tx& tx) {
        SchedulerStore().fence(tx, epoch, node_.id());
        const ReportStore store;
        store.lapse(tx, settings_.receivers);
        if (forgets) store.forget(tx);
        return store.claim(tx);
    });
    const auto claimed = co_await std::move(claiming);
    if (forgets) forget_at_ = steady_clock::now() + kForgetEvery;
    for (const auto& delivery : claimed) {
        if (!goes_on()) co_return;
        const auto* receiver = sender_.find(delivery.receiver);
        if (!receiver) continue;
        auto sending = send(*receiver, delivery);
        const auto result = co_await std::move(sending);
        using K = DeliveryResult::Kind;
        const bool unanswered = result.kind == K::unknown;
        const bool doubtful = unanswered && delivery.in_doubt + 1 >= kMostInDoubt;
        const char* state = result.kind == K::delivered ? "delivered"
                            : result.kind == K::refused ? "refused"
                            : doubtful                  ? "lapsed"
                                                        : "pending";
        const auto again = std::max(pause_after(delivery.attempts), result.retry_after.value_or(Duration{0}));
        auto settling = node_.database().transact([&delivery, state, &result, again, unanswered](Tx& tx) {
            ReportStore().settle(tx, delivery, state, result.error, again, unanswered);
        });
        co_await std::move(settling);
        if (result.kind != K::delivered)
            log::warn("a report was not taken",
                      {{"receiver", delivery.receiver}, {"status", state}, {"error", result.error}});
    }
}

}
