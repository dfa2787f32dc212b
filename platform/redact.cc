#include "platform/redact.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "platform/crypto.h"
#include "platform/json_text.h"
#include "platform/url.h"

namespace impresario::platform {

namespace {

/// What is shorter stands in ordinary text by chance.
constexpr std::size_t kShortest = 4;
constexpr std::size_t kShortestEncoded = 8;
/// Of an address: what is shorter is a word like "services".
constexpr std::size_t kShortestPart = 12;
/// Whoever sends nothing else is not to keep us busy.
constexpr std::size_t kMostBackslashes = 8;

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// A number of `digits` hex digits at `at`, or -1.
int hex_number(std::string_view text, std::size_t at, std::size_t digits) {
    if (at + digits > text.size()) return -1;
    int number = 0;
    for (std::size_t i = at; i < at + digits; ++i) {
        const int digit = hex_digit(text[i]);
        if (digit < 0) return -1;
        number = number * 16 + digit;
    }
    return number;
}

constexpr std::array<std::pair<std::string_view, char>, 7> kHtml{
    {{"quot", '"'}, {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"apos", '\''}, {"#39", '\''}, {"#34", '"'}}};

/// One way to write the beginning of a secret: what it stands for, and where it ends.
struct Written {
    std::string bytes;
    std::size_t end = 0;
};

/// Everything that the text at `at` may stand for.
void ways_to_read(std::string_view text, std::size_t at, std::vector<Written>& ways) {
    ways.clear();
    const char c = text[at];
    ways.push_back({std::string(1, c), at + 1});
    if (c == '+') ways.push_back({" ", at + 1});
    if (c == '%') {
        // Also escaped twice.
        std::size_t digits = at + 1;
        while (text.substr(digits, 2) == "25" && hex_number(text, digits + 2, 2) >= 0) digits += 2;
        if (const int byte = hex_number(text, digits, 2); byte >= 0)
            ways.push_back({std::string(1, static_cast<char>(byte)), digits + 2});
    }
    if (c == '&')
        for (const auto& [name, meant] : kHtml)
            if (text.substr(at + 1, name.size()) == name && text.substr(at + 1 + name.size(), 1) == ";")
                ways.push_back({std::string(1, meant), at + name.size() + 2});
    if (c != '\\') return;
    // JSON within JSON has more of them.
    std::size_t next = at;
    while (next < text.size() && text[next] == '\\' && next - at < kMostBackslashes) ++next;
    if (next == text.size()) return;
    static constexpr std::string_view kLetters = "nrtbf";
    static constexpr std::string_view kMeant = "\n\r\t\b\f";
    if (const auto letter = kLetters.find(text[next]); letter != std::string_view::npos)
        ways.push_back({std::string(1, kMeant[letter]), next + 1});
    if (const int point = text[next] == 'u' ? hex_number(text, next + 1, 4) : -1; point >= 0) {
        const int low = hex_number(text, next + 7, 4);
        const bool pair = point >= 0xD800 && point < 0xDC00 && text.substr(next + 5, 2) == "\\u" && low >= 0xDC00;
        const auto meant = pair ? 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00) : point;
        const bool half = !pair && point >= 0xD800 && point < 0xE000;
        Written way{"", pair ? next + 11 : next + 5};
        if (!half) append_utf8(way.bytes, static_cast<char32_t>(meant));
        if (!half) ways.push_back(std::move(way));
    }
    ways.push_back({std::string(1, text[next]), next + 1});
    for (std::size_t end = at + 2; end <= next; ++end) ways.push_back({"\\", end});
}

/// Where the secret ends that begins at `at`, or 0. Each character may be written in another way.
std::size_t end_of(std::string_view secret, std::string_view text, std::size_t at) {
    std::vector<Written> ways;
    ways_to_read(text, at, ways);
    const auto begins = [&](const Written& way) { return secret.starts_with(way.bytes); };
    if (std::none_of(ways.begin(), ways.end(), begins)) return 0;
    std::set<std::pair<std::size_t, std::size_t>> reached{{0, at}};
    std::size_t end = 0;
    while (!reached.empty()) {
        const auto [done, here] = *reached.begin();
        reached.erase(reached.begin());
        if (done == secret.size()) {
            end = std::max(end, here);
            continue;
        }
        if (here >= text.size()) continue;
        ways_to_read(text, here, ways);
        for (const auto& way : ways)
            if (secret.substr(done, way.bytes.size()) == way.bytes) reached.emplace(done + way.bytes.size(), way.end);
    }
    return end;
}

bool may_be_escaped(char c) { return c == '\\' || c == '%' || c == '&' || c == '+'; }

/// Of many backslashes the last ones say as much.
bool is_within_run(std::string_view text, std::size_t at) {
    if (text[at] != '\\' || at + kMostBackslashes >= text.size()) return false;
    return text.substr(at, kMostBackslashes).find_first_not_of('\\') == std::string_view::npos;
}

/// Almost everywhere the first few characters say no.
bool may_be_at(std::string_view secret, std::string_view text, std::size_t at) {
    for (std::size_t i = 0; i < secret.size(); ++i) {
        if (at + i >= text.size()) return false;
        if (may_be_escaped(text[at + i])) return i > 0 || !is_within_run(text, at);
        if (text[at + i] != secret[i]) return false;
    }
    return true;
}

void remove_written(std::string& text, std::string_view secret) {
    std::string kept;
    std::size_t from = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = may_be_at(secret, text, at) ? end_of(secret, text, at) : 0;
        if (end == 0) {
            ++at;
            continue;
        }
        kept.append(text, from, at - from);
        kept += domain::kRedacted;
        at = from = end;
    }
    if (from == 0) return;
    kept.append(text, from);
    text = std::move(kept);
}

