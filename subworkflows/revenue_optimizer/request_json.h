#pragma once
// The request on the wire: a trigger's input_data.

#include <string_view>

#include "domain/result.h"
#include "subworkflows/revenue_optimizer/request.h"

namespace impresario::subworkflows::revenue_optimizer {

/// Reads input_data. The fault begins with the RFC 6901 pointer of the value that has the wrong shape:
/// "/products/0/rows/3/price: must be a number". An optional member that is null counts as absent.
domain::Result<Request, domain::Fault> read_request(std::string_view input_data);

}
