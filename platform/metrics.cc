#include "platform/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace impresario::platform {

namespace {
struct ByText {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                            [](std::string_view x, std::string_view y) { return x < y; });
    }
};

template <class T>
struct Of;
template <>
struct Of<prometheus::Counter> {
    static constexpr auto kind = MetricKind::counter;
    static auto build() { return prometheus::BuildCounter(); }
};
template <>
struct Of<prometheus::Gauge> {
    static constexpr auto kind = MetricKind::gauge;
    static auto build() { return prometheus::BuildGauge(); }
};
template <>
struct Of<prometheus::Histogram> {
    static constexpr auto kind = MetricKind::histogram;
    static auto build() { return prometheus::BuildHistogram(); }
};
}

/// The series of one metric.
template <class T>
class Family {
  public:
    struct Series {
        T* value = nullptr;
        bool set = false;
        bool folded = false;
    };

    Family(Metrics& metrics, Metric metric)
        : metrics_(metrics),
          metric_(std::move(metric)),
          family_(Of<T>::build().Name(metric_.name).Help(metric_.help).Register(metrics.registry())),
          folds_(std::any_of(metric_.labels.begin(), metric_.labels.end(), [](const auto& l) { return l.chosen; })) {
        metric_.kind = Of<T>::kind;
        metrics_.declare(metric_);
        if constexpr (!std::is_same_v<T, prometheus::Gauge>)
            // There from the first scrape, so that the first increase is seen as one.
            if (metric_.labels.empty()) at({});
    }

    Series& at(LabelValues values) {
        if (const auto found = series_.find(values); found != series_.end()) return found->second;
        if (values.size() != metric_.labels.size()) throw std::logic_error("another number of labels: " + metric_.name);
        std::vector<std::string> own(values.begin(), values.end());
        if (!full()) return make(std::move(own), false);
        metrics_.folded(metric_.name);
        for (std::size_t i = 0; i < own.size(); ++i)
            if (metric_.labels[i].chosen) own[i] = Metrics::kFolded;
        if (const auto found = series_.find(own); found != series_.end()) return found->second;
        return make(std::move(own), true);
    }

    void drop_unset() {
        for (auto each = series_.begin(); each != series_.end();) {
            if (std::exchange(each->second.set, false)) {
                ++each;
                continue;
            }
            family_.Remove(each->second.value);
            if (!each->second.folded) --own_;
            each = series_.erase(each);
        }
    }

    const Metric& metric() const { return metric_; }
    bool full() const { return folds_ && own_ >= metrics_.most_series(); }

  private:
    Series& make(std::vector<std::string> values, bool folded) {
        prometheus::Labels labels;
        for (std::size_t i = 0; i < values.size(); ++i) labels.emplace(metric_.labels[i].name, values[i]);
        Series made;
        made.folded = folded;
        if (!folded) ++own_;
        if constexpr (std::is_same_v<T, prometheus::Histogram>)
            made.value = &family_.Add(labels, metric_.buckets);
        else
            made.value = &family_.Add(labels);
        return series_.emplace(std::move(values), made).first->second;
    }

    Metrics& metrics_;
    Metric metric_;
    prometheus::Family<T>& family_;
    const bool folds_;
    std::map<std::vector<std::string>, Series, ByText> series_;
    /// Of those the ones that did not fold.
    std::size_t own_ = 0;
};

Metrics::Metrics(std::size_t most_series)
    : registry_(std::make_shared<prometheus::Registry>()), most_series_(most_series) {
    begin_chapter("Metrics themselves");
    folded_ = std::make_unique<Family<prometheus::Counter>>(
        *this,
        Metric{"impresario_metrics_folded_total",
               {{"metric"}},
               "Values that were told as other, because their metric has as many series as metrics.series allows."});
}
Metrics::~Metrics() = default;

void Metrics::begin_chapter(std::string title) { catalogue_.push_back({std::move(title), {}}); }
void Metrics::declare(const Metric& metric) { catalogue_.back().metrics.push_back(metric); }
void Metrics::folded(const std::string& metric) { folded_->at({metric}).value->Increment(); }

std::string Metrics::text() const { return prometheus::TextSerializer().Serialize(registry_->Collect()); }

Counter::Counter(Metrics& metrics, Metric metric)
    : family_(std::make_unique<Family<prometheus::Counter>>(metrics, std::move(metric))) {}
Counter::~Counter() = default;
void Counter::add(LabelValues values, double by) {
    if (by == 0 && family_->full()) return;
    family_->at(values).value->Increment(by);
}

Gauge::Gauge(Metrics& metrics, Metric metric)
    : family_(std::make_unique<Family<prometheus::Gauge>>(metrics, std::move(metric))) {}
Gauge::~Gauge() = default;
void Gauge::set(LabelValues values, double value) {
    auto& series = family_->at(values);
    if (series.folded && series.set)
        value = family_->metric().by_largest ? std::max(value, series.value->Value()) : value + series.value->Value();
    series.value->Set(value);
    series.set = true;
}
void Gauge::drop_unset() { family_->drop_unset(); }

Histogram::Histogram(Metrics& metrics, Metric metric)
    : family_(std::make_unique<Family<prometheus::Histogram>>(metrics, std::move(metric))) {}
Histogram::~Histogram() = default;
void Histogram::observe(LabelValues values, double value) { family_->at(values).value->Observe(value); }

}
