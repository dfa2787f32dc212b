#pragma once
// Where sentences end.

#include <string>
#include <string_view>
#include <vector>

namespace impresario::subworkflows::content_pipeline {

/// The sentences of one tidy line, in their order, nothing left out. A full stop ends none within a number ("3.5"),
/// after an abbreviation or initial ("Dr. Lee", "e.g. oats", "J. Doe"), or where a small letter follows
/// (unless nothing in the text is written large).
std::vector<std::string> sentences_of(std::string_view text);

/// Whether `sentence` ends as one does: . ! ? or their like, perhaps in quotation marks.
bool is_finished(std::string_view sentence);

}
