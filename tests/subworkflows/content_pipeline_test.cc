// The content_pipeline service: each piece by tables, then whole batches with a scripted Run and a real table.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>

#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "subworkflows/content_pipeline/clean_text.h"
#include "subworkflows/content_pipeline/draft_store.h"
#include "subworkflows/content_pipeline/encoding.h"
#include "subworkflows/content_pipeline/keywords.h"
#include "subworkflows/content_pipeline/letters.h"
#include "subworkflows/content_pipeline/pipeline.h"
#include "subworkflows/content_pipeline/sentences.h"
#include "subworkflows/content_pipeline/slug.h"
#include "subworkflows/content_pipeline/summary.h"
#include "tests/support/database.h"

namespace impresario::subworkflows::content_pipeline {

/// For GoogleTest, which looks for it beside the type.
static void PrintTo(const Block& block, std::ostream* out) {
    *out << static_cast<int>(block.kind) << "/" << block.level << " '" << block.text << "'";
}

namespace {

using Strings = std::vector<std::string>;
using Kind = Block::Kind;

std::vector<Block> blocks(std::string_view content, Format format) {
    const auto text = clean(content, format);
    if (!text) {
        ADD_FAILURE() << text.error().what;
        return {};
    }
    return text->blocks;
}

std::string member(std::string_view json, std::string_view pointer) {
    const auto found = platform::json_at(json, pointer);
    return found ? platform::json_string(*found) : "(none)";
}

// ---- cleaning

TEST(CleanHtml, DropsWhatIsNotTheArticle) {
    const std::string page =
        "<!doctype html><html><head><title>Head</title><style>p{}</style><script>var "
        "a='<p>no</p>';</script></head><body>"
        "<header>Site</header><nav><a>Home</a></nav><main><h1>Beans</h1><p>Sow <b>beans</b> in May.</p>"
        "<aside>Buy</aside><noscript>No</noscript><p hidden>Hidden</p><div role='navigation'>Menu</div>"
        "<svg><title>icon</title><text>x</text></svg><button>Like</button></main><footer>Imprint</footer>"
        "<!-- comment --></body></html>";
    EXPECT_EQ(blocks(page, Format::html),
              (std::vector<Block>{{Kind::heading, 1, "Beans"}, {Kind::paragraph, 0, "Sow beans in May."}}));
}

TEST(CleanHtml, TakesTheTitleFromWhereItStands) {
    const std::pair<const char*, const char*> cases[] = {
        {"<title>Pruning roses</title><p>x", "Pruning roses"},
        {"<title>Pruning roses &ndash; The Garden</title><h1>Pruning roses</h1>", "Pruning roses"},
        {"<title>The Garden</title><h1>Pruning roses</h1>", "The Garden"},
        {"<header><h1>In the <i>header</i></h1></header><p>x", "In the header"},
        {"<title> \n </title><p>x", ""},
        {"<svg><title>icon</title></svg><p>x", ""},
        {"<p>x", ""},
    };
    for (const auto& [html, title] : cases) EXPECT_EQ(clean_html(html)->title, title) << html;
}

TEST(CleanHtml, DecodesEntitiesAndTidiesBlanks) {
    const std::pair<const char*, const char*> cases[] = {
        {"<p>a &amp; b &lt;c&gt; &eacute; &#8364; &#x1F33F;</p>", "a & b <c> \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x8C\xBF"},
        {"<p>no&nbsp;break\n\t  twice</p>", "no break twice"},
        {"<p>soft&shy;hyphen zero&#8203;width</p>", "softhyphen zerowidth"},
        {"<p>one<br>two</p>", "one two"},
        {"<p>in<b>si</b>de</p>", "inside"},
    };
    for (const auto& [html, text] : cases) {
        const auto found = blocks(html, Format::html);
        ASSERT_EQ(found.size(), 1U) << html;
        EXPECT_EQ(found[0].text, text) << html;
    }
}

TEST(CleanHtml, KeepsNestedListsTablesAndCodeApart) {
    EXPECT_EQ(
        blocks("<ul><li>one<ul><li>one a</li><li><p>one b</p></li></ul>after</li><li>two</li></ul>", Format::html),
        (std::vector<Block>{{Kind::item, 0, "one"},
                            {Kind::item, 0, "one a"},
                            {Kind::item, 0, "one b"},
                            {Kind::item, 0, "after"},
                            {Kind::item, 0, "two"}}));
    EXPECT_EQ(blocks("<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
                     "<pre><code>x = 1\n  y = 2\n</code></pre><blockquote>said</blockquote>",
                     Format::html),
              (std::vector<Block>{{Kind::item, 0, "A | B"},
                                  {Kind::item, 0, "1 | 2"},
                                  {Kind::code, 0, "x = 1\n  y = 2"},
                                  {Kind::paragraph, 0, "said"}}));
    // Pages of old laid themselves out in tables.
    EXPECT_EQ(blocks("<table><tr><td><p>left</p></td><td><p>right</p></td></tr></table>", Format::html),
              (std::vector<Block>{{Kind::item, 0, "left"}, {Kind::item, 0, "right"}}));
}

TEST(CleanHtml, RefusesWhatIsNestedTooDeep) {
    std::string deep;
    std::string wide;
    for (int i = 0; i < 100'000; ++i) deep += "<div>";
    for (int i = 0; i < 100'000; ++i) wide += "<p>x<br><div>y</div>";
    EXPECT_FALSE(clean_html(deep));
    EXPECT_FALSE(clean_html("<b>" + deep + "</b>"));
    const auto text = clean_html(wide);
    ASSERT_TRUE(text);
    EXPECT_EQ(text->blocks.size(), 200'000U);
}

TEST(CleanMarkdown, WalksItsTree) {
    const std::string page =
        "Heading\n=======\n\nA *paragraph* with `code`, a [link](http://x)\nand ![picture](p.png) two lines.\n\n"
        "## Second ##\n\n- one\n  - nested\n- [x] done\n\n```sh\nrm -r x\n```\n\n> quoted &amp; kept\n\n"
        "| A | B |\n|---|:-:|\n| 1 | 2 |\n\n<div><script>no()</script>raw <b>html</b></div>\n";
    EXPECT_EQ(blocks(page, Format::markdown),
              (std::vector<Block>{{Kind::heading, 1, "Heading"},
                                  {Kind::paragraph, 0, "A paragraph with code, a link and two lines."},
                                  {Kind::heading, 2, "Second"},
                                  {Kind::item, 0, "one"},
                                  {Kind::item, 0, "nested"},
                                  {Kind::item, 0, "done"},
                                  {Kind::code, 0, "rm -r x"},
                                  {Kind::paragraph, 0, "quoted & kept"},
                                  {Kind::item, 0, "A | B"},
                                  {Kind::item, 0, "1 | 2"},
                                  {Kind::paragraph, 0, "raw html"}}));
}

TEST(CleanMarkdown, ReadsFrontMatter) {
    const auto text = clean_markdown("---\ntitle: \"Cold frames\"\ntags: [a]\n---\n\nBody.\n");
    ASSERT_TRUE(text);
    EXPECT_EQ(text->title, "Cold frames");
    EXPECT_EQ(text->blocks, (std::vector<Block>{{Kind::paragraph, 0, "Body."}}));
    // A rule at the start is no front matter.
    EXPECT_EQ(clean_markdown("---\n\nBody.\n\n---\n")->blocks.size(), 1U);
}

TEST(CleanPlain, FindsParagraphsItemsAndAHeading) {
    EXPECT_EQ(
        blocks("A heading\n\nFirst line\nof two.\r\n\r\n- item one\n  goes on\n- item two\n\n3) three\n", Format::text),
        (std::vector<Block>{{Kind::heading, 1, "A heading"},
                            {Kind::paragraph, 0, "First line of two."},
                            {Kind::item, 0, "item one goes on"},
                            {Kind::item, 0, "item two"},
                            {Kind::item, 0, "three"}}));
    EXPECT_EQ(blocks("This is a sentence.\n\nAnother one.", Format::text)[0].kind, Kind::paragraph);
    EXPECT_EQ(blocks("only a line", Format::text)[0].kind, Kind::paragraph);
    EXPECT_TRUE(blocks(" \n\n\t", Format::text).empty());
}

TEST(Format, IsGuessedFromTheSignsWithin) {
    const std::pair<const char*, Format> cases[] = {
        {"<!DOCTYPE html><p>x", Format::html},
        {"\n <article><p>x</p></article>", Format::html},
        {"<p>x</p>", Format::html},
        {"<em>Markdown</em> begins so too", Format::text},
        {"# Heading\n\ntext", Format::markdown},
        {"text\n\n```\ncode\n```", Format::markdown},
        {"see [this](http://x)", Format::markdown},
        {"**bold**\n\n- one\n- two", Format::markdown},
        {"---\ntitle: x\n---\ntext", Format::markdown},
        {"- one\n- two", Format::text},
        {"#hashtag and 5 < 6 and a*b*c", Format::text},
        {"Plain text.\n\nMore.", Format::text},
    };
    for (const auto& [content, format] : cases) EXPECT_EQ(guess_format(content), format) << content;
}

TEST(Encoding, ReadsWhatItKnowsAndSaysWhatItDoesNot) {
    const std::string utf8 = "caf\xC3\xA9 \xE2\x82\xAC";
    EXPECT_EQ(*text_from(utf8, ""), utf8);
    EXPECT_EQ(*text_from("\xEF\xBB\xBF" + utf8, "iso-8859-1"), utf8);
    EXPECT_EQ(*text_from("caf\xE9 \x80", "ISO-8859-1"), utf8);
    EXPECT_EQ(*text_from("caf\xE9 \xA4", "iso-8859-15"), utf8);
    EXPECT_EQ(*text_from(std::string("\xFF\xFE\xAC\x20\x3C\xD8\x3F\xDF", 8), ""), "\xE2\x82\xAC\xF0\x9F\x8C\xBF");
    EXPECT_FALSE(text_from("caf\xE9", ""));
    EXPECT_FALSE(text_from("caf\xE9", "utf-8"));
    EXPECT_FALSE(text_from("cafe", "koi8-r"));
    EXPECT_FALSE(text_from(std::string("\xFE\xFF\xD8\x3C", 4), ""));
    EXPECT_EQ(why_not_text("A line.\n\tAnother."), "");
    EXPECT_NE(why_not_text(std::string("a\0b", 3)), "");
    EXPECT_NE(why_not_text("\x01\x02\x03 text"), "");
}

TEST(Letters, HaveSmallForms) {
    const std::pair<const char*, const char*> cases[] = {
        {"ABC xyz 1", "abc xyz 1"},
        {"\xC3\x84\xC3\x96\xC3\x9C\xC3\x9F\xC3\x97", "\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F\xC3\x97"},  // ÄÖÜß×
        {"\xC5\xBD\xC5\x81\xC4\xB0\xC5\xB8", "\xC5\xBE\xC5\x82i\xC3\xBF"},                         // ŽŁİŸ
        {"\xCE\x91\xCE\xA9\xCE\x8F", "\xCE\xB1\xCF\x89\xCF\x8E"},                                  // ΑΩΏ
        {"\xD0\x96\xD0\x81", "\xD0\xB6\xD1\x91"},                                                  // ЖЁ
    };
    for (const auto& [text, small] : cases) EXPECT_EQ(lower(text), small);
    EXPECT_EQ(shortened("one two three four", 12), "one two\xE2\x80\xA6");
    EXPECT_EQ(shortened("short", 5), "short");
}

// ---- words and sentences

TEST(Words, AreCountedAsPeopleDo) {
    const std::pair<const char*, int> cases[] = {
        {"", 0},
        {" -- ... ", 0},
        {"Don't stop", 2},
        {"a well-known mother-in-law", 3},
        {"costs 1,234.50 euros", 3},
        {"one,two;three", 3},
        {"\xC3\xBC"
         "ber den Fluss",
         3},
        {"\xE6\x9D\xB1\xE4\xBA\xAC\xE3\x81\xAB", 3},  // 東京に
        {"tele\xC2\xADphone", 1},
    };
    for (const auto& [text, count] : cases) {
        EXPECT_EQ(count_words(text), count) << text;
        EXPECT_EQ(words_of(text).size(), static_cast<std::size_t>(count)) << text;
    }
    const auto words = words_of("It\xE2\x80\x99s 3.5 km, then Stop");
    EXPECT_EQ(words[0].lower, "it's");
    EXPECT_TRUE(words[1].number && words[1].joined && words[2].joined);
    EXPECT_FALSE(words[2].number);
    EXPECT_FALSE(words[3].joined) << "a comma stands between";
}

TEST(Sentences, EndWhereTheyEnd) {
    const std::pair<const char*, Strings> cases[] = {
        {"One. Two! Three?", {"One.", "Two!", "Three?"}},
        {"Pi is 3.14 or so. Use it.", {"Pi is 3.14 or so.", "Use it."}},
        {"Dr. Lee met Mrs. Ray, e.g. at St. Ives. They sat.", {"Dr. Lee met Mrs. Ray, e.g. at St. Ives.", "They sat."}},
        {"See no. 5 and fig. 2. The answer is no. Then we left.",
         {"See no. 5 and fig. 2.", "The answer is no.", "Then we left."}},
        {"J. R. Tolkien wrote. I read.", {"J. R. Tolkien wrote.", "I read."}},
        {"So do I. He does too.", {"So do I.", "He does too."}},
        {"It is 5 p.m. in Rome. Go.", {"It is 5 p.m. in Rome.", "Go."}},
        {"The U.S. Navy left the U.S. The ship sank.", {"The U.S. Navy left the U.S.", "The ship sank."}},
        {"Visit example.com today. Now.", {"Visit example.com today.", "Now."}},
        {"\"Really?\" she asked. \"Yes.\" He nodded.", {"\"Really?\" she asked.", "\"Yes.\"", "He nodded."}},
        {"Wait... what? Yes.", {"Wait... what?", "Yes."}},
        {"Am 3. Mai kam er, z. B. mit Hut. Er ging.", {"Am 3. Mai kam er, z. B. mit Hut.", "Er ging."}},
        {"1. Open it. 2. Close it.", {"1. Open it.", "2. Close it."}},
        {"\xE4\xBB\x8A\xE6\x97\xA5\xE3\x80\x82\xE6\x98\x8E\xE6\x97\xA5\xE3\x80\x82",
         {"\xE4\xBB\x8A\xE6\x97\xA5\xE3\x80\x82", "\xE6\x98\x8E\xE6\x97\xA5\xE3\x80\x82"}},
        {"nothing is large. not here. nor e.g. there.", {"nothing is large.", "not here.", "nor e.g. there."}},
        {"no end", {"no end"}},
        {"", {}},
    };
    for (const auto& [text, sentences] : cases) EXPECT_EQ(sentences_of(text), sentences) << text;
    EXPECT_TRUE(is_finished("He said \"yes.\""));
    EXPECT_FALSE(is_finished("As follows:"));
}

// ---- summary and keywords

const char* const kBees =
    "Why bees matter\n\n"
    "Bees visit flowers to collect nectar and pollen. While bees collect pollen, they carry it from flower to flower "
    "and "
    "pollinate the plants. Plants that bees pollinate give fruit and seeds. My uncle owns a blue tractor. "
    "Without bees, many plants would give no fruit at all. Farmers rent bees to pollinate their plants in spring. "
    "The kettle whistled. A garden full of flowers feeds bees from spring to autumn.";

TEST(Summary, PrefersWhatTheTextIsAbout) {
    const auto text = clean_plain(kBees);
    const auto summary = summarise(text, Language::english, 3);
    ASSERT_EQ(summary.size(), 3U);
    for (const auto& sentence : summary) {
        EXPECT_EQ(sentence.find("tractor"), std::string::npos) << sentence;
        EXPECT_EQ(sentence.find("kettle"), std::string::npos) << sentence;
    }
    // In the order of the text, whatever their ranks.
    for (std::size_t most = 2; most <= 6; ++most) {
        const auto ordered = summarise(text, Language::english, most);
        for (std::size_t i = 0; i + 1 < ordered.size(); ++i)
            EXPECT_LT(std::string(kBees).find(ordered[i]), std::string(kBees).find(ordered[i + 1])) << most;
    }
    EXPECT_EQ(summarise(text, Language::english, 1).size(), 1U);
    // The last ones chosen are those that share nothing.
    EXPECT_EQ(summarise(text, Language::english, 6).size(), 6U);
    for (const auto& sentence : summarise(text, Language::english, 6))
        EXPECT_EQ(sentence.find("kettle"), std::string::npos) << "too short to be whole: " << sentence;
}

TEST(Summary, IsTheSameEveryTime) {
    const auto text = clean_plain(kBees);
    const auto first = summarise(text, Language::english, 4);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(summarise(text, Language::english, 4), first);
}

TEST(Summary, RanksAddUpToOneAndFollowTheLinks) {
    const std::vector<Strings> stems{{"a", "b", "c"}, {"a", "x", "y"}, {"b", "z", "w"}, {"c", "q", "r"}, {"alone"}};
    const auto rank = text_rank(stems);
    EXPECT_NEAR(std::accumulate(rank.begin(), rank.end(), 0.0), 1.0, 1e-9);
    for (std::size_t i = 1; i < rank.size(); ++i) EXPECT_GT(rank[0], rank[i]);
    EXPECT_NEAR(rank[1], rank[2], 1e-9);
    EXPECT_LT(rank[4], rank[1]);
    EXPECT_EQ(text_rank(stems), rank);
    EXPECT_TRUE(text_rank({}).empty());
}

TEST(Summary, SaysNothingTwiceAndBoundsWhatNeverEnds) {
    const auto twice = clean_plain(
        "Cold water cleans wool well enough today. Cold water cleans wool well enough today. "
        "Cold water also cleans silk without any soap.");
    EXPECT_EQ(summarise(twice, Language::english, 3).size(), 2U);
    std::string endless;
    for (int i = 0; i < 1000; ++i) endless += "endless words and ";
    const auto summary = summarise(clean_plain(endless), Language::english, 3);
    ASSERT_EQ(summary.size(), 1U);
    EXPECT_LE(summary[0].size(), 500U);
}

TEST(Keywords, CountStemsAndPairs) {
    const auto text = clean_plain(
        "The cold frame is open. A cold frame warms seedlings, and seedlings like a cold frame. Open frames cool down. "
        "Planting starts when the planted seedlings are planted and it is and the of to.");
    const auto keywords = keywords_of("Seedlings in spring", text, Language::english, 10);
    ASSERT_GE(keywords.size(), 4U);
    EXPECT_EQ(keywords[0], "seedlings");
    EXPECT_NE(std::find(keywords.begin(), keywords.end(), "cold frame"), keywords.end());
    // Planting and planted are one word, shown as it is written most.
    EXPECT_NE(std::find(keywords.begin(), keywords.end(), "planted"), keywords.end());
    for (const auto* not_there : {"the", "and", "cold", "planting", "it"})
        EXPECT_EQ(std::find(keywords.begin(), keywords.end(), not_there), keywords.end()) << not_there;
    EXPECT_EQ(keywords_of("Seedlings in spring", text, Language::english, 2).size(), 2U);
    EXPECT_EQ(keywords_of("Seedlings in spring", text, Language::english, 10), keywords);
}

TEST(Keywords, KnowTheirLanguage) {
    const auto german =
        words_of("Die Suppe ist nicht heiß, aber sie wird mit dem Brot und der Butter auf den Tisch gestellt");
    const auto french = words_of("Le vent vient de l'océan et les vélos sont dans le train pour la mer");
    EXPECT_EQ(language_of(german), Language::german);
    EXPECT_EQ(language_of(french), Language::french);
    EXPECT_EQ(language_of(words_of("El perro y la casa son de los que no tienen nada para el sol")), Language::spanish);
    EXPECT_EQ(language_of(words_of("xyzzy plugh")), Language::english);
    const auto keywords =
        keywords_of("", clean_plain("L'océan est bleu. Cet océan est grand, dit-on de l'océan."), Language::french, 1);
    EXPECT_EQ(keywords, Strings{"oc\xC3\xA9"
                                "an"});
}

TEST(Slug, IsPlainShortAndUnique) {
    const std::pair<std::string, std::string> cases[] = {
        {"How to clean a bicycle chain", "how-to-clean-a-bicycle-chain"},
        {"  Don't -- panic!  ", "dont-panic"},
        {"Großmutters Äpfel & Öl", "grossmutters-aepfel-oel"},
        {"À la carte: crème brûlée", "a-la-carte-creme-brulee"},
        {"Łódź, Škoda, Ærø, Þór, İzmir", "lodz-skoda-aero-thor-izmir"},
        {"cafe\xCC\x81", "cafe"},
        {"100 % 3.5", "100-3-5"},
        {"東京", ""},
        {"", ""},
    };
    for (const auto& [title, slug] : cases) EXPECT_EQ(slug_of(title), slug) << title;
    std::string longer;
    for (int i = 0; i < 40; ++i) longer += "words ";
    const auto slug = slug_of(longer);
    EXPECT_LE(slug.size(), kLongestSlug);
    EXPECT_TRUE(slug.ends_with("words")) << slug;
    EXPECT_EQ(slug_of(std::string(200, 'x')).size(), kLongestSlug);

    std::set<std::string> taken{"beans"};
    EXPECT_EQ(unique_slug("peas", taken), "peas");
    EXPECT_EQ(unique_slug("peas", taken), "peas-2");
    EXPECT_EQ(unique_slug("peas", taken), "peas-3");
    EXPECT_EQ(unique_slug("beans", taken), "beans-2");
    const std::string full(kLongestSlug, 'x');
    EXPECT_EQ(unique_slug(full, taken), full);
    const auto second = unique_slug(full, taken);
    EXPECT_EQ(second.size(), kLongestSlug);
    EXPECT_TRUE(second.ends_with("x-2"));
}

// ---- duplicates

/// `count` words, all different, beginning with the number `from`.
std::string numbered(int from, int count) {
    std::string text;
    for (int i = from; i < from + count; ++i) text += "word" + std::to_string(i) + ' ';
    return text;
}
Sketch sketch(const std::string& text) { return sketch_of(words_of(text)); }

TEST(Shingles, MeasureJaccardSimilarity) {
    EXPECT_TRUE(sketch("only three words").empty());
    EXPECT_EQ(sketch("one two three four").size(), 1U);
    EXPECT_EQ(sketch("One, TWO: three four!"), sketch("one two three four")) << "marks and capitals do not count";
    const auto whole = sketch(numbered(0, 103));
    EXPECT_EQ(whole.size(), 100U);
    EXPECT_EQ(similarity(whole, whole), 1.0);
    // 100 shingles each, 97 of them shared.
    EXPECT_NEAR(similarity(whole, sketch(numbered(3, 100) + "end end2 end3")), 97.0 / 103, 1e-12);
    EXPECT_EQ(similarity(whole, sketch(numbered(1000, 100))), 0.0);
    EXPECT_EQ(similarity(whole, {}), 0.0);
}

TEST(Shingles, LongTextsAreSampledFairly) {
    const auto a = sketch(numbered(0, 20'003));
    EXPECT_EQ(a.size(), kSketchSize);
    // 20,000 shingles each, 18,000 shared: 18 / 22.
    EXPECT_NEAR(similarity(a, sketch(numbered(2'000, 20'003))), 18.0 / 22, 0.04);
    EXPECT_NEAR(similarity(a, sketch(numbered(0, 10'003))), 0.5, 0.05);
    EXPECT_EQ(similarity(a, a), 1.0);
}

TEST(Shingles, FindNearDuplicatesAndNothingElse) {
    Seen seen;
    const auto id = [](std::uint8_t n) {
        DraftId made;
        made.value[15] = n;
        return made;
    };
    EXPECT_FALSE(seen.closest(sketch(numbered(0, 50))));
    seen.add(id(1), "first", sketch(numbered(0, 200)));
    seen.add(id(2), "near first", sketch(numbered(5, 200)));
    seen.add(id(3), "other", sketch(numbered(5'000, 200)));
    seen.add(id(4), "again first", sketch(numbered(0, 200)));

    const auto exact = seen.closest(sketch(numbered(0, 200)));
    ASSERT_TRUE(exact);
    EXPECT_EQ(exact->key, "first") << "the earliest of equals";
    EXPECT_EQ(exact->similarity, 1.0);
    const auto near = seen.closest(sketch(numbered(6, 200)));
    ASSERT_TRUE(near);
    EXPECT_EQ(near->key, "near first");
    EXPECT_FALSE(seen.closest(sketch(numbered(100, 200)))) << "half of it is another text";

    // Around the threshold: (197 - n) / (197 + n) >= 0.8 up to n = 21.
    for (const int n : {1, 10, 20, 21}) EXPECT_TRUE(seen.closest(sketch(numbered(5'000 + n, 200)))) << n;
    for (const int n : {22, 30, 60}) EXPECT_FALSE(seen.closest(sketch(numbered(5'000 + n, 200)))) << n;
}

// ---- input

TEST(Input, NamesWhatIsWrongByPointer) {
    const std::pair<const char*, const char*> cases[] = {
        {"", ""},
        {"null", ""},
        {"[]", ""},
        {"{}", "/documents"},
        {R"({"documents":{}})", "/documents"},
        {R"({"documents":[]})", "/documents"},
        {R"({"documents":["x"]})", "/documents/0"},
        {R"({"documents":[{"content":"x"},{"key":"k"}]})", "/documents/1"},
        {R"({"documents":[{"content":"x","url":"http://x"}]})", "/documents/0"},
        {R"({"documents":[{"content":7}]})", "/documents/0/content"},
        {R"({"documents":[{"content":"x","key":""}]})", "/documents/0/key"},
        {R"({"documents":[{"content":"x","key":"a"},{"content":"x","key":"a"}]})", "/documents/1/key"},
        {R"({"documents":[{"content":"x","key":"1"},{"content":"x"}]})", "/documents/1/key"},
        {R"({"documents":[{"content":"x","format":1}]})", "/documents/0/format"},
        {R"({"documents":[{"content":"x"}],"summary_sentences":0})", "/summary_sentences"},
        {R"({"documents":[{"content":"x"}],"summary_sentences":2.5})", "/summary_sentences"},
        {R"({"documents":[{"content":"x"}],"max_keywords":"5"})", "/max_keywords"},
    };
    for (const auto& [json, pointer] : cases) {
        const auto batch = parse_batch(json);
        ASSERT_FALSE(batch) << json;
        EXPECT_EQ(batch.error().pointer, pointer) << json;
        EXPECT_EQ(batch.error().text().find("input_data" + std::string(pointer) + " "), 0U);
    }
}

TEST(Input, TakesDefaults) {
    const auto batch = parse_batch(
        R"({"documents":[{"content":"x","title":null,"extra":1},{"key":"k","url":"http://x","format":"html"}],"max_keywords":50})");
    ASSERT_TRUE(batch) << batch.error().text();
    EXPECT_EQ(batch->documents[0].key, "0");
    EXPECT_FALSE(batch->documents[0].by_url);
    EXPECT_TRUE(batch->documents[1].by_url);
    EXPECT_EQ(batch->documents[1].format, "html");
    EXPECT_EQ(batch->summary_sentences, 3);
    EXPECT_EQ(batch->max_keywords, 50);
}

// ---- sources

platform::HttpAnswer page(std::string type, std::string body, int status = 200) {
    platform::HttpAnswer answer;
    answer.status = status;
    if (!type.empty()) answer.headers.emplace_back("content-type", std::move(type));
    answer.body = std::move(body);
    return answer;
}

TEST(Source, ContentTypeDecides) {
    struct Case {
        const char* type;
        const char* url;
        const char* format;
        Format expected;
    };
    const Case cases[] = {
        {"text/html; charset=utf-8", "http://x/a", "", Format::html},
        {"application/xhtml+xml", "http://x/a", "text", Format::html},
        {"TEXT/Markdown", "http://x/a", "", Format::markdown},
        {"text/plain", "http://x/a", "", Format::text},
        {"text/plain", "http://x/README.md?raw=1", "", Format::markdown},
        {"text/plain", "http://x/a", "html", Format::html},
        {"", "http://x/a", "", Format::text},
    };
    for (const auto& each : cases) {
        Document document;
        document.url = each.url;
        document.format = each.format;
        const auto source = fetched_source(document, page(each.type, "some text"));
        ASSERT_TRUE(source) << each.type << ": " << source.error().what;
        EXPECT_EQ(source->format, each.expected) << each.type << " " << each.url;
    }
    EXPECT_EQ(fetched_source({}, page("text/html", "<meta charset=\"windows-1252\"><p>caf\xE9"))->text,
              "<meta charset=\"windows-1252\"><p>caf\xC3\xA9");
}

TEST(Source, FaultsSayWhetherTheyMend) {
    const auto fault = [](const platform::HttpOutcome& outcome) { return fetched_source({}, outcome).error(); };
    auto busy = page("text/html", "", 503);
    busy.headers.emplace_back("Retry-After", "7");
    EXPECT_TRUE(fault(busy).can_mend);
    EXPECT_EQ(fault(busy).retry_after, std::chrono::seconds{7});
    EXPECT_TRUE(fault(page("text/html", "", 404)).can_mend);
    EXPECT_TRUE(fault(platform::NotSent{platform::NotSent::Why::connect, "refused", ""}).can_mend);
    EXPECT_TRUE(fault(platform::NoAnswer{"too late", ""}).can_mend);
    EXPECT_FALSE(fault(platform::NotSent{platform::NotSent::Why::denied, "denied", ""}).can_mend);
    EXPECT_FALSE(fault(page("application/pdf", "%PDF")).can_mend);
    EXPECT_NE(fault(page("application/pdf", "%PDF")).what.find("application/pdf"), std::string::npos);
    EXPECT_FALSE(fault(page("text/plain", "caf\xE9")).can_mend);
    EXPECT_FALSE(fault(page("text/html", "")).can_mend);
}

// ---- whole batches

class ScriptedRun final : public kit::Run {
  public:
    explicit ScriptedRun(std::string input, const std::string& execution = "00000000-0000-4000-8000-000000000001") {
        trigger_.execution_id = *domain::ExecutionId::parse(execution);
        trigger_.organization_id = "acme";
        trigger_.input_data = std::move(input);
    }

    const domain::Trigger& trigger() const override { return trigger_; }
    bool stopped() const override { return told >= stop_after; }
    void progress(std::int64_t, std::int64_t, std::string_view) override { ++told; }
    const std::vector<std::string>& retry_items() const override { return wanted; }
    platform::HttpOutcome fetch(const std::string& method, const platform::Url& url, const platform::Headers&,
                                const std::string&) override {
        asked.push_back(method + " " + url.origin() + url.target);
        const auto found = pages.find(url.target);
        if (found != pages.end()) return found->second;
        return platform::NotSent{platform::NotSent::Why::connect, "connection refused", ""};
    }

    void of(const std::string& organization) { trigger_.organization_id = organization; }

    Strings wanted;
    Strings asked;
    std::map<std::string, platform::HttpOutcome> pages;
    int told = 0;
    int stop_after = 1'000'000;

  private:
    domain::Trigger trigger_;
};

std::string input(const std::vector<std::pair<std::string, std::string>>& keys_and_contents) {
    platform::JsonWriter json;
    json.open();
    json.open("documents", '[');
    for (const auto& [key, content] : keys_and_contents) {
        json.open();
        json.field("key", key).field(content.starts_with("http") ? "url" : "content", content);
        json.close();
    }
    json.close(']');
    json.close();
    return std::move(json).text();
}

const std::string kGood = "A good title\n\n" + numbered(0, 231);

TEST(Batch, AllGoodIsCompleted) {
    ScriptedRun run(input({{"a", kGood}, {"b", "A good title\n\n" + numbered(500, 60)}}));
    const auto callback = draft_batch(run, nullptr);
    EXPECT_EQ(callback.status, domain::CallbackStatus::completed);
    EXPECT_TRUE(callback.items.empty());
    EXPECT_EQ(callback.items_processed, 2);
    EXPECT_EQ(callback.api_calls, 0);
    EXPECT_FALSE(callback.cost);
    EXPECT_TRUE(platform::check_json(callback.result_data));
    const auto& result = callback.result_data;
    EXPECT_EQ(member(result, "/drafts/0/title"), "A good title");
    EXPECT_EQ(member(result, "/drafts/0/slug"), "a-good-title");
    EXPECT_EQ(member(result, "/drafts/1/slug"), "a-good-title-2");
    EXPECT_EQ(member(result, "/drafts/0/words"), "234");
    EXPECT_EQ(member(result, "/drafts/0/reading_minutes"), "2");
    EXPECT_EQ(member(result, "/drafts/1/reading_minutes"), "1");
    EXPECT_EQ(member(result, "/drafts/0/duplicate_of"), "(none)");
    EXPECT_EQ(member(result, "/duplicates"), "0");
    EXPECT_EQ(member(result, "/drafts/0/draft_id"), draft_id(run.trigger().execution_id, "a").text());
    EXPECT_GE(run.told, 2);
}

TEST(Batch, OneBadItemMakesItPartial) {
    ScriptedRun run(input({{"good", kGood},
                           {"empty", " \n"},
                           {"short", "Too few words."},
                           {"copy", kGood + "end"},
                           {"away", "http://h/gone"}}));
    const auto callback = draft_batch(run, nullptr);
    EXPECT_EQ(callback.status, domain::CallbackStatus::partial);
    ASSERT_EQ(callback.items.size(), 5U);
    const Strings ends{"completed", "failed", "failed", "completed", "failed"};
    for (std::size_t i = 0; i < ends.size(); ++i) {
        EXPECT_EQ(member(callback.items[i].json, "/status"), ends[i]) << callback.items[i].json;
        EXPECT_EQ(callback.items[i].failed, ends[i] == "failed");
        EXPECT_EQ(member(callback.items[i].json, "/error") != "(none)", callback.items[i].failed);
    }
    EXPECT_EQ(member(callback.items[2].json, "/error"), "is too short: 3 words, at least 30 are needed");
    EXPECT_EQ(callback.items_processed, 2);
    EXPECT_EQ(callback.api_calls, 1);
    EXPECT_EQ(member(callback.result_data, "/duplicates"), "1");
    EXPECT_EQ(member(callback.result_data, "/drafts/1/duplicate_of"),
              member(callback.result_data, "/drafts/0/draft_id"));
    EXPECT_EQ(member(callback.result_data, "/drafts/1/duplicate_of_key"), "good");
    EXPECT_EQ(member(callback.result_data, "/drafts/1/similarity"), "0.996");
}

TEST(Batch, NothingGoodIsAFailureThatSaysWhetherToTryAgain) {
    ScriptedRun hopeless(input({{"a", ""}, {"b", "Too few words."}}));
    auto callback = draft_batch(hopeless, nullptr);
    EXPECT_EQ(callback.status, domain::CallbackStatus::failed);
    EXPECT_FALSE(callback.retry_recommended);
    EXPECT_EQ(member(callback.error_data, "/message"),
              "all 2 documents failed: 'a' is empty; 'b' is too short: 3 words, at least 30 are needed");
    EXPECT_EQ(member(callback.error_data, "/retry_recommended"), "false");
    EXPECT_EQ(member(callback.error_data, "/items/1/key"), "b");
    EXPECT_EQ(callback.items_processed, 0);

    ScriptedRun hopeful(input({{"a", ""}, {"b", "http://h/busy"}}));
    auto busy = page("", "", 429);
    busy.headers.emplace_back("retry-after", "30");
    hopeful.pages["/busy"] = busy;
    callback = draft_batch(hopeful, nullptr);
    EXPECT_EQ(member(callback.error_data, "/retry_recommended"), "true");
    EXPECT_EQ(member(callback.error_data, "/retry_after_seconds"), "30");

    ScriptedRun shapeless(R"({"documents":[{"content":1}]})");
    callback = draft_batch(shapeless, nullptr);
    EXPECT_EQ(callback.status, domain::CallbackStatus::failed);
    EXPECT_FALSE(callback.retry_recommended);
    EXPECT_EQ(callback.error_message, "input_data/documents/0/content must be a string");
}

TEST(Batch, FetchesWhatIsGivenByAddress) {
    ScriptedRun run(input({{"html", "http://h/a?b=1"}, {"bad", "https://user:pw@h/"}}));
    run.pages["/a?b=1"] = page("text/html", "<title>Fetched</title><nav>menu</nav><p>" + numbered(0, 40) + "</p>");
    const auto callback = draft_batch(run, nullptr);
    EXPECT_EQ(run.asked, Strings{"GET http://h/a?b=1"});
    EXPECT_EQ(member(callback.result_data, "/drafts/0/title"), "Fetched");
    EXPECT_EQ(member(callback.result_data, "/drafts/0/words"), "40");
    EXPECT_EQ(callback.api_calls, 1);
}

TEST(Batch, AChildIsAboutItsItemsOnly) {
    ScriptedRun run(input({{"a", kGood}, {"b", "http://h/b"}, {"c", ""}}));
    run.wanted = {"b"};
    run.pages["/b"] = page("text/plain", numbered(0, 40));
    auto callback = draft_batch(run, nullptr);
    EXPECT_EQ(callback.status, domain::CallbackStatus::completed);
    EXPECT_EQ(callback.items_processed, 1);
    EXPECT_EQ(member(callback.result_data, "/drafts/0/key"), "b");
    EXPECT_EQ(member(callback.result_data, "/drafts/1/key"), "(none)");
    run.wanted = {"unknown"};
    callback = draft_batch(run, nullptr);
    EXPECT_EQ(callback.status, domain::CallbackStatus::failed);
    EXPECT_FALSE(callback.retry_recommended);
}

TEST(Batch, StopsBetweenItems) {
    ScriptedRun run(input({{"a", "http://h/1"}, {"b", "http://h/2"}, {"c", "http://h/3"}}));
    run.stop_after = 2;
    const auto callback = draft_batch(run, nullptr);
    EXPECT_EQ(run.asked.size(), 2U);
    EXPECT_EQ(callback.status, domain::CallbackStatus::failed);
    EXPECT_EQ(callback.error_message, "stopped after 2 of 3 documents");
}

TEST(Batch, TitlesComeFromTheBestPlace) {
    ScriptedRun run(R"({"documents":[
        {"title":" Given ","content":"# Heading)" +
                    numbered(0, 3) + R"(\n\n)" + numbered(0, 40) + R"("},
        {"format":"markdown","content":"## Second\n\n# First\n\n)" +
                    numbered(0, 40) + R"("},
        {"content":"A sentence that is first. )" +
                    numbered(0, 40) + R"("},
        {"title":"東京","content":")" +
                    numbered(0, 40) + R"("}]})");
    const auto callback = draft_batch(run, nullptr);
    ASSERT_EQ(callback.status, domain::CallbackStatus::completed) << callback.error_message;
    EXPECT_EQ(member(callback.result_data, "/drafts/0/title"), "Given");
    EXPECT_EQ(member(callback.result_data, "/drafts/1/title"), "First");
    EXPECT_EQ(member(callback.result_data, "/drafts/2/title").find("A sentence that is first"), 0U);
    EXPECT_EQ(member(callback.result_data, "/drafts/3/slug"), "draft-3");
}

TEST(Samples, AllParseAndEndAsPlanted) {
    struct Expected {
        int documents;
        int failed;
        int duplicates;
    };
    const std::map<std::string, Expected> expected{{"bicycles", {8, 1, 1}},
                                                   {"cloud_costs", {9, 1, 1}},
                                                   {"gardening", {7, 0, 1}},
                                                   {"kitchen", {8, 2, 0}},
                                                   {"travel", {6, 0, 0}}};
    const auto folder = std::filesystem::path(IMPRESARIO_SOURCE_DIR) / "subworkflows/content_pipeline/samples";
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const auto name = entry.path().stem().string();
        ASSERT_TRUE(expected.contains(name)) << name;
        const auto& counts = expected.at(name);
        ++files;
        std::stringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        ASSERT_TRUE(platform::check_json(text.str())) << name;
        ScriptedRun run(text.str());
        const auto callback = draft_batch(run, nullptr);
        EXPECT_EQ(callback.status, counts.failed ? domain::CallbackStatus::partial : domain::CallbackStatus::completed)
            << name << ": " << callback.error_message;
        EXPECT_EQ(callback.items_processed, counts.documents - counts.failed) << name;
        EXPECT_EQ(member(callback.result_data, "/duplicates"), std::to_string(counts.duplicates)) << name;
        EXPECT_EQ(
            std::count_if(callback.items.begin(), callback.items.end(), [](const auto& item) { return item.failed; }),
            counts.failed)
            << name;
        for (const auto draft : platform::json_elements(*platform::json_member(callback.result_data, "drafts"))) {
            EXPECT_GE(std::stoi(member(draft, "/words")), 80) << draft;
            EXPECT_NE(member(draft, "/summary/0"), "(none)") << draft;
            EXPECT_NE(member(draft, "/keywords/2"), "(none)") << draft;
            const auto whole = std::string(draft);
            for (const auto* markup : {"<", "&amp;", "**", "](", "metrics", "newsletter", "Reprinted"})
                EXPECT_EQ(whole.find(markup), std::string::npos) << markup << " in " << whole;
        }
    }
    EXPECT_EQ(files, expected.size());
}

// ---- the table

class DraftTable : public ::testing::Test {
  protected:
    DraftTable() : session(settings()) {}
    platform::DatabaseSettings settings() const {
        platform::DatabaseSettings made;
        made.url = db.url();
        return made;
    }
    static std::string execution(int n) { return "00000000-0000-4000-8000-00000000000" + std::to_string(n); }
    domain::Callback draft(int n, const std::string& batch, const Strings& wanted = {}) {
        ScriptedRun run(batch, execution(n));
        run.wanted = wanted;
        run.pages["/late"] = page("text/plain", "A good title\n\n" + numbered(7'000, 60));
        return draft_batch(run, &session);
    }
    std::string value(const std::string& what, int n) {
        return db.value("select " + what + " from content_pipeline.drafts where execution_id = '" + execution(n) + "'");
    }

    testing::TestDatabase db;
    DraftSession session;
};

TEST_F(DraftTable, IsMadeOnceAndTakesDrafts) {
    session.open();
    DraftSession(settings()).open();
    const auto callback = draft(1, input({{"a", kGood}, {"b", numbered(900, 50)}, {"c", ""}}));
    EXPECT_EQ(callback.status, domain::CallbackStatus::partial) << callback.error_message;
    EXPECT_EQ(value("count(*)", 1), "2");
    EXPECT_EQ(
        value("string_agg(key || ' ' || words || ' ' || reading_minutes || ' ' || language, ',' order by key)", 1),
        "a 234 2 en,b 50 1 en");
    EXPECT_EQ(value("max(id::text) filter (where key = 'a')", 1), member(callback.result_data, "/drafts/0/draft_id"));
    EXPECT_EQ(value("max(cardinality(shingles))", 1), "231");
    EXPECT_EQ(value("min(cardinality(probes))", 1), "16");
    EXPECT_EQ(value("max(body) filter (where key = 'a')", 1).find("A good title\n\nword0 word1"), 0U);
}

TEST_F(DraftTable, ASecondRunWritesOverTheFirst) {
    const auto batch = input({{"a", kGood}, {"b", kGood + "end"}});
    const auto first = draft(1, batch);
    const auto second = draft(1, batch);
    EXPECT_EQ(first.result_data, second.result_data);
    EXPECT_EQ(value("count(*)", 1), "2");
    EXPECT_EQ(draft(1, input({{"a", numbered(3'000, 50)}})).status, domain::CallbackStatus::completed);
    EXPECT_EQ(value("max(words) filter (where key = 'a')", 1), "50");
}

TEST_F(DraftTable, FindsDuplicatesAcrossBatches) {
    const auto first = draft(1, input({{"a", kGood}}));
    const auto copy = draft(2, input({{"x", kGood + "two more"}, {"y", numbered(4'000, 60)}}));
    EXPECT_EQ(member(copy.result_data, "/duplicates"), "1");
    EXPECT_EQ(member(copy.result_data, "/drafts/0/duplicate_of"), member(first.result_data, "/drafts/0/draft_id"));
    EXPECT_EQ(member(copy.result_data, "/drafts/0/duplicate_of_key"), "a");
    EXPECT_EQ(value("max(duplicate_of::text)", 2), member(first.result_data, "/drafts/0/draft_id"));
    // The original, run again, does not become a duplicate of its copy.
    EXPECT_EQ(member(draft(1, input({{"a", kGood}})).result_data, "/duplicates"), "0");
}

TEST_F(DraftTable, OrganizationsDoNotSeeEachOther) {
    draft(1, input({{"a", kGood}}));
    ScriptedRun other(input({{"a", kGood}}), execution(2));
    other.of("globex");
    EXPECT_EQ(member(draft_batch(other, &session).result_data, "/duplicates"), "0");
    EXPECT_EQ(member(draft(3, input({{"a", kGood}})).result_data, "/duplicates"), "1");
}

TEST_F(DraftTable, AChildDoesNotTakeItsParentsSlugs) {
    const auto batch = input({{"a", kGood}, {"late", "http://h/late"}});
    ScriptedRun parent(batch, execution(1));
    EXPECT_EQ(draft_batch(parent, &session).status, domain::CallbackStatus::partial);
    const auto child = draft(2, batch, {"late"});
    EXPECT_EQ(member(child.result_data, "/drafts/0/slug"), "a-good-title-2");
    EXPECT_EQ(draft(2, batch, {"late"}).result_data, child.result_data);
}

TEST_F(DraftTable, ConnectsAnewAndGivesUpInTheEnd) {
    draft(1, input({{"a", kGood}}));
    db.run(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> "
        "pg_backend_pid()");
    EXPECT_EQ(draft(2, input({{"a", numbered(0, 50)}})).status, domain::CallbackStatus::completed);
    db.shut();
    const auto callback = draft(3, input({{"a", numbered(0, 50)}}));
    EXPECT_EQ(callback.status, domain::CallbackStatus::failed);
    EXPECT_TRUE(callback.retry_recommended);
    EXPECT_EQ(callback.error_message.find("the drafts could not be stored: "), 0U) << callback.error_message;
    db.open();
    EXPECT_EQ(draft(3, input({{"a", numbered(0, 50)}})).status, domain::CallbackStatus::completed);
}

}
}
