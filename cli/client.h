#pragma once
// Asks a hub over HTTP, for the subcommands that are clients.

#include <CLI/App.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace impresario::cli {

/// Where the hub is and who asks. Options win over IMPRESARIO_URL and IMPRESARIO_KEY, those over what `impresario dev`
/// left in .impresario/.
struct ClientOptions {
    std::string url;
    std::string key;
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
    const std::string& url() const { return url_; }

  private:
    std::string url_;
    std::string key_;
    std::chrono::milliseconds patience_;
};

}
