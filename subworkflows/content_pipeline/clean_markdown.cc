// Markdown by cmark-gfm: its tree is walked, never rendered.
#include <cmark-gfm.h>

#include <algorithm>
#include <memory>

#include "subworkflows/content_pipeline/clean_text.h"
#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

/// "--- | :---:": the line that makes a table of the lines around it.
bool is_delimiter_row(std::string_view line) {
    return line.find('|') != std::string_view::npos && line.find("--") != std::string_view::npos &&
           line.find_first_not_of("|:- \t") == std::string_view::npos;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at <= text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

/// A row's cells as HTML's tables are written here: "a | b".
std::string row(std::string_view line) {
    std::string text = tidy(line);
    if (text.starts_with("|")) text.erase(0, 1);
    if (text.ends_with("|")) text.pop_back();
    return tidy(text);
}

/// Front matter between two lines of "---" at the start; `content` is left with what follows.
std::string take_front_matter(std::string_view& content) {
    if (!content.starts_with("---\n") && !content.starts_with("---\r\n")) return {};
    std::string title;
    bool keys = false;
    int count = 0;
    for (std::size_t at = content.find('\n') + 1; at < content.size() && count < 200; ++count) {
        const auto end = std::min(content.find('\n', at), content.size());
        const auto line = tidy(content.substr(at, end - at));
        at = end + 1;
        if (line == "---" || line == "...") {
            if (!keys) return {};
            content.remove_prefix(std::min(at, content.size()));
            return title;
        }
        keys = keys || line.find(':') != std::string::npos;
        if (line.starts_with("title:")) {
            title = tidy(std::string_view(line).substr(6));
            const bool quoted =
                title.size() >= 2 && (title.front() == '"' || title.front() == '\'') && title.back() == title.front();
            if (quoted) title = title.substr(1, title.size() - 2);
        }
    }
    return {};
}

class MarkdownWalk {
  public:
    explicit MarkdownWalk(CleanText& clean) : clean_(clean) {}

    /// False when something in it cannot be read; `fault` says what.
    bool event(cmark_event_type type, cmark_node* node) {
        const bool enter = type == CMARK_EVENT_ENTER;
        const auto kind = cmark_node_get_type(node);
        if (kind == CMARK_NODE_ITEM) items_ += enter ? 1 : -1;
        if (kind == CMARK_NODE_IMAGE) images_ += enter ? 1 : -1;
        if (kind == CMARK_NODE_PARAGRAPH && !enter) paragraph();
        if (kind == CMARK_NODE_HEADING) {
            if (enter) {
                line_.clear();
            } else {
                add(Block::Kind::heading, cmark_node_get_heading_level(node), tidy(line_));
                line_.clear();
            }
        }
        if (!enter || images_ > 0) return true;
        const char* literal = cmark_node_get_literal(node);
        const std::string_view text = literal ? literal : "";
        if (kind == CMARK_NODE_TEXT || kind == CMARK_NODE_CODE) {
            line_ += text;
        } else if (kind == CMARK_NODE_SOFTBREAK || kind == CMARK_NODE_LINEBREAK) {
            line_ += '\n';
        } else if (kind == CMARK_NODE_HTML_INLINE) {
            if (lower(text).starts_with("<br")) line_ += ' ';
        } else if (kind == CMARK_NODE_CODE_BLOCK) {
            std::string code(text);
            while (!code.empty() && is_space(static_cast<unsigned char>(code.back()))) code.pop_back();
            add(Block::Kind::code, 0, std::move(code));
        } else if (kind == CMARK_NODE_HTML_BLOCK) {
            auto inner = clean_html(text);
            if (!inner) {
                fault = inner.error();
                return false;
            }
            for (auto& block : inner->blocks) clean_.blocks.push_back(std::move(block));
        }
        return true;
    }

    domain::Fault fault;

  private:
    void add(Block::Kind kind, int level, std::string text) {
        if (!text.empty()) clean_.blocks.push_back({kind, level, std::move(text)});
    }

    void paragraph() {
        const auto lines = lines_of(line_);
        if (lines.size() >= 2 && is_delimiter_row(lines[1])) {
            for (std::size_t i = 0; i < lines.size(); ++i)
                if (i != 1) add(Block::Kind::item, 0, row(lines[i]));
        } else {
            std::string text = tidy(line_);
            if (items_ > 0 && (text.starts_with("[ ] ") || text.starts_with("[x] ") || text.starts_with("[X] ")))
                text.erase(0, 4);
            add(items_ > 0 ? Block::Kind::item : Block::Kind::paragraph, 0, std::move(text));
        }
        line_.clear();
    }

    CleanText& clean_;
    std::string line_;
    int items_ = 0;
    int images_ = 0;
};

}

domain::Result<CleanText, domain::Fault> clean_markdown(std::string_view content) {
    CleanText clean;
    clean.title = take_front_matter(content);
    const std::unique_ptr<cmark_node, void (*)(cmark_node*)> document(
        cmark_parse_document(content.data(), content.size(), CMARK_OPT_DEFAULT), cmark_node_free);
    const std::unique_ptr<cmark_iter, void (*)(cmark_iter*)> steps(cmark_iter_new(document.get()), cmark_iter_free);
    MarkdownWalk walk(clean);
    for (auto type = cmark_iter_next(steps.get()); type != CMARK_EVENT_DONE; type = cmark_iter_next(steps.get()))
        if (!walk.event(type, cmark_iter_get_node(steps.get()))) return walk.fault;
    return clean;
}

}
