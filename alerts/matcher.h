#pragma once
// Which alerts are meant: matchers over labels, as Alertmanager has them.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "alerts/labels.h"
#include "domain/result.h"

namespace re2 {
class RE2;
}

namespace impresario::alerts {

/// One condition on one label. A label that is not there is "". Immutable; copies share the compiled expression.
class Matcher {
  public:
    enum class Op { equal, unequal, matches, matches_not };

    /// `value` of =~ and !~ is an RE2 expression that must match the whole value. RE2 takes time linear in the value
    /// and bounded memory, whatever the expression. The fault says what is wrong with name or expression.
    static domain::Result<Matcher, domain::Fault> make(std::string name, Op op, std::string value);

    bool matches(const Labels& labels) const;

    const std::string& name() const { return name_; }
    Op op() const { return op_; }
    const std::string& value() const { return value_; }
    /// severity="critical", as parse_matcher reads it.
    std::string text() const;

    friend bool operator==(const Matcher& a, const Matcher& b) {
        return a.name_ == b.name_ && a.op_ == b.op_ && a.value_ == b.value_;
    }

  private:
    Matcher() = default;

    std::string name_;
    Op op_ = Op::equal;
    std::string value_;
    std::shared_ptr<const re2::RE2> expression_;
};

/// All of them must match; none matches everything.
using Matchers = std::vector<Matcher>;

inline constexpr std::size_t kMostMatchers = 32;
inline constexpr std::size_t kLongestExpression = 1024;

bool all_match(const Matchers& matchers, const Labels& labels);
/// {severity="critical",team=~"a|b"}.
std::string text(const Matchers& matchers);

/// name=value, name!=value, name=~value, name!~value. The value may stand in double quotes, with \" \\ and \n inside.
domain::Result<Matcher, domain::Fault> parse_matcher(std::string_view text);

}
