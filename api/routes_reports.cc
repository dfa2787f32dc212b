// Reports: what was made when it came due, and any other day or week for whoever asks.
#include "api/api.h"
#include "api/problem.h"
#include "api/receiver_answer.h"
#include "api/request_reader.h"
#include "orchestrator/report_maker.h"
#include "platform/json_writer.h"
#include "platform/zone.h"
#include "reports/document_json.h"
#include "reports/document_text.h"
#include "reports/report_json.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;
using reports::Kind;
using reports::ReportStore;
using reports::StoredReport;
using std::chrono::steady_clock;

namespace {

/// One request may take so long; what is made by itself may take longer.
constexpr std::chrono::seconds kPatience{20};
constexpr std::size_t kLongestDocument = 1 << 20;

HttpResponse of_type(const char* type, std::string body) {
    auto response = json_response(200, std::move(body));
    response.headers.front().second = type;
    return response;
}

HttpResponse no_such_kind() { return problem(404, "not-found", "there are daily and weekly reports"); }

}

/// What is asked for, or what is wrong with that.
std::variant<orchestrator::ReportAsked, HttpResponse> Api::asked_report(Call& call) const {
    const auto kind = domain::value_in(reports::kKinds, call.path["kind"]);
    if (!kind || !reports_) return no_such_kind();
    const auto& settings = reports_->settings();
    const auto now = node_.clock().now();
    orchestrator::ReportAsked asked{*kind, reports::latest_due(*kind, now, settings).period, settings.zone,
                                    call.caller.scope()};
    if (alerts_) asked.alerts_kept = alerts_->settings().keep;
    const auto at = call.request.parameter("at");
    if (!at) return asked;
    const auto day = reports::parse_day(*at);
    std::vector<FieldFault> faults;
    if (!day) {
        faults.push_back({"at", "must be a day such as 2026-11-27"});
    } else {
        asked.period = reports::period_of(*kind, *day, settings);
        if (asked.period.from > now)
            faults.push_back({"at", "must have begun: of what is to come nothing is reported"});
    }
    if (!faults.empty()) return invalid(faults);
    return asked;
}

/// As it was made when it came due, or made now. nullopt: it takes too long.
Task<std::optional<StoredReport>> Api::report_about(orchestrator::ReportAsked asked) {
    if (asked.organization_id.empty()) {
        auto finding =
            node_.database().read([asked](Tx& tx) { return ReportStore().find(tx, asked.kind, asked.period); });
        auto found = co_await std::move(finding);
        if (found) co_return found;
    }
    // One at a time: whoever asks for many gets them one after the other, and the pool is for those who work.
    auto entering = reports_place_.enter();
    const auto place = co_await std::move(entering);
    const auto until = steady_clock::now() + kPatience;
    auto making = orchestrator::make_report(node_, std::move(asked), [until] { return steady_clock::now() < until; });
    const auto made = co_await std::move(making);
    if (!made) co_return std::nullopt;
    StoredReport report;
    report.id = node_.ids().make<reports::ReportId>(node_.clock().now());
    report.content = reports::report_json(*made);
    report.document = reports::document_json(reports::document_of(*made));
    co_return report;
}

Task<HttpResponse> Api::get_report(Call call) {
    auto asked = asked_report(call);
    if (auto* wrong = std::get_if<HttpResponse>(&asked)) co_return std::move(*wrong);
    const auto format = call.request.parameter("format").value_or("json");
    if (format != "json" && format != "text" && format != "html") {
        const std::vector<FieldFault> faults{{"format", "must be json, text or html"}};
        co_return invalid(faults);
    }
    auto reading = report_about(std::get<orchestrator::ReportAsked>(std::move(asked)));
    const auto report = co_await std::move(reading);
    if (!report)
        co_return problem(503, "report-too-large",
                          "so much ended in that time that it cannot be summed up while you wait; what comes due by "
                          "itself is made in peace: GET /v1/reports");
    if (format == "json") co_return json_response(200, report->content);
    const auto document = reports::parse_document(report->document);
    if (format == "html") co_return of_type("text/html; charset=utf-8", reports::html_text(document, kLongestDocument));
    co_return of_type("text/plain; charset=utf-8", reports::plain_text(document, kLongestDocument));
}

/// Once, at somebody's wish: nothing of it is kept.
Task<HttpResponse> Api::send_report(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("receivers");
    auto asked = asked_report(call);
    if (auto* wrong = std::get_if<HttpResponse>(&asked)) co_return std::move(*wrong);
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return std::move(*refused);
    BodyReader body(call.request.body);
    const auto name_of_receiver = body.text("receiver");
    body.nothing_else();
    const auto* receiver = alerts_ ? alerts::find_receiver(alerts_->settings().receivers, name_of_receiver) : nullptr;
    if (body.faults().empty() && !receiver)
        body.wrong("receiver", "must be one of the configuration's [[alerts.receivers]]");
    if (!body.faults().empty()) co_return invalid(body.faults());
    const auto kind = std::get<orchestrator::ReportAsked>(asked).kind;
    auto reading = report_about(std::get<orchestrator::ReportAsked>(std::move(asked)));
    auto report = co_await std::move(reading);
    if (!report) co_return problem(503, "report-too-large", "so much ended in that time that it takes too long");
    reports::Delivery delivery;
    // Not the id of one that is kept: who has got that would take this for the same.
    delivery.report = node_.ids().make<reports::ReportId>(node_.clock().now());
    delivery.receiver = name_of_receiver;
    delivery.kind = kind;
    delivery.made_at = node_.clock().now();
    delivery.content = std::move(report->content);
    delivery.document = std::move(report->document);
    auto sending = reports_->send(*receiver, std::move(delivery));
    const auto result = co_await std::move(sending);
    co_return receiver_answer(result);
}

Task<HttpResponse> Api::list_reports(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("the list of reports");
    std::vector<FieldFault> faults;
    const int most = page_limit(call.request, 30, 500, faults);
    const auto kind = call.request.parameter("kind").value_or("");
    if (!kind.empty() && !domain::value_in(reports::kKinds, kind))
        faults.push_back({"kind", "must be daily or weekly"});
    if (!faults.empty()) co_return invalid(faults);
    auto reading = node_.database().read([kind, most](Tx& tx) { return ReportStore().list(tx, kind, most); });
    const auto rows = co_await std::move(reading);
    JsonWriter json;
    json.open();
    json.open("reports", '[');
    for (const auto& row : rows) {
        const auto* zone = platform::find_zone(row.zone);
        json.open();
        json.field("report_id", row.id.text())
            .field("kind", row.kind)
            .field("period", reports::period_text(row.period, zone))
            .field("at", reports::day_text(reports::day_at(row.period.from, zone)))
            .field("from", row.period.from)
            .field("to", row.period.to)
            .field("zone", row.zone)
            .field("made_at", row.made_at)
            .raw("deliveries", row.deliveries);
        json.close();
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
