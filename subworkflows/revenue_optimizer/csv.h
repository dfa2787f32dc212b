#pragma once
// CSV as RFC 4180 has it, and as spreadsheets write it: a table of texts that remembers where each row stood.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"

namespace impresario::subworkflows::revenue_optimizer {

/// Where a text stops being the CSV that was expected.
struct CsvFault {
    /// Line of the text, from 1; line breaks inside quotes count.
    int line = 1;
    /// Field within the row, from 1.
    int column = 1;
    std::string what;
};

/// "line 3, column 2: text after the closing quote"
std::string explain(const CsvFault& fault);

struct CsvRow {
    /// The line on which the row begins.
    int line = 1;
    std::vector<std::string> fields;
};

struct CsvTable {
    /// ',' or ';'.
    char separator = ',';
    /// The line of the header, from 1.
    int header_line = 1;
    std::vector<std::string> header;
    /// Each with as many fields as the header.
    std::vector<CsvRow> rows;

    /// The column under this heading, which is compared without case and surrounding blanks.
    std::optional<std::size_t> column(std::string_view heading) const;
};

/// Reads a table whose first row is the header. Fields may be quoted, with "" for a quote; rows end in CRLF or LF; a
/// byte order mark and empty lines are skipped. The separator is ';' where the header holds one outside quotes and no
/// ',', else ','. Faults: no header, an empty or repeated heading, a row of another length, a quote inside a bare
/// field, text after a closing quote, a quote that is never closed, a carriage return without line feed.
domain::Result<CsvTable, CsvFault> parse_csv(std::string_view text);

}
