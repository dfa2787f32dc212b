#include "subworkflows/kit/service.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <sstream>
#include <thread>
#include <unordered_map>

#include "platform/callback_json.h"
#include "platform/clock.h"
#include "platform/crypto.h"
#include "platform/http_server.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "platform/log.h"
#include "platform/signature.h"
#include "platform/trigger_json.h"
#include "subworkflows/kit/provider.h"

namespace impresario::subworkflows::kit {

namespace asio = platform::asio;
namespace log = platform::log;
using platform::HttpRequest;
using platform::HttpResponse;
using platform::Task;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

/// Ids remembered against replays, the oldest forgotten first.
constexpr std::size_t kRemembered = 100'000;

HttpResponse answer(int status, std::string_view detail, bool accepted = false) {
    HttpResponse response;
    response.status = status;
    response.headers.emplace_back("content-type", "application/json");
    response.headers.emplace_back("webhook-deduplicates", "true");
    if (status == 503) response.headers.emplace_back("retry-after", "5");
    platform::JsonWriter json;
    json.open();
    json.field("accepted", accepted).field("detail", detail);
    // It is this service that has had enough, no provider behind it.
    if (status == 503) json.raw("provider", "null");
    json.close();
    response.body = std::move(json).text();
    return response;
}

class Server;

class LiveRun final : public Run {
  public:
    LiveRun(Server& server, domain::Trigger trigger, std::string webhook_id);

    const domain::Trigger& trigger() const override { return trigger_; }
    bool stopped() const override;
    void progress(std::int64_t done, std::int64_t total, std::string_view message) override;
    const std::vector<std::string>& retry_items() const override { return retry_items_; }
    platform::HttpOutcome fetch(const std::string& method, const platform::Url& url, const platform::Headers& headers,
                                const std::string& body) override;

    void cancel() { cancelled_ = true; }
    bool cancelled() const { return cancelled_; }
    bool out_of_time() const;
    void set_deadline(domain::TimePoint deadline) { deadline_ = domain::micros(deadline); }
    std::string progress_json() const;
    const std::string& webhook_id() const { return webhook_id_; }
    std::atomic<bool> finished{false};

  private:
    Server& server_;
    domain::Trigger trigger_;
    std::string webhook_id_;
    std::vector<std::string> retry_items_;
    std::atomic<bool> cancelled_{false};
    std::atomic<std::int64_t> deadline_;
    mutable std::mutex mutex_;
    std::string progress_;
};

using RunPtr = std::shared_ptr<LiveRun>;

class Server {
  public:
    Server(ServiceSettings settings, Work work)
        : settings_(std::move(settings)),
          work_(std::move(work)),
          client_(io_.get_executor(), client_settings()),
          http_(io_.get_executor(), http_settings(),
                [this](HttpRequest request) { return handle(std::move(request)); }),
          signals_(io_.get_executor(), SIGTERM, SIGINT) {}

