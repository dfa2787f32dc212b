#pragma once
// A message for a Slack incoming webhook, and for what takes the same form (Mattermost, Rocket.Chat).
//
// The door sends at most one a second to a receiver (Situation::pace), takes a 429 as failed with its Retry-After, and
// after a 400 tries slack_plain_message() once before it says refused.

#include <string>

#include "alerts/message.h"

namespace impresario::alerts {

/// Block Kit, always with a plain `text` beside it. Within Slack's limits however they are counted, because all lengths
/// here are bytes: header 150, section 3,000, 50 blocks. Nothing that comes from an alert is markup, a link or a
/// mention.
std::string slack_message(const Message& message);

/// The same in few words, without blocks.
std::string slack_plain_message(const Message& message);

/// & < > as Slack wants them, no control characters but line ends, and no @channel, @here, @everyone that would call
/// somebody. At most `most` bytes, cut at a whole character and never inside of what stands for one.
std::string slack_escaped(std::string_view text, std::size_t most);

}
