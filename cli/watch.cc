// impresario watch: tells people that no hub works, which no hub can.
#include <boost/asio/signal_set.hpp>
#include <cstdio>

#include "alerts/evaluate.h"
#include "alerts/notifier_plan.h"
#include "cli/command.h"
#include "cli/config.h"
#include "orchestrator/alert_sender.h"
#include "platform/clock.h"
#include "platform/dice.h"
#include "platform/json_text.h"
#include "platform/log.h"
#include "platform/url.h"

namespace impresario::cli {

namespace asio = platform::asio;
namespace log = platform::log;
using alerts::Alert;
using platform::Task;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kPatience{5000};
constexpr const char* kReading = "scheduler_silent_seconds";

/// The rule that hubs have about it, with our own patience.
alerts::Rule rule_of(const WatchConfig& config) {
    alerts::Rule rule;
    for (const auto& each : config.alerts.rules)
        if (each.name == "orchestrator_down") rule = each;
    if (rule.name.empty()) rule = alerts::default_rules().front();
    rule.raise = static_cast<double>(config.after.count());
    rule.clear.reset();
    rule.keep = {};
    rule.enabled = true;
    rule.summary = "No hub has worked for {{ value }}";
    return rule;
}

class Watch {
  public:
    explicit Watch(WatchConfig config)
        : config_(std::move(config)),
          rules_{rule_of(config_)},
          client_(io_.get_executor(), config_.client),
          smtp_(config_.client.egress),
          sender_(client_, smtp_, clock_, config_.alerts),
          signals_(io_, SIGTERM, SIGINT),
          pause_(io_.get_executor()) {
        for (const auto& receiver : config_.alerts.receivers)
            if (const auto pace = alerts::pace_of(receiver.kind); pace > pace.zero()) pace_[receiver.name] = pace;
    }

    int run() {
        log::info("watching", {{"hubs", config_.urls.size()}, {"receivers", config_.alerts.receivers.size()}});
        signals_.async_wait([this](const boost::system::error_code&, int) {
            stopped_ = true;
            pause_.signal();
        });
        asio::co_spawn(io_, watch(), [this](const std::exception_ptr& failure) {
            if (failure) failed_ = true;
            signals_.cancel();
            client_.stop();
            smtp_.stop();
        });
        io_.run();
        return failed_ ? Exit::failed : Exit::ok;
    }

  private:
    Task<void> watch() {
        last_seen_ = clock_.now();
        while (!stopped_) {
            auto looking = look();
            const auto trouble = co_await std::move(looking);
            const auto now = clock_.now();
            if (trouble.empty()) last_seen_ = now;
            if (trouble.empty() == troubled_)
                log::warn(trouble.empty() ? "a hub works again" : "no hub works", {{"reason", trouble}});
            troubled_ = !trouble.empty();
            auto telling = tell(now);
            co_await std::move(telling);
            co_await pause_.wait(idle_);
        }
    }

    /// Why none works; empty: one does.
    Task<std::string> look() {
        std::string why;
        for (const auto& url : config_.urls) {
            auto asking = ask(url);
            const auto trouble = co_await std::move(asking);
            if (trouble.empty()) co_return "";
            why += (why.empty() ? "" : "; ") + url + ": " + trouble;
        }
        co_return why;
    }

    /// It is ready, and where there is a key to ask with, somebody leads.
    Task<std::string> ask(std::string url) {
        auto asking = get(url + "/readyz");
        const auto ready = co_await std::move(asking);
        if (ready.status != 200) co_return ready.why.empty() ? "it is not ready" : ready.why;
        if (config_.key.empty()) co_return "";
        auto listing = get(url + "/v1/nodes");
        const auto nodes = co_await std::move(listing);
        if (nodes.status != 200) co_return "it does not list its nodes: " + std::to_string(nodes.status);
        const auto listed = platform::json_member(nodes.body, "nodes").value_or("");
        const auto all = platform::json_elements(listed);
        for (const auto& node : all)
            if (platform::json_member(node, "scheduler").value_or("") == "true") co_return "";
        co_return "no node leads";
    }

