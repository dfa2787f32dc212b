#pragma once
// The one place that takes secrets out of text that others wrote: answers, complaints of servers, errors of libraries.
// What we write ourselves holds none, because a domain::Secret does not turn into text.

#include <string>
#include <string_view>
#include <vector>

#include "domain/secret.h"

namespace impresario::platform {

/// `text` without the secrets, however it was quoted on its way back: as it is; escaped for JSON (also twice), URLs or
/// HTML; as base64 of something that holds it; in hex. What is shorter than four bytes is no secret that one could
/// look for. API keys, callback tokens and signing secrets are known by their form, whoever they belong to.
std::string redacted(std::string_view text, const std::vector<const domain::Secret*>& secrets);
std::string redacted(std::string_view text, const std::vector<domain::Secret>& secrets);

/// What is secret about an address of which the whole is: itself, and its path and query as servers like to say them
/// back.
std::vector<domain::Secret> secrets_of_url(const domain::Secret& url);

/// What is secret about an address that is shown but for its query: that, as a whole and each value in it. Appended.
void add_query_secrets(std::string_view url, std::vector<domain::Secret>& secrets);

/// An address as it may be shown: without its query, where tokens stand, and without what stands before an @.
std::string shown_url(std::string_view url);

}
