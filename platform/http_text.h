#pragma once
// Answers as they are written on the wire.

#include <string>
#include <string_view>

#include "platform/http.h"

namespace impresario::platform {

/// Head and body in one piece; `head`: the answer to a HEAD, without its body.
std::string response_text(const HttpResponse& response, bool head);

/// What the server itself answers, where no handler is asked; closes the connection.
HttpResponse plain_problem(int status, std::string_view detail);

}
