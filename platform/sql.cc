#include "platform/sql.h"

#include <charconv>
#include <cstdio>

#include "platform/crypto.h"

namespace impresario::platform {

namespace {
/// PostgreSQL reads this form in any session time zone.
std::string time_text(domain::TimePoint at) {
    if (at == domain::TimePoint::max()) return "infinity";
    if (at == domain::TimePoint::min()) return "-infinity";
    return domain::rfc3339(at);
}
}

void SqlArray::plain(std::string_view text) {
    if (count_++ != 0) text_ += ',';
    text_ += text;
}

void SqlArray::add(std::string_view text) {
    if (count_++ != 0) text_ += ',';
    text_ += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') text_ += '\\';
        text_ += c;
    }
    text_ += '"';
}

void SqlArray::add(std::int64_t value) { plain(std::to_string(value)); }
void SqlArray::add(domain::TimePoint at) { plain(time_text(at)); }
void SqlArray::add_bytes(std::string_view bytes) { plain("\"\\\\x" + hex(bytes) + "\""); }

Params& Params::add(domain::TimePoint at) {
    values_.emplace_back(time_text(at));
    return *this;
}

Params& Params::add_bytes(std::string_view bytes) {
    values_.emplace_back("\\x" + hex(bytes));
    return *this;
}

std::int64_t RowReader::integer() {
    const auto text = view();
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::vector<std::int64_t> RowReader::integers() {
    const auto text = view();
    std::vector<std::int64_t> values;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        std::int64_t value = 0;
        const auto [after, error] = std::from_chars(at, end, value);
        if (error == std::errc{}) values.push_back(value);
        at = error == std::errc{} ? after : at + 1;
    }
    return values;
}

double RowReader::real() {
    const auto text = view();
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

domain::TimePoint RowReader::time() {
    const auto text = view();
    if (const auto at = domain::parse_time(text)) return *at;
    // What SQL callers may write and RFC 3339 cannot: never, and long ago.
    if (text == "-infinity" || text.ends_with(" BC")) return domain::kFirstTime;
    const auto year = text.find('-');
    if (text == "infinity" || (year != std::string_view::npos && year > 4)) return domain::kNever;
    return {};
}

std::string RowReader::bytes() {
    const auto text = view();
    std::string bytes;
    if (!text.starts_with("\\x")) return bytes;
    for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
        unsigned value = 0;
        std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
        bytes += static_cast<char>(value);
    }
    return bytes;
}

std::optional<std::int64_t> RowReader::maybe_integer() {
    if (null()) {
        skip();
        return std::nullopt;
    }
    return integer();
}

std::optional<domain::TimePoint> RowReader::maybe_time() {
    if (null()) {
        skip();
        return std::nullopt;
    }
    return time();
}

}
