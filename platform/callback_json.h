#pragma once
// SubWorkflowCallback on the wire, shared by the hub that reads it and the kit that writes it.

#include <string>
#include <string_view>

#include "domain/callback.h"
#include "domain/result.h"

namespace impresario::platform {

struct CallbackFault {
    /// 400: not JSON, or bytes that are not UTF-8. 422: JSON, but a field is wrong.
    int status = 422;
    std::string pointer;
    std::string what;
};

/// Reads a callback. What PostgreSQL could not store is replaced and marked, so that a failure report can always be
/// recorded; a field with an impossible value is a fault that names it.
domain::Result<domain::Callback, CallbackFault> parse_callback(std::string_view body);

/// Whether a JSON text has the form of a callback: what a 2xx answer to a trigger must look like to count as done.
bool looks_like_callback(std::string_view body);

std::string callback_json(const domain::Callback& callback);

}
