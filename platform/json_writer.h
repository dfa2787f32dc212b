#pragma once
// Writes small JSON texts on the hot path (events, triggers, answers) without building a tree.

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/time.h"

namespace impresario::platform {

/// `text` as a JSON string with its quotes. Expects UTF-8.
std::string json_quoted(std::string_view text);
/// The same at the end of `into`.
void append_quoted(std::string& into, std::string_view text);

/// Appends to one text; the caller keeps the nesting right.
///     JsonWriter json; json.open(); json.field("a", 1).field("b", "x").raw("c", "[1,2]"); json.close();
class JsonWriter {
  public:
    /// Room for most of what is written with it.
    JsonWriter() { text_.reserve(256); }
    JsonWriter& open(char bracket = '{') {
        comma();
        text_ += bracket;
        fresh_ = true;
        return *this;
    }
    JsonWriter& close(char bracket = '}') {
        text_ += bracket;
        fresh_ = false;
        return *this;
    }
    /// A member that holds an object or array, to be closed by the caller.
    JsonWriter& open(std::string_view key, char bracket) {
        name(key);
        text_ += bracket;
        fresh_ = true;
        return *this;
    }
    JsonWriter& field(std::string_view key, std::string_view value) {
        name(key);
        append_quoted(text_, value);
        return *this;
    }
    JsonWriter& field(std::string_view key, const char* value) { return field(key, std::string_view(value)); }
    JsonWriter& field(std::string_view key, const std::string& value) { return field(key, std::string_view(value)); }
    JsonWriter& field(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
    template <class Number>
    requires(std::integral<Number> || std::same_as<Number, double>) &&
        (!std::same_as<Number, bool>)JsonWriter& field(std::string_view key, Number value) {
        char buffer[32];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
        return raw(key, std::string_view(buffer, static_cast<std::size_t>(end.ptr - buffer)));
    }
    /// RFC 3339, UTC.
    JsonWriter& field(std::string_view key, domain::TimePoint at) { return field(key, domain::rfc3339(at)); }
    template <class T>
    JsonWriter& field(std::string_view key, const std::optional<T>& value) {
        return value ? field(key, *value) : raw(key, "null");
    }
    /// null for empty text.
    JsonWriter& field_or_null(std::string_view key, std::string_view text) {
        return text.empty() ? raw(key, {}) : field(key, text);
    }
    /// JSON text as it is; empty stands for null.
    JsonWriter& raw(std::string_view key, std::string_view json) {
        name(key);
        text_ += json.empty() ? std::string_view("null") : json;
        return *this;
    }
    /// A member that is an array of strings.
    template <class Texts>
    JsonWriter& texts(std::string_view key, const Texts& all) {
        open(key, '[');
        for (const auto& each : all) element(json_quoted(each));
        return close(']');
    }
    /// An element of the array that is open.
    JsonWriter& element(std::string_view json) {
        comma();
        text_ += json;
        return *this;
    }

    const std::string& text() const& { return text_; }
    std::string text() && { return std::move(text_); }

  private:
    void comma() {
        if (!fresh_) text_ += ',';
        fresh_ = false;
    }
    void name(std::string_view key) {
        comma();
        append_quoted(text_, key);
        text_ += ':';
    }

    std::string text_;
    bool fresh_ = true;
};

}
