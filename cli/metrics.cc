// impresario metrics: what a hub counts and shows, from the declarations themselves.
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/terminal.h"
#include "orchestrator/probe.h"
#include "platform/metric_catalogue.h"

namespace impresario::cli {

namespace {
int show_metrics(bool markdown) {
    platform::Metrics metrics;
    const orchestrator::Probe probe(metrics);
    if (markdown) {
        std::fputs(platform::catalogue_markdown(metrics.catalogue()).c_str(), stdout);
        return Exit::ok;
    }
    Table table({"metric", "kind", "labels", "what"});
    for (const auto& chapter : metrics.catalogue())
        for (const auto& metric : chapter.metrics) {
            std::string labels;
            for (const auto& label : metric.labels) labels += (labels.empty() ? "" : " ") + label.name;
            table.add({metric.name, std::string(name(metric.kind)), labels, metric.help});
        }
    table.print();
    return Exit::ok;
}
}

void add_metrics(Commands commands) {
    auto* command = commands.app.add_subcommand("metrics", "What a hub counts and shows at /metrics");
    auto markdown = std::make_shared<bool>(false);
    command->add_flag("--markdown", *markdown, "As the tables of docs/metrics.md");
    command->footer("Example:\n  impresario metrics | grep queue");
    command->callback([commands, markdown] { commands.chosen = [markdown] { return show_metrics(*markdown); }; });
}

}
