#include "platform/signature.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "platform/crypto.h"

namespace impresario::platform {
namespace signature_test {

TEST(Signature, MatchesTheVectors) {
    std::ifstream file(IMPRESARIO_SOURCE_DIR "/tests/vectors/standard-webhooks.json");
    const auto vectors = nlohmann::json::parse(file);
    ASSERT_EQ(vectors.size(), 24U);
    for (const auto& each : vectors) {
        const auto key = signing_key(domain::Secret(each["secret"].get<std::string>()));
        const auto body = decode_base64(each["body_base64"].get<std::string>());
        ASSERT_TRUE(key && body);
        EXPECT_EQ(sign(*key, each["id"].get<std::string>(), each["timestamp"], *body),
                  each["signature"].get<std::string>());
    }
}

class SignatureCheck : public ::testing::Test {
  protected:
    const domain::Secret old_{"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"};
    const domain::Secret new_{"whsec_//79/Pv6+fj39vX08/Lx8O/u7ezr6uno"};
    const domain::TimePoint now_{std::chrono::seconds{1764282191}};
    const std::string stamp_ = "1764282191";
    const std::string body_ = R"({"a":1})";
};

TEST_F(SignatureCheck, TwoLiveSecretsServeOldAndNewReceivers) {
    const auto both = sign_all({new_, old_}, "id", 1764282191, body_);
    EXPECT_FALSE(verify({old_}, "id", stamp_, both, body_, now_));
    EXPECT_FALSE(verify({new_}, "id", stamp_, both, body_, now_));
    EXPECT_EQ(std::count(both.begin(), both.end(), ' '), 1);
}

TEST_F(SignatureCheck, RefusesWhatWasChanged) {
    const auto good = sign_all({old_}, "id", 1764282191, body_);
    EXPECT_EQ(verify({old_}, "id2", stamp_, good, body_, now_), SignatureFault::no_match);
    EXPECT_EQ(verify({old_}, "id", stamp_, good, body_ + " ", now_), SignatureFault::no_match);
    EXPECT_EQ(verify({old_}, "id", "1764282190", good, body_, now_), SignatureFault::no_match);
    EXPECT_EQ(verify({new_}, "id", stamp_, good, body_, now_), SignatureFault::no_match);
    EXPECT_EQ(verify({old_}, "id", stamp_, "v2," + good.substr(3), body_, now_), SignatureFault::no_match);
    EXPECT_FALSE(verify({old_}, "id", stamp_, "v1a,xyz v2,abc " + good, body_, now_));
}

TEST_F(SignatureCheck, RefusesStaleAndFutureTimes) {
    const auto good = sign_all({old_}, "id", 1764282191, body_);
    EXPECT_EQ(verify({old_}, "id", stamp_, good, body_, now_ + std::chrono::minutes{6}), SignatureFault::too_old);
    EXPECT_EQ(verify({old_}, "id", stamp_, good, body_, now_ - std::chrono::minutes{6}), SignatureFault::too_new);
    EXPECT_EQ(verify({old_}, "id", "soon", good, body_, now_), SignatureFault::bad_timestamp);
    EXPECT_EQ(verify({old_}, "id", "99999999999999999999", good, body_, now_), SignatureFault::bad_timestamp);
    EXPECT_EQ(verify({old_}, "", stamp_, good, body_, now_), SignatureFault::missing);
}

}
}
