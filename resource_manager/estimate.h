#pragma once
// What an execution will probably need, learnt from those before it. Pure and deterministic.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "domain/money.h"
#include "domain/time.h"
#include "resource_manager/histogram.h"

namespace impresario::resource_manager {

struct EstimateSettings {
    /// The part of executions that need no more than is estimated.
    double part = 0.9;
    /// After so many others an execution counts half.
    double half_life = 300;
    /// What has been seen less often than this is estimated by what is declared.
    double enough = 20;
};

/// One series of amounts: the level that is not passed by the wanted part of what comes. It watches itself: where it is
/// passed too often, because amounts grow or come in two sizes, it takes a higher part of what was seen, and the other
/// way round, so that over time it is right about any series.
class Calibrated {
  public:
    /// nullopt: nothing was seen.
    std::optional<std::int64_t> estimate(const EstimateSettings& settings) const;
    void learn(std::int64_t amount, const EstimateSettings& settings);
    void merge(const Calibrated& other);

    double seen() const { return histogram_.weight(); }

    /// "+0.013@1200 617:0.5 640:1".
    std::string text() const;
    static std::optional<Calibrated> parse(std::string_view text);

    friend bool operator==(const Calibrated&, const Calibrated&) = default;

  private:
    Histogram histogram_;
    /// Added to the wanted part.
    double bias_ = 0;
    /// The most that was ever seen: no estimate is beyond it, so that what always costs the same is estimated exactly.
    std::int64_t largest_ = 0;
};

/// What one execution used; of what is not known nothing is learnt.
struct Consumption {
    std::optional<domain::MicroUsd> cost;
    std::optional<std::int64_t> tokens;
    std::optional<domain::Duration> duration;
    /// It has done its work, and was not asked to do it otherwise: others are estimated by it.
    bool typical = true;

    friend bool operator==(const Consumption&, const Consumption&) = default;
};

/// Inputs of about the same size, each class four times the one before; 0 is unknown or nothing.
int size_class(std::int64_t size);

/// The estimates of one workflow type.
class TypeEstimates {
  public:
    /// For one of this size: by its class if that was seen often enough, else by the whole type, else what is declared,
    /// or the largest that was seen if that is more. What is nullopt is unknown, which is not free.
    Consumption estimate(int size_class, const Consumption& declared, const EstimateSettings& settings = {}) const;
    void learn(int size_class, const Consumption& used, const EstimateSettings& settings = {});
    /// What another node has learnt.
    void merge(const TypeEstimates& other);

    /// Lines of class, measure and state; the whole type is class "*".
    std::string text() const;
    /// Lines that it cannot read are what an older or newer hub knows, and are passed over.
    static TypeEstimates parse(std::string_view text);

    friend bool operator==(const TypeEstimates&, const TypeEstimates&) = default;

  private:
    /// By class and measure; kWhole is the type.
    static constexpr int kWhole = -1;
    std::map<std::pair<int, int>, Calibrated> series_;
};

}
