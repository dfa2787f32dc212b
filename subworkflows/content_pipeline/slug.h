#pragma once
// The part of an address that names an article.

#include <set>
#include <string>
#include <string_view>

namespace impresario::subworkflows::content_pipeline {

inline constexpr std::size_t kLongestSlug = 80;

/// `title` in a-z, 0-9 and single hyphens, at most kLongestSlug bytes, cut between words where possible. Latin letters
/// are written without their marks (ä → ae, é → e, ß → ss); what cannot be written is left out, so the result may be
/// empty.
std::string slug_of(std::string_view title);

/// `slug`, or `slug`-2, -3 … when it is taken; it is taken from then on.
std::string unique_slug(const std::string& slug, std::set<std::string>& taken);

}
