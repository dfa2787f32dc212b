#pragma once
// The answer on the wire: result_data, and the items of a callback.

#include <span>
#include <string>

#include "domain/callback.h"
#include "subworkflows/revenue_optimizer/advice.h"

namespace impresario::subworkflows::revenue_optimizer {

struct Answers {
    std::vector<ProductAdvice> products;
    std::vector<ExperimentAdvice> experiments;
    /// About the request as a whole.
    std::vector<std::string> warnings;
};

/// {"products":[…],"experiments":[…],"warnings":[…]}. Numbers have nine significant digits, which hides what libraries
/// round differently; shares are exact. What is not finite becomes null.
std::string result_json(const Answers& answers);

/// An item that came out well, as {"key","status":"completed"}.
domain::ItemOutcome completed_item(const std::string& key);
/// An item that was refused, as {"key","status":"failed","error":"too_few_prices: …"}.
domain::ItemOutcome failed_item(const std::string& key, const std::string& error);

/// error_data where nothing came out: {"message","retry_recommended":false,"items":[…]}.
std::string error_json(const std::string& message, std::span<const domain::ItemOutcome> items);

}
