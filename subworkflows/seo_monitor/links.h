#pragma once
// URLs as they stand in pages: read leniently, as browsers do, and written in one form, so that two spellings of one
// address are one string.

#include <string>
#include <string_view>

#include "domain/result.h"

namespace impresario::subworkflows::seo_monitor {

/// An absolute URL in its one form: lower-case scheme and host, no default port, no fragment, no dot segments, never an
/// empty path, and what an URL must not hold percent-encoded. Other schemes than http and https (`mailto:`) pass as
/// they are, so look with is_web().
domain::Result<std::string, domain::Fault> absolute(std::string_view url);

/// `reference` against `base` (RFC 3986 §5, with a browser's leniency about blanks and backslashes), in that one form.
domain::Result<std::string, domain::Fault> resolve(std::string_view base, std::string_view reference);

bool is_web(std::string_view url);
/// Has a scheme: would mean the same on every page.
bool is_absolute(std::string_view reference);

// The functions below expect what absolute() or resolve() gave.

/// Host and port agree; http and https on their default ports are one site.
bool same_site(std::string_view a, std::string_view b);
/// "https://host:port", without the port where it is the default.
std::string origin_of(std::string_view url);
/// Path and query.
std::string target_of(std::string_view url);

}
