// HTTPS: a certificate is checked, and so is the name in it.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/certificate.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

namespace fs = std::filesystem;

/// A server with a certificate that it signed itself, for `name` (subjectAltName).
class TlsPeer {
  public:
    explicit TlsPeer(const std::string& name) : port_(free_port()) {
        directory_ = fs::temp_directory_path() / ("impresario-tls-" + std::to_string(port_));
        fs::create_directories(directory_);
        make_certificate(directory_, name);
        platform::ProcessSettings settings;
        settings.command = {"node", "-e",
                            "const [d, p] = process.argv.slice(1), fs = require('fs');"
                            "require('https').createServer({key: fs.readFileSync(d + '/key.pem'),"
                            " cert: fs.readFileSync(d + '/cert.pem')}, (q, s) => {"
                            " q.resume().on('end', () => s.writeHead(200, {'content-type': 'application/json'})"
                            ".end('{\"status\": \"completed\", \"result_data\": \"over TLS\"}')) })"
                            ".listen(Number(p), '127.0.0.1', () => console.log('up'))",
                            directory_, std::to_string(port_)};
        settings.log_file = directory_ + "/log";
        process_ = std::make_unique<platform::Process>(std::move(settings));
        if (!eventually([&] { return fs::file_size(directory_ + "/log") > 0; })) throw std::runtime_error("no server");
    }
    ~TlsPeer() {
        process_.reset();
        fs::remove_all(directory_);
    }
    std::string url(const std::string& host) const { return "https://" + host + ":" + std::to_string(port_) + "/"; }
    std::string certificate() const { return directory_ + "/cert.pem"; }

  private:
    int port_;
    std::string directory_;
    std::unique_ptr<platform::Process> process_;
};

std::string trusting(const TlsPeer& peer) { return "[webhooks]\nextra_trust = \"" + peer.certificate() + "\"\n"; }

std::string first_error(const HubFixture& hub, const std::string& id) {
    std::string error;
    EXPECT_TRUE(eventually([&] {
        const auto deliveries = hub.get("/v1/executions/" + id + "/deliveries")["deliveries"];
        if (deliveries.empty() || !deliveries[0]["error"].is_string()) return false;
        error = deliveries[0]["error"];
        return true;
    }));
    return error;
}

TEST(Tls, ATrustedCertificateIsEnough) {
    TlsPeer peer("IP:127.0.0.1");
    HubFixture hub(trusting(peer));
    hub.register_type("safe", peer.url("127.0.0.1"));
    const auto end = hub.await_end(hub.enqueue("safe"));
    EXPECT_EQ(end["status"], "completed") << end;
    EXPECT_EQ(end["result_data"], "over TLS");
}

TEST(Tls, AnUnknownAuthorityIsRefused) {
    TlsPeer peer("IP:127.0.0.1");
    HubFixture hub;
    hub.register_type("unsafe", peer.url("127.0.0.1"), {{"retry_policy", quick_retries(0)}});
    const auto id = hub.enqueue("unsafe");
    EXPECT_NE(first_error(hub, id).find("certificate"), std::string::npos) << first_error(hub, id);
    EXPECT_NE(hub.status(id), "completed");
}

TEST(Tls, ACertificateForSomebodyElseIsRefused) {
    TlsPeer peer("DNS:somebody.example");
    HubFixture hub(trusting(peer));
    hub.register_type("other", peer.url("127.0.0.1"), {{"retry_policy", quick_retries(0)}});
    const auto id = hub.enqueue("other");
    EXPECT_NE(first_error(hub, id).find("certificate"), std::string::npos) << first_error(hub, id);
    EXPECT_NE(hub.status(id), "completed");
}

}
}
