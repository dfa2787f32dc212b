#include "platform/smtp_client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <boost/url.hpp>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "platform/ascii.h"
#include "platform/crypto.h"

namespace impresario::platform {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kThreads = 2;
/// Under way and waiting.
constexpr int kMost = 64;
constexpr milliseconds kLongestTimeout{60000};
/// For the farewell.
constexpr milliseconds kFarewell{1000};

struct Letter {
    SmtpSettings settings;
    std::string from;
    std::vector<std::string> recipients;
    std::string message;
};

struct Server {
    /// With its port and nothing behind it: libcurl would greet with a path.
    std::string url;
    std::string scheme;
};

domain::Result<Server, domain::Fault> server_of(std::string_view text) {
    const auto parsed = boost::urls::parse_uri(text);
    if (!parsed) return domain::Fault{"is not an absolute URL"};
    const auto scheme = lowered(std::string_view(parsed->scheme()));
    if (scheme != "smtp" && scheme != "smtps") return domain::Fault{"must begin with smtp:// or smtps://"};
    if (parsed->has_userinfo()) return domain::Fault{"must not hold a user or password"};
    if (parsed->host_address().empty()) return domain::Fault{"names no host"};
    if (parsed->has_port() && parsed->port_number() == 0) return domain::Fault{"has an impossible port"};
    const std::string_view path = parsed->encoded_path();
    if ((!path.empty() && path != "/") || parsed->has_query() || parsed->has_fragment())
        return domain::Fault{"must end with the host or its port"};
    const std::string port = parsed->has_port() ? std::string(parsed->port()) : scheme == "smtps" ? "465" : "587";
    return Server{scheme + "://" + std::string(parsed->encoded_host()) + ":" + port, scheme};
}

bool holds_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// A lone CR or LF ends a line for some servers and not for others: a message could end for one of them, and another
/// begin, where we see text.
bool every_line_ends_in_crlf(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) return false;
        if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')) return false;
    }
    return text.ends_with("\r\n");
}

/// What keeps a letter from being sent at all; empty: nothing.
std::string fault_of(const Letter& letter) {
    for (const auto& [field, what] : smtp_faults(letter.settings)) return field + " " + what;
    const auto sender = mail_address_fault(letter.from);
    if (!sender.empty()) return "the sender " + std::string(sender);
    if (letter.recipients.empty()) return "there is no recipient";
    for (const auto& recipient : letter.recipients) {
        const auto fault = mail_address_fault(recipient);
        if (!fault.empty()) return "a recipient " + std::string(fault);
    }
    if (!every_line_ends_in_crlf(letter.message)) return "the message has a line that does not end in CRLF";
    return {};
}

/// The password, and what the ways to log in make of it as a whole, however short it is.
std::vector<domain::Secret> secrets_of(const SmtpSettings& settings) {
    const std::string& password = settings.password.reveal();
    if (password.empty()) return {};
    const std::string nul(1, '\0');
    return {domain::Secret(base64(nul + settings.username + nul + password)), domain::Secret(base64(password)),
            settings.password};
}

std::string address_text(const sockaddr& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
    if (address.sa_family == AF_INET6)
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof text);
    return text;
}

template <auto free>
struct Freed {
    void operator()(auto* held) const { free(held); }
};
using Easy = std::unique_ptr<CURL, Freed<curl_easy_cleanup>>;
using List = std::unique_ptr<curl_slist, Freed<curl_slist_free_all>>;

List list_of(const std::vector<std::string>& texts) {
    List list;
    for (const auto& text : texts) {
        auto* longer = curl_slist_append(list.get(), text.c_str());
        if (!longer) throw std::bad_alloc();
        static_cast<void>(list.release());
        list.reset(longer);
    }
    return list;
}

/// One letter on its way: everything that libcurl calls back into. One thread.
class Delivery {
  public:
    Delivery(Letter letter, const EgressPolicy& egress, const std::atomic<bool>& stopping)
        : letter_(std::move(letter)),
          egress_(egress),
          stopping_(stopping),
          give_up_(steady_clock::now() + letter_.settings.timeout),
          dialogue_(secrets_of(letter_.settings)) {}

    /// Blocks.
    SmtpOutcome run() {
        const Easy easy(curl_easy_init());
        if (!easy) throw std::bad_alloc();
        const List recipients = list_of(letter_.recipients);
        curl_ = easy.get();
        set(CURLOPT_MAIL_RCPT, recipients.get());
        call_back();
        address();
        encrypt();
        log_in();
        limit();
        const auto code = over() ? CURLE_ABORTED_BY_CALLBACK : curl_easy_perform(curl_);
        return dialogue_.outcome(trouble(code));
    }

