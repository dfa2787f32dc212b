#pragma once
// A message as an e-mail: the whole of it, from its first header to its last line.
//
// The door hands it to SMTP as it is, to each of the recipients, under the sender's address.

#include <string>
#include <string_view>
#include <vector>

#include "alerts/message.h"
#include "domain/definition_fault.h"

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

/// MIME with CRLF, ASCII only, lines of at most 78 characters: plain text and HTML. What comes from alerts stands in
/// headers only as encoded words. Message-ID is the notification's, so that one that is tried again is the same;
/// all of an incident refer to it, so that readers show a thread. Throws std::invalid_argument when the envelope has
/// faults.
std::string email_message(const Message& message, const EmailEnvelope& envelope);

/// A header's value: as it is where that is safe, else in encoded words (RFC 2047) on folded lines.
std::string header_text(std::string_view text);

/// RFC 5322: Fri, 27 Nov 2026 22:23:11 +0000.
std::string email_date(domain::TimePoint at);

}
