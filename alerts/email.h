#pragma once
// An e-mail: the whole of it, from its first header to its last line.
//
// The door hands it to SMTP as it is, to each of the recipients, under the sender's address.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/definition_fault.h"
#include "domain/time.h"

namespace impresario::alerts {

struct EmailEnvelope {
    /// user@host.
    std::string from;
    /// Shown beside it; any text.
    std::string from_name = "Impresario";
    /// 1 to 50.
    std::vector<std::string> to;
};

/// What is wrong with its addresses, at /from and /to/<index>.
domain::DefinitionFaults faults_of(const EmailEnvelope& envelope);

/// One mailbox as RFC 5321 has it without quotes or comments: nothing in it could begin a header or another address.
bool good_email_address(std::string_view address);

struct EmailContent {
    /// One that is tried again is the same message; hex digits and hyphens, all else is left out.
    std::string id;
    /// All that have the same are one thread; as `id`.
    std::string thread;
    std::string subject;
    domain::TimePoint at{};
    /// Names are ours; values are written as header_text() has them.
    std::vector<std::pair<const char*, std::string>> headers = {};
    std::string text;
    std::string html;
};

/// In bytes, of each of the two texts; encoded they are a third longer.
inline constexpr std::size_t kLongestEmail = 100'000;

/// MIME with CRLF, ASCII only, lines of at most 78 characters: plain text and HTML. What comes from elsewhere stands in
/// headers only as encoded words. Throws std::invalid_argument when the envelope has faults.
std::string email_of(const EmailContent& content, const EmailEnvelope& envelope);

/// A header's value: as it is where that is safe, else in encoded words (RFC 2047) on folded lines.
std::string header_text(std::string_view text);

/// RFC 5322: Fri, 27 Nov 2026 22:23:11 +0000.
std::string email_date(domain::TimePoint at);

/// As text of HTML: nothing in it is markup.
std::string html_escaped(std::string_view text);

}