    int run() {
        try {
            http_.start();
        } catch (const std::exception& e) {
            log::error("the service cannot listen", {{"error", e.what()}});
            return 1;
        }
        log::info("listening", {{"address", settings_.address}, {"port", http_.port()}});
        for (int i = 0; i < settings_.workers; ++i) workers_.emplace_back([this] { work_loop(); });
        asio::co_spawn(io_, watch_signals(), asio::detached);
        io_.run();
        {
            std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        for (auto& worker : workers_) worker.join();
        log::info("stopped");
        std::fflush(nullptr);
        // Coroutines that still wait hold on to this; the end of the process ends them all at once.
        std::_Exit(0);
    }

    bool going_down() const { return going_down_; }
    domain::TimePoint now() { return clock_.now(); }
    asio::io_context& io() { return io_; }
    platform::HttpClient& client() { return client_; }

  private:
    platform::HttpClientSettings client_settings() const {
        platform::HttpClientSettings made;
        made.egress = settings_.egress;
        return made;
    }
    platform::HttpServerSettings http_settings() const {
        platform::HttpServerSettings made;
        made.address = settings_.address;
        made.port = settings_.port;
        made.body_limit = 16 * 1024 * 1024;
        return made;
    }

    /// Bearer first, then the signature over the body as it came.
    std::optional<HttpResponse> refuse(const HttpRequest& request) {
        if (!settings_.bearer.empty() && !platform::constant_time_equal(request.bearer(), settings_.bearer.reveal()))
            return answer(401, "wrong bearer");
        if (settings_.signing.empty()) return std::nullopt;
        const auto fault =
            platform::verify(settings_.signing, request.header("webhook-id"), request.header("webhook-timestamp"),
                             request.header("webhook-signature"), request.body, clock_.now());
        if (fault) return answer(401, platform::explain(*fault));
        return std::nullopt;
    }

    Task<HttpResponse> handle(HttpRequest request) {
        if (request.method == "GET") co_return answer(200, "ok");
        if (request.method != "POST" && request.method != "DELETE") co_return answer(405, "POST a trigger here");
        if (auto refused = refuse(request)) co_return *std::move(refused);
        const std::string id(request.header("webhook-id"));
        if (request.method == "DELETE") {
            const auto found = runs_.find(id);
            if (found == runs_.end()) co_return answer(404, "nothing runs under this webhook-id");
            found->second->cancel();
            log::info("cancelled", {{"webhook_id", id}});
            co_return answer(202, "it will stop");
        }
        if (going_down_) co_return answer(503, "the service is stopping");
        auto trigger = platform::parse_trigger(request.body);
        if (!trigger) co_return answer(422, trigger.error().what);
        if (!id.empty() && !remember(id)) co_return answer(409, "this webhook-id is known already", true);
        const auto run = std::make_shared<LiveRun>(*this, *std::move(trigger), id);
        {
            std::lock_guard lock(mutex_);
            if (waiting_.size() >= settings_.backlog) {
                seen_.erase(id);
                co_return answer(503, "more work than can be taken now");
            }
            waiting_.push_back(run);
        }
        if (!id.empty()) runs_[id] = run;
        ++under_way_;
        wake_.notify_one();
        asio::co_spawn(io_, keep_alive(run), asio::detached);
        co_return answer(202, "accepted", true);
    }

    bool remember(const std::string& id) {
        if (!seen_.emplace(id, ++stamp_).second) return false;
        order_.push_back({id, stamp_});
        while (order_.size() > kRemembered) {
            const auto found = seen_.find(order_.front().first);
            if (found != seen_.end() && found->second == order_.front().second) seen_.erase(found);
            order_.pop_front();
        }
        return true;
    }

    void work_loop() {
        for (;;) {
            RunPtr run;
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
                if (waiting_.empty()) return;
                run = waiting_.front();
                waiting_.pop_front();
            }
            domain::Callback callback;
            const auto begun = steady_clock::now();
            if (!run->stopped()) {
                try {
                    callback = work_(*run);
                } catch (const std::exception& e) {
                    callback = {};
                    callback.status = domain::CallbackStatus::failed;
                    callback.error_message = e.what();
                }
            }
            if (run->out_of_time() && !run->cancelled()) {
                callback.status = domain::CallbackStatus::timeout;
                callback.error_message = "the deadline passed";
            } else if (run->stopped() && !run->cancelled()) {
                callback = {};
                callback.status = domain::CallbackStatus::failed;
                callback.error_message = "the service was stopped";
            }
            callback.execution_id = run->trigger().execution_id;
            if (!callback.duration_ms)
                callback.duration_ms = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begun).count();
            asio::post(io_, [this, run, callback] { asio::co_spawn(io_, report(run, callback), asio::detached); });
        }
    }

    struct Told {
        int status = 0;
        std::string body;
    };
    Task<Told> tell(RunPtr run, std::string body) {
        const auto url = platform::parse_url(run->trigger().callback_url);
        Told told;
        if (!url) {
            told.status = 400;
            co_return told;
        }
        platform::Headers headers;
        headers.emplace_back("content-type", "application/json");
        headers.emplace_back("authorization", "Bearer " + run->trigger().callback_token.reveal());
        const platform::HttpOutcome outcome = co_await client_.send("POST", *url, std::move(headers), std::move(body));
        if (const auto* got = std::get_if<platform::HttpAnswer>(&outcome)) {
            told.status = got->status;
            told.body = got->body;
        }
        co_return told;
    }

