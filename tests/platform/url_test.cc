#include "platform/url.h"

#include <gtest/gtest.h>

namespace impresario::platform {
namespace url_test {

TEST(Url, IsTakenApart) {
    const auto url = parse_url("HTTPS://Example.com:8443/a/b?c=d#e");
    ASSERT_TRUE(url);
    EXPECT_TRUE(url->tls());
    EXPECT_EQ(url->port, 8443);
    EXPECT_EQ(url->target, "/a/b?c=d") << "a fragment is not sent";
    EXPECT_EQ(parse_url("http://a")->target, "/");
    EXPECT_EQ(parse_url("http://a")->port, 80);
    EXPECT_EQ(parse_url("https://a")->port, 443);
    EXPECT_EQ(parse_url("http://[::1]:80/x")->host, "::1");
    EXPECT_EQ(parse_url("http://[::1]:8080")->authority(), "[::1]:8080");
}

TEST(Url, ARequestsAddressIsUtf8WithWholeEscapes) {
    for (const auto* good : {"/", "/v1/executions?cursor=a%2Bb+c", "/v1/workflow-types/Zo%C3%AB", "/%41", "*"})
        EXPECT_EQ(target_fault(good), "") << good;
    for (const auto* bad : {"/%", "/%4", "/%zz", "/a?x=%", "/%ff", "/\xff", "/%C3", "/a%00b", "/%ed%a0%80"})
        EXPECT_NE(target_fault(bad), "") << bad;
    for (const auto* good : {"", "hub", "hub.example:8080", "[::1]:80", "a%20b"})
        EXPECT_EQ(host_fault(good), "") << good;
    for (const auto* bad : {"a b", "h\xff", "a%", "a/b", "a@b", "a\x7f"}) EXPECT_NE(host_fault(bad), "") << bad;
}

TEST(Url, WhatIsNoneIsRefused) {
    for (const auto* text :
         {"", "a", "/a", "http://", "http:///a", "ftp://a/", "http://a:port/", "http://a:0/", "http://a:65536/",
          "http://a:99999999999/", "http://a:80:90/", "http://a b/", "http://a/%zz", "http://user:password@a/",
          "http://a/\r\nhost: b", "javascript:alert(1)", "//x", "file:///etc/passwd"})
        EXPECT_FALSE(parse_url(text)) << text;
    EXPECT_FALSE(parse_url("http://a/" + std::string(2048, 'x')));
}

}
}
