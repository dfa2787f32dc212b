#include "api/request_reader.h"

#include <charconv>

#include "platform/crypto.h"
#include "platform/json_text.h"

namespace impresario::api {

using platform::JsonType;

namespace {
std::optional<platform::HttpResponse> refuse(std::string_view text, JsonType wanted, const char* called) {
    const auto checked = platform::check_json(text);
    if (!checked) {
        const auto& fault = checked.error();
        const std::string where = fault.what + " (at byte " + std::to_string(fault.offset) + ")";
        if (fault.kind == platform::JsonFault::Kind::unstorable) return invalid({{fault.pointer, fault.what}});
        return problem(400, "invalid-json", "the body is not JSON: " + where, {{fault.pointer, where}});
    }
    if (platform::json_type(text) != wanted) return invalid({{"", std::string("must be a JSON ") + called}});
    return std::nullopt;
}
}

std::optional<platform::HttpResponse> BodyReader::refuse_body(std::string_view text) {
    return refuse(text, JsonType::object, "object");
}
std::optional<platform::HttpResponse> BodyReader::refuse_array(std::string_view text) {
    return refuse(text, JsonType::array, "array");
}

BodyReader::BodyReader(std::string_view text, std::string at) : text_(text), at_(std::move(at)) {
    if (platform::json_type(text_) != JsonType::object) faults_.push_back({at_, "must be a JSON object"});
}

std::optional<std::string_view> BodyReader::raw(std::string_view member) {
    known_.emplace(member);
    const auto value = platform::json_member(text_, member);
    if (!value || platform::json_type(*value) == JsonType::null) return std::nullopt;
    return value;
}

bool BodyReader::has(std::string_view member) { return raw(member).has_value(); }

std::string BodyReader::text(std::string_view member, std::size_t most) {
    const auto value = raw(member);
    if (!value) return {};
    if (platform::json_type(*value) != JsonType::string) {
        wrong(member, "must be a string");
        return {};
    }
    std::string text = platform::json_string(*value);
    if (text.size() > most) wrong(member, "must have at most " + std::to_string(most) + " bytes");
    return text;
}

std::optional<int> BodyReader::whole(std::string_view member, int least, int most) {
    const auto number = large(member, least, most);
    return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<std::int64_t> BodyReader::large(std::string_view member, std::int64_t least, std::int64_t most) {
    const auto value = raw(member);
    if (!value) return std::nullopt;
    std::int64_t number = 0;
    const auto read = std::from_chars(value->data(), value->data() + value->size(), number);
    if (platform::json_type(*value) != JsonType::number || read.ec != std::errc{} ||
        read.ptr != value->data() + value->size() || number < least || number > most) {
        wrong(member, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
        return std::nullopt;
    }
    return number;
}

std::optional<domain::TimePoint> BodyReader::time(std::string_view member) {
    const auto value = text(member, 64);
    if (value.empty()) return std::nullopt;
    const auto at = domain::parse_time(value);
    if (!at) {
        wrong(member, "must be an RFC 3339 time such as 2026-11-27T22:00:00Z");
        return std::nullopt;
    }
    return at;
}

std::optional<int> priority_class(std::string_view text) {
    if (text == "critical") return 90;
    if (text == "high") return 70;
    if (text == "normal") return 50;
    if (text == "low") return 20;
    return std::nullopt;
}

std::optional<int> BodyReader::priority(std::string_view member) {
    const auto value = raw(member);
    if (!value) return std::nullopt;
    if (platform::json_type(*value) == JsonType::string) {
        const auto known = priority_class(platform::json_string(*value));
        if (!known) wrong(member, "must be 0 to 100, or critical, high, normal, low");
        return known;
    }
    int number = 0;
    const auto read = std::from_chars(value->data(), value->data() + value->size(), number);
    if (read.ec != std::errc{} || read.ptr != value->data() + value->size() || number < 0 || number > 100) {
        wrong(member, "must be 0 to 100, or critical, high, normal, low");
        return std::nullopt;
    }
    return number;
}

void BodyReader::wrong(std::string_view member, std::string what) { wrong_within(member, "", std::move(what)); }

void BodyReader::wrong_within(std::string_view member, std::string_view pointer, std::string what) {
    // One more than is listed, so that the answer can say that there are more.
    if (faults_.size() <= kMostFaults)
        faults_.push_back({at_ + "/" + platform::pointer_token(member) + std::string(pointer), std::move(what)});
}

void BodyReader::nothing_else() {
    for (const auto& member : platform::json_members(text_))
        if (!known_.contains(member.key)) wrong(member.key, "is not a member of this object");
}

ByHand read_by_hand(std::string_view text, std::size_t most_reason, std::optional<domain::TimePoint> now) {
    ByHand said;
    if (text.empty()) return said;
    said.refused = BodyReader::refuse_body(text);
    if (said.refused) return said;
    BodyReader body(text);
    said.reason = body.text("reason", most_reason);
    if (now) {
        said.until = body.time("until");
        if (said.until && *said.until <= *now) body.wrong("until", "must be in the future");
    }
    body.nothing_else();
    if (!body.faults().empty()) said.refused = invalid(body.faults());
    return said;
}

platform::HttpResponse invalid(const std::vector<FieldFault>& faults) {
    std::string detail = "the request is not valid";
    if (!faults.empty())
        detail = (faults.front().pointer.empty() ? "the body" : faults.front().pointer) + " " + faults.front().what;
    return problem(422, "invalid-request", detail, faults);
}

std::optional<platform::HttpResponse> refuse_name(const std::string& name, std::size_t longest) {
    if (!name.empty() && name.size() <= longest) return std::nullopt;
    return invalid({{"name", "must have 1 to " + std::to_string(longest) + " bytes"}});
}

std::string cursor_text(const Cursor& cursor) {
    return platform::base64url(std::to_string(domain::micros(cursor.at)) + "." + cursor.id);
}

std::optional<Cursor> parse_cursor(std::string_view text) {
    const auto plain = platform::decode_base64url(text);
    if (!plain) return std::nullopt;
    const auto dot = plain->find('.');
    if (dot == std::string::npos) return std::nullopt;
    std::int64_t at = 0;
    const auto read = std::from_chars(plain->data(), plain->data() + dot, at);
    if (read.ec != std::errc{} || read.ptr != plain->data() + dot) return std::nullopt;
    const Cursor cursor{domain::from_micros(at), plain->substr(dot + 1)};
    if (cursor.at < domain::kFirstTime || cursor.at > domain::kLastTime) return std::nullopt;
    return cursor;
}

int page_limit(const platform::HttpRequest& request, int fallback, int most, std::vector<FieldFault>& faults) {
    const auto text = request.parameter("limit");
    if (!text) return fallback;
    int limit = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), limit);
    if (read.ec != std::errc{} || read.ptr != text->data() + text->size() || limit < 1 || limit > most) {
        faults.push_back({"limit", "must be from 1 to " + std::to_string(most)});
        return fallback;
    }
    return limit;
}

int after_seq(const platform::HttpRequest& request, std::vector<FieldFault>& faults) {
    int after = 0;
    const auto text = request.parameter("after");
    if (!text) return after;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), after);
    if (error != std::errc{} || end != text->data() + text->size() || after < 0)
        faults.push_back({"after", "must be the seq of an event"});
    return after;
}

std::optional<std::int64_t> number_parameter(const platform::HttpRequest& request, std::string_view name,
                                             std::vector<FieldFault>& faults) {
    const auto text = request.parameter(name);
    if (!text) return std::nullopt;
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error == std::errc{} && end == text->data() + text->size() && number >= 0) return number;
    faults.push_back({std::string(name), "must be a whole number from 0"});
    return std::nullopt;
}

std::optional<domain::TimePoint> time_parameter(const platform::HttpRequest& request, std::string_view name,
                                                std::vector<FieldFault>& faults) {
    const auto text = request.parameter(name);
    if (!text || text->empty()) return std::nullopt;
    const auto at = domain::parse_time(*text);
    if (!at) faults.push_back({std::string(name), "must be an RFC 3339 time such as 2026-11-27T22:00:00Z"});
    return at;
}

}