    /// Heartbeats until the work is done; what the hub answers moves the deadline, or says that nobody waits any more.
    Task<void> keep_alive(RunPtr run) {
        const auto third = milliseconds{run->trigger().timeout_seconds * 1000 / 3};
        const auto every = std::max(std::min(settings_.heartbeat, third), milliseconds{200});
        for (;;) {
            // Short steps, so that a finished run is let go of soon.
            const auto until = steady_clock::now() + every;
            while (steady_clock::now() < until && !run->finished && !run->cancelled())
                co_await platform::pause_for(milliseconds{50});
            if (run->finished || run->cancelled()) co_return;
            platform::JsonWriter json;
            json.open();
            json.field("status", "running").raw("progress", run->progress_json());
            json.close();
            const Told told = co_await tell(run, std::move(json).text());
            if (told.status == 409 || told.status == 401) {
                log::info("the hub no longer waits for this", {{"workflow_type", run->trigger().workflow_type},
                                                               {"execution_id", run->trigger().execution_id},
                                                               {"attempts", run->trigger().attempt}});
                run->cancel();
            } else if (told.status == 200) {
                if (const auto at = platform::json_member(told.body, "timeout_at"))
                    if (const auto deadline = domain::parse_time(platform::json_string(*at)))
                        run->set_deadline(*deadline);
            }
        }
    }

    /// Until the hub has it: 2xx, a contradiction, or a refusal that repeating would not change.
    Task<void> report(RunPtr run, domain::Callback callback) {
        run->finished = true;
        if (!run->cancelled()) {
            const std::string body = platform::callback_json(callback);
            const auto until = steady_clock::now() + settings_.callback_patience;
            for (auto wait = milliseconds{200}; steady_clock::now() < until;
                 wait = std::min(wait * 2, milliseconds{30000})) {
                const Told told = co_await tell(run, body);
                const bool again = told.status == 0 || told.status == 429 || told.status >= 500;
                if (!again) {
                    if (told.status / 100 != 2)
                        log::warn("the hub refused the callback", {{"workflow_type", run->trigger().workflow_type},
                                                                   {"execution_id", run->trigger().execution_id},
                                                                   {"attempts", run->trigger().attempt},
                                                                   {"status", told.status},
                                                                   {"answer", told.body}});
                    break;
                }
                co_await platform::pause_for(wait);
            }
        }
        if (!run->webhook_id().empty()) runs_.erase(run->webhook_id());
        --under_way_;
    }

    Task<void> watch_signals() {
        co_await signals_.async_wait(asio::use_awaitable);
        going_down_ = true;
        log::info("stopping", {{"under_way", under_way_}});
        const auto until = steady_clock::now() + seconds{30};
        while (under_way_ > 0 && steady_clock::now() < until) co_await platform::pause_for(milliseconds{20});
        http_.stop();
        client_.stop();
        io_.stop();
    }

    ServiceSettings settings_;
    Work work_;
    asio::io_context io_{1};
    platform::SystemClock clock_;
    platform::HttpClient client_;
    platform::HttpServer http_;
    asio::signal_set signals_;
    std::atomic<bool> going_down_{false};
    // Network thread only.
    std::unordered_map<std::string, std::uint64_t> seen_;
    std::deque<std::pair<std::string, std::uint64_t>> order_;
    std::unordered_map<std::string, RunPtr> runs_;
    std::uint64_t stamp_ = 0;
    int under_way_ = 0;
    // Shared with the workers.
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<RunPtr> waiting_;
    bool stopping_ = false;
    std::vector<std::thread> workers_;
};

LiveRun::LiveRun(Server& server, domain::Trigger trigger, std::string webhook_id)
    : server_(server),
      trigger_(std::move(trigger)),
      webhook_id_(std::move(webhook_id)),
      deadline_(domain::micros(trigger_.deadline)) {
    if (trigger_.deadline == domain::TimePoint{})
        deadline_ = domain::micros(server.now() + seconds{trigger_.timeout_seconds});
    if (!trigger_.context.empty())
        if (const auto items = platform::json_member(trigger_.context, "retry_items"))
            for (const auto item : platform::json_elements(*items)) retry_items_.push_back(platform::json_string(item));
}

bool LiveRun::out_of_time() const { return domain::micros(server_.now()) > deadline_; }
bool LiveRun::stopped() const { return cancelled_ || out_of_time() || server_.going_down(); }

void LiveRun::progress(std::int64_t done, std::int64_t total, std::string_view message) {
    platform::JsonWriter json;
    json.open();
    json.field("done", done).field("total", total).field("message", platform::storable_text(message));
    json.close();
    std::lock_guard lock(mutex_);
    progress_ = std::move(json).text();
}

