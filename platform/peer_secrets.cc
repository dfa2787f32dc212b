#include "platform/peer_secrets.h"

#include <set>

#include "platform/ascii.h"
#include "platform/crypto.h"
#include "platform/signature.h"

namespace impresario::platform {

std::vector<const domain::Secret*> PeerSecrets::all() const {
    std::vector<const domain::Secret*> secrets{&bearer};
    for (const auto& secret : signing) secrets.push_back(&secret);
    for (const auto& [key, secret] : headers) secrets.push_back(&secret);
    return secrets;
}

domain::DefinitionFaults check(const PeerSecrets& secrets) {
    domain::DefinitionFaults faults;
    const auto wrong = [&](std::string pointer, std::string what) {
        faults.push_back({std::move(pointer), std::move(what)});
    };
    if (secrets.bearer.reveal().find_first_of("\r\n") != std::string::npos) wrong("/bearer", "must be one line");
    if (secrets.signing.size() > 2) wrong("/signing_secrets", "holds more than two live secrets");
    for (std::size_t i = 0; i < secrets.signing.size(); ++i) {
        const auto key = signing_key(secrets.signing[i]);
        if (!key || key->size() < 16 || key->size() > 64)
            wrong("/signing_secrets/" + std::to_string(i), "must be whsec_ and base64 of 16 to 64 bytes");
    }
    static const std::set<std::string> ours{"authorization",
                                            "content-length",
                                            "content-type",
                                            "host",
                                            "connection",
                                            "transfer-encoding",
                                            "webhook-id",
                                            "webhook-timestamp",
                                            "webhook-signature",
                                            "idempotency-key",
                                            "x-idempotency-key",
                                            "traceparent",
                                            "expect",
                                            "te",
                                            "upgrade"};
    for (const auto& [key, value] : secrets.headers) {
        const bool token =
            !key.empty() &&
            key.find_first_not_of("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
                std::string::npos;
        if (!token) wrong("/headers", "'" + key + "' is not a header name");
        if (ours.contains(lowered(key))) wrong("/headers/" + key, "is a header that the hub sets itself");
        if (value.reveal().find_first_of("\r\n") != std::string::npos || value.reveal().size() > 4096)
            wrong("/headers/" + key, "must be one line of at most 4096 bytes");
    }
    return faults;
}

domain::Secret new_signing_secret() { return domain::Secret("whsec_" + base64(random_bytes(32))); }

Headers signed_headers(const PeerSecrets& secrets, std::string_view id, domain::TimePoint at, std::string_view body) {
    const auto timestamp = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
    Headers headers;
    headers.emplace_back("user-agent", "Impresario/0.1");
    if (!secrets.bearer.empty()) headers.emplace_back("authorization", "Bearer " + secrets.bearer.reveal());
    headers.emplace_back("webhook-id", id);
    headers.emplace_back("webhook-timestamp", std::to_string(timestamp));
    if (!secrets.signing.empty())
        headers.emplace_back("webhook-signature", sign_all(secrets.signing, id, timestamp, body));
    for (const auto& [key, value] : secrets.headers) headers.emplace_back(key, value.reveal());
    return headers;
}

}
