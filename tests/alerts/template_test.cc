#include "alerts/template.h"

#include <gtest/gtest.h>

#include <array>

namespace impresario::alerts {
namespace template_test {

constexpr std::array<std::string_view, 2> kNames{"summary", "value"};

std::string render(std::string_view text, std::size_t most = kLongestText) {
    const auto parsed = Template::parse(text, kNames);
    EXPECT_TRUE(parsed) << text;
    return parsed->render([](std::string_view name) { return "<" + std::string(name) + " {{ value }}>"; }, most);
}

TEST(Template, PutsInWhatNamesStandForAndReadsItNoFurther) {
    EXPECT_EQ(render("a {{ summary }} b"), "a <summary {{ value }}> b");
    EXPECT_EQ(render("{{value}}{{  labels.x_1 }}"), "<value {{ value }}><labels.x_1 {{ value }}>");
    EXPECT_EQ(render(""), "");
    EXPECT_EQ(render("plain } } text { {"), "plain } } text { {");
}

TEST(Template, NamesWhatItDoesNotKnow) {
    const auto unknown = Template::parse("{{ summary }} {{ sumary }}", kNames);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().what, "knows no 'sumary'; there are summary, value, labels.<name>");
    for (const auto* bad : {"{{", "a {{ summary", "{{ }}", "{{ labels. }}", "{{ labels.a-b }}", "{{ .Labels.x }}",
                            "{{ summary | upper }}", "{{ labels.x.y }}", "\xff"})
        EXPECT_FALSE(Template::parse(bad, kNames)) << bad;
    EXPECT_FALSE(Template::parse(std::string(kLongestTemplate + 1, 'x'), kNames));
}

TEST(Template, WhatComesOutIsBoundedAndCutAtAWholeCharacter) {
    EXPECT_EQ(render("aé{{ summary }}", 2), "a");
    EXPECT_EQ(render("aé{{ summary }}", 3), "aé");
    std::string many;
    for (int i = 0; i < 300; ++i) many += "{{ value }}";
    EXPECT_EQ(render(many, 1000).size(), 1000U);
}

TEST(Template, AShellSeesOneWord) {
    EXPECT_EQ(shell_word("budget-1.x"), "budget-1.x");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("a; rm -rf $HOME `x`"), "'a; rm -rf $HOME `x`'");
    EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
    EXPECT_EQ(shell_word("a\nb\r\x1b[0m"), "'ab[0m'") << "no line begins inside it";
}

}
}
