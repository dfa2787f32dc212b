#include "reports/document_text.h"

#include <algorithm>

#include "alerts/email.h"
#include "alerts/message.h"
#include "alerts/slack_message.h"
#include "platform/json_writer.h"

namespace impresario::reports {

using alerts::html_escaped;
using alerts::slack_escaped;

namespace {

constexpr const char* kCut = "The rest is left out: impresario report shows it.";
constexpr std::size_t kSlackBlocks = 48;
constexpr std::size_t kSlackSection = 3000;
constexpr std::size_t kSlackText = 2800;
constexpr std::size_t kSlackHeader = 150;

/// Characters, not bytes: what most of them take of a line.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string row_text(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
        line += alerts::one_line(row[i]);
        if (i + 1 < row.size()) line += std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    while (line.ends_with(' ')) line.pop_back();
    return line + "\n";
}

bool headed(const Section& section) {
    return std::any_of(section.columns.begin(), section.columns.end(), [](const auto& name) { return !name.empty(); });
}

std::string table_text(const Section& section) {
    std::vector<std::size_t> widths(section.columns.size(), 0);
    const auto measure = [&](const std::vector<std::string>& row) {
        for (std::size_t i = 0; i < widths.size() && i < row.size(); ++i)
            widths[i] = std::max(widths[i], width(row[i]));
    };
    measure(section.columns);
    for (const auto& row : section.rows) measure(row);
    std::string text;
    if (headed(section)) text += row_text(section.columns, widths);
    for (const auto& row : section.rows) text += row_text(row, widths);
    return text;
}

std::string section_text(const Section& section) {
    std::string text = "\n" + section.heading + "\n";
    for (const auto& line : section.lines) text += alerts::one_line(line) + "\n";
    return text + table_text(section);
}

std::string section_html(const Section& section) {
    std::string html = "<h3>" + html_escaped(section.heading) + "</h3>\n";
    for (const auto& line : section.lines) html += "<p>" + html_escaped(line) + "</p>\n";
    if (section.rows.empty()) return html;
    html += "<table cellpadding=\"4\" style=\"border-collapse:collapse\">\n";
    const auto row = [&](const std::vector<std::string>& cells, const char* tag) {
        html += "<tr>";
        for (const auto& cell : cells)
            html += std::string("<") + tag + " style=\"text-align:left;border-bottom:1px solid #ddd\">" +
                    html_escaped(cell) + "</" + tag + ">";
        html += "</tr>\n";
    };
    if (headed(section)) row(section.columns, "th");
    for (const auto& each : section.rows) row(each, "td");
    return html + "</table>\n";
}

/// In a code block nothing is markup but its end.
std::string slack_section(const Section& section) {
    std::string text = "*" + slack_escaped(section.heading, kSlackHeader) + "*";
    for (const auto& line : section.lines) {
        const auto more = "\n" + slack_escaped(alerts::one_line(line), kSlackSection / 4);
        if (text.size() + more.size() <= kSlackSection / 2) text += more;
    }
    auto table = table_text(section);
    if (table.empty()) return text;
    std::replace(table.begin(), table.end(), '`', '\'');
    std::string shown;
    std::size_t at = 0;
    while (at < table.size()) {
        const auto end = table.find('\n', at) + 1;
        const auto line = slack_escaped(table.substr(at, end - at), kSlackSection / 4);
        if (text.size() + shown.size() + line.size() + 10 > kSlackSection) break;
        shown += line;
        at = end;
    }
    return text + "\n```\n" + shown + "```";
}

}

std::string plain_text(const Document& document, std::size_t most) {
    std::string text = document.title + "\n";
    for (const auto& section : document.sections) {
        const auto part = section_text(section);
        if (text.size() + part.size() + 60 > most) return text + "\n" + kCut + "\n";
        text += part;
    }
    return text;
}

std::string html_text(const Document& document, std::size_t most) {
    std::string html = "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n<h2>" +
                       html_escaped(document.title) + "</h2>\n";
    for (const auto& section : document.sections) {
        const auto part = section_html(section);
        if (html.size() + part.size() > most) {
            html += std::string("<p>") + kCut + "</p>\n";
            break;
        }
        html += part;
    }
    return html + "</body></html>\n";
}

std::string slack_text(const Document& document) {
    platform::JsonWriter json;
    std::string text = document.title;
    if (!document.sections.empty()) text += "\n" + section_text(document.sections.front());
    json.open().field("text", slack_escaped(text, kSlackText)).open("blocks", '[');
    platform::JsonWriter header;
    header.open().field("type", "plain_text").field("text", slack_escaped(document.title, kSlackHeader)).close();
    json.open('{').field("type", "header").raw("text", header.text()).close();
    std::size_t blocks = 0;
    for (const auto& section : document.sections) {
        if (++blocks == kSlackBlocks) break;
        platform::JsonWriter body;
        body.open().field("type", "mrkdwn").field("text", slack_section(section)).field("verbatim", true).close();
        json.open('{').field("type", "section").raw("text", body.text()).close();
    }
    json.close(']').close();
    return std::move(json).text();
}

}
