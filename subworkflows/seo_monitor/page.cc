#include "subworkflows/seo_monitor/page.h"

#include <gumbo.h>

#include <algorithm>
#include <chrono>
#include <csetjmp>
#include <cstdlib>

#include "platform/ascii.h"
#include "platform/json_text.h"

namespace impresario::subworkflows::seo_monitor {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostMemory = 256 * 1024 * 1024;
constexpr auto kMostTime = std::chrono::seconds{3};
/// A heading longer than this many nodes is no heading.
constexpr int kHeadingNodes = 2000;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

/// Runs of blanks (and no-break spaces) as one, none around.
std::string squeezed(std::string_view text) {
    std::string result;
    bool gap = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_blank(text[i])) {
            gap = true;
        } else if (text[i] == '\xC2' && i + 1 < text.size() && text[i + 1] == '\xA0') {
            gap = true;
            ++i;
        } else {
            if (gap && !result.empty()) result += ' ';
            gap = false;
            result += text[i];
        }
    }
    return platform::storable_text(result);
}

std::size_t count_words(std::string_view text) {
    std::size_t words = 0;
    bool inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool hard = text[i] == '\xC2' && i + 1 < text.size() && text[i + 1] == '\xA0';
        if (hard) ++i;
        const bool blank = hard || is_blank(text[i]);
        if (!blank && !inside) ++words;
        inside = !blank;
    }
    return words;
}

std::string from_windows_1252(std::string_view bytes) {
    // 0x80 to 0x9F; what the encoding leaves open stays a control character.
    static constexpr char16_t high[32] = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                          0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                          0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                          0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};
    std::string text;
    text.reserve(bytes.size() + bytes.size() / 8);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        const unsigned code = byte >= 0x80 && byte < 0xA0 ? high[byte - 0x80] : byte;
        if (code < 0x80) {
            text += c;
        } else if (code < 0x800) {
            text += static_cast<char>(0xC0 | code >> 6);
            text += static_cast<char>(0x80 | (code & 0x3F));
        } else {
            text += static_cast<char>(0xE0 | code >> 12);
            text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
            text += static_cast<char>(0x80 | (code & 0x3F));
        }
    }
    return text;
}

bool is_latin(std::string_view charset) {
    static constexpr std::string_view names[] = {"iso-8859-1",   "iso8859-1", "latin1",   "latin-1",
                                                 "windows-1252", "cp1252",    "us-ascii", "ascii"};
    return std::find(std::begin(names), std::end(names), charset) != std::end(names);
}

/// "text/html; charset=x" → "x".
std::string charset_of(std::string_view content_type) {
    const auto lower = platform::lowered(content_type);
    const auto at = lower.find("charset=");
    if (at == std::string::npos) return {};
    std::string_view rest = std::string_view(lower).substr(at + 8);
    while (!rest.empty() && (rest.front() == '"' || rest.front() == '\'' || is_blank(rest.front())))
        rest.remove_prefix(1);
    return std::string(rest.substr(0, rest.find_first_of("\"'; \t")));
}

/// The charset that the first kilobyte declares, as browsers look for it before they parse.
std::string declared_early(std::string_view html) {
    const auto head = platform::lowered(html.substr(0, 1024));
    for (auto at = head.find("<meta"); at != std::string::npos; at = head.find("<meta", at + 5)) {
        const auto tag = std::string_view(head).substr(at, head.find('>', at) - at);
        if (auto found = charset_of(tag); !found.empty()) return found;
    }
    return {};
}

/// Everything gumbo allocates for one document, so that it can be let go of at once: gumbo's own way back is recursive
/// and overflows the stack on deep nesting. Where a page costs more than it may, parsing is left by longjmp; in between
/// are frames of C only.
class Allocations {
  public:
    Allocations() = default;
    Allocations(const Allocations&) = delete;
    Allocations& operator=(const Allocations&) = delete;
    ~Allocations() {
        while (first_) std::free(std::exchange(first_, first_->next));
    }

    static void* take(void* self, std::size_t size) { return static_cast<Allocations*>(self)->take(size); }
    static void give_back(void* self, void* memory) {
        if (memory) static_cast<Allocations*>(self)->give_back(memory);
    }

