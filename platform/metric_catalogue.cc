#include "platform/metric_catalogue.h"

namespace impresario::platform {

std::string unit_of(const Metric& metric) {
    std::string_view name = metric.name;
    constexpr std::string_view total = "_total";
    if (name.ends_with(total)) name.remove_suffix(total.size());
    for (const auto* unit : {"seconds", "bytes", "usd", "ratio"})
        if (name.ends_with(std::string("_") + unit)) return unit;
    return "";
}

std::string catalogue_markdown(const std::vector<Metrics::Chapter>& catalogue) {
    std::string text;
    for (const auto& chapter : catalogue) {
        if (!text.empty()) text += "\n";
        text += "### " + chapter.title + "\n\n| name | kind | labels | what |\n|---|---|---|---|\n";
        for (const auto& metric : chapter.metrics) {
            std::string labels;
            for (const auto& label : metric.labels) labels += (labels.empty() ? "`" : ", `") + label.name + "`";
            const auto unit = unit_of(metric);
            text += "| `" + metric.name + "` | " + std::string(name(metric.kind)) + (unit.empty() ? "" : ", " + unit) +
                    " | " + labels + " | " + metric.help + " |\n";
        }
    }
    return text;
}

}
