// HTML by Gumbo, which reads what browsers read.
#include <gumbo.h>

#include <map>
#include <memory>

#include "subworkflows/content_pipeline/clean_text.h"
#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

bool is_dropped(GumboTag tag) {
    switch (tag) {
        case GUMBO_TAG_SCRIPT:
        case GUMBO_TAG_STYLE:
        case GUMBO_TAG_NAV:
        case GUMBO_TAG_HEADER:
        case GUMBO_TAG_FOOTER:
        case GUMBO_TAG_ASIDE:
        case GUMBO_TAG_HEAD:
        case GUMBO_TAG_TITLE:
        case GUMBO_TAG_NOSCRIPT:
        case GUMBO_TAG_TEMPLATE:
        case GUMBO_TAG_SVG:
        case GUMBO_TAG_MATH:
        case GUMBO_TAG_IFRAME:
        case GUMBO_TAG_OBJECT:
        case GUMBO_TAG_AUDIO:
        case GUMBO_TAG_VIDEO:
        case GUMBO_TAG_CANVAS:
        case GUMBO_TAG_BUTTON:
        case GUMBO_TAG_SELECT:
        case GUMBO_TAG_TEXTAREA:
            return true;
        default:
            return false;
    }
}

/// Begins and ends a line of its own.
bool is_block(GumboTag tag) {
    switch (tag) {
        case GUMBO_TAG_A:
        case GUMBO_TAG_ABBR:
        case GUMBO_TAG_ACRONYM:
        case GUMBO_TAG_B:
        case GUMBO_TAG_BDI:
        case GUMBO_TAG_BDO:
        case GUMBO_TAG_BIG:
        case GUMBO_TAG_CITE:
        case GUMBO_TAG_CODE:
        case GUMBO_TAG_DATA:
        case GUMBO_TAG_DEL:
        case GUMBO_TAG_DFN:
        case GUMBO_TAG_EM:
        case GUMBO_TAG_FONT:
        case GUMBO_TAG_I:
        case GUMBO_TAG_INS:
        case GUMBO_TAG_KBD:
        case GUMBO_TAG_LABEL:
        case GUMBO_TAG_MARK:
        case GUMBO_TAG_Q:
        case GUMBO_TAG_RUBY:
        case GUMBO_TAG_RB:
        case GUMBO_TAG_S:
        case GUMBO_TAG_SAMP:
        case GUMBO_TAG_SMALL:
        case GUMBO_TAG_SPAN:
        case GUMBO_TAG_STRIKE:
        case GUMBO_TAG_STRONG:
        case GUMBO_TAG_SUB:
        case GUMBO_TAG_SUP:
        case GUMBO_TAG_TIME:
        case GUMBO_TAG_TT:
        case GUMBO_TAG_U:
        case GUMBO_TAG_VAR:
        case GUMBO_TAG_WBR:
        case GUMBO_TAG_IMG:
        case GUMBO_TAG_BR:
        case GUMBO_TAG_TD:
        case GUMBO_TAG_TH:
        case GUMBO_TAG_UNKNOWN:
            return false;
        default:
            return true;
    }
}

int heading_level(GumboTag tag) {
    switch (tag) {
        case GUMBO_TAG_H1:
            return 1;
        case GUMBO_TAG_H2:
            return 2;
        case GUMBO_TAG_H3:
            return 3;
        case GUMBO_TAG_H4:
            return 4;
        case GUMBO_TAG_H5:
            return 5;
        case GUMBO_TAG_H6:
            return 6;
        default:
            return 0;
    }
}

std::string_view attribute(const GumboElement& element, const char* name) {
    const auto* found = gumbo_get_attribute(&element.attributes, name);
    return found ? std::string_view(found->value) : std::string_view{};
}

bool is_hidden(const GumboElement& element) {
    if (gumbo_get_attribute(&element.attributes, "hidden")) return true;
    if (attribute(element, "aria-hidden") == "true") return true;
    const auto role = attribute(element, "role");
    return role == "navigation" || role == "banner" || role == "contentinfo" || role == "complementary";
}

/// Turns the tree into blocks. Recursion is bounded by kDeepest, checked before.
class HtmlWalk {
  public:
    explicit HtmlWalk(CleanText& clean) : clean_(clean) {}

    void node(const GumboNode& node) {
        switch (node.type) {
            case GUMBO_NODE_TEXT:
            case GUMBO_NODE_WHITESPACE:
            case GUMBO_NODE_CDATA:
                line_ += node.v.text.text;
                break;
            case GUMBO_NODE_ELEMENT:
                element(node.v.element);
                break;
            case GUMBO_NODE_DOCUMENT:
            case GUMBO_NODE_COMMENT:
            case GUMBO_NODE_TEMPLATE:
                break;
        }
    }

    void flush() {
        if (place_.kind == Block::Kind::code) {
            while (!line_.empty() && is_space(static_cast<unsigned char>(line_.back()))) line_.pop_back();
        } else {
            line_ = tidy(line_);
        }
        if (!line_.empty()) clean_.blocks.push_back({place_.kind, place_.level, std::move(line_)});
        line_.clear();
    }

  private:
    struct Place {
        Block::Kind kind = Block::Kind::paragraph;
        int level = 0;
    };

