#pragma once
// What is good and bad about a page: one pure function a check, from what was read and learned to findings.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "subworkflows/seo_monitor/page.h"
#include "subworkflows/seo_monitor/robots_txt.h"

namespace impresario::subworkflows::seo_monitor {

enum class Check {
    status,
    redirects,
    title,
    description,
    canonical,
    robots,
    headings,
    images,
    links,
    structured_data,
    lang,
    viewport,
    charset,
    size,
    speed,
    compression
};
inline constexpr int kChecks = static_cast<int>(Check::compression) + 1;
std::string_view name(Check check);

/// error: the page loses visitors by it. warning: it could do better. notice: good to know.
enum class Severity { error, warning, notice };
std::string_view name(Severity severity);

struct Finding {
    Check check = Check::status;
    Severity severity = Severity::notice;
    std::string detail;
    friend bool operator==(const Finding&, const Finding&) = default;
};
using Findings = std::vector<Finding>;

/// How an address answered; status 0: it did not, and `error` says why.
struct Reach {
    int status = 0;
    std::string error;
    bool fails() const { return status == 0 || status >= 400; }
};

/// One step of a redirect chain.
struct Hop {
    std::string url;
    int status = 301;
    /// Where it sends to: absolute where it could be read.
    std::string to;
};

struct BrokenLink {
    std::string url;
    Reach reach;
};

/// Links of one page; addresses, each counted once.
struct LinkReport {
    int internal = 0;
    int external = 0;
    std::vector<BrokenLink> broken;
    /// Internal ones that answer with a redirect.
    std::vector<std::string> redirected;
    /// Internal ones that nobody asked: beyond the run's limit, or on a host that has stopped answering.
    int unchecked = 0;
};

/// robots.txt of the page's host, and what it says about the page.
struct RobotsFile {
    RobotsTxt::Verdict verdict;
    /// It could not be had: crawlers then stay away. Empty when all is well.
    std::string trouble;
};

struct StructuredData {
    /// @type of every item, without the vocabulary's address; each once, in order.
    std::vector<std::string> types;
    Findings findings;
};

/// What relative addresses of the page are relative to: its `base`, or itself.
std::string base_of(const Page& page, const std::string& page_url);
/// The first canonical address, absolute; empty when there is none or it cannot be read.
std::string canonical_of(const Page& page, const std::string& page_url);

Findings check_status(int status);
/// A chain that ended at a page.
Findings check_redirects(const std::vector<Hop>& hops);
Findings check_title(const Page& page);
Findings check_description(const Page& page);
/// `target` is how the canonical address answered, where it is another one than the page's; nullptr: nobody asked.
Findings check_canonical(const Page& page, const std::string& page_url, const Reach* target);
/// `headers` are the values of X-Robots-Tag; `agent` the crawler that counts.
Findings check_robots(const Page& page, const std::vector<std::string>& headers, const RobotsFile& file,
                      std::string_view agent);
Findings check_headings(const Page& page);
Findings check_images(const Page& page);
Findings check_links(const LinkReport& links);
StructuredData check_structured_data(const Page& page);
Findings check_lang(const Page& page);
Findings check_viewport(const Page& page);
/// `header` is the charset of Content-Type; empty when it names none.
Findings check_charset(const Page& page, std::string_view header);
/// `cut`: the page was longer, and only `bytes` of it were read.
Findings check_size(std::size_t bytes, bool cut);
Findings check_speed(std::chrono::milliseconds first_byte);
/// `encoding` is what the server chose when it was offered gzip and brotli; empty: nothing.
Findings check_compression(std::size_t bytes, std::string_view encoding);

/// From here on compression saves packets; smaller pages are not asked about.
inline constexpr std::size_t kWorthCompressing = 4096;

}
