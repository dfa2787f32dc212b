#pragma once
// The few statistics that the engine rests on, each with its source. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace impresario::subworkflows::intelligence_engine {

/// The middle value, the mean of the two middle ones for an even count. `values` must not be empty.
double median(std::vector<double> values);

/// The value below which the share `q` (0 to 1) lies, by linear interpolation (type 7 of Hyndman & Fan, "Sample
/// Quantiles in Statistical Packages", The American Statistician 50, 1996). `sorted` ascends and is not empty.
double quantile(const std::vector<double>& sorted, double q);

/// The smallest value that at least the share `q` of all is not above: what people call "p95". `sorted` ascends and is
/// not empty.
double nearest_rank(const std::vector<double>& sorted, double q);

/// Robust spread of deviations from a centre, in units of a normal standard deviation: MAD / 0.6745, and where more
/// than half of the deviations are zero the mean absolute deviation × 1.253314 (Iglewicz & Hoaglin, "How to Detect and
/// Handle Outliers", ASQC 1993). 0 where all are zero or there is none.
double robust_scale(const std::vector<double>& deviations);

struct Interval {
    double low = 0;
    double high = 0;
};

/// Score interval for a share of `hits` out of `tries` (E. B. Wilson, JASA 22, 1927), `z` standard deviations wide to
/// each side: 1.96 for 95 %. Within 0 and 1; the whole of it for no tries.
Interval wilson(std::int64_t hits, std::int64_t tries, double z);

/// P(X ≥ hits) for X binomial over `tries` with the chance `p` (0 to 1).
double binomial_tail(std::int64_t hits, std::int64_t tries, double p);

/// P(Z ≥ z) of the standard normal, and the z that has the tail `p`; `p` below 1e-300 counts as that.
double normal_tail(double z);
double normal_score(double p);

/// Rank-sum test (Wilcoxon 1945; Mann & Whitney 1947) as a standard normal score, corrected for ties: positive where
/// `sample` lies above `against`. 0 where one is empty or all values are equal.
double rank_sum(const std::vector<double>& sample, const std::vector<double>& against);

/// How large a modified z-score must be to be called out.
///
/// Iglewicz & Hoaglin's 3.5 (`sensitivity`) is for one small sample. Two things are added: among `looked_at` values the
/// tail probability is shared (Bonferroni) once there are more than five, so that a busy day does not raise more alarms
/// than a quiet one; and as the spread itself is estimated from `baseline` values by a MAD, whose efficiency is 37 %
/// (Rousseeuw & Croux, JASA 88, 1993), the normal tail becomes Student's with 0.37 (baseline − 1) degrees of freedom.
double outlier_threshold(double sensitivity, std::size_t looked_at, std::size_t baseline);

}