std::string LiveRun::progress_json() const {
    std::lock_guard lock(mutex_);
    return progress_;
}

platform::HttpOutcome LiveRun::fetch(const std::string& method, const platform::Url& url,
                                     const platform::Headers& headers, const std::string& body) {
    auto asked = std::make_shared<std::promise<platform::HttpOutcome>>();
    auto answered = asked->get_future();
    asio::post(server_.io(), [this, asked, method, url, headers, body] {
        asio::co_spawn(server_.io(), server_.client().send(method, url, headers, body),
                       [asked](const std::exception_ptr& failure, platform::HttpOutcome outcome) {
                           if (failure) {
                               asked->set_exception(failure);
                           } else {
                               asked->set_value(std::move(outcome));
                           }
                       });
    });
    return answered.get();
}

}

int serve(ServiceSettings settings, Work work) {
    std::signal(SIGPIPE, SIG_IGN);
    const bool terminal = std::getenv("IMPRESARIO_LOG_FORMAT") == nullptr ||
                          std::string_view(std::getenv("IMPRESARIO_LOG_FORMAT")) != "json";
    log::start(log::Level::info, terminal ? log::Format::text : log::Format::json, settings.name);
    if (settings.provider) work = billed(*settings.provider, std::move(work));
    Server server(std::move(settings), std::move(work));
    return server.run();
}

ServiceSettings settings_from(int argc, char** argv, const std::string& name) {
    ServiceSettings settings;
    settings.name = name;
    CLI::App app{"The " + name + " sub-workflow: takes Impresario's triggers and calls back.", name};
    std::string bearer;
    std::string signing;
    std::string egress;
    app.add_option("--address", settings.address, "Address to listen on");
    app.add_option("--port", settings.port, "Port to listen on; 0 takes a free one")
        ->envname("IMPRESARIO_SERVICE_PORT");
    app.add_option("--workers", settings.workers, "Runs at once")->check(CLI::Range(1, 64));
    // Secrets come from the environment only: a command line is everybody's to read.
    const auto environment = [](const char* variable) {
        const char* value = std::getenv(variable);
        return std::string(value ? value : "");
    };
    app.footer(
        "Environment: IMPRESARIO_SERVICE_BEARER, IMPRESARIO_SERVICE_SIGNING_SECRETS (comma-separated whsec_…),\n"
        "IMPRESARIO_EGRESS_ALLOW (comma-separated blocks, for a hub on an inner address),\n"
        "IMPRESARIO_PROVIDER (name=url of a provider that is asked in every run)");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        std::exit(app.exit(e) == 0 ? 0 : 2);
    }
    const auto each_of = [](const std::string& list, auto take) {
        std::stringstream parts(list);
        for (std::string part; std::getline(parts, part, ',');)
            if (!part.empty()) take(part);
    };
    settings.bearer = domain::Secret(environment("IMPRESARIO_SERVICE_BEARER"));
    each_of(environment("IMPRESARIO_SERVICE_SIGNING_SECRETS"), [&](const std::string& secret) {
        settings.signing.emplace_back(secret);
        if (!platform::signing_key(settings.signing.back())) {
            std::fprintf(stderr, "%s: IMPRESARIO_SERVICE_SIGNING_SECRETS must hold whsec_ and base64\n", name.c_str());
            std::exit(2);
        }
    });
    std::vector<platform::Cidr> allowed;
    each_of(environment("IMPRESARIO_EGRESS_ALLOW"), [&](const std::string& block) {
        const auto parsed = platform::Cidr::parse(block);
        if (!parsed) {
            std::fprintf(stderr, "%s: IMPRESARIO_EGRESS_ALLOW: '%s' %s\n", name.c_str(), block.c_str(),
                         parsed.error().what.c_str());
            std::exit(2);
        }
        allowed.push_back(*parsed);
    });
    settings.egress = platform::EgressPolicy(std::move(allowed));
    if (const auto provider = environment("IMPRESARIO_PROVIDER"); !provider.empty()) {
        settings.provider = parse_provider_settings(provider);
        if (!settings.provider) {
            std::fprintf(stderr, "%s: IMPRESARIO_PROVIDER must be name=url, such as gemini=http://127.0.0.1:8091/v1\n",
                         name.c_str());
            std::exit(2);
        }
    }
    return settings;
}

}
