#include "subworkflows/revenue_optimizer/csv.h"

#include <algorithm>

namespace impresario::subworkflows::revenue_optimizer {

namespace {

std::string heading_of(std::string_view field) {
    const auto first = field.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    field = field.substr(first, field.find_last_not_of(" \t") - first + 1);
    std::string lower(field);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

/// The separator that the first line uses outside quotes.
char separator_of(std::string_view text) {
    bool quoted = false;
    bool semicolon = false;
    for (const char c : text) {
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if (c == ',') return ',';
        if (c == ';') semicolon = true;
        if (c == '\n') break;
    }
    return semicolon ? ';' : ',';
}

class Reader {
  public:
    Reader(std::string_view text, char separator) : text_(text), separator_(separator) {}

    bool at_end() const { return at_ >= text_.size(); }
    const std::optional<CsvFault>& fault() const { return fault_; }

    /// The next row with its line break; nullopt on a fault.
    std::optional<CsvRow> row() {
        CsvRow row;
        row.line = line_;
        column_ = 1;
        for (;; ++column_) {
            std::string field;
            if (!read_field(field)) return std::nullopt;
            row.fields.push_back(std::move(field));
            if (at_end()) return row;
            if (text_[at_] == separator_) {
                ++at_;
                continue;
            }
            if (text_[at_] == '\r') ++at_;
            ++at_;  // the line feed, which read_field made sure of
            ++line_;
            return row;
        }
    }

  private:
    bool fail(int line, std::string what) {
        fault_ = CsvFault{line, column_, std::move(what)};
        return false;
    }

    /// Stops at a separator, at a line break, or at the end.
    bool read_field(std::string& field) {
        if (!at_end() && text_[at_] == '"') return read_quoted(field);
        for (; !at_end(); ++at_) {
            const char c = text_[at_];
            if (c == separator_ || c == '\n') return true;
            if (c == '\r') return ends_line() || fail(line_, "a carriage return without a line feed");
            if (c == '"') return fail(line_, "a quote inside a field that is not quoted");
            field += c;
        }
        return true;
    }

    bool read_quoted(std::string& field) {
        const int opened = line_;
        for (++at_; !at_end(); ++at_) {
            const char c = text_[at_];
            if (c == '\n') ++line_;
            if (c != '"') {
                field += c;
                continue;
            }
            ++at_;
            if (at_end() || text_[at_] == separator_ || text_[at_] == '\n' || ends_line()) return true;
            if (text_[at_] != '"') return fail(line_, "text after the closing quote");
            field += '"';
        }
        return fail(opened, "the quote that opens here is never closed");
    }

    bool ends_line() const { return text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n'; }

    std::string_view text_;
    char separator_;
    std::size_t at_ = 0;
    int line_ = 1;
    int column_ = 1;
    std::optional<CsvFault> fault_;
};

}

std::string explain(const CsvFault& fault) {
    return "line " + std::to_string(fault.line) + ", column " + std::to_string(fault.column) + ": " + fault.what;
}

std::optional<std::size_t> CsvTable::column(std::string_view heading) const {
    const std::string wanted = heading_of(heading);
    for (std::size_t i = 0; i < header.size(); ++i)
        if (heading_of(header[i]) == wanted) return i;
    return std::nullopt;
}

domain::Result<CsvTable, CsvFault> parse_csv(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    CsvTable table;
    table.separator = separator_of(text);
    Reader reader(text, table.separator);
    while (!reader.at_end()) {
        auto row = reader.row();
        if (!row) return *reader.fault();
        if (row->fields.size() == 1 && heading_of(row->fields[0]).empty()) continue;
        if (table.header.empty()) {
            for (std::size_t i = 0; i < row->fields.size(); ++i) {
                const std::string heading = heading_of(row->fields[i]);
                const int column = static_cast<int>(i) + 1;
                if (heading.empty()) return CsvFault{row->line, column, "the heading is empty"};
                for (std::size_t j = 0; j < i; ++j)
                    if (heading_of(row->fields[j]) == heading)
                        return CsvFault{row->line, column, "the heading '" + heading + "' is there twice"};
            }
            table.header_line = row->line;
            table.header = std::move(row->fields);
            continue;
        }
        if (row->fields.size() != table.header.size())
            return CsvFault{row->line, static_cast<int>(std::min(row->fields.size(), table.header.size())) + 1,
                            "the row has " + std::to_string(row->fields.size()) + " fields, the header " +
                                std::to_string(table.header.size())};
        table.rows.push_back(std::move(*row));
    }
    if (table.header.empty()) return CsvFault{1, 1, "there is no header"};
    return table;
}

}
