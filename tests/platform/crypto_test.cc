#include "platform/crypto.h"

#include <gtest/gtest.h>

#include "platform/id_source.h"

namespace impresario::platform {
namespace crypto_test {

KeyRing ring(const std::string& seed) { return KeyRing({domain::Secret(base64(std::string(32, seed[0])))}); }

TEST(Base64, IsStrict) {
    EXPECT_EQ(base64("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
    EXPECT_EQ(decode_base64("YW55IGNhcm5hbCBwbGVhcw=="), "any carnal pleas");
    EXPECT_EQ(decode_base64(""), "");
    for (const auto* bad :
         {"a", "a===", "====", "YW55 GNh", "YW5=IGNh", "YW55_GNh", "YR==", "YW5=", "YQ==\n", "\nYQ==", "=YQ="})
        EXPECT_FALSE(decode_base64(bad)) << bad;
    EXPECT_EQ(decode_base64url(base64url("\xff\xfe\xfd")), "\xff\xfe\xfd");
}

TEST(KeyRing, OpensWhatItSealed) {
    const auto keys = ring("a");
    const auto sealed = keys.seal(domain::Secret("s3cret"), "type/x");
    EXPECT_EQ(sealed.find("s3cret"), std::string::npos);
    ASSERT_TRUE(keys.open(sealed, "type/x"));
    EXPECT_EQ(keys.open(sealed, "type/x")->reveal(), "s3cret");
    EXPECT_FALSE(keys.open(sealed, "type/y")) << "a sealed text cannot be moved to another row";
    EXPECT_FALSE(ring("b").open(sealed, "type/x"));
    auto bent = sealed;
    bent[bent.size() - 3] = bent[bent.size() - 3] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(keys.open(bent, "type/x"));
    EXPECT_NE(keys.seal(domain::Secret("s3cret"), "type/x"), sealed) << "a nonce of its own each time";
}

TEST(KeyRing, AnOldKeyStillOpensAndVerifies) {
    const auto before = ring("a");
    const KeyRing after({domain::Secret(base64(std::string(32, 'b'))), domain::Secret(base64(std::string(32, 'a')))});
    EXPECT_TRUE(after.open(before.seal(domain::Secret("x"), "c"), "c"));
    const auto mac = before.derive("callback", "bytes");
    EXPECT_TRUE(after.derived(view(mac), "callback", "bytes"));
    EXPECT_FALSE(after.derived(view(mac), "other", "bytes"));
}

TEST(KeyRing, RefusesShortKeys) {
    EXPECT_THROW(KeyRing({domain::Secret("short")}), std::invalid_argument);
    EXPECT_THROW(KeyRing(std::vector<domain::Secret>{}), std::invalid_argument);
    EXPECT_NO_THROW(KeyRing({domain::Secret(std::string(64, '0'))}));
}

TEST(IdSource, MakesRisingVersionSevens) {
    IdSource source;
    const auto now = domain::from_micros(1764282191123456);
    auto last = source.make<domain::ExecutionId>(now);
    for (int i = 0; i < 10000; ++i) {
        // The clock stands still, then goes back: ids rise all the same (protocol R14).
        const auto next = source.make<domain::ExecutionId>(i < 5000 ? now : now - std::chrono::hours{1});
        EXPECT_LT(last, next);
        EXPECT_EQ(next.value[6] >> 4, 7);
        EXPECT_EQ(next.value[8] >> 6, 2);
        last = next;
    }
}

}
}
