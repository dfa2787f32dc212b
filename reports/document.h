#pragma once
// A report as people read it, before it is text, HTML or Slack's blocks.

#include <string>
#include <vector>

#include "reports/report.h"

namespace impresario::reports {

struct Section {
    std::string heading;
    /// Sentences before the table.
    std::vector<std::string> lines = {};
    /// "": there is no table.
    std::vector<std::string> columns = {};
    std::vector<std::vector<std::string>> rows = {};
    friend bool operator==(const Section&, const Section&) = default;
};

struct Document {
    std::string title;
    std::vector<Section> sections;
    friend bool operator==(const Document&, const Document&) = default;
};

/// Of each table the first rows, and how many more there are.
Document document_of(const Report& report);

}
