#include "alerts/matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>

#include "platform/json_text.h"

namespace impresario::alerts {

namespace {

constexpr std::int64_t kMostMemory = 1 << 20;

/// The longer ones first: "=" begins "=~" too.
constexpr std::array<std::pair<std::string_view, Matcher::Op>, 4> kOps{{{"=~", Matcher::Op::matches},
                                                                        {"!~", Matcher::Op::matches_not},
                                                                        {"!=", Matcher::Op::unequal},
                                                                        {"=", Matcher::Op::equal}}};

std::string_view text_of(Matcher::Op op) {
    for (const auto& [text, each] : kOps)
        if (each == op) return text;
    return {};
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

/// nullopt: it ends in the middle of its quotes, or after them.
std::optional<std::string> unquoted(std::string_view text) {
    if (text.empty() || text.front() != '"') return std::string(text);
    std::string value;
    std::size_t at = 1;
    for (; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] != '\\') {
            value += text[at];
            continue;
        }
        if (++at == text.size()) break;
        if (text[at] == 'n')
            value += '\n';
        else if (text[at] == '"' || text[at] == '\\')
            value += text[at];
        else
            value += {'\\', text[at]};
    }
    if (at + 1 != text.size()) return std::nullopt;
    return value;
}

}

domain::Result<Matcher, domain::Fault> Matcher::make(std::string name, Op op, std::string value) {
    if (!good_label_name(name))
        return domain::Fault{"must begin with the name of a label: letters, digits and '_', no digit first"};
    if (platform::storable_text(value) != value) return domain::Fault{"must be UTF-8 without NUL"};
    if (value.size() > kLongestExpression)
        return domain::Fault{"must have a value of at most " + std::to_string(kLongestExpression) + " bytes"};
    Matcher matcher;
    if (op == Op::matches || op == Op::matches_not) {
        re2::RE2::Options options;
        options.set_max_mem(kMostMemory);
        options.set_log_errors(false);
        options.set_never_capture(true);
        // As in Alertmanager a dot means a line end too.
        options.set_dot_nl(true);
        matcher.expression_ = std::make_shared<const re2::RE2>(value, options);
        if (!matcher.expression_->ok())
            return domain::Fault{"has an expression that is none: " + matcher.expression_->error()};
    }
    matcher.name_ = std::move(name);
    matcher.op_ = op;
    matcher.value_ = std::move(value);
    return matcher;
}

bool Matcher::matches(const Labels& labels) const {
    const auto value = value_of(labels, name_);
    switch (op_) {
        case Op::equal:
            return value == value_;
        case Op::unequal:
            return value != value_;
        case Op::matches:
            return re2::RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *expression_);
        case Op::matches_not:
            return !re2::RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *expression_);
    }
    return false;
}

std::string Matcher::text() const {
    // Not as JSON: what it escapes beyond these would be read back as it stands.
    std::string quoted;
    for (const char c : value_) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return name_ + std::string(text_of(op_)) + "\"" + quoted + "\"";
}

bool all_match(const Matchers& matchers, const Labels& labels) {
    return std::all_of(matchers.begin(), matchers.end(), [&](const Matcher& each) { return each.matches(labels); });
}

std::string text(const Matchers& matchers) {
    std::string all;
    for (const auto& matcher : matchers) all += (all.empty() ? "" : ",") + matcher.text();
    return "{" + all + "}";
}

domain::Result<Matcher, domain::Fault> parse_matcher(std::string_view text) {
    const auto at = text.find_first_of("=!");
    if (at != std::string_view::npos) {
        for (const auto& [word, op] : kOps) {
            if (!text.substr(at).starts_with(word)) continue;
            auto value = unquoted(trimmed(text.substr(at + word.size())));
            if (!value) return domain::Fault{"has a value that ends in the middle of its quotes, or after them"};
            return Matcher::make(std::string(trimmed(text.substr(0, at))), op, std::move(*value));
        }
    }
    return domain::Fault{"must be a label, one of = != =~ !~, and a value, as in severity=\"critical\""};
}

}
