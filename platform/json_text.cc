#include "platform/json_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace impresario::platform {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Length of the UTF-8 sequence at `text[at]`, 0 when it is not one. Overlong forms and surrogates are not.
std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        if (!follows(1) || !follows(2)) return 0;
        if (first == 0xE0 && byte(1) < 0xA0) return 0;
        if (first == 0xED && byte(1) > 0x9F) return 0;
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (!follows(1) || !follows(2) || !follows(3)) return 0;
        if (first == 0xF0 && byte(1) < 0x90) return 0;
        if (first == 0xF4 && byte(1) > 0x8F) return 0;
        return 4;
    }
    return 0;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// One pass over a text. With `out` set it writes a storable copy; without, what cannot be stored is a fault.
class Scanner {
  public:
    Scanner(std::string_view text, std::string* out) : text_(text), out_(out) {}

    std::optional<JsonFault> run() {
        skip_blanks();
        if (!value(0)) return fault_;
        skip_blanks();
        if (at_ != text_.size()) {
            fail(JsonFault::Kind::syntax, "there is more after the end of the value");
            return fault_;
        }
        return std::nullopt;
    }

    bool sanitised() const { return sanitised_; }

  private:
    struct Step {
        bool in_array = false;
        std::size_t index = 0;
        std::string key;
    };

    std::string pointer() const {
        std::string text;
        for (const Step& step : path_) {
            text += '/';
            text += step.in_array ? std::to_string(step.index) : pointer_token(step.key);
        }
        return text;
    }

    bool fail(JsonFault::Kind kind, std::string what) {
        fault_ = JsonFault{kind, pointer(), std::move(what), at_};
        return false;
    }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void emit(std::string_view piece) {
        if (out_ && !muted_) out_->append(piece);
    }
    void skip_blanks() {
        while (at_ < text_.size() && blank(text_[at_])) ++at_;
    }

    // Recursion is bounded by kJsonDepth; below it a deeper value is skipped without recursion.
    bool value(int depth) {
        switch (peek()) {
            case '{':
                return depth < kJsonDepth ? object(depth) : too_deep();
            case '[':
                return depth < kJsonDepth ? array(depth) : too_deep();
            case '"':
                return string(nullptr);
            case 't':
                return literal("true");
            case 'f':
                return literal("false");
            case 'n':
                return literal("null");
            default:
                return number();
        }
    }

    bool too_deep() {
        if (!out_) return fail(JsonFault::Kind::unstorable, "is nested too deep");
        sanitised_ = true;
        emit("null");
        const bool was_muted = std::exchange(muted_, true);
        // Everything inside is still checked for syntax, with an explicit stack instead of recursion.
        std::string open;
        bool ok = true;
        do {
            skip_blanks();
            const char c = peek();
            if (c == '{' || c == '[') {
                open += c;
                ++at_;
            } else if (c == '}' || c == ']') {
                if (open.empty() || (open.back() == '{') != (c == '}')) {
                    ok = fail(JsonFault::Kind::syntax, "brackets do not match");
                    break;
                }
                open.pop_back();
                ++at_;
            } else if (c == ',' || c == ':') {
                ++at_;
            } else if (at_ >= text_.size()) {
                ok = fail(JsonFault::Kind::syntax, "ends inside a value");
                break;
            } else if (!(c == '"'   ? string(nullptr)
                         : c == 't' ? literal("true")
                         : c == 'f' ? literal("false")
                         : c == 'n' ? literal("null")
                                    : number())) {
                ok = false;
                break;
            }
        } while (!open.empty());
        muted_ = was_muted;
        return ok;
    }