void remove_exact(std::string& text, const std::string& form) {
    for (auto at = text.find(form); at != std::string::npos; at = text.find(form, at))
        text.replace(at, form.size(), domain::kRedacted);
}

/// Those characters of base64 that stand for nothing but the secret, wherever in the encoded text it begins.
std::vector<std::string> base64_of(const std::string& secret) {
    std::vector<std::string> forms;
    for (const std::size_t before : {0, 1, 2}) {
        const std::string bytes = std::string(before, '\0') + secret;
        const std::size_t first = (before * 8 + 5) / 6;
        const std::size_t whole = bytes.size() * 8 / 6;
        for (const auto& encoded : {base64(bytes), base64url(bytes)})
            forms.push_back(encoded.substr(first, whole - first));
    }
    return forms;
}

bool in_token(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '+' || c == '/' || c == '=';
}

/// What is a secret of ours by its form, whoever it belongs to: API keys, callback tokens, signing secrets.
void remove_ours(std::string& text) {
    static constexpr std::size_t kLeast = 20;
    for (const std::string_view prefix : {"imp_", "icb_", "whsec_"})
        for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
            auto end = at + prefix.size();
            while (end < text.size() && in_token(text[end])) ++end;
            if (end - at - prefix.size() >= kLeast) text.replace(at, end - at, domain::kRedacted);
        }
}

void remove(std::string& text, const std::string& secret) {
    // No notation is shorter, and most answers are short.
    if (secret.size() < kShortest || text.size() < secret.size()) return;
    remove_written(text, secret);
    if (secret.size() < kShortestEncoded) return;
    for (const auto& form : base64_of(secret)) {
        remove_exact(text, form);
        // As URLs carry it.
        if (const auto escaped = percent_encode(form); escaped != form) remove_exact(text, escaped);
    }
    std::string digits = hex(secret);
    remove_exact(text, digits);
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
    remove_exact(text, digits);
}

}

std::string redacted(std::string_view text, const std::vector<const domain::Secret*>& secrets) {
    std::string clean(text);
    // A secret that is part of another one must not keep that from being found.
    std::vector<const std::string*> longest_first;
    for (const auto* secret : secrets) longest_first.push_back(&secret->reveal());
    std::stable_sort(longest_first.begin(), longest_first.end(),
                     [](const auto* a, const auto* b) { return a->size() > b->size(); });
    for (const auto* secret : longest_first) remove(clean, *secret);
    remove_ours(clean);
    return clean;
}

std::string redacted(std::string_view text, const std::vector<domain::Secret>& secrets) {
    std::vector<const domain::Secret*> all;
    for (const auto& secret : secrets) all.push_back(&secret);
    return redacted(text, all);
}

void add_query_secrets(std::string_view url, std::vector<domain::Secret>& secrets) {
    const auto begin = url.find('?');
    if (begin == std::string_view::npos) return;
    const auto query = url.substr(begin + 1, url.find('#', begin) - begin - 1);
    if (query.size() >= kShortestEncoded) secrets.emplace_back(std::string(query));
    for (std::size_t at = 0; at < query.size();) {
        const auto end = std::min(query.find('&', at), query.size());
        const auto pair = query.substr(at, end - at);
        const auto value = percent_decode(pair.substr(std::min(pair.find('=') + 1, pair.size())));
        if (value.size() >= kShortestEncoded) secrets.emplace_back(value);
        at = end + 1;
    }
}

std::vector<domain::Secret> secrets_of_url(const domain::Secret& url) {
    std::vector<domain::Secret> all{url};
    const auto parsed = parse_url(url.reveal());
    if (!parsed) return all;
    const auto& target = parsed->target;
    const auto path = target.substr(0, target.find('?'));
    for (const auto& each : {target, path, percent_decode(target), percent_decode(path)})
        if (each.size() > 1) all.emplace_back(each);
    // Also without the slash before it.
    for (const auto& each : {target, path})
        if (each.size() > 5) all.emplace_back(each.substr(1));
    // A word of it alone.
    for (std::size_t at = 1; at < path.size();) {
        const auto end = std::min(path.find('/', at), path.size());
        if (end - at >= kShortestPart) all.emplace_back(percent_decode(path.substr(at, end - at)));
        at = end + 1;
    }
    add_query_secrets(url.reveal(), all);
    return all;
}

std::string shown_url(std::string_view url) {
    std::string shown(url.substr(0, url.find_first_of("?#")));
    const auto host = shown.find("://") == std::string::npos ? 0 : shown.find("://") + 3;
    const auto at = shown.rfind('@', shown.find('/', host));
    if (at != std::string::npos && at >= host) shown.erase(host, at + 1 - host);
    if (url.find('?') != std::string_view::npos) shown += "?…";
    return shown;
}

}
