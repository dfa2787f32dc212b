#pragma once
// A message about alerts as an e-mail.

#include <string>

#include "alerts/email.h"
#include "alerts/message.h"

namespace impresario::alerts {

/// Message-ID is the notification's, and all of an incident are one thread. Throws std::invalid_argument when the
/// envelope has faults.
std::string email_message(const Message& message, const EmailEnvelope& envelope);

}
