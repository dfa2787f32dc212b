#include "api/problem.h"

#include <algorithm>
#include <span>

#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::api {

platform::HttpResponse problem(int status, std::string_view type, std::string_view detail,
                               const std::vector<FieldFault>& faults) {
    const auto listed = std::min(faults.size(), kMostFaults);
    std::string text = platform::storable_text(detail);
    if (faults.size() > listed) text += " (there is more; the first " + std::to_string(listed) + " are listed)";
    platform::JsonWriter json;
    json.open();
    json.field("type", "/problems/" + std::string(type))
        .field("title", platform::reason_phrase(status))
        .field("status", status)
        .field("detail", text);
    if (!faults.empty()) {
        json.open("errors", '[');
        for (const auto& fault : std::span(faults).first(listed)) {
            json.open();
            json.field("pointer", platform::storable_text(fault.pointer))
                .field("detail", platform::storable_text(fault.what));
            json.close();
        }
        json.close(']');
    }
    json.close();
    platform::HttpResponse response;
    response.status = status;
    response.headers.emplace_back("content-type", "application/problem+json");
    if (status == 503) response.headers.emplace_back("retry-after", "2");
    if (status == 401) response.headers.emplace_back("www-authenticate", "Bearer");
    response.body = std::move(json).text();
    return response;
}

platform::HttpResponse json_response(int status, std::string body) {
    platform::HttpResponse response;
    response.status = status;
    response.headers.emplace_back("content-type", "application/json");
    response.body = std::move(body);
    return response;
}

platform::HttpResponse for_default_only(const std::string& what) {
    return problem(403, "forbidden", what + " concern every organization: ask with a key of the organization default");
}

}
