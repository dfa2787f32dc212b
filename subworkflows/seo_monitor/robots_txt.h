#pragma once
// robots.txt as RFC 9309 has it: groups, the longest match, `*` and `$`.

#include <string>
#include <string_view>
#include <vector>

namespace impresario::subworkflows::seo_monitor {

class RobotsTxt {
  public:
    struct Verdict {
        bool allowed = true;
        /// The line that decided; empty when none did.
        std::string rule;
    };

    /// Reads any text; what is not a rule is passed over. Beyond 500 KiB nothing is read, as the RFC lets a crawler do.
    static RobotsTxt parse(std::string_view text);

    /// Whether a crawler with this product token may fetch `target` (path and query).
    Verdict verdict(std::string_view agent, std::string_view target) const;

  private:
    struct Rule {
        bool allow = false;
        std::string pattern;
        std::string line;
    };
    struct Group {
        std::vector<std::string> agents;
        std::vector<Rule> rules;
    };
    std::vector<Group> groups_;
};

}