    std::jmp_buf too_much;

  private:
    struct alignas(std::max_align_t) Block {
        Block* previous;
        Block* next;
        std::size_t size;
    };

    void* take(std::size_t size) {
        if (held_ + size > kMostMemory) std::longjmp(too_much, 1);
        if (++taken_ % 256 == 0 && steady_clock::now() > until_) std::longjmp(too_much, 1);
        auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + size));
        if (!block) std::longjmp(too_much, 1);
        *block = {nullptr, first_, size};
        if (first_) first_->previous = block;
        first_ = block;
        held_ += size;
        return block + 1;
    }

    void give_back(void* memory) {
        auto* block = static_cast<Block*>(memory) - 1;
        if (block->previous) block->previous->next = block->next;
        if (block->next) block->next->previous = block->previous;
        if (first_ == block) first_ = block->next;
        held_ -= block->size;
        std::free(block);
    }

    Block* first_ = nullptr;
    std::size_t held_ = 0;
    std::size_t taken_ = 0;
    steady_clock::time_point until_ = steady_clock::now() + kMostTime;
};

/// nullptr: too much.
const GumboOutput* parse(Allocations& memory, const GumboOptions& options, const char* text, std::size_t size) {
    if (setjmp(memory.too_much) != 0) return nullptr;
    return gumbo_parse_with_options(&options, text, size);
}

bool is_element(const GumboNode* node) { return node->type == GUMBO_NODE_ELEMENT; }
bool is_html(const GumboNode* node, GumboTag tag) {
    return is_element(node) && node->v.element.tag == tag && node->v.element.tag_namespace == GUMBO_NAMESPACE_HTML;
}
bool is_text(const GumboNode* node) {
    return node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_WHITESPACE || node->type == GUMBO_NODE_CDATA;
}

const char* attribute(const GumboNode* node, const char* name) {
    const GumboAttribute* found = gumbo_get_attribute(&node->v.element.attributes, name);
    return found ? found->value : nullptr;
}
std::string text_attribute(const GumboNode* node, const char* name) {
    const char* value = attribute(node, name);
    return value ? squeezed(value) : std::string{};
}

/// Texts directly inside: of title and script, which hold nothing else.
std::string own_text(const GumboNode* node) {
    std::string text;
    const auto& children = node->v.element.children;
    for (unsigned i = 0; i < children.length; ++i) {
        const auto* child = static_cast<const GumboNode*>(children.data[i]);
        if (is_text(child)) text += child->v.text.text;
    }
    return text;
}

/// What is not shown to a reader.
bool is_hidden(const GumboNode* node) {
    if (node->type == GUMBO_NODE_TEMPLATE) return true;
    for (const auto tag : {GUMBO_TAG_SCRIPT, GUMBO_TAG_STYLE, GUMBO_TAG_TEMPLATE, GUMBO_TAG_NOSCRIPT})
        if (is_html(node, tag)) return true;
    return false;
}

void push_children(const GumboNode* node, std::vector<const GumboNode*>& stack) {
    if (!is_element(node)) return;
    const auto& children = node->v.element.children;
    for (unsigned i = children.length; i > 0; --i) stack.push_back(static_cast<const GumboNode*>(children.data[i - 1]));
}

std::string heading_text(const GumboNode* heading) {
    std::string text;
    std::vector<const GumboNode*> stack{heading};
    for (int seen = 0; !stack.empty() && seen < kHeadingNodes; ++seen) {
        const auto* node = stack.back();
        stack.pop_back();
        if (is_hidden(node)) continue;
        if (is_text(node)) text += node->v.text.text;
        if (is_html(node, GUMBO_TAG_IMG)) text += " " + text_attribute(node, "alt") + " ";
        push_children(node, stack);
    }
    return squeezed(text);
}

void read_meta(const GumboNode* node, Page& page) {
    if (const char* charset = attribute(node, "charset"); charset && !page.charset)
        page.charset = platform::lowered(squeezed(charset));
    const auto content = text_attribute(node, "content");
    if (platform::lowered(text_attribute(node, "http-equiv")) == "content-type" && !page.charset) {
        if (auto charset = charset_of(content); !charset.empty()) page.charset = std::move(charset);
    }
    const auto name = platform::lowered(text_attribute(node, "name"));
    if (name == "description") page.descriptions.push_back(content);
    if (name == "viewport" && !page.viewport) page.viewport = content;
    if (name == "robots" || name.ends_with("bot")) page.robots.push_back({name, content});
}

