#pragma once
// What a start is expected to cost. Pure.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "domain/demand.h"
#include "domain/money.h"
#include "resource_manager/estimate.h"

namespace impresario::resource_manager {

/// The needs, so that they cost `total` together: shared as they say they cost, and where none says anything each is
/// taken to cost it all, because nobody knows whose it is.
std::vector<domain::Need> costing(std::vector<domain::Need> needs, domain::MicroUsd total);

/// What somebody would be asked for it, by the size of its input.
class PriceList {
  public:
    struct Price {
        domain::MicroUsd cost;
        /// Nobody says what it costs.
        bool guessed = false;
        std::vector<domain::Need> needs;
        /// Of all providers together, as far as it is declared or was seen.
        std::optional<std::int64_t> tokens;
        /// How long it takes, as far as that was seen.
        std::optional<domain::Duration> duration;
    };

    /// An execution that needs nothing.
    PriceList() = default;
    /// `declared`: what its type says it costs; else what its needs say. `learnt` is borrowed; null: nothing was.
    /// `unknown` is taken where nobody says anything: an unknown price is not a free one.
    PriceList(std::vector<domain::Need> needs, std::optional<domain::MicroUsd> declared = std::nullopt,
              const TypeEstimates* learnt = nullptr, domain::MicroUsd unknown = {});

    /// Valid as long as this is, and so must `need_amounts` be (domain/need_amounts.h; null: none). What an input says
    /// of tokens and cost stands: what was learnt is of others.
    const Price& at(int size_class, const std::string* need_amounts = nullptr) const;

  private:
    std::vector<domain::Need> needs_;
    /// What the type says itself.
    std::optional<domain::MicroUsd> declared_;
    const TypeEstimates* learnt_ = nullptr;
    domain::MicroUsd unknown_;
    mutable std::map<std::pair<int, const std::string*>, Price> known_;
};

}
