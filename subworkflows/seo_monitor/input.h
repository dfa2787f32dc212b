#pragma once
// What the service is asked: pages, and how far to look.

#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "subworkflows/seo_monitor/audit.h"

namespace impresario::subworkflows::seo_monitor {

struct PageRequest {
    /// Names the page in results and retries; its URL where the input gives no other.
    std::string key;
    /// As it came; whether it is a URL shows when it is fetched.
    std::string url;
};

struct Input {
    std::vector<PageRequest> pages;
    AuditSettings settings;
};

struct InputFault {
    /// RFC 6901; "" is the whole input.
    std::string pointer;
    /// Follows the pointer: "must be …".
    std::string what;
    /// Both as one sentence.
    std::string text() const { return "input_data" + pointer + " " + what; }
};

/// Reads trigger.input_data. Members it does not know are passed over.
domain::Result<Input, InputFault> parse_input(std::string_view json);

}