bool has_token(std::string_view list, std::string_view token) {
    const auto padded = " " + platform::lowered(list) + " ";
    return padded.find(" " + std::string(token) + " ") != std::string::npos;
}

void read_element(const GumboNode* node, Page& page) {
    switch (node->v.element.tag) {
        case GUMBO_TAG_HTML:
            if (const char* lang = attribute(node, "lang")) page.lang = squeezed(lang);
            break;
        case GUMBO_TAG_TITLE:
            page.titles.push_back(squeezed(own_text(node)));
            break;
        case GUMBO_TAG_META:
            read_meta(node, page);
            break;
        case GUMBO_TAG_BASE:
            if (const char* href = attribute(node, "href"); href && page.base.empty()) page.base = href;
            break;
        case GUMBO_TAG_LINK:
            if (has_token(text_attribute(node, "rel"), "canonical"))
                page.canonicals.push_back(text_attribute(node, "href"));
            break;
        case GUMBO_TAG_H1:
        case GUMBO_TAG_H2:
        case GUMBO_TAG_H3:
        case GUMBO_TAG_H4:
        case GUMBO_TAG_H5:
        case GUMBO_TAG_H6:
            page.headings.push_back({node->v.element.tag - GUMBO_TAG_H1 + 1, heading_text(node)});
            break;
        case GUMBO_TAG_IMG: {
            const auto role = platform::lowered(text_attribute(node, "role"));
            const bool decoration = role == "presentation" || role == "none";
            page.images.push_back({text_attribute(node, "src"), decoration || attribute(node, "alt") != nullptr});
            break;
        }
        case GUMBO_TAG_A:
        case GUMBO_TAG_AREA:
            if (const char* href = attribute(node, "href")) page.links.emplace_back(href);
            break;
        case GUMBO_TAG_SCRIPT: {
            const auto type = platform::lowered(text_attribute(node, "type"));
            if (type.substr(0, type.find(';')) == "application/ld+json") page.json_ld.push_back(own_text(node));
            break;
        }
        default:
            break;
    }
}

Page read(const GumboNode* root) {
    Page page;
    struct Visit {
        const GumboNode* node;
        bool body;
    };
    std::vector<Visit> stack{{root, false}};
    while (!stack.empty()) {
        const auto [node, in_body] = stack.back();
        stack.pop_back();
        if (is_text(node)) {
            if (in_body) page.words += count_words(node->v.text.text);
            continue;
        }
        if (!is_element(node)) continue;
        if (node->v.element.tag_namespace == GUMBO_NAMESPACE_HTML) read_element(node, page);
        if (is_hidden(node)) continue;
        const bool body = in_body || is_html(node, GUMBO_TAG_BODY);
        const auto& children = node->v.element.children;
        for (unsigned i = children.length; i > 0; --i)
            stack.push_back({static_cast<const GumboNode*>(children.data[i - 1]), body});
    }
    return page;
}

}

domain::Result<Page, domain::Fault> parse_page(std::string_view html, std::string_view charset) {
    bool marked = false;
    if (html.starts_with("\xEF\xBB\xBF")) {
        html.remove_prefix(3);
        marked = true;
    }
    const auto encoding = marked ? "utf-8" : charset.empty() ? declared_early(html) : platform::lowered(charset);
    std::string recoded;
    if (is_latin(encoding)) {
        recoded = from_windows_1252(html);
        html = recoded;
    }
    Allocations memory;
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = &Allocations::take;
    options.deallocator = &Allocations::give_back;
    options.userdata = &memory;
    options.max_errors = 0;
    const GumboOutput* output = parse(memory, options, html.data(), html.size());
    if (!output) return domain::Fault{"holds markup that takes too much time or memory to read"};
    Page page = read(output->root);
    if (marked && !page.charset) page.charset = "utf-8";
    return page;
}

}
