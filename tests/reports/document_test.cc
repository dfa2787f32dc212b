#include "reports/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/document_json.h"
#include "reports/document_text.h"

namespace impresario::reports {
namespace document_test {

using ::testing::HasSubstr;
using ::testing::Not;

Report day() {
    Report report;
    report.zone = "Europe/Berlin";
    Settings settings;
    settings.zone = report.zone;
    report.period = period_of(Kind::daily, *parse_day("2026-11-27"), settings);
    report.made_at = report.period.to;
    auto& work = report.lanes[{"default", "work"}];
    work.completed = 9;
    work.failed = 1;
    work.cost = {1'500'000};
    work.items = 3;
    work.durations.add(200, 9);
    report.lanes[{"acme", "work"}].completed = 1;
    report.gates = {{{"default", "work"}, "budget", "day", 3600}};
    report.failures = {{{"default", "work"}, "f", "rejected", "<script>alert('@channel ```')</script>", 1, {"id-1"}}};
    report.alerts = {{"anomaly", "info", "cost_usd of work is unlike other weeks", report.period.from, {}, {"id-2"}}};
    return report;
}

TEST(Document, SaysHowTheDayWent) {
    const auto text = plain_text(document_of(day()), 100000);
    EXPECT_THAT(text, HasSubstr("Daily summary, 2026-11-27\n"));
    EXPECT_THAT(text, HasSubstr("ended                        11\n"));
    EXPECT_THAT(text, HasSubstr("success                      90.9 %\n"));
    EXPECT_THAT(text, HasSubstr("cost, USD                    1.50\n"));
    EXPECT_THAT(text, HasSubstr("cost of an item, USD         0.5000\n"));
    EXPECT_THAT(text, HasSubstr("acme/work"));
    EXPECT_THAT(text, HasSubstr("budget  day  1h 00m  4.2 %")) << text;
    EXPECT_THAT(text, HasSubstr("1 is an anomaly."));
    EXPECT_THAT(text, HasSubstr("2026-11-27 00:00")) << "by the clocks of the zone";
    EXPECT_THAT(text, Not(HasSubstr("Proposed"))) << "a day says nothing about that";
}

TEST(Document, ComesBackAsItWasKept) {
    const auto document = document_of(day());
    EXPECT_EQ(parse_document(document_json(document)), document);
}

TEST(Document, WhatComesFromErrorsIsNeverMarkup) {
    const auto document = document_of(day());
    const auto html = html_text(document, 100000);
    EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
    EXPECT_THAT(html, Not(HasSubstr("<script>")));
    const auto slack = slack_text(document);
    EXPECT_THAT(slack, HasSubstr("&lt;script&gt;"));
    EXPECT_THAT(slack, Not(HasSubstr("@channel")));
    EXPECT_THAT(slack, HasSubstr("'''")) << "its code block ends where it is to";
}

TEST(Document, IsCutWhereItIsTooLongAndSaysSo) {
    auto report = day();
    for (int i = 0; i < 300; ++i) {
        const domain::Lane lane{"default", "type_" + std::to_string(i) + std::string(60, 'x')};
        report.lanes[lane].completed = i;
        report.gates.push_back({lane, "budget", std::string(200, 'b'), 60});
        report.failures.push_back({lane, "f", "rejected", std::string(500, '<'), 1, {}});
    }
    const auto document = document_of(report);
    EXPECT_THAT(plain_text(document, 100000), HasSubstr("The first 15 of 302."));
    const auto cut = html_text(document, 4000);
    EXPECT_LT(cut.size(), 4200U);
    EXPECT_THAT(cut, HasSubstr("left out"));
    EXPECT_LT(plain_text(document, 1000).size(), 1100U);
    EXPECT_LT(slack_text(document).size(), 40000U);
}

}
}
