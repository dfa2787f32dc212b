#include "platform/peer_secrets_json.h"

#include <nlohmann/json.hpp>

#include "platform/json_text.h"

namespace impresario::platform {

using nlohmann::json;

void read_peer_secrets(DefinitionReader& members, PeerSecrets& into) {
    if (const json* bearer = members.find("bearer")) {
        into.bearer = {};
        if (bearer->is_string()) {
            into.bearer = domain::Secret(bearer->get<std::string>());
        } else if (!bearer->is_null()) {
            members.wrong("bearer", "must be a string, or null for none");
        }
    }
    if (const json* secrets = members.find("signing_secrets")) {
        into.signing.clear();
        if (!secrets->is_array() && !secrets->is_null())
            members.wrong("signing_secrets", "must be an array of whsec_ secrets");
        if (secrets->is_array())
            for (const auto& secret : *secrets)
                into.signing.emplace_back(secret.is_string() ? secret.get<std::string>() : "");
    }
    const json* headers = members.find("headers");
    if (!headers) return;
    into.headers.clear();
    if (!headers->is_object() && !headers->is_null())
        members.wrong("headers", "must be an object of header names and values");
    if (!headers->is_object()) return;
    for (const auto& [key, value] : headers->items()) {
        if (!value.is_string()) members.wrong(("headers/" + pointer_token(key)).c_str(), "must be a string");
        into.headers.emplace_back(key, domain::Secret(value.is_string() ? value.get<std::string>() : ""));
    }
}

namespace {
json headers_tree(const std::vector<std::pair<std::string, domain::Secret>>& headers) {
    json value = json::array();
    for (const auto& [key, secret] : headers) value.push_back({key, secret.reveal()});
    return value;
}

std::vector<std::pair<std::string, domain::Secret>> headers_of(const json& value) {
    std::vector<std::pair<std::string, domain::Secret>> headers;
    if (value.is_array())
        for (const auto& pair : value)
            headers.emplace_back(pair[0].get<std::string>(), domain::Secret(pair[1].get<std::string>()));
    return headers;
}
}

std::string headers_json(const std::vector<std::pair<std::string, domain::Secret>>& headers) {
    return headers_tree(headers).dump();
}

std::vector<std::pair<std::string, domain::Secret>> stored_headers(std::string_view text) {
    return headers_of(json::parse(text, nullptr, false));
}

domain::Secret peer_secrets_json(const PeerSecrets& secrets) {
    json value{
        {"bearer", secrets.bearer.reveal()}, {"signing", json::array()}, {"headers", headers_tree(secrets.headers)}};
    for (const auto& secret : secrets.signing) value["signing"].push_back(secret.reveal());
    return domain::Secret(value.dump());
}

PeerSecrets stored_peer_secrets(const domain::Secret& text) {
    PeerSecrets secrets;
    const json value = json::parse(text.reveal(), nullptr, false);
    if (!value.is_object()) return secrets;
    secrets.bearer = domain::Secret(value.value("bearer", ""));
    for (const auto& secret : value["signing"]) secrets.signing.emplace_back(secret.get<std::string>());
    secrets.headers = headers_of(value["headers"]);
    return secrets;
}

}