    bool literal(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) return fail(JsonFault::Kind::syntax, "is not a JSON value");
        at_ += word.size();
        emit(word);
        return true;
    }

    bool object(int depth) {
        emit("{");
        ++at_;
        skip_blanks();
        if (peek() == '}') {
            ++at_;
            emit("}");
            return true;
        }
        for (bool first = true;; first = false) {
            if (!first) emit(",");
            skip_blanks();
            if (peek() != '"') return fail(JsonFault::Kind::syntax, "a member's name in double quotes is missing");
            std::string key;
            if (!string(&key)) return false;
            path_.push_back({false, 0, std::move(key)});
            skip_blanks();
            if (peek() != ':') return fail(JsonFault::Kind::syntax, "a colon is missing");
            ++at_;
            emit(":");
            skip_blanks();
            if (!value(depth + 1)) return false;
            path_.pop_back();
            skip_blanks();
            const char next = peek();
            if (next != ',' && next != '}')
                return fail(JsonFault::Kind::syntax, "a comma or a closing brace is missing");
            ++at_;
            if (next == '}') break;
        }
        emit("}");
        return true;
    }

    bool array(int depth) {
        emit("[");
        ++at_;
        skip_blanks();
        if (peek() == ']') {
            ++at_;
            emit("]");
            return true;
        }
        path_.push_back({true, 0, {}});
        for (;;) {
            skip_blanks();
            if (!value(depth + 1)) return false;
            skip_blanks();
            const char next = peek();
            if (next != ',' && next != ']')
                return fail(JsonFault::Kind::syntax, "a comma or a closing bracket is missing");
            ++at_;
            if (next == ']') break;
            emit(",");
            ++path_.back().index;
        }
        path_.pop_back();
        emit("]");
        return true;
    }

    bool number() {
        const std::size_t start = at_;
        const auto digit = [&] { return peek() >= '0' && peek() <= '9'; };
        const auto run_of_digits = [&] {
            const std::size_t from = at_;
            while (digit()) ++at_;
            return at_ - from;
        };
        if (peek() == '-') ++at_;
        if (peek() == '0') {
            ++at_;
        } else if (run_of_digits() == 0) {
            const auto word = text_.substr(at_);
            const bool no_number = word.starts_with("NaN") || word.starts_with("Infinity");
            at_ = start;
            return fail(JsonFault::Kind::syntax, at_ >= text_.size() ? "ends where a value should be"
                                                 : no_number
                                                     ? "is not a JSON value: NaN and Infinity are no numbers there"
                                                     : "is not a JSON value");
        }
        if (peek() == '.') {
            ++at_;
            if (run_of_digits() == 0)
                return fail(JsonFault::Kind::syntax, "a digit is missing after the decimal point");
        }
        if (peek() == 'e' || peek() == 'E') {
            ++at_;
            if (peek() == '+' || peek() == '-') ++at_;
            if (run_of_digits() == 0) return fail(JsonFault::Kind::syntax, "a digit is missing in the exponent");
        }
        const auto token = text_.substr(start, at_ - start);
        // What no double holds, hardly a JSON library reads back; and numeric would write 1E100000 out in full. A zero
        // fits a double whatever its exponent, and its places do not fit numeric.
        bool outsize = token.size() > 400;
        const auto e = token.find_first_of("eE");
        if (!outsize && e != std::string_view::npos) {
            auto exponent = token.substr(e + 1);
            while (!exponent.empty() && (exponent.front() < '1' || exponent.front() > '9')) exponent.remove_prefix(1);
            outsize = exponent.size() > 3;
        }
        if (!outsize && (token.size() > 300 || e != std::string_view::npos)) {
            double value = 0;
            outsize =
                std::from_chars(token.data(), token.data() + token.size(), value).ec == std::errc::result_out_of_range;
        }
        if (!outsize) {
            emit(token);
            return true;
        }
        if (!out_) return fail(JsonFault::Kind::unstorable, "is a number too large or too fine to be stored");
        sanitised_ = true;
        emit("\"");
        emit(token);
        emit("\"");
        return true;
    }

    /// `decoded`, when wanted, gets the characters (of a key, for the pointer).
    bool string(std::string* decoded) {
        emit("\"");
        ++at_;
        while (true) {
            if (at_ >= text_.size()) return fail(JsonFault::Kind::syntax, "a string does not end");
            const char c = text_[at_];
            if (c == '"') {
                ++at_;
                emit("\"");
                return true;
            }
            if (static_cast<unsigned char>(c) < 0x20)
                return fail(JsonFault::Kind::syntax, "a string holds a control character that is not escaped");
            if (c == '\\') {
                if (!escape(decoded)) return false;
                continue;
            }
            // The common case in one go: plain characters up to the next quote, escape or odd byte.
            const std::size_t from = at_;
            while (at_ < text_.size()) {
                const auto byte = static_cast<unsigned char>(text_[at_]);
                if (byte == '"' || byte == '\\' || byte < 0x20) break;
                if (byte < 0x80) {
                    ++at_;
                    continue;
                }
                const std::size_t length = utf8_length(text_, at_);
                if (length == 0) return fail(JsonFault::Kind::encoding, "a string holds bytes that are not UTF-8");
                at_ += length;
            }
            const auto piece = text_.substr(from, at_ - from);
            emit(piece);
            if (decoded) decoded->append(piece);
        }
    }

    std::optional<unsigned> four_hex(std::size_t from) const {
        if (from + 4 > text_.size()) return std::nullopt;
        unsigned value = 0;
        for (std::size_t i = from; i < from + 4; ++i) {
            const int digit = hex_digit(text_[i]);
            if (digit < 0) return std::nullopt;
            value = value << 4 | static_cast<unsigned>(digit);
        }
        return value;
    }

    bool unstorable(std::string* decoded, std::size_t length, std::string what) {
        if (!out_) return fail(JsonFault::Kind::unstorable, std::move(what));
        sanitised_ = true;
        emit(kReplacement);
        if (decoded) decoded->append(kReplacement);
        at_ += length;
        return true;
    }

    bool escape(std::string* decoded) {
        const char kind = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        static constexpr std::string_view plain = "\"\\/bfnrt";
        static constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
        const auto known = kind == '\0' ? std::string_view::npos : plain.find(kind);
        if (known != std::string_view::npos) {
            emit(text_.substr(at_, 2));
            if (decoded) *decoded += meant[known];
            at_ += 2;
            return true;
        }
        if (kind != 'u') return fail(JsonFault::Kind::syntax, "an escape is not one of JSON's");
        const auto unit = four_hex(at_ + 2);
        if (!unit) return fail(JsonFault::Kind::syntax, "\\u must be followed by four hex digits");
        if (*unit == 0) return unstorable(decoded, 6, "holds \\u0000, which PostgreSQL cannot store");
        std::size_t length = 6;
        std::uint32_t point = *unit;
        if (*unit >= 0xDC00 && *unit <= 0xDFFF) return unstorable(decoded, 6, "holds half a surrogate pair");
        if (*unit >= 0xD800 && *unit <= 0xDBFF) {
            std::optional<unsigned> low;
            if (text_.substr(at_ + 6, 2) == "\\u") low = four_hex(at_ + 8);
            if (!low || *low < 0xDC00 || *low > 0xDFFF) return unstorable(decoded, 6, "holds half a surrogate pair");
            point = 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00);
            length = 12;
        }
        emit(text_.substr(at_, length));
        if (decoded) append_utf8(*decoded, point);
        at_ += length;
        return true;
    }

  private:
    std::string_view text_;
    std::string* out_;
    std::size_t at_ = 0;
    std::vector<Step> path_;
    JsonFault fault_;
    bool sanitised_ = false;
    bool muted_ = false;
};

