#pragma once
// Kettle & Leaf, a small tea shop that does not exist: what its server answers. Good pages, and one for every fault the
// monitor looks for; README.md lists them.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "platform/http.h"

namespace impresario::subworkflows::seo_monitor {

struct SiteAnswer {
    platform::HttpResponse response;
    /// How long the server lets one wait.
    std::chrono::milliseconds delay{0};
};

/// `origin` is what the site is reached by ("http://127.0.0.1:9000"); it stands in the pages wherever they say {site}.
SiteAnswer site_answer(std::string_view method, std::string_view path, std::string_view origin);

/// Paths of all pages, faulty ones and redirects included.
std::vector<std::string> site_paths();

}
