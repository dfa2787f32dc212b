#include "platform/sql.h"

#include <algorithm>
#include <bit>
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

/// What an array in binary form begins with: the number of dimensions, whether there are nulls, the type, and of the
/// one dimension its length and where it begins.
constexpr std::size_t kHeader = 20;
constexpr std::uint32_t kNull = 0xFFFFFFFF;
/// PostgreSQL counts from the year 2000.
constexpr domain::TimePoint kEpoch = std::chrono::sys_days(std::chrono::year(2000) / 1 / 1);

/// As many bytes as there are, the highest first, with the sign of the first.
std::int64_t whole(std::string_view bytes) {
    std::uint64_t value = !bytes.empty() && (bytes.front() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(value);
}

template <class Number>
void put_number(char* at, Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i)
        at[i] = static_cast<char>(number >> (8 * (sizeof number - 1 - i)) & 0xFF);
}

void append_number(std::string& text, std::uint32_t number) {
    char bytes[4];
    put_number(bytes, number);
    text.append(bytes, sizeof bytes);
}

}

/// Nulls that came before the first value are written now that the form is known.
void SqlArray::begin(SqlType type) {
    if (type_ == type) return;
    if (type_) throw std::logic_error("an array parameter holds values of two types");
    type_ = type;
    if (is_binary()) elements_.assign(kHeader, '\0');
    for (std::size_t i = 0; i < count_; ++i) {
        if (is_binary()) {
            append_number(elements_, kNull);
        } else {
            elements_ += i == 0 ? "NULL" : ",NULL";
        }
    }
}

void SqlArray::binary(SqlType type, std::string_view bytes) {
    begin(type);
    ++count_;
    append_number(elements_, static_cast<std::uint32_t>(bytes.size()));
    elements_ += bytes;
}

void SqlArray::plain(std::string_view text) {
    begin(SqlType::unknown);
    if (count_++ != 0) elements_ += ',';
    elements_ += text;
}

void SqlArray::null() {
    has_null_ = true;
    if (!type_) {
        ++count_;
    } else if (is_binary()) {
        ++count_;
        append_number(elements_, kNull);
    } else {
        plain("NULL");
    }
}

void SqlArray::add(std::int64_t value) { plain(std::to_string(value)); }

void SqlArray::add(domain::TimePoint at) {
    // The latest and the earliest are PostgreSQL's infinities.
    const bool infinite = at == domain::TimePoint::max() || at == domain::TimePoint::min();
    const auto since =
        infinite ? at.time_since_epoch() : std::clamp(at, domain::kFirstTime, domain::kLastTime) - kEpoch;
    char bytes[8];
    put_number(bytes, static_cast<std::uint64_t>(since.count()));
    binary(SqlType::timestamptz, {bytes, sizeof bytes});
}

void SqlArray::add_bigint(std::int64_t value) {
    char bytes[8];
    put_number(bytes, static_cast<std::uint64_t>(value));
    binary(SqlType::bigint, {bytes, sizeof bytes});
}

void SqlArray::add_json(std::string_view json) {
    std::string quoted = "\"";
    for (const char c : json) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    plain(quoted + '"');
}

std::string SqlArray::bytes() && {
    // Nothing but nulls.
    if (!type_) begin(SqlType::unknown);
    if (!is_binary()) return '{' + std::move(elements_) + '}';
    put_number(elements_.data(), std::uint32_t{1});
    put_number(elements_.data() + 4, std::uint32_t{has_null_});
    put_number(elements_.data() + 8, static_cast<std::uint32_t>(*type_));
    put_number(elements_.data() + 12, static_cast<std::uint32_t>(count_));
    put_number(elements_.data() + 16, std::uint32_t{1});
    return std::move(elements_);
}

Params& Params::add(domain::TimePoint at) { return put(time_text(at)); }

Params& Params::add_bytes(std::string_view bytes) { return put("\\x" + hex(bytes)); }

std::string_view RowReader::take(std::initializer_list<SqlType> types) {
    const auto column = column_++;
    const auto type = rows_.type(column);
    if (std::find(types.begin(), types.end(), type) == types.end())
        throw std::logic_error("column " + std::string(rows_.column_name(column)) + " of type " +
                               std::to_string(static_cast<std::uint32_t>(type)) +
                               " is not read as that in binary form");
    return rows_.null(row_, column) ? std::string_view{} : rows_.text(row_, column);
}

std::string_view RowReader::view() {
    if (rows_.binary(column_)) return take({SqlType::text, SqlType::varchar, SqlType::name, SqlType::json});
    const auto column = column_++;
    return rows_.null(row_, column) ? std::string_view{} : rows_.text(row_, column);
}

bool RowReader::flag() {
    return rows_.binary(column_) ? take({SqlType::boolean}) == std::string_view("\1", 1) : view() == "t";
}

std::array<std::uint8_t, 16> RowReader::uuid() {
    std::array<std::uint8_t, 16> value{};
    const auto bytes = take({SqlType::uuid});
    std::copy_n(bytes.begin(), std::min(bytes.size(), value.size()), value.begin());
    return value;
}

std::int64_t RowReader::integer() {
    if (rows_.binary(column_))
        return whole(take({SqlType::smallint, SqlType::integer, SqlType::bigint, SqlType::xid8}));
    const auto text = view();
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

bool RowReader::repeats(std::size_t columns) const {
    if (row_ == 0) return false;
    for (auto column = column_; column < column_ + columns; ++column)
        if (rows_.null(row_, column) != rows_.null(row_ - 1, column) ||
            rows_.text(row_, column) != rows_.text(row_ - 1, column))
            return false;
    return true;
}

std::vector<std::int64_t> RowReader::integers() {
    std::vector<std::int64_t> values;
    if (rows_.binary(column_)) {
        auto bytes = take({SqlType::bigint_array});
        for (bytes.remove_prefix(std::min(kHeader, bytes.size())); bytes.size() >= 12; bytes.remove_prefix(12))
            values.push_back(whole(bytes.substr(4, 8)));
        return values;
    }
    const auto text = view();
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
    if (rows_.binary(column_)) return std::bit_cast<double>(whole(take({SqlType::double_precision})));
    const auto text = view();
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

domain::TimePoint RowReader::time() {
    if (rows_.binary(column_)) {
        const auto bytes = take({SqlType::timestamptz});
        const domain::Duration since{whole(bytes)};
        // What is beyond the years 1 to 9999 is as in text form.
        if (bytes.empty()) return {};
        if (since >= domain::kLastTime - kEpoch)
            return since > domain::kLastTime - kEpoch ? domain::kNever : domain::kLastTime;
        if (since < domain::kFirstTime - kEpoch) return domain::kFirstTime;
        return kEpoch + since;
    }
    const auto text = view();
    if (const auto at = domain::parse_time(text)) return *at;
    // What SQL callers may write and RFC 3339 cannot: never, and long ago.
    if (text == "-infinity" || text.ends_with(" BC")) return domain::kFirstTime;
    const auto year = text.find('-');
    if (text == "infinity" || (year != std::string_view::npos && year > 4)) return domain::kNever;
    return {};
}

std::string RowReader::bytes() {
    if (rows_.binary(column_)) return std::string(take({SqlType::bytea}));
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