  private:
    template <class Value>
    void set(CURLoption option, Value value) {
        const auto code = curl_easy_setopt(curl_, option, value);
        if (code != CURLE_OK)
            throw std::runtime_error(std::string("libcurl does not know an option: ") + curl_easy_strerror(code));
    }

    void call_back() {
        set(CURLOPT_ERRORBUFFER, static_cast<char*>(error_));
        set(CURLOPT_DEBUGFUNCTION, &Delivery::listen);
        set(CURLOPT_DEBUGDATA, this);
        set(CURLOPT_VERBOSE, 1L);
        set(CURLOPT_READFUNCTION, &Delivery::read);
        set(CURLOPT_READDATA, this);
        set(CURLOPT_OPENSOCKETFUNCTION, &Delivery::open_socket);
        set(CURLOPT_OPENSOCKETDATA, this);
        set(CURLOPT_XFERINFOFUNCTION, &Delivery::watch);
        set(CURLOPT_XFERINFODATA, this);
        set(CURLOPT_NOPROGRESS, 0L);
    }

    /// No CURLOPT_INFILESIZE: libcurl 7.88 counts the dots that it adds at the beginning of lines as well, and could
    /// end a message too early.
    void address() {
        const auto server = *server_of(letter_.settings.url);
        set(CURLOPT_PROTOCOLS_STR, server.scheme.c_str());
        set(CURLOPT_URL, server.url.c_str());
        set(CURLOPT_PROXY, "");
        set(CURLOPT_UPLOAD, 1L);
        set(CURLOPT_MAIL_FROM, letter_.from.c_str());
        set(CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
    }

    void encrypt() {
        const auto& settings = letter_.settings;
        set(CURLOPT_USE_SSL, static_cast<long>(settings.allow_plaintext ? CURLUSESSL_TRY : CURLUSESSL_ALL));
        set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
        set(CURLOPT_SSL_VERIFYPEER, 1L);
        set(CURLOPT_SSL_VERIFYHOST, 2L);
        // Beside it stays CURLOPT_CAPATH, the system's folder.
        if (!settings.extra_trust.empty()) set(CURLOPT_CAINFO, settings.extra_trust.c_str());
    }

    void log_in() {
        const auto& settings = letter_.settings;
        if (settings.username.empty()) return;
        set(CURLOPT_USERNAME, settings.username.c_str());
        set(CURLOPT_PASSWORD, settings.password.reveal().c_str());
        // Not Kerberos or NTLM, which libcurl would prefer and no server of ours has an account for.
        set(CURLOPT_LOGIN_OPTIONS, "AUTH=CRAM-MD5;AUTH=PLAIN;AUTH=LOGIN");
    }

    void limit() {
        const auto left = std::chrono::duration_cast<milliseconds>(give_up_ - steady_clock::now());
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::max(left, milliseconds{1}).count()));
        set(CURLOPT_NOSIGNAL, 1L);
        // A connection that is kept is closed without us, and then a farewell may take two minutes.
        set(CURLOPT_FORBID_REUSE, 1L);
        // Who resolves a name slowly is left alone instead of waited for.
        set(CURLOPT_QUICK_EXIT, 1L);
    }

    bool over() const { return stopping_ || steady_clock::now() >= give_up_; }

    SmtpTrouble trouble(CURLcode code) const {
        if (code == CURLE_OPERATION_TIMEDOUT || code == CURLE_ABORTED_BY_CALLBACK) {
            if (stopping_) return {"it was stopped meanwhile"};
            return {"it was not done within " + std::to_string(letter_.settings.timeout.count()) + " ms"};
        }
        if (code == CURLE_COULDNT_CONNECT && !opened_ && !denied_.empty()) return {EgressPolicy::denial(denied_), true};
        if (code == CURLE_LOGIN_DENIED) return {"the server offers no way to log in that is known here", true};
        if (code == CURLE_USE_SSL_FAILED)
            return {"the server offers no STARTTLS, and sending unencrypted is not allowed", true};
        return {error_[0] ? error_ : curl_easy_strerror(code)};
    }

    static int listen(CURL*, curl_infotype type, char* data, std::size_t size, void* self) {
        auto& delivery = *static_cast<Delivery*>(self);
        if (type == CURLINFO_HEADER_OUT) delivery.dialogue_.sent({data, size});
        if (type == CURLINFO_HEADER_IN) delivery.dialogue_.received({data, size});
        if (delivery.dialogue_.over()) delivery.hurry();
        return 0;
    }

    /// Nothing depends on the answer to a farewell.
    void hurry() { give_up_ = std::min(give_up_, steady_clock::now() + kFarewell); }

    /// libcurl asks for more when all that it had has left, and then writes the end by itself.
    static std::size_t read(char* to, std::size_t size, std::size_t count, void* self) {
        auto& delivery = *static_cast<Delivery*>(self);
        const auto& message = delivery.letter_.message;
        const auto piece = std::min(size * count, message.size() - delivery.given_);
        std::memcpy(to, message.data() + delivery.given_, piece);
        delivery.given_ += piece;
        if (piece == 0) delivery.dialogue_.message_left();
        return piece;
    }

    /// After resolving, so that no name leads to where we must not go.
    static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* to) {
        auto& delivery = *static_cast<Delivery*>(self);
        const auto address = address_text(to->addr);
        if (!delivery.egress_.allows(address)) {
            delivery.denied_ = address;
            return CURL_SOCKET_BAD;
        }
        delivery.opened_ = true;
        return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    }

    /// At least once a second, whatever libcurl waits for.
    static int watch(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
        return static_cast<Delivery*>(self)->over() ? 1 : 0;
    }

    const Letter letter_;
    const EgressPolicy& egress_;
    const std::atomic<bool>& stopping_;
    steady_clock::time_point give_up_;
    SmtpDialogue dialogue_;
    CURL* curl_ = nullptr;
    std::size_t given_ = 0;
    std::string denied_;
    bool opened_ = false;
    char error_[CURL_ERROR_SIZE] = "";
};