    struct Answer {
        int status = 0;
        std::string body;
        std::string why;
    };
    Task<Answer> get(std::string address) {
        const auto url = platform::parse_url(address);
        Answer answer;
        if (!url) {
            answer.why = "its address " + url.error().what;
            co_return answer;
        }
        platform::Headers headers;
        if (!config_.key.empty()) headers.emplace_back("authorization", "Bearer " + config_.key.reveal());
        auto sending = client_.send("GET", *url, std::move(headers), "", kPatience);
        const auto outcome = co_await std::move(sending);
        if (const auto* said = std::get_if<platform::HttpAnswer>(&outcome)) {
            answer.status = said->status;
            answer.body = said->body;
        } else if (const auto* unsent = std::get_if<platform::NotSent>(&outcome)) {
            answer.why = unsent->detail;
        } else {
            answer.why = std::get<platform::NoAnswer>(outcome).detail;
        }
        co_return answer;
    }

    Task<void> tell(domain::TimePoint now) {
        alerts::Readings readings;
        const double silent = domain::in_seconds(now - last_seen_);
        readings[kReading].push_back({{}, silent});
        auto evaluation = alerts::evaluate(rules_, readings, conditions_, now);
        conditions_ = evaluation.conditions;
        auto all = std::move(evaluation.firing);
        for (auto& each : evaluation.resolved) resolved_.push_back(std::move(each.alert));
        const auto needed = alerts::still_needed(told_);
        std::erase_if(resolved_, [&](const Alert& alert) { return !needed.contains(alert.fingerprint()); });
        if (all.empty()) all.insert(all.end(), resolved_.begin(), resolved_.end());
        const std::vector<alerts::Silence> silences;
        const std::vector<alerts::Inhibition> inhibitions;
        auto plan = alerts::plan({all, config_.alerts.route, silences, inhibitions, pace_}, told_, now);
        told_ = std::move(plan.state);
        for (const auto& notification : plan.send) {
            auto delivering = deliver(alerts::message_of(notification, all, {}, config_.urls.front(), now));
            co_await std::move(delivering);
        }
        idle_ = config_.every;
        if (plan.wake)
            idle_ = std::clamp<std::chrono::steady_clock::duration>(*plan.wake - now, milliseconds{100}, idle_);
    }

    Task<void> deliver(alerts::Message message) {
        const auto notification = message.notification;
        auto sending = sender_.send(std::move(message), std::chrono::steady_clock::now() + kPatience);
        const auto result = co_await std::move(sending);
        const bool taken = result.kind == alerts::DeliveryResult::Kind::delivered;
        log::warn(taken ? "told" : "a message was not taken",
                  {{"receiver", notification.receiver}, {"kind", name(notification.kind)}, {"error", result.error}});
        alerts::settle(told_, notification, result, clock_.now(), dice_.unit());
    }

    asio::io_context io_{1};
    WatchConfig config_;
    std::vector<alerts::Rule> rules_;
    platform::SystemClock clock_;
    platform::SeededDice dice_{platform::entropy_seed()};
    platform::HttpClient client_;
    platform::SmtpClient smtp_;
    orchestrator::AlertSender sender_;
    asio::signal_set signals_;
    platform::Wakeup pause_;
    std::map<std::string, domain::Duration> pace_;
    alerts::Conditions conditions_;
    alerts::NotifierState told_;
    std::vector<Alert> resolved_;
    domain::TimePoint last_seen_{};
    std::chrono::steady_clock::duration idle_{std::chrono::seconds{1}};
    bool troubled_ = false;
    bool stopped_ = false;
    bool failed_ = false;
};

}

void add_watch(Commands commands) {
    auto* command = commands.app.add_subcommand(
        "watch",
        "Watch hubs from outside, and tell the receivers of alerts when none works: run it on another machine");
    auto file = std::make_shared<std::string>();
    command->add_option("--config", *file, "TOML file with [watch] and [alerts]")
        ->envname("IMPRESARIO_CONFIG")
        ->required();
    command->footer("Example:\n  impresario watch --config /etc/impresario/watch.toml");
    command->callback([commands, file] {
        commands.chosen = [file] {
            auto loaded = load_watch(*file);
            if (!loaded.mistakes.empty()) return print_mistakes(loaded.mistakes);
            log::start(loaded.config.log_level, loaded.config.log_format, "watch");
            return Watch(std::move(loaded.config)).run();
        };
    });
}

}
