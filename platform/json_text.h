#pragma once
// JSON as the bytes that came: checked, sliced and, where PostgreSQL could not store it, repaired. Payloads that we
// only carry are never turned into a tree and back, so a number keeps its digits and an object its order.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/result.h"

namespace impresario::platform {

struct JsonFault {
    enum class Kind {
        /// Not JSON (RFC 8259): 400.
        syntax,
        /// A string holds bytes that are not UTF-8: 400.
        encoding,
        /// JSON, but `jsonb` cannot hold it: \u0000, half a surrogate pair, a number like 1E100000, nesting beyond
        /// kJsonDepth: 422 at intake, replaced in a callback.
        unstorable,
    };
    Kind kind = Kind::syntax;
    /// RFC 6901 pointer to the value; "" is the whole text.
    std::string pointer;
    std::string what;
    std::size_t offset = 0;
};

/// Deepest nesting that is accepted.
inline constexpr int kJsonDepth = 256;

/// Whether `text` is one JSON value that PostgreSQL can hold as jsonb.
domain::Result<void, JsonFault> check_json(std::string_view text);

struct StorableJson {
    std::string text;
    /// Something was replaced: \u0000 and half surrogates by U+FFFD, an outsize number by a string of its digits, what
    /// nests too deep by null.
    bool sanitised = false;
};

/// The same, but what cannot be stored is replaced. Faults are only of kind syntax and encoding.
domain::Result<StorableJson, JsonFault> storable_json(std::string_view text);

enum class JsonType { null, boolean, number, string, array, object };

// The functions below expect text that check_json or storable_json has passed.

JsonType json_type(std::string_view value);

struct JsonMember {
    std::string key;
    /// The value's bytes within the text that was given.
    std::string_view value;
};

/// Members of an object in the order they came; empty for anything else.
std::vector<JsonMember> json_members(std::string_view object);
/// Elements of an array; empty for anything else.
std::vector<std::string_view> json_elements(std::string_view array);

/// An object read once, for whoever asks for several of its members. Borrows the text; empty for anything else.
class JsonObject {
  public:
    explicit JsonObject(std::string_view text);
    /// As json_member.
    std::optional<std::string_view> find(std::string_view key) const;

  private:
    struct Member {
        /// In its quotes, as it stands.
        std::string_view name;
        std::string_view value;
    };
    std::vector<Member> members_;
};

/// The member named `key`, the last where it repeats (as jsonb decides); nullopt when absent or not an object.
std::optional<std::string_view> json_member(std::string_view object, std::string_view key);

/// The value an RFC 6901 pointer names; nullopt when there is none.
std::optional<std::string_view> json_at(std::string_view text, std::string_view pointer);

/// A string value's characters; other values give their text as it stands.
std::string json_string(std::string_view value);
/// The same of each element of an array.
std::vector<std::string> json_strings(std::string_view array);

/// `token` as one step of a JSON pointer (~ and / escaped).
std::string pointer_token(std::string_view token);

/// Appends a character, which must not be half of a surrogate pair, as one to four bytes.
void append_utf8(std::string& text, char32_t point);

/// Cuts at a whole character, at most `bytes` long.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes);

/// Any bytes as UTF-8 that PostgreSQL can store: what is not UTF-8, and NUL, becomes U+FFFD.
std::string storable_text(std::string_view bytes);

}
