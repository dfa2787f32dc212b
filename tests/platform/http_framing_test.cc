#include "platform/http_framing.h"

#include <gtest/gtest.h>

namespace impresario::platform {
namespace http_framing_test {

using namespace std::string_view_literals;

TEST(HttpFraming, TheHeadEndsWithItsFirstEmptyLine) {
    EXPECT_EQ(head_length("GET / HTTP/1.1\r\nhost: x\r\n\r\nbody\r\n\r\n"), 27U);
    EXPECT_EQ(head_length("a\n\nb"), 3U) << "so that it can be refused";
    EXPECT_EQ(head_length("a\n\r\nb"), 4U);
    for (const auto part : {"", "a", "a\r", "a\r\n", "a\r\n\r", "a\r\nb: c\r\n"})
        EXPECT_EQ(head_length(part), 0U) << part;
}

TEST(HttpFraming, WhatTwoServersCouldReadDifferentlyIsRefused) {
    const auto with = [](std::string_view lines, std::string_view version = "1.1") {
        std::string head = "POST /x HTTP/";
        head += version;
        head += "\r\n";
        head += lines;
        return std::string(framing_fault(head + "\r\n"));
    };
    for (const auto good :
         {"host: x\r\n"sv, "Host: x\r\nContent-Length: 5\r\n"sv, "host: x\r\ncontent-length: 5 \r\nempty:\r\n"sv,
          "host:\r\ntransfer-encoding:\tChunked\r\n"sv, "host: x\r\nauthority: a b\tc : d\r\n"sv})
        EXPECT_EQ(with(good), "") << good;
    EXPECT_EQ(with("", "1.0"), "") << "HTTP/1.0 had no Host";
    for (const auto bad : {
             ""sv,
             "host: x\r\nhost: y\r\n"sv,
             "host: x\n"sv,
             "host: x\r\na: b\rc: d\r\n"sv,
             "host: x\r\na: b\0\r\n"sv,
             "host: x\r\na: b\r\n c\r\n"sv,
             "host: x\r\na: b\r\n\tc\r\n"sv,
             " host: x\r\n"sv,
             "host: x\r\nno name\r\n"sv,
             "host: x\r\n: b\r\n"sv,
             "host: x\r\ncontent-length : 5\r\n"sv,
             "host: x\r\ncontent-length: 5\r\ncontent-length: 5\r\n"sv,
             "host: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n"sv,
             "host: x\r\ncontent-length: 5, 5\r\n"sv,
             "host: x\r\ncontent-length: +5\r\n"sv,
             "host: x\r\ncontent-length: -5\r\n"sv,
             "host: x\r\ncontent-length: 0x5\r\n"sv,
             "host: x\r\ncontent-length:\r\n"sv,
             "host: x\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n"sv,
             "host: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n"sv,
             "host: x\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n"sv,
             "host: x\r\ntransfer-encoding: identity\r\n"sv,
             "host: x\r\ntransfer-encoding: gzip, chunked\r\n"sv,
             "host: x\r\ntransfer-encoding: chunked, identity\r\n"sv,
             "host: x\r\ntransfer-encoding: xchunked\r\n"sv,
             "host: x\r\ntransfer-encoding: \"chunked\"\r\n"sv,
             "host: x\r\ntransfer-encoding: \x0b"
             "chunked\r\n"sv,
         })
        EXPECT_NE(with(bad), "") << bad;
    EXPECT_NE(with("transfer-encoding: chunked\r\n", "1.0"), "");
}

TEST(HttpFraming, AnAbsoluteTargetLosesItsAuthority) {
    EXPECT_EQ(origin_form("/a?b"), "/a?b");
    EXPECT_EQ(origin_form("http://hub:8080/a?b"), "/a?b");
    EXPECT_EQ(origin_form("HTTPS://hub/a"), "/a");
    EXPECT_EQ(origin_form("http://hub"), "/");
    EXPECT_EQ(origin_form("http://hub?b"), "?b");
    EXPECT_EQ(origin_form("*"), "*");
}

}
}
