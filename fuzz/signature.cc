// The three headers of Standard Webhooks, each on a line, and the body after them.
#include "platform/signature.h"

#include "fuzz/targets.h"

namespace impresario::fuzz {

void signature(std::string_view bytes) {
    const auto line = [&] {
        const auto end = bytes.find('\n');
        const auto text = bytes.substr(0, end);
        bytes = end == std::string_view::npos ? std::string_view{} : bytes.substr(end + 1);
        return text;
    };
    const auto id = line();
    const auto timestamp = line();
    const auto signatures = line();
    const auto now = domain::from_micros(1'795'000'000'000'000);
    const std::vector<domain::Secret> secrets{domain::Secret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"),
                                              domain::Secret(std::string(signatures))};
    const auto fault = platform::verify({secrets.front()}, id, timestamp, signatures, bytes, now);
    if (!fault) {
        const auto key = platform::signing_key(secrets.front());
        const auto good = platform::sign(*key, id, std::stoll(std::string(timestamp)), bytes);
        require(signatures.find(good) != std::string_view::npos, "only what the key has signed is good", signatures);
    } else {
        require(!platform::explain(*fault).empty(), "a fault is explained");
    }
    // Any text may be given as a secret, and what is signed for it is good.
    if (id.empty() || !platform::signing_key(secrets.back())) return;
    const auto signed_now = platform::sign_all(secrets, id, 1'795'000'000, bytes);
    require(!platform::verify({secrets.back()}, id, "1795000000", signed_now, bytes, now), "what we sign is good");
}

}
