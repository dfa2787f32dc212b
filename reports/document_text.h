#pragma once
// A document as text, as HTML and as a message for Slack.

#include <string>

#include "reports/document.h"

namespace impresario::reports {

/// Tables are aligned. At most `most` bytes, cut at a whole line, which is said.
std::string plain_text(const Document& document, std::size_t most);

/// A page of its own without scripts, styles from elsewhere or pictures: mail readers show it as it is. At most about
/// `most` bytes: what comes after is left out, which is said.
std::string html_text(const Document& document, std::size_t most);

/// Block Kit within its limits (alerts/slack_message.h), with the plain `text` beside it.
std::string slack_text(const Document& document);

}
