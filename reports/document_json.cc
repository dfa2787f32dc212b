#include "reports/document_json.h"

#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::reports {

using platform::json_elements;
using platform::json_member;
using platform::json_string;
using platform::json_strings;

std::string document_json(const Document& document) {
    platform::JsonWriter json;
    json.open().field("title", document.title).open("sections", '[');
    for (const auto& section : document.sections) {
        json.open().field("heading", section.heading);
        json.texts("lines", section.lines).texts("columns", section.columns);
        json.open("rows", '[');
        for (const auto& row : section.rows) {
            json.open('[');
            for (const auto& cell : row) json.element(platform::json_quoted(cell));
            json.close(']');
        }
        json.close(']').close();
    }
    json.close(']').close();
    return std::move(json).text();
}

Document parse_document(std::string_view json) {
    const auto member = [](std::string_view object, std::string_view name) {
        return json_member(object, name).value_or("null");
    };
    Document document;
    document.title = json_string(member(json, "title"));
    const auto sections = json_elements(member(json, "sections"));
    for (const auto each : sections) {
        Section section;
        section.heading = json_string(member(each, "heading"));
        section.lines = json_strings(member(each, "lines"));
        section.columns = json_strings(member(each, "columns"));
        const auto rows = json_elements(member(each, "rows"));
        for (const auto row : rows) section.rows.push_back(json_strings(row));
        document.sections.push_back(std::move(section));
    }
    return document;
}

}
