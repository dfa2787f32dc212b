#pragma once
// What a process counts and shows: each metric is declared once, and what is declared is the catalogue, which is
// registered with prometheus-cpp and printed for people (docs/metrics.md). Served as text by our own server.

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "domain/name_table.h"

namespace prometheus {
class Registry;
class Counter;
class Gauge;
class Histogram;
}

namespace impresario::platform {

enum class MetricKind { counter, gauge, histogram };
inline constexpr domain::NameTable<MetricKind, 3> kMetricKinds{
    {{MetricKind::counter, "counter"}, {MetricKind::gauge, "gauge"}, {MetricKind::histogram, "histogram"}}};
constexpr std::string_view name(MetricKind kind) { return domain::name_in(kMetricKinds, kind); }

struct MetricLabel {
    std::string name;
    /// Its values are names that people choose, so there may be any number of them: these fold into `other`.
    bool chosen = false;
};

/// What a metric is.
struct Metric {
    /// Snake case and a prefix, at the end the base unit (_seconds, _bytes, _usd, _ratio; none: a number of things), of
    /// a counter and then `_total`.
    std::string name;
    /// In the order in which values are given.
    std::vector<MetricLabel> labels;
    /// One line, also to be read in Prometheus.
    std::string help;
    /// Of a histogram: ascending; the last one, without end, comes by itself.
    std::vector<double> buckets = {};
    /// Of a gauge: what folds is told by its largest value, not by its sum.
    bool by_largest = false;
    /// Said by what it is declared as.
    MetricKind kind = MetricKind::counter;
};

using LabelValues = std::initializer_list<std::string_view>;

template <class T>
class Family;

/// Owns every family of one process, in the order in which they were declared. One thread at a time.
class Metrics {
  public:
    /// Of one metric; a histogram's buckets are one. What comes later folds.
    static constexpr std::size_t kMostSeries = 2000;
    static constexpr const char* kFolded = "other";

    explicit Metrics(std::size_t most_series = kMostSeries);
    ~Metrics();

    /// What is declared from here on is about this.
    void begin_chapter(std::string title);
    struct Chapter {
        std::string title;
        std::vector<Metric> metrics;
    };
    const std::vector<Chapter>& catalogue() const { return catalogue_; }

    /// The text exposition format.
    std::string text() const;

    // For the families.
    void declare(const Metric& metric);
    void folded(const std::string& metric);
    prometheus::Registry& registry() { return *registry_; }
    std::size_t most_series() const { return most_series_; }

  private:
    std::shared_ptr<prometheus::Registry> registry_;
    std::size_t most_series_;
    std::vector<Chapter> catalogue_;
    std::unique_ptr<Family<prometheus::Counter>> folded_;
};

/// Values are given in the order of the labels. Where a metric has as many series as it may, the names that people
/// chose become `other` in a new one, the other labels stay as they are, and impresario_metrics_folded_total says so.
class Counter {
  public:
    Counter(Metrics& metrics, Metric metric);
    ~Counter();
    /// 0 makes its series, if there is room, so that the first increase is seen as one.
    void add(LabelValues values, double by = 1);

  private:
    std::unique_ptr<Family<prometheus::Counter>> family_;
};

class Gauge {
  public:
    Gauge(Metrics& metrics, Metric metric);
    ~Gauge();
    void set(LabelValues values, double value);
    /// Whatever has not been set since the last call is not there any more.
    void drop_unset();

  private:
    std::unique_ptr<Family<prometheus::Gauge>> family_;
};

class Histogram {
  public:
    Histogram(Metrics& metrics, Metric metric);
    ~Histogram();
    void observe(LabelValues values, double value);

  private:
    std::unique_ptr<Family<prometheus::Histogram>> family_;
};

}
