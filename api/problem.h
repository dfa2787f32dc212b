#pragma once
// Errors as application/problem+json (RFC 9457) with a stable `type`.

#include <string>
#include <string_view>
#include <vector>

#include "domain/definition_fault.h"
#include "platform/http.h"

namespace impresario::api {

/// One field that is wrong; its pointer is into the body, or the name of a parameter or header.
using FieldFault = domain::DefinitionFault;

/// So many faults an answer lists at most.
inline constexpr std::size_t kMostFaults = 100;

/// `type` is the short name; it becomes "/problems/<type>". Of more than kMostFaults the first are listed, and the
/// detail says so.
platform::HttpResponse problem(int status, std::string_view type, std::string_view detail,
                               const std::vector<FieldFault>& faults = {});

platform::HttpResponse json_response(int status, std::string body);

/// 403: what concerns all organizations is the business of those of `default`.
platform::HttpResponse for_default_only(const std::string& what);

}
