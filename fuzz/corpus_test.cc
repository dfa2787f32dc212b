// Repeats every input that fuzzing has kept, in the ordinary build: what once broke a promise does not do so again.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/targets.h"

namespace impresario::fuzz {
namespace {

namespace fs = std::filesystem;

struct Target {
    const char* name;
    void (*run)(std::string_view);
};

class Corpus : public ::testing::TestWithParam<Target> {};

TEST_P(Corpus, KeepsItsPromises) {
    int inputs = 0;
    for (const auto& entry :
         fs::directory_iterator(fs::path(IMPRESARIO_SOURCE_DIR) / "fuzz/corpus" / GetParam().name)) {
        std::ifstream file(entry.path(), std::ios::binary);
        std::stringstream bytes;
        bytes << file.rdbuf();
        // What breaks a promise ends the process: then this is the last line.
        std::fprintf(stderr, "%s\n", entry.path().c_str());
        GetParam().run(bytes.str());
        ++inputs;
    }
    EXPECT_GE(inputs, 5);
}

INSTANTIATE_TEST_SUITE_P(Kept, Corpus,
                         ::testing::Values(Target{"alerts", alerts}, Target{"callback", callback},
                                           Target{"config", config}, Target{"cursor", cursor},
                                           Target{"execution", execution}, Target{"http", http},
                                           Target{"retry_after", retry_after}, Target{"signature", signature},
                                           Target{"time", time}, Target{"workflow_type", workflow_type}),
                         [](const auto& each) { return std::string(each.param.name); });

}
}
