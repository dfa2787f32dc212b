#pragma once
// Bytes that came from somewhere, as UTF-8 text or not at all.

#include <string>
#include <string_view>

#include "domain/result.h"

namespace impresario::subworkflows::content_pipeline {

/// `bytes` as UTF-8 without a byte order mark. `charset` is the name the sender gave (any case), empty when it gave
/// none. A byte order mark wins over it. Known are UTF-8, US-ASCII, ISO-8859-1, ISO-8859-15, Windows-1252 (as which the
/// former two are read where they differ only in control characters) and UTF-16. The fault says why it is not text.
domain::Result<std::string, domain::Fault> text_from(std::string_view bytes, std::string_view charset);

/// Why `text`, which is UTF-8, is no text for people: control characters as they stand in files of programs. Empty
/// when it is.
std::string why_not_text(std::string_view text);

}
