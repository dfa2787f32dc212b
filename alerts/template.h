#pragma once
// Text with names in it that a user may change: "{{ summary }} of {{ labels.budget }}". Nothing is computed, nothing is
// executed, and what is put in is not read again.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"

namespace impresario::alerts {

/// Longest that a template may be, and that what comes out of it may be, in bytes.
inline constexpr std::size_t kLongestTemplate = 4096;
inline constexpr std::size_t kLongestText = 16384;

class Template {
  public:
    /// `names` are allowed, and labels.<any label name>. The fault names what is not, with all that are.
    static domain::Result<Template, domain::Fault> parse(std::string_view text,
                                                         std::span<const std::string_view> names);

    /// What a name stands for; for a label the whole "labels.x".
    using Value = std::function<std::string(std::string_view name)>;

    /// At most `most` bytes, cut at a whole character.
    std::string render(const Value& value, std::size_t most = kLongestText) const;

  private:
    struct Part {
        std::string text;
        bool is_name = false;
    };
    std::vector<Part> parts_;
};

/// The label that "labels.x" names; "" when it names none.
std::string_view label_named(std::string_view name);

/// Safe as one word of a shell: in single quotes unless it needs none.
std::string shell_word(std::string_view text);

}
