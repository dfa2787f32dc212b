// What others say back of what they were told in confidence.
#include <gtest/gtest.h>

#include "platform/crypto.h"
#include "platform/json_writer.h"
#include "platform/redact.h"
#include "platform/url.h"

namespace impresario::platform {
namespace redact_test {

const std::string kSecret = "c\"ö/ng+r=ss & <sons> 100%\\";

std::string without(const std::string& text, const std::string& secret = kSecret) {
    return redacted(text, std::vector<domain::Secret>{domain::Secret(secret)});
}

TEST(Redact, ASecretIsFoundHoweverItIsWritten) {
    const auto json = json_quoted(kSecret);
    const std::vector<std::string> forms{
        kSecret,
        json.substr(1, json.size() - 2),
        // JSON within JSON.
        json_quoted(json).substr(3, json_quoted(json).size() - 6),
        "c\\\"\\u00f6\\/ng\\u002Br=ss \\u0026 \\u003csons\\u003e 100%\\\\",
        percent_encode(kSecret),
        "c%22%c3%b6/ng%2br=ss+%26+%3csons%3e+100%25%5c",
        "c&quot;ö/ng+r=ss &amp; &lt;sons&gt; 100%\\",
        hex(kSecret),
    };
    for (const auto& form : forms) EXPECT_EQ(without("it was " + form + ", no?"), "it was [redacted], no?") << form;
}

TEST(Redact, Base64OfWhatHoldsItTellsNothingOfIt) {
    for (const std::string before : {"", "a", "ab", "user:"}) {
        const std::string whole = before + kSecret + "/after";
        for (const auto& encoded : {base64(whole), base64url(whole), percent_encode(base64(whole))}) {
            const auto text = without("<" + encoded + ">");
            EXPECT_NE(text.find("[redacted]"), std::string::npos) << before;
            // What is left stands for what is around it; a letter may stand for a bit of either.
            EXPECT_LE(text.size(), 12 + percent_encode(base64(before + "/after")).size() + 4) << text;
        }
    }
}

TEST(Redact, WhatIsNoSecretStays) {
    EXPECT_EQ(without("nothing here"), "nothing here");
    EXPECT_EQ(without(kSecret.substr(0, kSecret.size() - 1)), kSecret.substr(0, kSecret.size() - 1));
    EXPECT_EQ(without("an abc and an empty one", ""), "an abc and an empty one");
    EXPECT_EQ(without("an abc", "abc"), "an abc") << "too short to be one";
    EXPECT_EQ(without("broken \\u00 %4 &quot", "abcdefgh"), "broken \\u00 %4 &quot");
}

TEST(Redact, WhatIsOursIsKnownByItsForm) {
    const std::string key = "imp_" + base64url(std::string(32, 'k'));
    EXPECT_EQ(without("Bearer " + key + " and " + "icb_" + base64url(std::string(48, 't')) + "."),
              "Bearer [redacted] and [redacted].");
    EXPECT_EQ(without("{\"s\":\"whsec_" + base64(std::string(32, 's')) + "\"}"), "{\"s\":\"[redacted]\"}");
    EXPECT_EQ(without("imp_ortant and whsec_…"), "imp_ortant and whsec_…");
}

TEST(Redact, MuchTextTakesLittleTime) {
    // Somebody's answer, made to keep us busy: it is looked through once.
    const std::string text(1 << 20, '\\');
    EXPECT_EQ(without(text, "\\\\\\\\abcdefgh").size(), text.size());
}

TEST(Redact, OneSecretWithinAnotherHidesNothing) {
    EXPECT_EQ(redacted("Bearer abcdefgh, abcdefgh.ijkl",
                       std::vector<domain::Secret>{domain::Secret("abcdefgh"), domain::Secret("abcdefgh.ijkl")}),
              "Bearer [redacted], [redacted]");
}

TEST(Redact, AnAddressThatIsASecretIsOneInPieces) {
    const domain::Secret url("https://hooks.example.com/services/T0/B0/0123456789abcdef?sig=fedcba9876543210&v=1");
    const auto all = secrets_of_url(url);
    for (const std::string said : {"https://hooks.example.com/services/T0/B0/0123456789abcdef?sig=fedcba9876543210&v=1",
                                   "services/T0/B0/0123456789abcdef", "0123456789abcdef", "fedcba9876543210"})
        EXPECT_EQ(redacted("no such thing: " + said, all), "no such thing: [redacted]");
}

TEST(Redact, AnAddressIsShownWithoutItsTokens) {
    EXPECT_EQ(shown_url("https://a.example.com/run"), "https://a.example.com/run");
    EXPECT_EQ(shown_url("https://a.example.com/run?token=abc#d"), "https://a.example.com/run?…");
    EXPECT_EQ(shown_url("https://ada:pass@a.example.com/run"), "https://a.example.com/run");
    EXPECT_EQ(shown_url("ada:pass@a.example.com"), "a.example.com");
    EXPECT_EQ(shown_url("http://a.example.com/@b"), "http://a.example.com/@b");
}

}
}