void start_libcurl() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::runtime_error("libcurl does not start");
    });
}

}

std::vector<SmtpFault> smtp_faults(const SmtpSettings& settings) {
    std::vector<SmtpFault> faults;
    const auto server = server_of(settings.url);
    if (!server) faults.push_back({"url", server.error().what});
    if (settings.username.empty() != settings.password.empty())
        faults.push_back({settings.username.empty() ? "username" : "password", "is missing: they go together"});
    if (holds_control(settings.username)) faults.push_back({"username", "must not hold control characters"});
    if (holds_control(settings.password.reveal())) faults.push_back({"password", "must not hold control characters"});
    if (settings.timeout <= milliseconds{0} || settings.timeout >= kLongestTimeout)
        faults.push_back({"timeout", "must be more than 0 and less than 60 s"});
    return faults;
}

std::string_view mail_address_fault(std::string_view address) {
    const auto at = address.rfind('@');
    if (at == std::string_view::npos || at == 0 || at + 1 == address.size())
        return "is not an address like a@b.example";
    if (address.size() > 254) return "is longer than 254 characters";
    for (const char c : address)
        if (c <= ' ' || c > '~' || c == '<' || c == '>') return "holds a character that no address can have";
    return {};
}

struct SmtpClient::Impl {
    explicit Impl(EgressPolicy policy) : egress(std::move(policy)) {}

    const EgressPolicy egress;
    std::atomic<bool> stopping{false};
    std::atomic<int> taken{0};
    asio::thread_pool threads{kThreads};
};

namespace {

/// Of those under way or waiting.
class Place {
  public:
    explicit Place(std::atomic<int>& taken) : taken_(taken), number_(++taken) {}
    ~Place() { --taken_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    int number() const { return number_; }

  private:
    std::atomic<int>& taken_;
    int number_;
};

/// On one of the client's threads.
Task<SmtpOutcome> deliver(std::unique_ptr<Delivery> delivery, std::unique_ptr<Place>) { co_return delivery->run(); }

}

SmtpClient::SmtpClient(EgressPolicy egress) {
    start_libcurl();
    impl_ = std::make_unique<Impl>(std::move(egress));
}

SmtpClient::~SmtpClient() {
    stop();
    impl_->threads.join();
}

Task<SmtpOutcome> SmtpClient::send(SmtpSettings settings, std::string from, std::vector<std::string> recipients,
                                   std::string message) {
    Letter letter{std::move(settings), std::move(from), std::move(recipients), std::move(message)};
    auto fault = fault_of(letter);
    if (!fault.empty()) co_return SmtpRefused{std::move(fault)};
    auto place = std::make_unique<Place>(impl_->taken);
    if (place->number() > kMost) co_return SmtpFailed{"too many other messages are being sent"};
    auto delivery = std::make_unique<Delivery>(std::move(letter), impl_->egress, impl_->stopping);
    // Not to be cancelled with its caller: the signal would come from his thread.
    auto delivering = asio::co_spawn(impl_->threads, deliver(std::move(delivery), std::move(place)),
                                     asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
    co_return co_await std::move(delivering);
}

void SmtpClient::stop() { impl_->stopping = true; }

}
