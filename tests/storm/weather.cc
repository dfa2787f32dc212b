#include "tests/storm/weather.h"

#include <csignal>
#include <fstream>

namespace impresario::storm {

using std::chrono::steady_clock;

Node::Node(std::string directory, int port, std::string database_url, std::string key_file)
    : directory_(std::move(directory)),
      port_(port),
      database_url_(std::move(database_url)),
      key_file_(std::move(key_file)) {
    std::ofstream(directory_ + "/impresario.toml")
        << "[http]\nport = " << port_
        << "\n[egress]\nallow = [\"127.0.0.0/8\"]\n[log]\nformat = \"text\"\nlevel = \"info\"\n";
}

void Node::start() {
    platform::ProcessSettings settings;
    settings.command = {IMPRESARIO_BINARY, "serve", "--config", directory_ + "/impresario.toml"};
    settings.environment = {{"IMPRESARIO_DATABASE_URL", database_url_}, {"IMPRESARIO_HUB_KEY_FILE", key_file_}};
    settings.log_file = log_file();
    process_ = std::make_unique<platform::Process>(std::move(settings));
}

void Node::kill() {
    process_->signal(SIGKILL);
    process_->wait();
}

std::optional<int> Node::ended() { return process_->poll(); }

Weather::Weather(platform::LocalPostgres& postgres, std::vector<Node>& nodes, std::uint64_t seed)
    : postgres_(postgres), nodes_(nodes), random_(seed), postgres_stops_(in(5, 20)), node_dies_(in(8, 12)) {}

Weather::Moment Weather::in(double least, double most) {
    return steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(
                                     std::uniform_real_distribution<>(least, most)(random_)));
}

void Weather::blow() {
    const auto now = steady_clock::now();
    for (auto& node : nodes_)
        if (const auto code = node.ended()) {
            complaints_.push_back("a node ended by itself with " + std::to_string(*code) + ", see " + node.log_file());
            node.start();
        }
    if (postgres_starts_ && now >= *postgres_starts_) {
        start_postgres();
        postgres_stops_ = in(5, 20);
    } else if (!postgres_starts_ && now >= postgres_stops_) {
        postgres_.stop("immediate");
        ++postgres_stopped_;
        postgres_starts_ = in(0, 5);
    }
    if (now >= node_dies_) {
        auto& node = nodes_[random_() % nodes_.size()];
        node.kill();
        ++nodes_killed_;
        node.start();
        node_dies_ = in(8, 12);
    }
}

void Weather::clear() {
    if (postgres_starts_) start_postgres();
}

void Weather::start_postgres() {
    postgres_.start();
    postgres_starts_.reset();
}

}
