#pragma once
// A type's needs as far as each execution's input says them: {"from": "/input_data/articles", "times": 3}. The database
// takes them in the same way (needs_of_input); a test keeps the two equal.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/need_amounts.h"
#include "domain/result.h"

namespace impresario::subworkflows {

/// An amount of one need: the number at `from`, or how many elements the array there has, times `times`.
struct InputNeed {
    std::string provider;
    domain::NeedPart part = domain::NeedPart::calls;
    /// JSON pointer into the input, as somebody wrote it: a first step /input_data is the input itself.
    std::string from;
    /// In millionths; more than 0.
    std::int64_t times = 1'000'000;
    /// For who has nothing there, in the part's own units; nullopt: he is refused.
    std::optional<std::int64_t> otherwise;

    /// The same without that step.
    std::string_view pointer() const;
    /// For an execution that was enqueued before its type asked: as for one element, unless `otherwise` says.
    std::int64_t unsaid() const;
    friend bool operator==(const InputNeed&, const InputNeed&) = default;
};

struct InputFault {
    /// Into the input.
    std::string pointer;
    std::string what;
};

/// What this input asks; "" is no input. JSON that check_json has passed.
domain::Result<std::vector<domain::NeedAmount>, InputFault> need_amounts(const std::vector<InputNeed>& needs,
                                                                         std::string_view input);

}
