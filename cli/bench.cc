// impresario bench: the hub's figures on this machine, beside its peers' if asked.
#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "bench/compare.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/json_writer.h"

namespace impresario::cli {

namespace {

struct Options {
    bench::StageSettings stage;
    bench::Counts counts;
    std::vector<std::string> what;
    /// 0: one, with peers three.
    int rounds = 0;
    bool compare = false;
    bool quick = false;
    bool json = false;
};

std::string shown(double value) {
    char text[32];
    std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : "%.2f", value);
    return text;
}

class Bench {
  public:
    explicit Bench(Options options) : options_(std::move(options)) {
        if (options_.quick) options_.counts = {3000, 3000, 60, 100, 10000, 50000};
        if (options_.rounds == 0) options_.rounds = options_.compare ? 3 : 1;
    }

    int run() {
        std::fprintf(stderr, "PostgreSQL in %s …\n", options_.stage.directory.c_str());
        const auto postgres = bench::start_postgres(options_.stage);
        for (int round = 1; round <= options_.rounds; ++round) {
            round_.clear();
            for (const auto& measure : bench::measures()) {
                if (!options_.what.empty() &&
                    std::find(options_.what.begin(), options_.what.end(), measure.name) == options_.what.end())
                    continue;
                std::fprintf(stderr, "round %d of %d: %-10s %s …\n", round, options_.rounds, measure.name.c_str(),
                             measure.what.c_str());
                if (options_.compare)
                    for (const auto& peer : measure.peers)
                        note(round, bench::run_peer(peer, options_.stage, *postgres));
                note(round, measure.run(options_.stage, *postgres, options_.counts));
            }
            ratios();
        }
        if (!options_.json) summary();
        return Exit::ok;
    }

  private:
    void note(int round, const std::vector<bench::Figure>& figures) {
        for (const auto& figure : figures) {
            round_[figure.name] = figure.value;
            if (!figures_.contains(figure.name)) order_.push_back(figure);
            figures_[figure.name].push_back(figure.value);
            if (options_.json) {
                platform::JsonWriter json;
                json.open();
                json.field("round", round)
                    .field("figure", figure.name)
                    .field("value", figure.value)
                    .field("unit", figure.unit)
                    .field("detail", figure.detail);
                json.close();
                std::printf("%s\n", std::move(json).text().c_str());
                std::fflush(stdout);
            } else {
                std::fprintf(stderr, "    %-28s %10s %s\n", figure.name.c_str(), shown(figure.value).c_str(),
                             figure.unit.c_str());
            }
        }
    }

    void ratios() {
        const auto& all = bench::targets();
        ratios_.resize(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto value = round_.find(all[i].figure);
            if (value == round_.end()) continue;
            if (all[i].against.empty()) {
                ratios_[i].push_back(value->second);
            } else if (const auto against = round_.find(all[i].against); against != round_.end()) {
                ratios_[i].push_back(value->second / against->second);
            }
        }
    }

    void summary() const {
        Table figures({"figure", "median", "unit", "from", "to", "with"});
        for (const auto& figure : order_) {
            auto values = figures_.at(figure.name);
            std::sort(values.begin(), values.end());
            figures.add({figure.name, shown(values[values.size() / 2]), figure.unit, shown(values.front()),
                         shown(values.back()), figure.detail});
        }
        std::printf("\n");
        figures.print();
        Table table({"target", "bound", "each round", "median", ""});
        const auto& all = bench::targets();
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (ratios_.size() <= i || ratios_[i].empty()) continue;
            std::string each;
            for (const double ratio : ratios_[i]) each += (each.empty() ? "" : "  ") + shown(ratio);
            auto sorted = ratios_[i];
            std::sort(sorted.begin(), sorted.end());
            const double median = sorted[sorted.size() / 2];
            const bool met = all[i].at_least ? median >= all[i].bound : median <= all[i].bound;
            table.add({all[i].what, (all[i].at_least ? "≥ " : "≤ ") + shown(all[i].bound), each, shown(median),
                       met ? "met" : "missed"});
        }
        if (table.empty()) return;
        std::printf("\n");
        table.print();
    }

    Options options_;
    std::map<std::string, double> round_;
    std::map<std::string, std::vector<double>> figures_;
    std::vector<bench::Figure> order_;
    std::vector<std::vector<double>> ratios_;
};

}

void add_bench(Commands commands) {
    auto options = std::make_shared<Options>();
    auto* command =
        commands.app.add_subcommand("bench", "Measure the hub on this machine, with a PostgreSQL of its own");
    std::string names;
    for (const auto& measure : bench::measures()) names += (names.empty() ? "" : ", ") + measure.name;
    command->add_option("what", options->what, "What to measure: " + names + " (default: all)")
        ->check([](const std::string& name) {
            for (const auto& measure : bench::measures())
                if (measure.name == name) return std::string();
            return "nothing is called " + name;
        });
    command->add_option("--rounds", options->rounds, "How often (default: 1, with --compare 3)")
        ->check(CLI::Range(1, 100));
    command->add_flag("--compare", options->compare, "The peers in turns with the hub, and ratios of each round");
    command->add_flag("--quick", options->quick, "Small counts: to see that everything runs, not what it takes");
    command->add_flag("--json", options->json, "A JSON line for each figure");
    command->add_option("--directory", options->stage.directory, "For the cluster and the logs")->capture_default_str();
    command->add_option("--nodes", options->stage.nodes, "Hub processes")
        ->check(CLI::Range(1, 16))
        ->capture_default_str();
    command->add_option("--in-flight", options->stage.in_flight, "Most attempts under way")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    command->add_option("--batch", options->stage.batch, "Most grants of one turn")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    command->add_option("--connections", options->stage.connections, "Database connections of a node")
        ->check(CLI::Range(1, 19))
        ->capture_default_str();
    command->add_option("--executions", options->counts.drain, "Executions to drain")
        ->check(CLI::Range(100, 10000000))
        ->capture_default_str();
    command->add_option("--postgres-port", options->stage.postgres_port, "TCP port of the private PostgreSQL")
        ->check(CLI::Range(1024, 65535))
        ->capture_default_str();
    command->add_option("--peers", options->stage.peers, "Folder of the peers' benches")->capture_default_str();
    command->callback(
        [commands, options] { commands.chosen = [options] { return Bench(std::move(*options)).run(); }; });
}

}