/// Walks text that is known to be good JSON, without checking it again.
class Walker {
  public:
    explicit Walker(std::string_view text) : text_(text) { skip_blanks(); }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void step() {
        ++at_;
        skip_blanks();
    }
    void skip_blanks() {
        while (at_ < text_.size() && blank(text_[at_])) ++at_;
    }
    /// The value here, whole; moves behind it.
    std::string_view take() {
        const std::size_t from = at_;
        if (peek() == '"') {
            skip_string();
        } else if (peek() == '{' || peek() == '[') {
            int depth = 0;
            do {
                const char c = peek();
                if (c == '"') {
                    skip_string();
                    continue;
                }
                if (c == '{' || c == '[') ++depth;
                if (c == '}' || c == ']') --depth;
                ++at_;
            } while (depth > 0 && at_ < text_.size());
        } else {
            while (at_ < text_.size() && !blank(text_[at_]) && text_[at_] != ',' && text_[at_] != '}' &&
                   text_[at_] != ']')
                ++at_;
        }
        const auto value = text_.substr(from, at_ - from);
        skip_blanks();
        return value;
    }

  private:
    void skip_string() {
        ++at_;
        while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
        ++at_;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

/// Calls `each(key slice, value)` until it returns true; for arrays the key slice is empty.
template <class Each>
void walk(std::string_view text, char open, Each each) {
    Walker walker(text);
    if (walker.peek() != open) return;
    walker.step();
    while (walker.peek() != '}' && walker.peek() != ']' && walker.peek() != '\0') {
        std::string_view key;
        if (open == '{') {
            key = walker.take();
            walker.step();  // the colon
        }
        const auto value = walker.take();
        if (each(key, value)) return;
        if (walker.peek() == ',') walker.step();
    }
}

bool key_is(std::string_view slice, std::string_view key) {
    const auto inside = slice.substr(1, slice.size() - 2);
    if (inside.find('\\') == std::string_view::npos) return inside == key;
    return json_string(slice) == key;
}

}

domain::Result<void, JsonFault> check_json(std::string_view text) {
    Scanner scanner(text, nullptr);
    auto fault = scanner.run();
    if (fault) return *std::move(fault);
    return {};
}

domain::Result<StorableJson, JsonFault> storable_json(std::string_view text) {
    // Most texts need no repair: look first, copy as it is, and rewrite only where something cannot be stored.
    Scanner look(text, nullptr);
    const auto found = look.run();
    if (!found) return StorableJson{std::string(text), false};
    StorableJson result;
    result.text.reserve(text.size());
    Scanner scanner(text, &result.text);
    auto fault = scanner.run();
    if (fault) return *std::move(fault);
    result.sanitised = scanner.sanitised();
    return result;
}

JsonType json_type(std::string_view value) {
    switch (Walker(value).peek()) {
        case '{':
            return JsonType::object;
        case '[':
            return JsonType::array;
        case '"':
            return JsonType::string;
        case 't':
        case 'f':
            return JsonType::boolean;
        case 'n':
            return JsonType::null;
        default:
            return JsonType::number;
    }
}

std::vector<JsonMember> json_members(std::string_view object) {
    std::vector<JsonMember> members;
    walk(object, '{', [&](std::string_view key, std::string_view value) {
        members.push_back({json_string(key), value});
        return false;
    });
    return members;
}

std::vector<std::string_view> json_elements(std::string_view array) {
    std::vector<std::string_view> elements;
    walk(array, '[', [&](std::string_view, std::string_view value) {
        elements.push_back(value);
        return false;
    });
    return elements;
}

JsonObject::JsonObject(std::string_view text) {
    walk(text, '{', [this](std::string_view name, std::string_view value) {
        members_.push_back({name, value});
        return false;
    });
}

std::optional<std::string_view> JsonObject::find(std::string_view key) const {
    const auto found =
        std::find_if(members_.rbegin(), members_.rend(), [key](const Member& each) { return key_is(each.name, key); });
    return found == members_.rend() ? std::nullopt : std::optional(found->value);
}

std::optional<std::string_view> json_member(std::string_view object, std::string_view key) {
    std::optional<std::string_view> found;
    walk(object, '{', [&](std::string_view name, std::string_view value) {
        if (key_is(name, key)) found = value;
        return false;
    });
    return found;
}

std::optional<std::string_view> json_at(std::string_view text, std::string_view pointer) {
    std::optional<std::string_view> here = text;
    if (!pointer.empty() && pointer.front() != '/') return std::nullopt;
    while (here && !pointer.empty()) {
        pointer.remove_prefix(1);
        const auto slash = pointer.find('/');
        std::string token;
        const auto raw = pointer.substr(0, slash);
        for (std::size_t i = 0; i < raw.size(); ++i) {
            if (raw[i] == '~' && i + 1 < raw.size()) {
                token += raw[++i] == '1' ? '/' : '~';
            } else {
                token += raw[i];
            }
        }
        pointer = slash == std::string_view::npos ? std::string_view{} : pointer.substr(slash);
        const auto type = json_type(*here);
        if (type == JsonType::object) {
            here = json_member(*here, token);
        } else if (type == JsonType::array) {
            std::size_t index = 0;
            const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
            if (read.ec != std::errc{} || read.ptr != token.data() + token.size() || token.empty()) return std::nullopt;
            std::optional<std::string_view> found;
            std::size_t at = 0;
            walk(*here, '[', [&](std::string_view, std::string_view value) {
                if (at++ != index) return false;
                found = value;
                return true;
            });
            here = found;
        } else {
            here.reset();
        }
    }
    if (here) {
        // Trim to the value itself.
        Walker walker(*here);
        here = walker.take();
    }
    return here;
}

std::string json_string(std::string_view value) {
    if (value.size() < 2 || value.front() != '"') return std::string(value);
    const auto inside = value.substr(1, value.size() - 2);
    std::string text;
    text.reserve(inside.size());
    for (std::size_t i = 0; i < inside.size(); ++i) {
        if (inside[i] != '\\' || i + 1 >= inside.size()) {
            text += inside[i];
            continue;
        }
        const char kind = inside[++i];
        const auto unit_at = [&](std::size_t from) {
            unsigned unit = 0;
            for (std::size_t k = from; k < from + 4 && k < inside.size(); ++k)
                unit = unit << 4 | static_cast<unsigned>(hex_digit(inside[k]) & 15);
            return unit;
        };
        switch (kind) {
            case 'b':
                text += '\b';
                break;
            case 'f':
                text += '\f';
                break;
            case 'n':
                text += '\n';
                break;
            case 'r':
                text += '\r';
                break;
            case 't':
                text += '\t';
                break;
            case 'u': {
                std::uint32_t point = unit_at(i + 1);
                i += 4;
                if (point >= 0xD800 && point <= 0xDBFF && inside.substr(i + 1, 2) == "\\u") {
                    point = 0x10000 + ((point - 0xD800) << 10) + (unit_at(i + 3) - 0xDC00);
                    i += 6;
                }
                append_utf8(text, point);
                break;
            }
            default:
                text += kind;
        }
    }
    return text;
}

std::vector<std::string> json_strings(std::string_view array) {
    std::vector<std::string> all;
    const auto elements = json_elements(array);
    for (const auto& each : elements) all.push_back(json_string(each));
    return all;
}

std::string pointer_token(std::string_view token) {
    std::string text;
    for (const char c : token) {
        if (c == '~') {
            text += "~0";
        } else if (c == '/') {
            text += "~1";
        } else {
            text += c;
        }
    }
    return text;
}

void append_utf8(std::string& text, char32_t point) {
    if (point < 0x80) {
        text += static_cast<char>(point);
    } else if (point < 0x800) {
        text += static_cast<char>(0xC0 | point >> 6);
        text += static_cast<char>(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        text += static_cast<char>(0xE0 | point >> 12);
        text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (point & 0x3F));
    } else {
        text += static_cast<char>(0xF0 | point >> 18);
        text += static_cast<char>(0x80 | (point >> 12 & 0x3F));
        text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (point & 0x3F));
    }
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) return text;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
    return text.substr(0, bytes);
}

std::string storable_text(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = bytes[at] == '\0' ? 0 : utf8_length(bytes, at);
        if (length == 0) {
            text += kReplacement;
            ++at;
        } else {
            text += bytes.substr(at, length);
            at += length;
        }
    }
    return text;
}

}
