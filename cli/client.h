#pragma once
// Asks a hub over HTTP, for the subcommands that are clients.

#include <CLI/App.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "domain/secret.h"
#include "platform/http_client.h"

namespace impresario::cli {

/// Where the hub is and who asks. Options win over IMPRESARIO_URL and IMPRESARIO_KEY, those over what `impresario dev`
/// left in .impresario/.
struct ClientOptions {
    std::string url;
    domain::Secret key;
    bool json = false;
    bool table = false;
    /// How long an answer may take.
    std::chrono::milliseconds patience{90000};

    /// Adds --url, --key-file, --json and --table.
    void add_to(CLI::App* command);
    /// Tables on a terminal, JSON elsewhere, unless one of the two was asked for.
    bool wants_json() const;

  private:
    std::string key_file_;
    friend class Client;
};

/// An answer that is not 2xx; its text is for people, `code` the exit code.
struct Refusal {
    int code = 1;
    std::string text;
    /// Of the answer; 0: there was none.
    int status = 0;
};

/// One event of a stream.
struct StreamEvent {
    std::string id;
    std::string type;
    std::string data;
};

/// Reads server-sent events out of text that comes in pieces. Lines end in a line feed here.
class StreamReader {
  public:
    /// Calls `heard` for each event that has come whole; false as soon as it says so.
    bool take(std::string_view piece, const std::function<bool(const StreamEvent&)>& heard);
    /// What to come back with: the id of the latest event that came whole.
    const std::string& last_id() const { return last_id_; }
    /// A broken connection ends what had not come whole.
    void begin_again() { line_.clear(), event_ = {}; }

  private:
    std::string line_;
    StreamEvent event_;
    std::string last_id_;
};

/// Blocks; one request after the other on one connection.
class Client {
  public:
    using Json = nlohmann::json;

    /// Throws Refusal when no key is to be had.
    explicit Client(const ClientOptions& options);

    /// Returns the body of a 2xx; throws Refusal for anything else.
    Json ask(const std::string& method, const std::string& path, const Json& body = nullptr,
             const std::vector<std::pair<std::string, std::string>>& headers = {}) const;
    /// The body as it came.
    std::string ask_text(const std::string& method, const std::string& path, const std::string& body,
                         const std::vector<std::pair<std::string, std::string>>& headers = {}) const;
    /// Follows a stream of events (server-sent events) until `heard` says false, coming back to where it was whenever
    /// the connection breaks. `after`: the id to begin after; empty: where the stream begins. Throws Refusal for an
    /// answer that is no stream, and when the hub cannot be reached at first.
    void follow(const std::string& path, const std::string& after,
                const std::function<bool(const StreamEvent&)>& heard) const;
    const std::string& url() const { return url_; }

  private:
    platform::Url at(const std::string& path) const;
    [[noreturn]] void refuse(const platform::HttpOutcome& outcome) const;

    std::string url_;
    domain::Secret key_;
    std::chrono::milliseconds patience_;
};

}
