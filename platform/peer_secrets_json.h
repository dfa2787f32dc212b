#pragma once
// What a peer knows us by, as JSON: as it is given, and as it is stored.

#include <string>
#include <string_view>

#include "platform/definition_json.h"
#include "platform/peer_secrets.h"

namespace impresario::platform {

/// Reads `bearer`, `signing_secrets` and `headers`. What is absent stays as it is: secrets are never shown, so nobody
/// can send them back; null removes them.
void read_peer_secrets(DefinitionReader& members, PeerSecrets& into);

/// In the clear: to be sealed before it is stored.
std::string headers_json(const std::vector<std::pair<std::string, domain::Secret>>& headers);
std::vector<std::pair<std::string, domain::Secret>> stored_headers(std::string_view json);

/// All of them in one text, in the clear: to be sealed before it is stored.
domain::Secret peer_secrets_json(const PeerSecrets& secrets);
PeerSecrets stored_peer_secrets(const domain::Secret& json);

}
