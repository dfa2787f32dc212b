// What happens, as it happens: one stream of everything, and one of each execution.
#include <algorithm>

#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"

namespace impresario::api {

using domain::ExecutionId;
using platform::HttpRequest;
using platform::HttpResponse;
using platform::Task;

namespace {

/// Most topics or types that one stream names.
constexpr std::size_t kMostNames = 50;

/// The parts of a list with commas, of a parameter that may come once.
std::vector<std::string> listed(const HttpRequest& request, const char* name, std::vector<FieldFault>& faults) {
    std::vector<std::string> parts;
    const auto text = request.parameter(name);
    if (!text) return parts;
    for (std::size_t begin = 0; begin <= text->size();) {
        const auto end = std::min(text->find(',', begin), text->size());
        if (end > begin) parts.push_back(text->substr(begin, end - begin));
        begin = end + 1;
    }
    if (parts.empty()) faults.push_back({name, "names nothing: leave it out, or list names with commas"});
    if (parts.size() > kMostNames) {
        faults.push_back({name, "names more than " + std::to_string(kMostNames)});
        parts.clear();
    }
    return parts;
}

void read_topics(const HttpRequest& request, journal::EventChoice& choice, std::vector<FieldFault>& faults) {
    for (const auto& name : listed(request, "topics", faults)) {
        if (const auto* topic = journal::find_topic(name)) {
            choice.topics.push_back(topic);
            continue;
        }
        faults.push_back({"topics", "knows no " + name + "; there are " + journal::topic_names()});
    }
}

void read_types(const HttpRequest& request, journal::EventChoice& choice, std::vector<FieldFault>& faults) {
    for (auto& type : listed(request, "types", faults)) {
        if (const auto fault = journal::pattern_fault(type); !fault.empty())
            faults.push_back({"types", type + " " + std::string(fault)});
        choice.types.push_back(std::move(type));
    }
}

/// The header as a browser sends it when it comes back, or the same as a parameter.
std::optional<std::int64_t> read_cursor(const HttpRequest& request, const std::optional<ExecutionId>& execution,
                                        std::vector<FieldFault>& faults) {
    std::string text(request.header("last-event-id"));
    std::string named = "Last-Event-ID";
    if (text.empty()) {
        text = request.parameter("last_event_id").value_or("");
        named = "last_event_id";
    }
    if (text.empty()) return std::nullopt;
    const auto at = parse_cursor(execution, text);
    if (!at)
        faults.push_back({named, "is no id of this stream: send the last one that came on it, as in " +
                                     stream_cursor(execution, 17)});
    return at;
}

}

bool wants_stream(const HttpRequest& request) {
    return request.header("accept").find("text/event-stream") != std::string_view::npos;
}

Task<HttpResponse> Api::open_stream(Call call, EventFilter filter) {
    std::vector<FieldFault> faults;
    read_types(call.request, filter.choice, faults);
    auto after = read_cursor(call.request, filter.execution, faults);
    if (!filter.execution) {
        read_topics(call.request, filter.choice, faults);
        filter.choice.workflow_types = listed(call.request, "workflow_types", faults);
    }
    if (!faults.empty()) co_return invalid(faults);
    if (!after && filter.execution) after = 0;
    if (!after) {
        try {
            after = co_await streams_.now();
        } catch (const platform::DatabaseUnavailable&) {
            // Whoever waits for it comes back.
        }
    }
    if (draining_ || !after) co_return come_back();
    // It may have been revoked while the database was asked.
    if (!keys_ || !keys_->ids().contains(call.caller.key)) co_return come_back();
    if (streams_.full())
        co_return problem(503, "too-busy",
                          "every stream of events on this node is in use; raise events.streams, or ask another node");
    filter.organization_id = call.caller.organization_id;
    filter.all_organizations = call.caller.looks_after_all();
    HttpResponse response;
    response.headers = {{"content-type", "text/event-stream"},
                        {"cache-control", "no-store"},
                        // nginx would keep it until a buffer is full.
                        {"x-accel-buffering", "no"}};
    response.stream = std::make_shared<EventStream>(streams_, std::move(filter), call.caller.key, *after);
    co_return response;
}

Task<HttpResponse> Api::events(Call call) {
    EventFilter filter;
    co_return co_await open_stream(std::move(call), std::move(filter));
}

}
