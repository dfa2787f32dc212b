#include "cli/client.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "cli/command.h"
#include "cli/terminal.h"
#include "platform/redact.h"

namespace impresario::cli {

namespace asio = platform::asio;

namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// A stream says something every 15 seconds, or it is broken.
constexpr std::chrono::seconds kSilence{40};
constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{5000};
/// More of them say no more.
constexpr std::size_t kMostErrors = 20;

/// What a problem+json says, with the fields it names.
std::string explain(int status, const std::string& body) {
    const auto problem = nlohmann::json::parse(body, nullptr, false);
    if (!problem.is_object()) return "the hub answered " + std::to_string(status);
    std::string text = problem.value("detail", problem.value("title", "refused"));
    if (problem.contains("errors") && problem["errors"].is_array() && problem["errors"].size() > 1)
        for (std::size_t i = 0; i < problem["errors"].size(); ++i) {
            const auto& error = problem["errors"][i];
            if (i == kMostErrors) {
                text += "\n  and " + std::to_string(problem["errors"].size() - i) + " more";
                break;
            }
            text += "\n  " + error.value("pointer", "") + " " + error.value("detail", "");
        }
    return text;
}

}

void ClientOptions::add_to(CLI::App* command) {
    command->add_option("--url", url, "Where the hub is (IMPRESARIO_URL)");
    command->add_option("--key-file", key_file_, "File with the API key (IMPRESARIO_KEY holds the key itself)");
    command->add_flag("--json", json, "JSON, also on a terminal");
    command->add_flag("--table", table, "A table, also into a pipe");
}

bool ClientOptions::wants_json() const { return json || (!table && !on_terminal()); }

Client::Client(const ClientOptions& options) : patience_(options.patience) {
    url_ = options.url;
    if (url_.empty()) url_ = environment("IMPRESARIO_URL");
    if (url_.empty()) url_ = first_line(".impresario/url");
    if (url_.empty()) url_ = "http://127.0.0.1:8080";
    while (url_.ends_with('/')) url_.pop_back();
    key_ = options.key;
    if (key_.empty())
        key_ =
            domain::Secret(options.key_file_.empty() ? environment("IMPRESARIO_KEY") : first_line(options.key_file_));
    if (key_.empty() && options.key_file_.empty()) key_ = domain::Secret(first_line(".impresario/key"));
    if (key_.empty())
        throw Refusal{Exit::usage,
                      "no API key; set IMPRESARIO_KEY, or give --key-file (impresario keys create makes one)"};
}

namespace {
/// Runs one request to its end.
platform::HttpOutcome run(platform::HttpClientSettings settings,
                          const std::function<platform::Task<platform::HttpOutcome>(platform::HttpClient&)>& request) {
    asio::io_context io{1};
    // The user says where the hub is; the hub's own rule about inner addresses is not the user's.
    settings.egress = platform::EgressPolicy::everywhere();
    platform::HttpClient client(io.get_executor(), std::move(settings));
    platform::HttpOutcome outcome;
    std::exception_ptr failure;
    asio::co_spawn(io, request(client), [&](const std::exception_ptr& thrown, platform::HttpOutcome got) {
        failure = thrown;
        outcome = std::move(got);
        client.stop();
    });
    io.run();
    if (failure) std::rethrow_exception(failure);
    return outcome;
}
}

platform::Url Client::at(const std::string& path) const {
    auto url = platform::parse_url(url_ + path);
    if (!url) throw Refusal{Exit::usage, "the hub's URL " + url.error().what + ": " + platform::shown_url(url_)};
    return *url;
}

void Client::refuse(const platform::HttpOutcome& outcome) const {
    if (const auto* answer = std::get_if<platform::HttpAnswer>(&outcome))
        throw Refusal{answer->status == 503 ? Exit::unreachable : Exit::refused, explain(answer->status, answer->body),
                      answer->status};
    std::string why;
    if (const auto* not_sent = std::get_if<platform::NotSent>(&outcome)) why = not_sent->detail;
    if (const auto* no_answer = std::get_if<platform::NoAnswer>(&outcome)) why = no_answer->detail;
    throw Refusal{Exit::unreachable, "the hub at " + platform::shown_url(url_) + " cannot be reached: " + why +
                                         "; is it running? (impresario dev, or --url)"};
}

std::string Client::ask_text(const std::string& method, const std::string& path, const std::string& body,
                             const std::vector<std::pair<std::string, std::string>>& headers) const {
    const auto url = at(path);
    platform::Headers all(headers.begin(), headers.end());
    all.emplace_back("authorization", "Bearer " + key_.reveal());
    if (!body.empty()) all.emplace_back("content-type", "application/json");
    platform::HttpClientSettings settings;
    settings.whole_deadline = patience_;
    auto outcome = run(std::move(settings),
                       [&](platform::HttpClient& client) { return client.send(method, url, std::move(all), body); });
    if (auto* answer = std::get_if<platform::HttpAnswer>(&outcome); answer && answer->status / 100 == 2)
        return std::move(answer->body);
    refuse(outcome);
}

bool StreamReader::take(std::string_view piece, const std::function<bool(const StreamEvent&)>& heard) {
    for (const char c : piece) {
        if (c != '\n') {
            line_ += c;
            continue;
        }
        const auto line = std::exchange(line_, {});
        if (line.empty()) {
            auto event = std::exchange(event_, {});
            if (!event.id.empty()) last_id_ = event.id;
            event.id = last_id_;
            if (!event.data.empty() && !heard(event)) return false;
            continue;
        }
        const auto colon = line.find(':');
        const auto field = line.substr(0, colon);
        auto value = colon == std::string::npos ? std::string{} : line.substr(colon + 1);
        if (value.starts_with(' ')) value.erase(0, 1);
        if (field == "id") event_.id = value;
        if (field == "event") event_.type = value;
        if (field == "data") event_.data += (event_.data.empty() ? "" : "\n") + value;
    }
    return true;
}

void Client::follow(const std::string& path, const std::string& after,
                    const std::function<bool(const StreamEvent&)>& heard) const {
    const auto url = at(path);
    StreamReader reader;
    bool enough = false;
    bool was_there = false;
    auto pause = kFirstPause;
    while (!enough) {
        platform::Headers headers{{"authorization", "Bearer " + key_.reveal()}, {"accept", "text/event-stream"}};
        const auto& last = reader.last_id().empty() ? after : reader.last_id();
        if (!last.empty()) headers.emplace_back("last-event-id", last);
        reader.begin_again();
        const auto take = [&](std::string_view piece) {
            was_there = true;
            enough = !reader.take(piece, heard);
            // Who only asks to come back is not there yet.
            if (!reader.last_id().empty()) pause = kFirstPause;
            return !enough;
        };
        const auto outcome = run(
            {}, [&](platform::HttpClient& client) { return client.follow(url, std::move(headers), kSilence, take); });
        if (enough) return;
        const auto* answer = std::get_if<platform::HttpAnswer>(&outcome);
        const bool streamed = answer && answer->status / 100 == 2;
        // A node that restarts, or a proxy before it, may say anything for a while.
        const bool for_good = answer && answer->status / 100 == 4;
        if (!streamed && (for_good || !was_there)) refuse(outcome);
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, kLongestPause);
    }
}

Client::Json Client::ask(const std::string& method, const std::string& path, const Json& body,
                         const std::vector<std::pair<std::string, std::string>>& headers) const {
    const auto text = ask_text(method, path, body.is_null() ? "" : body.dump(), headers);
    auto parsed = Json::parse(text, nullptr, false);
    return parsed.is_discarded() ? Json(text) : parsed;
}

}
