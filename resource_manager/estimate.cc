#include "resource_manager/estimate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace impresario::resource_manager {

namespace {

/// How far one execution moves the part that is taken: enough to follow a trend, too little to follow chance.
constexpr double kStep = 0.004;
/// Sizes beyond 4^31 are one class.
constexpr int kLastClass = 32;

/// In the order of `Consumption`.
constexpr std::array<std::string_view, 3> kMeasures{"cost", "tokens", "duration"};

std::optional<std::int64_t> amount(const Consumption& used, int measure) {
    if (measure == 0) return used.cost ? std::optional(used.cost->value) : std::nullopt;
    if (measure == 1) return used.tokens;
    return used.duration ? std::optional<std::int64_t>(used.duration->count()) : std::nullopt;
}

void set(Consumption& used, int measure, std::optional<std::int64_t> value) {
    if (!value) return;
    if (measure == 0) used.cost = domain::MicroUsd{*value};
    if (measure == 1) used.tokens = value;
    if (measure == 2) used.duration = domain::Duration{*value};
}

}

std::optional<std::int64_t> Calibrated::estimate(const EstimateSettings& settings) const {
    if (histogram_.empty()) return std::nullopt;
    return std::min(histogram_.quantile(settings.part + bias_), largest_);
}

void Calibrated::learn(std::int64_t amount, const EstimateSettings& settings) {
    if (seen() >= settings.enough) {
        const bool held = amount <= *estimate(settings);
        bias_ += kStep * (settings.part - (held ? 1 : 0));
        // Whatever it has met, it can come back from it within some hundred executions.
        bias_ = std::clamp(bias_, -settings.part / 2, 1.05 - settings.part);
    }
    largest_ = std::max(largest_, amount);
    histogram_.add(amount, std::exp2(-1 / settings.half_life));
}

void Calibrated::merge(const Calibrated& other) {
    const double all = seen() + other.seen();
    if (all > 0) bias_ = (bias_ * seen() + other.bias_ * other.seen()) / all;
    largest_ = std::max(largest_, other.largest_);
    histogram_.merge(other.histogram_);
}

std::string Calibrated::text() const {
    char buffer[32];
    std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, bias_).ptr);
    text += '@' + std::to_string(largest_);
    if (const auto buckets = histogram_.text(); !buckets.empty()) text += ' ' + buckets;
    return text;
}

std::optional<Calibrated> Calibrated::parse(std::string_view text) {
    Calibrated made;
    const auto [after, wrong] = std::from_chars(text.data(), text.data() + text.size(), made.bias_);
    if (wrong != std::errc{} || !(std::fabs(made.bias_) <= 1)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(after - text.data()));
    if (!text.starts_with('@')) return std::nullopt;
    const auto [end, bad] = std::from_chars(text.data() + 1, text.data() + text.size(), made.largest_);
    if (bad != std::errc{} || made.largest_ < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty() && text.front() != ' ') return std::nullopt;
    auto buckets = Histogram::parse(text.empty() ? text : text.substr(1));
    if (!buckets) return std::nullopt;
    made.histogram_ = *std::move(buckets);
    return made;
}

int size_class(std::int64_t size) {
    if (size <= 0) return 0;
    return std::min((static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size))) + 1) / 2, kLastClass);
}

Consumption TypeEstimates::estimate(int size_class, const Consumption& declared,
                                    const EstimateSettings& settings) const {
    Consumption estimated;
    for (int measure = 0; measure < 3; ++measure) {
        auto value = amount(declared, measure);
        for (const int each : {size_class, kWhole}) {
            const auto series = series_.find({each, measure});
            if (series == series_.end()) continue;
            if (series->second.seen() >= settings.enough) {
                value = series->second.estimate(settings);
                break;
            }
            // The largest that was seen: its part is all there is.
            EstimateSettings all = settings;
            all.part = 1;
            value = std::max(value, series->second.estimate(all));
        }
        set(estimated, measure, value);
    }
    return estimated;
}

void TypeEstimates::learn(int size_class, const Consumption& used, const EstimateSettings& settings) {
    for (int measure = 0; measure < 3; ++measure)
        if (const auto value = amount(used, measure))
            for (const int each : {size_class, kWhole}) series_[{each, measure}].learn(*value, settings);
}

void TypeEstimates::merge(const TypeEstimates& other) {
    for (const auto& [key, series] : other.series_) series_[key].merge(series);
}

std::string TypeEstimates::text() const {
    std::string text;
    for (const auto& [key, series] : series_) {
        text += key.first == kWhole ? "*" : std::to_string(key.first);
        text += ' ';
        text += kMeasures[static_cast<std::size_t>(key.second)];
        text += ' ' + series.text() + '\n';
    }
    return text;
}

TypeEstimates TypeEstimates::parse(std::string_view text) {
    TypeEstimates made;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto first = line.find(' ');
        const auto second = first == line.npos ? line.npos : line.find(' ', first + 1);
        if (second == line.npos) continue;
        int known = kWhole;
        if (const auto which = line.substr(0, first); which != "*") {
            const auto [after, wrong] = std::from_chars(which.data(), which.data() + which.size(), known);
            if (wrong != std::errc{} || after != which.data() + which.size() || known < 0 || known > kLastClass)
                continue;
        }
        const auto measure = std::find(kMeasures.begin(), kMeasures.end(), line.substr(first + 1, second - first - 1));
        if (measure == kMeasures.end()) continue;
        if (auto series = Calibrated::parse(line.substr(second + 1)))
            made.series_[{known, static_cast<int>(measure - kMeasures.begin())}] = *std::move(series);
    }
    return made;
}

}