    /// What text directly within `tag` is; div, p and their like leave it as it is.
    Place place_within(GumboTag tag) const {
        if (const int level = heading_level(tag)) return {Block::Kind::heading, level};
        switch (tag) {
            case GUMBO_TAG_LI:
            case GUMBO_TAG_DT:
            case GUMBO_TAG_DD:
            case GUMBO_TAG_TR:
                return {Block::Kind::item, 0};
            case GUMBO_TAG_PRE:
                return {Block::Kind::code, 0};
            case GUMBO_TAG_BLOCKQUOTE:
                return {Block::Kind::paragraph, 0};
            default:
                return place_;
        }
    }

    void element(const GumboElement& element) {
        if (is_dropped(element.tag) || is_hidden(element)) return;
        if (element.tag == GUMBO_TAG_BR) {
            line_ += '\n';
            return;
        }
        if ((element.tag == GUMBO_TAG_TD || element.tag == GUMBO_TAG_TH) && !tidy(line_).empty()) line_ += " | ";
        const bool block = is_block(element.tag);
        const Place before = place_;
        if (block) {
            flush();
            place_ = place_within(element.tag);
        }
        for (unsigned i = 0; i < element.children.length; ++i)
            node(*static_cast<const GumboNode*>(element.children.data[i]));
        if (block) {
            flush();
            place_ = before;
        }
    }

    CleanText& clean_;
    Place place_;
    std::string line_;
};

const GumboNode* first_of(const GumboNode& node, GumboTag tag) {
    if (node.type != GUMBO_NODE_ELEMENT) return nullptr;
    const auto& element = node.v.element;
    if (element.tag == GUMBO_TAG_SVG) return nullptr;  // its <title> is a tooltip
    if (element.tag == tag) return &node;
    for (unsigned i = 0; i < element.children.length; ++i)
        if (const auto* found = first_of(*static_cast<const GumboNode*>(element.children.data[i]), tag)) return found;
    return nullptr;
}

std::string inner_text(const GumboNode& node) {
    if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE || node.type == GUMBO_NODE_CDATA)
        return node.v.text.text;
    if (node.type != GUMBO_NODE_ELEMENT) return {};
    if (node.v.element.tag == GUMBO_TAG_BR) return " ";
    std::string text;
    for (unsigned i = 0; i < node.v.element.children.length; ++i)
        text += inner_text(*static_cast<const GumboNode*>(node.v.element.children.data[i]));
    return text;
}

/// <title>, or <h1> where the title is that and the name of the site ("Pruning roses – The Garden").
std::string title_of(const GumboNode& root) {
    const auto* title = first_of(root, GUMBO_TAG_TITLE);
    const auto* heading = first_of(root, GUMBO_TAG_H1);
    std::string titled = title ? tidy(inner_text(*title)) : std::string{};
    std::string headed = heading ? tidy(inner_text(*heading)) : std::string{};
    if (titled.empty() || (!headed.empty() && titled.starts_with(headed))) return headed;
    return titled;
}

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'; }

/// Elements that stay open for long, at most, at any place of the text; the parser's tree is never deeper than this and
/// a few implied elements. Elements that end by themselves do not count.
int nesting(std::string_view html) {
    static const std::map<std::string, bool, std::less<>> kFlat{
        {"p", true},     {"li", true},     {"td", true},    {"th", true},  {"tr", true},    {"dt", true},
        {"dd", true},    {"br", true},     {"hr", true},    {"img", true}, {"meta", true},  {"link", true},
        {"input", true}, {"option", true}, {"tbody", true}, {"wbr", true}, {"thead", true}, {"source", true},
        {"area", true},  {"col", true},    {"body", true}};
    std::map<std::string, int, std::less<>> open;
    int depth = 0;
    int deepest = 0;
    for (auto at = html.find('<'); at != std::string_view::npos; at = html.find('<', at)) {
        if (html.substr(at, 4) == "<!--") {
            at = html.find("-->", at);
            if (at == std::string_view::npos) break;
            continue;
        }
        const bool closing = html.substr(at, 2) == "</";
        at += closing ? 2 : 1;
        const auto from = at;
        while (at < html.size() && is_name(html[at])) ++at;
        if (at == from) continue;
        const std::string tag = lower(html.substr(from, at - from));
        if (kFlat.contains(tag)) continue;
        if (!closing && (tag == "script" || tag == "style")) {
            const auto end = html.find("</" + tag, at);
            if (end == std::string_view::npos) break;
            at = end + 2 + tag.size();
            continue;
        }
        auto& count = open[tag];
        if (!closing) {
            ++count;
            deepest = std::max(deepest, ++depth);
        } else if (count > 0) {
            --count;
            --depth;
        }
    }
    return deepest;
}

}

domain::Result<CleanText, domain::Fault> clean_html(std::string_view content) {
    if (nesting(content) > kDeepest) return domain::Fault{"is HTML nested too deep (" + std::to_string(kDeepest) + ")"};
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    const auto destroy = [&](GumboOutput* output) { gumbo_destroy_output(&options, output); };
    const std::unique_ptr<GumboOutput, decltype(destroy)> tree(
        gumbo_parse_with_options(&options, content.data(), content.size()), destroy);
    CleanText clean;
    clean.title = title_of(*tree->root);
    HtmlWalk walk(clean);
    walk.node(*tree->root);
    walk.flush();
    return clean;
}

}
