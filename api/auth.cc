#include "api/auth.h"

#include "api_sql.h"
#include "domain/name_table.h"
#include "platform/crypto.h"
#include "platform/read_rows.h"

namespace impresario::api {

using platform::Params;
using platform::RowReader;
using platform::Tx;

namespace {
constexpr domain::NameTable<Role, 4> kRoles{{
    {Role::viewer, "viewer"},
    {Role::submitter, "submitter"},
    {Role::operator_, "operator"},
    {Role::admin, "admin"},
}};
/// "imp_" and 32 random bytes in base64url.
constexpr std::size_t kKeySize = 47;
}

std::string_view name(Role role) { return domain::name_in(kRoles, role); }

std::optional<Role> parse_role(std::string_view text) { return domain::value_in(kRoles, text); }

bool ApiKeys::well_formed(std::string_view token) { return token.starts_with("imp_") && token.size() == kKeySize; }

const Caller* ApiKeys::find(std::string_view token) const {
    if (!well_formed(token)) return nullptr;
    const auto found = by_hash_.find(std::string(platform::view(platform::sha256(token))));
    return found == by_hash_.end() ? nullptr : &found->second;
}

std::set<domain::ApiKeyId> ApiKeys::ids() const {
    std::set<domain::ApiKeyId> ids;
    for (const auto& [hash, caller] : by_hash_) ids.insert(caller.key);
    return ids;
}

std::shared_ptr<const ApiKeys> ApiKeyStore::load(Tx& tx) const {
    const auto rows = tx.exec(sql::load_keys);
    std::map<std::string, Caller> by_hash;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        Caller caller;
        caller.key = row.id<domain::ApiKeyId>();
        caller.organization_id = row.text();
        caller.name = row.text();
        caller.role = parse_role(row.view()).value_or(Role::viewer);
        by_hash.emplace(row.bytes(), std::move(caller));
    }
    return std::make_shared<const ApiKeys>(std::move(by_hash));
}

domain::Secret ApiKeyStore::create(Tx& tx, const Caller& caller) const {
    domain::Secret key("imp_" + platform::base64url(platform::random_bytes(32)));
    domain::ApiKeyId id = caller.key;
    if (id.nil()) {
        const auto bytes = platform::random_bytes(16);
        std::copy(bytes.begin(), bytes.end(), id.value.begin());
        id.value[6] = static_cast<std::uint8_t>((id.value[6] & 0x0f) | 0x40);
        id.value[8] = static_cast<std::uint8_t>((id.value[8] & 0x3f) | 0x80);
    }
    tx.exec(sql::create_key, Params()
                                 .add(id)
                                 .add(caller.organization_id)
                                 .add(caller.name)
                                 .add(name(caller.role))
                                 .add_bytes(platform::view(platform::sha256(key.reveal())))
                                 .add(key.reveal().substr(0, 8)));
    return key;
}

std::vector<ApiKeyRow> ApiKeyStore::list(Tx& tx) const {
    const auto rows = tx.exec(sql::list_keys);
    return platform::read_rows(rows, [](RowReader& row) {
        ApiKeyRow key;
        key.caller.key = row.id<domain::ApiKeyId>();
        key.caller.organization_id = row.text();
        key.caller.name = row.text();
        key.caller.role = parse_role(row.view()).value_or(Role::viewer);
        key.hint = row.text();
        key.created_at = row.time();
        key.revoked_at = row.maybe_time();
        return key;
    });
}

bool ApiKeyStore::revoke(Tx& tx, const domain::ApiKeyId& id) const {
    return tx.exec(sql::revoke_key, Params().add(id)).affected() == 1;
}

}
