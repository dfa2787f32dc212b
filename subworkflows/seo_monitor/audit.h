#pragma once
// One run: fetches page after page, follows redirects step by step, asks links, robots.txt and canonical addresses, and
// puts together what the checks say. Reaches the network through the function it is given, so tests need none.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "platform/http_client.h"
#include "subworkflows/seo_monitor/checks.h"
#include "subworkflows/seo_monitor/score.h"

namespace impresario::subworkflows::seo_monitor {

struct AuditSettings {
    /// Ask every internal link, each once a run.
    bool check_links = true;
    /// Steps of a redirect chain; one more is a fault.
    int follow_redirects = 5;
    /// What is read of a page.
    std::size_t max_bytes = 2'000'000;
    /// The crawler whose rules in robots.txt and robots directives count.
    std::string robots_agent = "Googlebot";
    /// Links asked in one run.
    int most_links = 200;
};

/// One exchange, and the time from connecting, if it had to, to the head of the answer (0 where there was none).
struct Fetched {
    platform::HttpOutcome outcome;
    std::chrono::milliseconds first_byte{0};
};
/// One HTTP request, no redirects followed.
using Fetch =
    std::function<Fetched(const std::string& method, const platform::Url& url, const platform::Headers& headers)>;

struct PageReport {
    std::string key;
    std::string url;
    std::string final_url;
    int status = 0;
    Score score;
    Findings findings;
    std::string title;
    std::string description;
    std::string canonical;
    std::size_t words = 0;
    LinkReport links;
    std::vector<std::string> structured_data;
    std::size_t bytes = 0;
    /// Of the last request of the chain; see Fetched.
    std::chrono::milliseconds first_byte{0};
    std::vector<Hop> redirects;
};

/// There was nothing to audit.
struct PageFailure {
    std::string key;
    std::string url;
    std::string what;
    /// Asking again may help.
    bool again = true;
};

using PageOutcome = std::variant<PageReport, PageFailure>;

/// One run's memory: what was asked once is not asked again.
class Auditor {
  public:
    /// `stopped` is asked before every request.
    Auditor(AuditSettings settings, Fetch fetch, std::function<bool()> stopped);

    /// Never throws for what a page or a network does. Findings and score of a report are complete after finish().
    PageOutcome audit(const std::string& key, const std::string& url);
    /// Requests made so far.
    int requests() const { return requests_; }

  private:
    struct Arrived;
    struct Request;
    std::variant<Arrived, PageReport, PageFailure> arrive(const Request& request);
    std::optional<Fetched> ask(const std::string& method, const std::string& url, const platform::Headers& headers);
    std::optional<Reach> reach(const std::string& url);
    RobotsFile robots_of(const std::string& page_url);
    LinkReport links_of(const Page& page, const std::string& page_url);
    std::string encoding_of(const std::string& url);

    AuditSettings settings_;
    Fetch fetch_;
    std::function<bool()> stopped_;
    int requests_ = 0;
    int links_asked_ = 0;
    std::map<std::string, Reach> reached_;
    struct Robots {
        RobotsTxt file;
        std::string trouble;
    };
    std::map<std::string, Robots> robots_;
    /// Requests in a row that an origin left unanswered.
    std::map<std::string, int> silence_;
};

/// What shows only when all pages are there (titles and descriptions that repeat), and then the scores.
void finish(std::vector<PageOutcome>& outcomes);

}
