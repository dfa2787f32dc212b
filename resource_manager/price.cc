#include "resource_manager/price.h"

#include <algorithm>

#include "domain/need_amounts.h"

namespace impresario::resource_manager {

using domain::MicroUsd;
using domain::Need;

namespace {

// 128 bits: a share of the largest amount.
__extension__ using Wide = __int128;

/// `part` of `whole`, as a part of `total`; rounded up: what is reserved is no less than what is likely.
std::int64_t share(std::int64_t total, std::int64_t part, std::int64_t whole) {
    return static_cast<std::int64_t>((static_cast<Wide>(total) * part + whole - 1) / whole);
}

}

std::vector<Need> costing(std::vector<Need> needs, MicroUsd total) {
    std::int64_t said = 0;
    for (const auto& need : needs) said += need.cost.value;
    for (auto& need : needs) need.cost = said == 0 ? total : MicroUsd{share(total.value, need.cost.value, said)};
    return needs;
}

PriceList::PriceList(std::vector<Need> needs, std::optional<MicroUsd> declared, const TypeEstimates* learnt,
                     MicroUsd unknown)
    : needs_(std::move(needs)), declared_(declared), learnt_(learnt), unknown_(unknown) {}

const PriceList::Price& PriceList::at(int size_class, const std::string* need_amounts) const {
    const auto known = known_.find({size_class, need_amounts});
    if (known != known_.end()) return known->second;
    auto needs = needs_;
    bool tokens_from_input = false;
    bool cost_from_input = false;
    if (need_amounts) {
        needs = domain::with_amounts(std::move(needs), *need_amounts);
        const auto amounts = domain::parse_need_amounts(*need_amounts);
        for (const auto& each : amounts) {
            tokens_from_input = tokens_from_input || each.part == domain::NeedPart::tokens;
            cost_from_input = cost_from_input || each.part == domain::NeedPart::cost;
        }
    }
    Consumption declared;
    declared.cost = declared_;
    MicroUsd said;
    std::int64_t tokens = 0;
    for (const auto& need : needs) {
        tokens += need.tokens;
        said = said + need.cost;
    }
    if (!declared.cost && (said.value > 0 || cost_from_input)) declared.cost = said;
    if (tokens > 0) declared.tokens = tokens;
    auto expected = learnt_ ? learnt_->estimate(size_class, declared) : declared;
    if (tokens_from_input) expected.tokens = declared.tokens;
    if (cost_from_input && !declared_) expected.cost = declared.cost;

    Price price;
    price.cost = expected.cost.value_or(unknown_);
    price.guessed = !expected.cost;
    price.tokens = expected.tokens;
    price.duration = expected.duration;
    // A guess asks nothing of what providers are limited to: those limits are set for what is known.
    price.needs = expected.cost ? costing(std::move(needs), price.cost) : std::move(needs);
    if (expected.tokens && tokens > 0)
        for (auto& need : price.needs) need.tokens = share(*expected.tokens, need.tokens, tokens);
    return known_.emplace(std::pair(size_class, need_amounts), std::move(price)).first->second;
}

}
