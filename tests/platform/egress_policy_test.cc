#include "platform/egress_policy.h"

#include <gtest/gtest.h>

#include "platform/url.h"

namespace impresario::platform {
namespace egress_policy_test {

TEST(Egress, InnerAddressesAreDenied) {
    const EgressPolicy policy;
    for (const auto* address : {"127.0.0.1",
                                "127.9.9.9",
                                "10.1.2.3",
                                "172.16.0.1",
                                "172.31.255.255",
                                "192.168.1.1",
                                "169.254.169.254",
                                "100.64.0.1",
                                "0.0.0.0",
                                "224.0.0.1",
                                "255.255.255.255",
                                "::1",
                                "::",
                                "fe80::1",
                                "fd00::1",
                                "fc00::1",
                                "ff02::1",
                                "::ffff:127.0.0.1",
                                "::ffff:10.0.0.1",
                                "64:ff9b::7f00:1",
                                "2002:7f00:1::",
                                "::127.0.0.1",
                                "2001:db8::1",
                                "not an address",
                                ""})
        EXPECT_FALSE(policy.allows(address)) << address;
    for (const auto* address : {"1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"})
        EXPECT_TRUE(policy.allows(address)) << address;
}

TEST(Egress, AnAllowedBlockOpensOnlyItself) {
    const EgressPolicy policy({*Cidr::parse("127.0.0.0/8"), *Cidr::parse("10.1.2.0/23"), *Cidr::parse("fd12::/16")});
    EXPECT_TRUE(policy.allows("127.0.0.1"));
    EXPECT_TRUE(policy.allows("::ffff:127.0.0.1"));
    EXPECT_TRUE(policy.allows("10.1.3.255"));
    EXPECT_FALSE(policy.allows("10.1.4.0"));
    EXPECT_TRUE(policy.allows("fd12::5"));
    EXPECT_FALSE(policy.allows("fd13::5"));
    EXPECT_FALSE(policy.allows("::1"));
}

TEST(Egress, BlocksAreReadStrictly) {
    for (const auto* text : {"10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/-1", "10.0.0.0/x", "host"})
        EXPECT_FALSE(Cidr::parse(text)) << text;
}

}
}
