#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "platform/callback_json.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "subworkflows/seo_monitor/audit.h"
#include "subworkflows/seo_monitor/checks.h"
#include "subworkflows/seo_monitor/input.h"
#include "subworkflows/seo_monitor/links.h"
#include "subworkflows/seo_monitor/page.h"
#include "subworkflows/seo_monitor/report.h"
#include "subworkflows/seo_monitor/robots_txt.h"
#include "subworkflows/seo_monitor/score.h"
#include "subworkflows/seo_monitor/site.h"

namespace impresario::subworkflows::seo_monitor {

void PrintTo(const Finding& finding, std::ostream* out) {
    *out << name(finding.check) << "/" << name(finding.severity) << ": " << finding.detail;
}

namespace {

using std::chrono::milliseconds;

// ---- addresses

TEST(SeoLinks, ResolvesLikeRfc3986) {
    // §5.4.1 and §5.4.2, without fragments: they name places, not pages.
    const std::pair<const char*, const char*> cases[] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g/"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"g#s", "http://a/b/c/g"},
        {"g?y#s", "http://a/b/c/g?y"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
    };
    for (const auto& [reference, expected] : cases) {
        const auto resolved = resolve("http://a/b/c/d;p?q", reference);
        ASSERT_TRUE(resolved) << reference << " " << resolved.error().what;
        EXPECT_EQ(*resolved, expected) << "'" << reference << "'";
    }
}

TEST(SeoLinks, ReadsWhatBrowsersRead) {
    const std::pair<const char*, const char*> cases[] = {
        {" /tea \n", "https://shop.example/tea"},
        {"/te\na", "https://shop.example/tea"},
        {"/green tea", "https://shop.example/green%20tea"},
        {"/th\xC3\xA9", "https://shop.example/th%C3%A9"},
        {"\\tea\\green", "https://shop.example/tea/green"},
        {"/a|b{c}", "https://shop.example/a%7Cb%7Bc%7D"},
        {"/a[1]", "https://shop.example/a%5B1%5D"},
        {"/100%", "https://shop.example/100%25"},
        {"/%7etea", "https://shop.example/~tea"},
        {"/a%2fb", "https://shop.example/a%2Fb"},
        {"HTTP://Shop.EXAMPLE:80", "http://shop.example/"},
        {"https://shop.example:443?q", "https://shop.example/?q"},
        {"https://shop.example:8443/x", "https://shop.example:8443/x"},
        {"//cdn.example/x", "https://cdn.example/x"},
        {"http://[::1]:81/x", "http://[::1]:81/x"},
        {"mailto:tea@shop.example", "mailto:tea@shop.example"},
    };
    for (const auto& [reference, expected] : cases) {
        const auto resolved = resolve("https://shop.example/blog", reference);
        ASSERT_TRUE(resolved) << reference << " " << resolved.error().what;
        EXPECT_EQ(*resolved, expected) << "'" << reference << "'";
        // One form: reading it again changes nothing.
        EXPECT_EQ(*absolute(*resolved), expected);
    }
    for (const auto* broken :
         {"http://", "http:tea", "http://[::1/x", "http://a:port/", "http://a:123456/", "http://sh\xC3\xB6p.example/"})
        EXPECT_FALSE(resolve("https://shop.example/", broken)) << broken;
    for (const auto* relative : {"shop.example/tea", "/tea", "", "//shop.example"})
        EXPECT_FALSE(absolute(relative)) << relative;
}

TEST(SeoLinks, KnowsWhatIsInternal) {
    EXPECT_TRUE(same_site("http://a.example/x", "https://a.example/"));
    EXPECT_TRUE(same_site("http://a.example:81/x", "http://a.example:81/?q"));
    EXPECT_FALSE(same_site("http://a.example:81/x", "http://a.example/x"));
    EXPECT_FALSE(same_site("http://www.a.example/", "http://a.example/"));
    EXPECT_EQ(origin_of("http://a.example:81/x?y"), "http://a.example:81");
    EXPECT_EQ(target_of("http://a.example:81/x?y"), "/x?y");
    EXPECT_TRUE(is_web("https://a.example/"));
    for (const auto* other : {"mailto:x@a.example", "javascript:void(0)", "data:,x", "/x", "ftp://a.example/"})
        EXPECT_FALSE(is_web(other)) << other;
}

// ---- robots.txt

bool allows(const char* text, const char* agent, const char* target) {
    return RobotsTxt::parse(text).verdict(agent, target).allowed;
}

TEST(SeoRobotsTxt, ChoosesTheGroup) {
    const auto* text =
        "# the whole file\n"
        "Disallow: /before-any-group\n"
        "USER-AGENT: foobot\n"
        "Disallow: /foo # not for Foo\n"
        "\n"
        "user-agent: barbot\r\n"
        "User-Agent : Bazbot/3.1 (+https://baz.example)\r"
        "disallow: /two\n"
        "Sitemap: https://a.example/sitemap.xml\n"
        "disallow: /three\n"
        "User-agent: *\n"
        "Crawl-delay: 3\n"
        "Disallow: /rest\n"
        "User-agent: FooBot\n"
        "Disallow: /more-foo\n";
    struct Case {
        const char* agent;
        const char* target;
        bool allowed;
    };
    for (const auto& [agent, target, allowed] : {
             Case{"foobot", "/foo", false},
             Case{"FOOBOT/2.0", "/more-foo", false},  // groups of one name are one
             Case{"foobot", "/rest", true},           // a group of its own: * does not count
             Case{"barbot", "/two", false},
             Case{"bazbot", "/three", false},  // other lines do not end a group
             Case{"foo", "/foo", true},        // no part of a name is the name
             Case{"foo", "/rest", false},
             Case{"other", "/before-any-group", true},
         })
        EXPECT_EQ(allows(text, agent, target), allowed) << agent << " " << target;
}

TEST(SeoRobotsTxt, TheLongestMatchDecides) {
    struct Case {
        const char* rules;
        const char* target;
        bool allowed;
    };
    for (const auto& [rules, target, allowed] : {
             Case{"Disallow: /", "/robots.txt", true},
             Case{"Disallow:", "/x", true},
             Case{"Allow: /tea\nDisallow: /", "/tea/green", true},
             Case{"Disallow: /\nAllow: /tea", "/coffee", false},
             Case{"Allow: /tea/\nDisallow: /tea", "/tea", false},
             Case{"Allow: /page\nDisallow: /page", "/page", true},  // as long: allow
             Case{"Disallow: /page\nAllow: /page", "/page", true},
             Case{"Disallow: /tea", "/teapot", false},  // a beginning, not a folder
             Case{"Disallow: /tea/", "/tea", true},
             Case{"Disallow: /Tea", "/tea", true},
             Case{"Disallow: /*.gif$", "/a/b.gif", false},
             Case{"Disallow: /*.gif$", "/a/b.gif?x", true},
             Case{"Disallow: /*.gif", "/a/b.gif?x", false},
             Case{"Disallow: /*?sort=", "/shop?sort=price", false},
             Case{"Disallow: /*?sort=", "/shop?page=2&sort=price", true},
             Case{"Disallow: /a*b*c$", "/abbbcbc", false},
             Case{"Disallow: /a*b*c$", "/abbbcbd", true},
             Case{"Disallow: /$", "/", false},
             Case{"Disallow: /$", "/x", true},
             Case{"Disallow: /x$y", "/x$y", true},  // $ is special at the end only, and a path's own is %24
             Case{"Disallow: /x%24y", "/x$y", false},
             Case{"Disallow: /x%2A", "/x*", false},
             Case{"Disallow: /x%2A", "/xy", true},
             Case{"Disallow: /foo/bar/\xE3\x83\x84", "/foo/bar/%E3%83%84", false},
             Case{"Disallow: /foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", false},
             Case{"Disallow: /foo/bar/%62%61%7A", "/foo/bar/baz", false},
             Case{"Disallow: /a%2Fb", "/a/b", true},
             Case{"Disallow: /*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*x", "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/y",
                  true},
             Case{"Disallow /x\nDisallow: /y", "/x", true},
         })
        EXPECT_EQ(allows(("User-agent: *\n" + std::string(rules)).c_str(), "bot", target), allowed)
            << rules << " | " << target;
    EXPECT_EQ(RobotsTxt::parse("\xEF\xBB\xBFUser-agent: *\nDisallow: /x").verdict("bot", "/x").rule, "Disallow: /x");
}

// ---- the page

Page page_of(const std::string& html) {
    auto page = parse_page(html);
    EXPECT_TRUE(page) << html;
    return page ? *page : Page{};
}

TEST(SeoPage, ReadsWhatTheHtmlSays) {
    const auto page = page_of(R"(<!doctype html><html lang=en-GB><head><meta charset="UTF-8">
        <base href="/deep/"><title>
          Tea &amp;&nbsp; more </title>
        <META NAME="Description" CONTENT=" all   about tea "><meta name=viewport content="width=device-width">
        <meta name="ROBOTS" content="noindex"><meta name="googlebot" content="nofollow">
        <link rel="alternate CANONICAL" href=" /tea ">
        <script type="application/ld+json;charset=utf-8">{"a":"</h1>"}</script><script>var a = "<h1>no</h1>";</script></head>
        <body><h1>Tea <img src=t.png alt="leaf"></h1><h3> </h3><svg><title>not a title</title></svg>
        <img src=a.png><img src=b.png alt><img src=c.png role=presentation>
        <a href="/x">one two</a><a name=here>three</a><map><area href="y"></map>
        <noscript><img src=pixel.gif></noscript><template><h1>later</h1></template><!-- <h1>never</h1> -->
        <p>four&nbsp;five<br>six</p><style>p{}</style></body></html>)");
    EXPECT_EQ(page.lang, "en-GB");
    EXPECT_EQ(page.titles, std::vector<std::string>{"Tea & more"});
    EXPECT_EQ(page.descriptions, std::vector<std::string>{"all about tea"});
    EXPECT_EQ(page.canonicals, std::vector<std::string>{"/tea"});
    EXPECT_EQ(page.charset, "utf-8");
    EXPECT_EQ(page.viewport, "width=device-width");
    EXPECT_EQ(page.base, "/deep/");
    ASSERT_EQ(page.robots.size(), 2U);
    EXPECT_EQ(page.robots[0].name, "robots");
    EXPECT_EQ(page.robots[1].content, "nofollow");
    ASSERT_EQ(page.headings.size(), 2U);
    EXPECT_EQ(page.headings[0].text, "Tea leaf");
    EXPECT_EQ(page.headings[1].level, 3);
    EXPECT_EQ(page.headings[1].text, "");
    ASSERT_EQ(page.images.size(), 4U);
    EXPECT_TRUE(page.images[0].has_alt);
    EXPECT_FALSE(page.images[1].has_alt);
    EXPECT_TRUE(page.images[2].has_alt);
    EXPECT_TRUE(page.images[3].has_alt);
    EXPECT_EQ(page.links, (std::vector<std::string>{"/x", "y"}));
    EXPECT_EQ(page.json_ld, std::vector<std::string>{R"({"a":"</h1>"})"});
    EXPECT_EQ(page.words, 10U);  // Tea, not a title, one two, three, four five six
}

TEST(SeoPage, ReadsOldEncodings) {
    EXPECT_EQ(parse_page("<title>Caf\xE9 \x96 tea</title>", "ISO-8859-1")->titles.front(), "Café – tea");
    EXPECT_EQ(parse_page("<meta charset=windows-1252><title>\x80 5</title>")->titles.front(), "€ 5");
    EXPECT_EQ(parse_page("\xEF\xBB\xBF<title>Café</title>", "latin1")->titles.front(), "Café");
    // Whatever the bytes are, what is passed on is UTF-8.
    EXPECT_TRUE(platform::check_json(platform::json_quoted(parse_page("<title>\xFF\xC3(</title>")->titles.front())));
}

TEST(SeoPage, GivesUpOnMarkupWithoutEnd) {
    std::string deep;
    for (int i = 0; i < 300'000; ++i) deep += "<div>";
    const auto page = parse_page(deep);
    ASSERT_FALSE(page);
    EXPECT_NE(page.error().what.find("too much"), std::string::npos);
}

TEST(SeoPage, SurvivesAnyMarkup) {
    static const char* parts[] = {"<h1>",
                                  "</h1>",
                                  "<title>",
                                  "</title>",
                                  "<a href='",
                                  "'>",
                                  "<table>",
                                  "<td>",
                                  "<svg>",
                                  "</svg>",
                                  "<script type=application/ld+json>",
                                  "</script>",
                                  "<!--",
                                  "-->",
                                  "<b>",
                                  "</b>",
                                  "<p>",
                                  "&amp;",
                                  "\xFF",
                                  "\xC2\xA0",
                                  "<template>",
                                  "<math>",
                                  "<frameset>",
                                  "<select>",
                                  "tea ",
                                  "<meta name=description content=",
                                  "<base href=x>"};
    std::mt19937 random(20240229);
    for (int round = 0; round < 300; ++round) {
        std::string html;
        const auto length = random() % 200;
        for (unsigned i = 0; i < length; ++i) html += parts[random() % std::size(parts)];
        if (round % 3 == 0 && !html.empty()) html[random() % html.size()] = '\0';
        const auto page = parse_page(html);
        ASSERT_TRUE(page) << html;
        for (const auto& heading : page->headings) {
            EXPECT_TRUE(heading.level >= 1 && heading.level <= 6);
            EXPECT_TRUE(platform::check_json(platform::json_quoted(heading.text))) << html;
        }
        for (const auto& title : page->titles) EXPECT_TRUE(platform::check_json(platform::json_quoted(title))) << html;
    }
}

// ---- checks, one table each: HTML, and what is to be found in it ("severity: part of the detail")

struct CheckCase {
    std::string html;
    std::vector<std::string> expected;
};

void expect_findings(const Findings& found, const std::vector<std::string>& expected, const std::string& about) {
    std::vector<std::string> texts;
    for (const auto& finding : found) texts.push_back(std::string(name(finding.severity)) + ": " + finding.detail);
    EXPECT_EQ(texts.size(), expected.size()) << about << "\nfound: " << ::testing::PrintToString(texts);
    for (const auto& each : expected) {
        const auto colon = each.find(": ");
        const auto severity = each.substr(0, colon + 2);
        const auto part = each.substr(colon + 2);
        EXPECT_TRUE(
            std::any_of(texts.begin(), texts.end(),
                        [&](auto& text) { return text.starts_with(severity) && text.find(part) != std::string::npos; }))
            << about << "\nmissing: " << each << "\nfound: " << ::testing::PrintToString(texts);
    }
}

template <class Function>
void expect_table(const std::vector<CheckCase>& cases, Function check) {
    for (const auto& each : cases) expect_findings(check(page_of(each.html)), each.expected, each.html);
}

std::string repeated(std::size_t times, const std::string& text = "x") {
    std::string result;
    for (std::size_t i = 0; i < times; ++i) result += text;
    return result;
}

TEST(SeoChecks, Status) {
    const std::pair<int, const char*> cases[] = {{203, "warning: answers 203"},
                                                 {404, "error: answers 404"},
                                                 {410, "error: answers 410"},
                                                 {304, "error: answers 304"},
                                                 {500, "error: answers 500"}};
    EXPECT_TRUE(check_status(200).empty());
    for (const auto& [status, expected] : cases) expect_findings(check_status(status), {expected}, expected);
}

TEST(SeoChecks, Title) {
    expect_table(
        {
            {"<title>" + repeated(10) + "</title>", {}},
            {"<title>" + repeated(60) + "</title>", {}},
            {"<title>" + repeated(60, "é") + "</title>", {}},  // characters, not bytes
            {"<title>" + repeated(9) + "</title>", {"warning: 9 characters, fewer than 10"}},
            {"<title>" + repeated(61) + "</title>", {"warning: 61 characters, more than 60"}},
            {"<p>x</p>", {"error: no title"}},
            {"<title> </title>", {"error: the title is empty"}},
            {"<title>A title of tea</title><title>Another</title>", {"warning: 2 titles"}},
            {"<title>" + repeated(10) + "</title><svg><title>x</title></svg>", {}},
        },
        [](const Page& page) { return check_title(page); });
}

TEST(SeoChecks, Description) {
    const auto meta = [](const std::string& text) { return "<meta name=description content='" + text + "'>"; };
    expect_table(
        {
            {meta(repeated(50)), {}},
            {meta(repeated(160, "ü")), {}},
            {meta(repeated(49)), {"warning: 49 characters, fewer than 50"}},
            {meta(repeated(161)), {"warning: 161 characters, more than 160"}},
            {"", {"error: no meta description"}},
            {meta(""), {"error: is empty"}},
            {"<meta name=description>", {"error: is empty"}},
            {meta(repeated(50)) + meta(repeated(50)), {"warning: 2 meta descriptions"}},
        },
        [](const Page& page) { return check_description(page); });
}

TEST(SeoChecks, Canonical) {
    const auto link = [](const std::string& href) { return "<link rel=canonical href='" + href + "'>"; };
    const Reach fine{200, ""};
    const Reach gone{404, ""};
    const Reach moved{301, ""};
    const Reach silent{0, "no answer: reset"};
    struct Case {
        std::string html;
        const Reach* target;
        std::vector<std::string> expected;
    };
    const Case cases[] = {
        {link("https://a.example/tea"), nullptr, {}},
        {link("HTTPS://A.example:443/tea#top"), nullptr, {}},
        {"", nullptr, {"warning: no canonical"}},
        {link(""), nullptr, {"error: is empty"}},
        {link("http://[x"), nullptr, {"error: cannot be read"}},
        {link("mailto:x@y"), nullptr, {"error: cannot be read"}},
        {link("/tea"), nullptr, {"warning: relative"}},
        {"<base href='/deep/'>" + link("tea"),
         &fine,
         {"warning: relative", "warning: another page: https://a.example/deep/tea"}},
        {link("https://a.example/tea") + link("https://a.example/tea?x"), nullptr, {"error: 2 canonical"}},
        {link("https://b.example/tea"), &fine, {"warning: another page"}},
        {link("http://a.example/tea"), &moved, {"warning: another page", "error: answers 301"}},
        {link("https://b.example/tea"), &gone, {"warning: another page", "error: answers 404"}},
        {link("https://b.example/tea"),
         &silent,
         {"warning: another page", "error: cannot be reached: no answer: reset"}},
    };
    for (const auto& each : cases)
        expect_findings(check_canonical(page_of(each.html), "https://a.example/tea", each.target), each.expected,
                        each.html);
}

TEST(SeoChecks, Robots) {
    const RobotsFile open;
    expect_table(
        {
            {"", {}},
            {"<meta name=robots content='index, follow, max-snippet:20'>", {}},
            {"<meta name=robots content='NOINDEX'>", {"error: meta robots says noindex"}},
            {"<meta name=robots content='nofollow,noarchive'>", {"warning: meta robots says nofollow"}},
            {"<meta name=robots content=none>", {"error: noindex", "warning: nofollow"}},
            {"<meta name=Googlebot content=noindex>", {"error: meta googlebot says noindex"}},
            {"<meta name=bingbot content=noindex>", {}},
        },
        [&](const Page& page) { return check_robots(page, {}, open, "Googlebot"); });

    const std::pair<const char*, std::vector<std::string>> headers[] = {
        {"noindex", {"error: X-Robots-Tag says noindex"}},
        {"noarchive, NoFollow", {"warning: nofollow"}},
        {"googlebot: noindex, nofollow", {"error: noindex", "warning: nofollow"}},
        {"otherbot: noindex, nofollow", {}},
        {"otherbot: noindex, googlebot: nofollow", {"warning: nofollow"}},
        {"unavailable_after: 25 Jun 2010 15:00:00 PST", {}},
        {"max-snippet: 20, noindex", {"error: noindex"}},
    };
    for (const auto& [header, expected] : headers)
        expect_findings(check_robots({}, {header}, open, "Googlebot"), expected, header);

    RobotsFile file;
    file.verdict = {false, "Disallow: /staff"};
    expect_findings(check_robots({}, {}, file, "Googlebot"), {"error: keeps Googlebot away by \"Disallow: /staff\""},
                    "rule");
    file.verdict = {true, "Allow: /"};
    EXPECT_TRUE(check_robots({}, {}, file, "Googlebot").empty());
    file.trouble = "answers 503";
    expect_findings(check_robots({}, {}, file, "Googlebot"), {"error: robots.txt answers 503"}, "trouble");
}

TEST(SeoChecks, Headings) {
    expect_table(
        {
            {"<h1>a</h1><h2>b</h2><h3>c</h3><h2>d</h2><h3>e</h3>", {}},
            {"<h2>b</h2><h3>c</h3>", {"error: no h1"}},
            {"<h1>a</h1><h1>b</h1><h1>c</h1>", {"warning: 3 h1"}},
            {"<h1>a</h1><h3>Deep</h3>", {"warning: h3 \"Deep\" after h1"}},
            {"<h1>a</h1><h2>b</h2><h5>c</h5><h2>d</h2><h4>e</h4>", {"warning: h5 \"c\" after h2, h4 \"e\" after h2"}},
            {"<h1></h1>", {"warning: 1 heading is empty"}},
            {"<h1>a</h1><h2> <!-- --></h2><h2>&nbsp;</h2>", {"warning: 2 headings are empty"}},
            {"<h1><img alt='logo'></h1>", {}},
            {"<h2>b</h2><h1>a</h1>", {"notice: h2 stands before the h1"}},
        },
        [](const Page& page) { return check_headings(page); });
}

TEST(SeoChecks, Images) {
    expect_table(
        {
            {"<img src=a alt=x><img src=b alt=''><img src=c role=none>", {}},
            {"<p>none</p>", {}},
            {"<img src=a.png><img src=b.png alt=b>", {"warning: 1 of 2 images have no alt text: a.png"}},
            {repeated(7, "<img src=i>"), {"warning: i, i, i, i, i and 2 more"}},
            {"<img>", {"warning: 1 of 1 image has no alt text: (no src)"}},
        },
        [](const Page& page) { return check_images(page); });
}

TEST(SeoChecks, Links) {
    LinkReport links;
    links.internal = 3;
    EXPECT_TRUE(check_links(links).empty());
    links.broken = {{"http://a/x", {404, ""}}, {"http://a/y", {0, "no answer: reset"}}};
    links.redirected = {"http://a/z"};
    links.unchecked = 2;
    expect_findings(
        check_links(links),
        {"error: 2 internal links fail: http://a/x (404), http://a/y (no answer: reset)",
         "notice: 1 internal link leads to a redirect: http://a/z", "notice: 2 internal links were not checked"},
        "links");
}

TEST(SeoChecks, StructuredData) {
    const auto block = [](const std::string& text) {
        return "<script type='application/ld+json'>" + text + "</script>";
    };
    struct Case {
        std::string html;
        std::vector<std::string> types;
        std::vector<std::string> expected;
    };
    const Case cases[] = {
        {"", {}, {"notice: no structured data"}},
        {block(R"({"@context":"https://schema.org","@type":"Product"})"), {"Product"}, {}},
        {block(R"({"@context":["https://schema.org"],"@type":["http://schema.org/Product","schema:Thing"]})"),
         {"Product", "Thing"},
         {}},
        {block(R"([{"@context":"https://schema.org","@type":"A"},{"@context":"https://schema.org","@type":"A"}])"),
         {"A"},
         {}},
        {block(R"({"@context":"https://schema.org","@graph":[{"@type":"A"},{"@type":"B"}]})"), {"A", "B"}, {}},
        {block(R"({"@context":"https://schema.org","@graph":[{"@type":"A"},{"name":"x"},7]})"),
         {"A"},
         {"error: 2 items without @type"}},
        {block(R"({"@type":"A"})"), {"A"}, {"error: no @context"}},
        {block(R"({"@context":"https://schema.org"})"), {}, {"error: an item without @type"}},
        {block(R"({"@context":"https://schema.org","@type":" "})"), {}, {"error: an item without @type"}},
        {block(R"({"@context":"https://other.example","@type":"A"})"), {"A"}, {"notice: not schema.org"}},
        {block("{\n\"@context\":\"https://schema.org\",\n\"@type\":\"A\",\n}"), {}, {"error: is not JSON: "}},
        {block("{\n\"@context\":\"https://schema.org\",\n\"@type\":\"A\",\n}"), {}, {"error: (line 4)"}},
        {block("  "), {}, {"error: is empty"}},
        {block("[]"), {}, {"error: is empty"}},
        {block("\"x\""), {}, {"error: neither an object nor an array"}},
        {block(R"({"@context":"https://schema.org","@type":"A","big":1e999999,"nul":"\u0000"})"), {"A"}, {}},
        {block("{") + block(R"({"@context":"https://schema.org","@type":"A"})"),
         {"A"},
         {"error: JSON-LD block 1 is not JSON"}},
    };
    for (const auto& each : cases) {
        const auto data = check_structured_data(page_of(each.html));
        expect_findings(data.findings, each.expected, each.html);
        EXPECT_EQ(data.types, each.types) << each.html;
    }
}

TEST(SeoChecks, LangViewportCharset) {
    expect_table(
        {
            {"<html lang=en>", {}},
            {"<html lang=zh-Hant-TW>", {}},
            {"<html>", {"warning: no lang"}},
            {"<html lang=''>", {"warning: no lang"}},
            {"<html lang=english>", {"warning: no language tag: \"english\""}},
            {"<html lang=en_US>", {"warning: no language tag"}},
            {"<html lang=en->", {"warning: no language tag"}},
        },
        [](const Page& page) { return check_lang(page); });
    expect_table(
        {
            {"<meta name=viewport content='width=device-width, initial-scale=1'>", {}},
            {"<meta name=viewport content='width=1024'>", {"notice: \"width=1024\""}},
            {"", {"warning: no viewport"}},
        },
        [](const Page& page) { return check_viewport(page); });
    struct Case {
        const char* html;
        const char* header;
        std::vector<std::string> expected;
    };
    const Case cases[] = {
        {"<meta charset=utf-8>", "", {}},
        {"", "UTF-8", {}},
        {"<meta charset=utf8>", "utf-8", {}},
        {"<meta http-equiv=content-type content='text/html; charset=utf-8'>", "", {}},
        {"", "", {"warning: neither"}},
        {"", "iso-8859-1", {"warning: iso-8859-1, not utf-8"}},
        {"<meta charset=utf-8>",
         "iso-8859-1",
         {"error: Content-Type says iso-8859-1 and the page says utf-8", "warning: not utf-8"}},
    };
    for (const auto& each : cases)
        expect_findings(check_charset(page_of(each.html), each.header), each.expected, each.html);
}

TEST(SeoChecks, SizeSpeedCompression) {
    EXPECT_TRUE(check_size(200 * 1024, false).empty());
    expect_findings(check_size(200 * 1024 + 1, false), {"warning: 204801 bytes"}, "heavy");
    expect_findings(check_size(1024, true), {"error: longer than 1024 bytes"}, "cut");
    EXPECT_TRUE(check_speed(milliseconds{1000}).empty());
    expect_findings(check_speed(milliseconds{1001}), {"warning: 1001 ms"}, "slow");
    expect_findings(check_speed(milliseconds{3001}), {"error: 3001 ms"}, "very slow");
    EXPECT_TRUE(check_compression(4095, "").empty());
    EXPECT_TRUE(check_compression(5000, "br").empty());
    expect_findings(check_compression(4096, ""), {"notice: uncompressed (4096 bytes)"}, "plain");
    expect_findings(check_compression(4096, "identity"), {"notice: uncompressed"}, "identity");
}

TEST(SeoChecks, Redirects) {
    EXPECT_TRUE(check_redirects({}).empty());
    expect_findings(check_redirects({{"http://a/", 301, "http://a/b"}}), {"notice: redirects (301) to http://a/b"},
                    "one");
    expect_findings(check_redirects({{"http://a/", 308, "https://a/"}}),
                    {"notice: (308)", "notice: from http to https"}, "tls");
    expect_findings(check_redirects({{"https://a/", 302, "http://a/"}, {"http://a/", 301, "http://b/"}}),
                    {"warning: redirects 2 times before it reaches http://b/", "warning: back to http",
                     "notice: for the time being (302)"},
                    "chain");
}

// ---- score

TEST(SeoScore, TakesFixedPointsOff) {
    EXPECT_EQ(score({}).value, 100);
    const Findings findings{{Check::title, Severity::error, "a"},
                            {Check::images, Severity::warning, "b"},
                            {Check::title, Severity::warning, "c"},
                            {Check::robots, Severity::notice, "d"}};
    const auto result = score(findings);
    const int title = std::min(points(Check::title, Severity::error) + points(Check::title, Severity::warning),
                               most_points(Check::title));
    EXPECT_EQ(title, 20);
    const std::vector<Deduction> expected{{Check::title, 20, 2}, {Check::images, 5, 1}};
    EXPECT_EQ(result.deductions, expected);
    EXPECT_EQ(result.value, 75);
    EXPECT_EQ(score({{Check::status, Severity::error, "404"}}).value, 0);
}

TEST(SeoScore, DependsOnTheFindingsAndNothingElse) {
    std::mt19937 random(7);
    for (int round = 0; round < 500; ++round) {
        Findings findings;
        for (auto left = random() % 40; left > 0; --left)
            findings.push_back({static_cast<Check>(random() % kChecks), static_cast<Severity>(random() % 3), ""});
        const auto first = score(findings);
        std::shuffle(findings.begin(), findings.end(), random);
        const auto second = score(findings);
        EXPECT_EQ(first.value, second.value);
        EXPECT_EQ(first.deductions, second.deductions);
        int sum = 0;
        for (const auto& deduction : first.deductions) {
            EXPECT_GT(deduction.points, 0);
            EXPECT_LE(deduction.points, most_points(deduction.check));
            sum += deduction.points;
        }
        EXPECT_EQ(first.value, std::max(0, 100 - sum));
        // One finding more never makes it better.
        findings.push_back({static_cast<Check>(random() % kChecks), Severity::warning, ""});
        EXPECT_LE(score(findings).value, first.value);
    }
    for (int i = 0; i < kChecks; ++i) {
        const auto check = static_cast<Check>(i);
        EXPECT_GE(points(check, Severity::error), points(check, Severity::warning)) << name(check);
        EXPECT_GE(points(check, Severity::warning), points(check, Severity::notice)) << name(check);
        EXPECT_GE(most_points(check), points(check, Severity::error)) << name(check);
        EXPECT_FALSE(name(check).empty());
    }
}

// ---- input

TEST(SeoInput, TakesPagesAndSettings) {
    const auto input = parse_input(
        R"({"pages":["https://a.example/",{"key":"tea","url":"https://a.example/tea"},{"url":"x"}],"check_links":false,
            "follow_redirects":2,"max_bytes":5000,"robots_agent":"bingbot","note":1})");
    ASSERT_TRUE(input) << input.error().text();
    ASSERT_EQ(input->pages.size(), 3U);
    EXPECT_EQ(input->pages[0].key, "https://a.example/");
    EXPECT_EQ(input->pages[1].key, "tea");
    EXPECT_EQ(input->pages[1].url, "https://a.example/tea");
    EXPECT_EQ(input->pages[2].key, "x");
    EXPECT_FALSE(input->settings.check_links);
    EXPECT_EQ(input->settings.follow_redirects, 2);
    EXPECT_EQ(input->settings.max_bytes, 5000U);
    EXPECT_EQ(input->settings.robots_agent, "bingbot");
    const auto least = parse_input(R"({"pages":["x"],"check_links":null,"max_bytes":null})");
    ASSERT_TRUE(least);
    EXPECT_TRUE(least->settings.check_links);
    EXPECT_EQ(least->settings.follow_redirects, 5);
    EXPECT_EQ(least->settings.max_bytes, 2'000'000U);
}

TEST(SeoInput, NamesWhatIsWrong) {
    const std::pair<std::string, const char*> cases[] = {
        {"", ""},
        {"[]", ""},
        {"null", ""},
        {"{}", "/pages"},
        {R"({"pages":"x"})", "/pages"},
        {R"({"pages":[]})", "/pages"},
        {R"({"pages":["a",7]})", "/pages/1"},
        {R"({"pages":[""]})", "/pages/0"},
        {R"({"pages":["a",{"key":"b"}]})", "/pages/1/url"},
        {R"({"pages":[{"url":null}]})", "/pages/0/url"},
        {R"({"pages":[{"url":"a","key":3}]})", "/pages/0/key"},
        {R"({"pages":[{"url":"a","key":""}]})", "/pages/0/key"},
        {R"({"pages":["a","b",{"key":"a","url":"c"}]})", "/pages/2"},
        {R"({"pages":["a"],"check_links":"yes"})", "/check_links"},
        {R"({"pages":["a"],"follow_redirects":-1})", "/follow_redirects"},
        {R"({"pages":["a"],"follow_redirects":1.5})", "/follow_redirects"},
        {R"({"pages":["a"],"follow_redirects":"5"})", "/follow_redirects"},
        {R"({"pages":["a"],"max_bytes":1000})", "/max_bytes"},
        {R"({"pages":["a"],"max_bytes":99999999999999999999})", "/max_bytes"},
        {R"({"pages":["a"],"robots_agent":[]})", "/robots_agent"},
        {"{\"pages\":[\"x\"" + repeated(1000, ",\"x\"") + "]}", "/pages"},
    };
    for (const auto& [json, pointer] : cases) {
        const auto input = parse_input(json);
        ASSERT_FALSE(input) << json.substr(0, 100);
        EXPECT_EQ(input.error().pointer, pointer) << json.substr(0, 100);
        const auto refused = refusal(input.error().text());
        EXPECT_EQ(refused.status, domain::CallbackStatus::failed);
        EXPECT_FALSE(refused.retry_recommended);
        EXPECT_NE(refused.error_message.find("input_data" + std::string(pointer)), std::string::npos);
    }
    EXPECT_NE(parse_input(R"({"pages":["a","b","a"]})").error().text().find("/pages/2 has the key of /pages/0"),
              std::string::npos);
}

// ---- audits over a web of our own

/// Answers by method and URL what the test laid down; all else is 404. Remembers what was asked.
class FakeWeb {
  public:
    struct Page {
        int status = 200;
        platform::Headers headers;
        std::string body;
    };
    std::map<std::string, Page> pages;
    std::map<std::string, platform::HttpOutcome> troubles;
    std::vector<std::string> asked;

    void html(const std::string& url, std::string body) {
        pages[url] = {200, {{"content-type", "text/html; charset=utf-8"}}, std::move(body)};
    }
    void redirect(const std::string& url, std::string to, int status = 301) {
        pages[url] = {status, {{"location", std::move(to)}}, ""};
    }
    void silent(const std::string& url) { troubles[url] = platform::NoAnswer{"closed without an answer", ""}; }
    int times(const std::string& request) const {
        return static_cast<int>(std::count(asked.begin(), asked.end(), request));
    }

    Fetch fetch() {
        return [this](const std::string& method, const platform::Url& url, const platform::Headers&) {
            const auto text = url.origin() + url.target;
            asked.push_back(method + " " + text);
            if (const auto trouble = troubles.find(text); trouble != troubles.end())
                return Fetched{trouble->second, milliseconds{5}};
            platform::HttpAnswer answer;
            answer.status = 404;
            if (const auto page = pages.find(text); page != pages.end()) {
                answer.status = page->second.status;
                answer.headers = page->second.headers;
                if (method == "GET") answer.body = page->second.body;
            }
            return Fetched{answer, milliseconds{5}};
        };
    }
};

class SeoAudit : public ::testing::Test {
  protected:
    FakeWeb web;
    AuditSettings settings;
    bool stop = false;

    Auditor auditor() {
        return Auditor(settings, web.fetch(), [this] { return stop; });
    }
    PageReport report(const std::string& url) {
        auto run = auditor();
        return report_of(run.audit(url, url));
    }
    static PageReport report_of(PageOutcome outcome) {
        if (const auto* failure = std::get_if<PageFailure>(&outcome)) {
            ADD_FAILURE() << failure->url << " " << failure->what;
            return {};
        }
        return std::get<PageReport>(std::move(outcome));
    }
    PageFailure failure(const std::string& url) {
        auto run = auditor();
        const auto outcome = run.audit(url, url);
        const auto* failed = std::get_if<PageFailure>(&outcome);
        EXPECT_TRUE(failed) << url;
        return failed ? *failed : PageFailure{};
    }
    static Findings of(const PageReport& report, Check check) {
        Findings found;
        for (const auto& finding : report.findings)
            if (finding.check == check) found.push_back(finding);
        return found;
    }
};

TEST_F(SeoAudit, FollowsRedirectsStepByStep) {
    web.redirect("http://a.example/", "https://a.example/", 308);
    web.redirect("https://a.example/", "tea#top", 302);
    web.html("https://a.example/tea", "<title>Tea for everybody</title>");
    const auto page = report("http://A.example");
    EXPECT_EQ(page.final_url, "https://a.example/tea");
    EXPECT_EQ(page.url, "http://A.example");
    EXPECT_EQ(page.status, 200);
    ASSERT_EQ(page.redirects.size(), 2U);
    EXPECT_EQ(page.redirects[0].to, "https://a.example/");
    EXPECT_EQ(page.redirects[1].status, 302);
    EXPECT_EQ(page.title, "Tea for everybody");
    expect_findings(of(page, Check::redirects), {"warning: 2 times", "notice: http to https", "notice: (302)"},
                    "chain");
}

TEST_F(SeoAudit, ALoopIsFoundWhereItCloses) {
    web.redirect("http://a.example/1", "/2");
    web.redirect("http://a.example/2", "/3");
    web.redirect("http://a.example/3", "/2");
    const auto page = report("http://a.example/1");
    expect_findings(page.findings, {"error: in a loop: http://a.example/3 leads back to http://a.example/2"}, "loop");
    EXPECT_EQ(page.redirects.size(), 3U);
    EXPECT_EQ(web.asked.size(), 3U);
    web.redirect("http://a.example/self", "#again");
    expect_findings(report("http://a.example/self").findings, {"error: in a loop"}, "self");
}

TEST_F(SeoAudit, MoreRedirectsThanAllowedAreAFault) {
    for (int i = 0; i < 7; ++i) web.redirect("http://a.example/" + std::to_string(i), "/" + std::to_string(i + 1));
    web.html("http://a.example/7", "x");
    EXPECT_EQ(report("http://a.example/2").final_url, "http://a.example/7");  // five
    expect_findings(report("http://a.example/1").findings, {"error: more than 5 times"}, "six");
    settings.follow_redirects = 0;
    expect_findings(report("http://a.example/6").findings, {"error: more than 0 times"}, "none allowed");
}

TEST_F(SeoAudit, ARedirectMustSayWhere) {
    web.pages["http://a.example/1"] = {301, {}, ""};
    web.redirect("http://a.example/2", "mailto:tea@a.example");
    web.redirect("http://a.example/3", "http://[");
    expect_findings(report("http://a.example/1").findings, {"error: without saying where"}, "1");
    expect_findings(report("http://a.example/2").findings, {"error: no web address: mailto:tea@a.example"}, "2");
    expect_findings(report("http://a.example/3").findings, {"error: no web address"}, "3");
}

TEST_F(SeoAudit, FailsWhereThereIsNothingToAudit) {
    web.silent("http://a.example/silent");
    web.troubles["http://a.example/inner"] = platform::NotSent{platform::NotSent::Why::denied, "10.0.0.1", ""};
    web.pages["http://a.example/500"] = {500, {{"content-type", "text/html"}}, "x"};
    web.pages["http://a.example/429"] = {429, {}, ""};
    web.pages["http://a.example/pdf"] = {200, {{"content-type", "application/pdf"}}, "%PDF"};
    web.pages["http://a.example/untyped"] = {200, {}, "plain"};
    web.pages["http://a.example/gzip"] = {
        200, {{"content-type", "text/html"}, {"content-encoding", "gzip"}}, "\x1f\x8b"};
    web.redirect("http://a.example/away", "http://b.example/");
    web.silent("http://b.example/");
    struct Case {
        const char* url;
        const char* what;
        bool again;
    };
    for (const auto& [url, what, again] : {
             Case{"http://a.example/silent", "no answer: closed", true},
             Case{"http://a.example/inner", "not allowed", false},
             Case{"http://a.example/500", "answers 500", true},
             Case{"http://a.example/429", "answers 429", true},
             Case{"http://a.example/pdf", "is application/pdf, not HTML", false},
             Case{"http://a.example/untyped", "is not HTML", false},
             Case{"http://a.example/gzip", "sent as gzip", false},
             Case{"http://a.example/away", "http://b.example/: no answer", true},
             Case{"{site}/tea", "not an absolute URL", false},
             Case{"ftp://a.example/", "must begin with http", false},
             Case{"http://me:secret@a.example/", "user or password", false},
         }) {
        const auto failed = failure(url);
        EXPECT_NE(failed.what.find(what), std::string::npos) << url << ": " << failed.what;
        EXPECT_EQ(failed.again, again) << url;
    }
}

TEST_F(SeoAudit, HtmlIsKnownByTypeOrLook) {
    web.pages["http://a.example/x"] = {
        200, {{"Content-Type", "application/xhtml+xml"}}, "<title>One page of tea</title>"};
    web.pages["http://a.example/y"] = {200, {}, " <!DOCTYPE html><title>Other page of tea</title>"};
    EXPECT_EQ(report("http://a.example/x").title, "One page of tea");
    EXPECT_EQ(report("http://a.example/y").title, "Other page of tea");
}

TEST_F(SeoAudit, AnErrorPageIsAResultAndNotAudited) {
    web.pages["http://a.example/gone"] = {410, {{"content-type", "text/html"}}, "<h1>a</h1><h1>b</h1>"};
    auto page = report("http://a.example/gone");
    expect_findings(page.findings, {"error: answers 410"}, "gone");
    std::vector<PageOutcome> outcomes{page};
    finish(outcomes);
    EXPECT_EQ(std::get<PageReport>(outcomes[0]).score.value, 0);
}

TEST_F(SeoAudit, EveryLinkIsAskedOnceARun) {
    web.html("http://a.example/1",
             "<a href=/ok>a</a><a href=/ok#there>b</a><a href=/broken>c</a><a href=/1>me</a><a href=#x>d</a>"
             "<a href='mailto:x@a.example'>e</a><a href=http://b.example/>f</a><a href=/moved>g</a>"
             "<a href=/post-only>h</a><a href=/dead>i</a><a href='http://a.example:x/'>j</a>");
    web.html("http://a.example/2", "<a href=/ok>a</a><a href=/broken>c</a><a href=/1>d</a>");
    web.html("http://a.example/ok", "");
    web.html("http://a.example/moved-to", "");
    web.redirect("http://a.example/moved", "/moved-to");
    web.silent("http://a.example/dead");
    auto run = Auditor(
        settings,
        [this, inner = web.fetch()](const std::string& method, const platform::Url& url,
                                    const platform::Headers& headers) {
            auto fetched = inner(method, url, headers);
            if (method == "HEAD" && url.target == "/post-only")
                std::get<platform::HttpAnswer>(fetched.outcome).status = 405;
            return fetched;
        },
        [] { return false; });
    web.html("http://a.example/post-only", "");
    const auto first = report_of(run.audit("1", "http://a.example/1"));
    const auto second = report_of(run.audit("2", "http://a.example/2"));

    // ok, broken, 1, moved, post-only, dead, and the one that cannot be read as an address: it leads nowhere.
    EXPECT_EQ(first.links.internal, 7);
    ASSERT_EQ(first.links.broken.size(), 3U);
    EXPECT_EQ(first.links.external, 1);
    std::map<std::string, Reach> broken;
    for (const auto& link : first.links.broken) broken[link.url] = link.reach;
    EXPECT_EQ(broken["http://a.example/broken"].status, 404);
    EXPECT_NE(broken["http://a.example/dead"].error.find("no answer"), std::string::npos);
    EXPECT_EQ(first.links.redirected, std::vector<std::string>{"http://a.example/moved"});
    ASSERT_EQ(second.links.broken.size(), 1U);

    EXPECT_EQ(web.times("HEAD http://a.example/ok"), 1);
    EXPECT_EQ(web.times("HEAD http://a.example/broken"), 1);
    EXPECT_EQ(web.times("HEAD http://a.example/post-only"), 1);
    EXPECT_EQ(web.times("GET http://a.example/post-only"), 1);
    EXPECT_EQ(web.times("HEAD http://a.example/1"), 0);  // it was a page of this run
    EXPECT_EQ(web.times("GET http://a.example/robots.txt"), 1);
    for (const auto& request : web.asked) EXPECT_EQ(request.find("b.example"), std::string::npos) << request;
    EXPECT_EQ(run.requests(), static_cast<int>(web.asked.size()));
}

TEST_F(SeoAudit, NoMoreLinksThanTheLimit) {
    web.html("http://a.example/", "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/4>4</a><a href=/5>5</a>");
    settings.most_links = 3;
    const auto page = report("http://a.example/");
    EXPECT_EQ(page.links.broken.size(), 3U);
    EXPECT_EQ(page.links.unchecked, 2);
    EXPECT_EQ(web.times("HEAD http://a.example/4"), 0);
    settings.check_links = false;
    web.asked.clear();
    const auto unasked = report("http://a.example/");
    EXPECT_EQ(unasked.links.internal, 5);
    EXPECT_EQ(web.asked.size(), 2U);  // the page and robots.txt
    EXPECT_TRUE(of(unasked, Check::links).empty());
}

TEST_F(SeoAudit, ASilentHostIsLeftAlone) {
    std::string links;
    for (int i = 0; i < 10; ++i) {
        links += "<a href=/" + std::to_string(i) + ">x</a>";
        web.silent("http://a.example/" + std::to_string(i));
    }
    web.html("http://a.example/", links);
    const auto page = report("http://a.example/");
    EXPECT_EQ(page.links.broken.size(), 3U);
    EXPECT_EQ(page.links.unchecked, 7);
    auto run = auditor();
    for (int i = 0; i < 3; ++i) run.audit("x", "http://a.example/" + std::to_string(i));
    const auto asked = run.requests();
    const auto fourth = run.audit("x", "http://a.example/");
    ASSERT_TRUE(std::holds_alternative<PageFailure>(fourth));
    EXPECT_TRUE(std::get<PageFailure>(fourth).again);
    EXPECT_NE(std::get<PageFailure>(fourth).what.find("unanswered"), std::string::npos);
    EXPECT_EQ(run.requests(), asked);
}

TEST_F(SeoAudit, RobotsTxtInAllItsStates) {
    web.html("http://a.example/tea?x=1", "");
    const auto robots = "http://a.example/robots.txt";
    const auto findings = [&] { return of(report("http://a.example/tea?x=1"), Check::robots); };
    EXPECT_TRUE(findings().empty());  // 404: all is allowed
    web.pages[robots] = {200, {}, "User-agent: *\nDisallow: /tea?x"};
    expect_findings(findings(), {"error: away by \"Disallow: /tea?x\""}, "rule");
    web.pages[robots] = {200, {}, "User-agent: googlebot\nAllow: /\nUser-agent: *\nDisallow: /"};
    EXPECT_TRUE(findings().empty());
    settings.robots_agent = "bingbot";
    expect_findings(findings(), {"error: keeps bingbot away"}, "other agent");
    web.pages[robots] = {503, {}, ""};
    expect_findings(findings(), {"error: robots.txt answers 503"}, "503");
    web.redirect(robots, "http://b.example/robots.txt");
    web.pages["http://b.example/robots.txt"] = {200, {}, "User-agent: *\nDisallow: /t"};
    expect_findings(findings(), {"error: away"}, "redirected");
    web.redirect("http://b.example/robots.txt", "http://a.example/robots.txt");
    EXPECT_TRUE(findings().empty());  // a loop is as good as none
    web.silent(robots);
    expect_findings(findings(), {"error: robots.txt cannot be reached"}, "silent");
}

TEST_F(SeoAudit, TheCanonicalAddressIsAsked) {
    web.html("http://a.example/1", "<link rel=canonical href='http://a.example/other'>");
    web.html("http://a.example/2", "<link rel=canonical href='http://a.example/2'>");
    settings.check_links = false;
    expect_findings(of(report("http://a.example/1"), Check::canonical), {"warning: another page", "error: answers 404"},
                    "404");
    web.html("http://a.example/other", "");
    expect_findings(of(report("http://a.example/1"), Check::canonical), {"warning: another page"}, "200");
    EXPECT_TRUE(of(report("http://a.example/2"), Check::canonical).empty());
    EXPECT_EQ(web.times("HEAD http://a.example/2"), 0);
}

TEST_F(SeoAudit, ReadsNoMoreThanItMay) {
    settings.max_bytes = 2000;
    settings.check_links = false;
    web.html("http://a.example/", "<h1>tea</h1>" + repeated(2000) + "<h1>too late</h1>");
    const auto page = report("http://a.example/");
    EXPECT_EQ(page.bytes, 2000U);
    EXPECT_TRUE(of(page, Check::headings).empty());
    expect_findings(of(page, Check::size), {"error: longer than 2000 bytes"}, "size");
}

TEST_F(SeoAudit, CompressionIsOfferedToLargePages) {
    settings.check_links = false;
    web.html("http://a.example/small", repeated(4095));
    web.html("http://a.example/large", repeated(4096));
    web.html("http://a.example/packed", repeated(4096));
    web.pages["http://a.example/headless"] = {200, {{"content-type", "text/html"}}, repeated(4096)};
    const auto fetch = [this, inner = web.fetch()](const std::string& method, const platform::Url& url,
                                                   const platform::Headers& headers) {
        auto fetched = inner(method, url, headers);
        auto& answer = std::get<platform::HttpAnswer>(fetched.outcome);
        if (url.target == "/packed" &&
            platform::header(headers, "accept-encoding").find("gzip") != std::string_view::npos)
            answer.headers.emplace_back("content-encoding", "gzip");
        if (url.target == "/headless" && method == "HEAD") answer.status = 405;
        return fetched;
    };
    Auditor run(settings, fetch, [] { return false; });
    for (const auto& [path, hints] : {std::pair{"small", 0}, {"large", 1}, {"packed", 0}, {"headless", 0}}) {
        const auto page = report_of(run.audit(path, std::string("http://a.example/") + path));
        EXPECT_EQ(of(page, Check::compression).size(), static_cast<std::size_t>(hints)) << path;
    }
    EXPECT_EQ(web.times("HEAD http://a.example/small"), 0);
}

TEST_F(SeoAudit, WhatRepeatsIsFoundAtTheEnd) {
    const auto html = [](const std::string& title) {
        return "<title>" + title +
               "</title><meta name=description content='the one description that all of them have, alas'>";
    };
    settings.check_links = false;
    web.html("http://a.example/1", html("The same title"));
    web.html("http://a.example/2", html("The same title"));
    web.html("http://a.example/3", html("Another title"));
    web.redirect("http://a.example/old", "/3");
    auto run = auditor();
    std::vector<PageOutcome> outcomes;
    for (const auto* path : {"1", "2", "3", "old"})
        outcomes.push_back(run.audit(path, std::string("http://a.example/") + path));
    finish(outcomes);
    const auto titles = [&](int i) {
        return of(std::get<PageReport>(outcomes[static_cast<std::size_t>(i)]), Check::title);
    };
    expect_findings(titles(0), {"warning: same title as http://a.example/2"}, "1");
    expect_findings(titles(1), {"warning: same title as http://a.example/1"}, "2");
    EXPECT_TRUE(titles(2).empty());
    // Two addresses of one page do not repeat each other.
    EXPECT_TRUE(titles(3).empty());
    expect_findings(
        of(std::get<PageReport>(outcomes[2]), Check::description),
        {"warning: fewer than 50", "warning: same meta description as http://a.example/1, http://a.example/2"}, "3");
    const auto& first = std::get<PageReport>(outcomes[0]);
    EXPECT_EQ(first.score.value, score(first.findings).value);
    EXPECT_LT(first.score.value, 100);
}

TEST_F(SeoAudit, StopsBetweenRequestsAndSaysSo) {
    web.html("http://a.example/1", "<a href=/x>x</a><a href=/y>y</a>");
    web.html("http://a.example/2", "");
    auto run = Auditor(
        settings,
        [this, inner = web.fetch()](const std::string& method, const platform::Url& url,
                                    const platform::Headers& headers) {
            auto fetched = inner(method, url, headers);
            stop = stop || url.target == "/x";
            return fetched;
        },
        [this] { return stop; });
    std::vector<PageOutcome> outcomes{run.audit("1", "http://a.example/1"), run.audit("2", "http://a.example/2")};
    EXPECT_EQ(web.asked.back(), "HEAD http://a.example/x");
    for (const auto& outcome : outcomes) {
        ASSERT_TRUE(std::holds_alternative<PageFailure>(outcome));
        EXPECT_TRUE(std::get<PageFailure>(outcome).again);
        EXPECT_NE(std::get<PageFailure>(outcome).what.find("before the run was stopped"), std::string::npos);
    }
}

// ---- the callback

PageOutcome audited(const std::string& key, Findings findings = {}) {
    PageReport report;
    report.key = key;
    report.url = "http://a.example/" + key;
    report.status = 200;
    report.findings = std::move(findings);
    report.links.broken = {{"http://a.example/x", {404, ""}}, {"http://a.example/y", {0, "no \"answer\""}}};
    report.structured_data = {"Product"};
    report.redirects = {{"http://a.example/o", 301, report.url}};
    report.first_byte = milliseconds{12};
    return report;
}
PageOutcome unaudited(const std::string& key, bool again) {
    return PageFailure{key, "http://a.example/" + key, "answers 500", again};
}

TEST(SeoReport, CompletedPartialFailed) {
    std::vector<PageOutcome> outcomes{audited("good"),
                                      audited("bad", {{Check::title, Severity::error, "there is no title"}})};
    finish(outcomes);
    auto callback = callback_of(outcomes, 7);
    EXPECT_EQ(callback.status, domain::CallbackStatus::completed);
    EXPECT_EQ(callback.items_processed, 2);
    EXPECT_EQ(callback.api_calls, 7);
    EXPECT_FALSE(callback.cost);
    EXPECT_TRUE(callback.items.empty());
    ASSERT_TRUE(platform::check_json(callback.result_data)) << callback.result_data;
    const auto at = [&](const char* pointer) {
        const auto value = platform::json_at(callback.result_data, pointer);
        return value ? std::string(*value) : "absent";
    };
    EXPECT_EQ(at("/pages/1/score"), "85");
    EXPECT_EQ(at("/pages/1/deductions"), R"([{"check":"title","points":15,"findings":1}])");
    EXPECT_EQ(at("/pages/1/findings"), R"([{"check":"title","severity":"error","detail":"there is no title"}])");
    EXPECT_EQ(at("/pages/0/links/broken"),
              R"([{"url":"http://a.example/x","status":404},{"url":"http://a.example/y","error":"no \"answer\""}])");
    EXPECT_EQ(at("/pages/0/structured_data"), R"(["Product"])");
    EXPECT_EQ(at("/pages/0/redirects/0/to"), R"("http://a.example/good")");
    EXPECT_EQ(at("/pages/0/ttfb_ms"), "12");
    EXPECT_EQ(at("/average_score"), "92.5");
    EXPECT_EQ(at("/worst"), R"([{"key":"bad","url":"http://a.example/bad","score":85}])");
    for (const auto* member :
         {"key", "url", "final_url", "status", "title", "description", "canonical", "words", "bytes"})
        EXPECT_NE(at((std::string("/pages/0/") + member).c_str()), "absent") << member;

    outcomes.push_back(unaudited("down", true));
    finish(outcomes);
    callback = callback_of(outcomes, 8);
    EXPECT_EQ(callback.status, domain::CallbackStatus::partial);
    EXPECT_EQ(callback.items_processed, 2);
    const auto told = platform::parse_callback(platform::callback_json(callback));
    ASSERT_TRUE(told) << told.error().pointer << " " << told.error().what;
    EXPECT_EQ(told->status, domain::CallbackStatus::partial);
    ASSERT_EQ(told->items.size(), 3U);
    EXPECT_FALSE(told->items[1].failed);
    EXPECT_TRUE(told->items[2].failed);
    EXPECT_EQ(told->items[2].key, "down");
    EXPECT_EQ(*platform::json_at(told->items[2].json, "/error/message"), "\"answers 500\"");

    callback = callback_of({unaudited("a", false), unaudited("b", true)}, 2);
    EXPECT_EQ(callback.status, domain::CallbackStatus::failed);
    EXPECT_TRUE(callback.retry_recommended);
    EXPECT_EQ(callback.items_processed, 0);
    const auto failed = platform::parse_callback(platform::callback_json(callback));
    ASSERT_TRUE(failed) << failed.error().what;
    EXPECT_TRUE(failed->retry_recommended);
    EXPECT_NE(failed->error_message.find("http://a.example/a answers 500"), std::string::npos);
    EXPECT_FALSE(
        platform::parse_callback(platform::callback_json(callback_of({unaudited("a", false)}, 1)))->retry_recommended);
}

TEST(SeoReport, TheWorstFiveComeFirstToLast) {
    std::vector<PageOutcome> outcomes;
    const Severity severities[] = {Severity::notice, Severity::warning, Severity::error};
    for (int i = 0; i < 9; ++i)
        outcomes.push_back(audited(std::to_string(i),
                                   Findings(static_cast<std::size_t>(i % 3), {Check::robots, severities[i % 3], ""})));
    finish(outcomes);
    const auto callback = callback_of(outcomes, 0);
    // 0, 3 and 6 are without a fault; two errors (2, 5, 8) weigh more than one warning (1, 4, 7).
    std::vector<std::string> keys;
    for (const auto entry : platform::json_elements(*platform::json_at(callback.result_data, "/worst")))
        keys.push_back(platform::json_string(*platform::json_member(entry, "key")));
    EXPECT_EQ(keys, (std::vector<std::string>{"2", "5", "8", "1", "4"}));
}

// ---- the sample site

class SeoSampleSite : public ::testing::Test {
  protected:
    static constexpr const char* kOrigin = "http://shop.test";
    std::vector<std::string> asked;

    Fetch fetch() {
        return [this](const std::string& method, const platform::Url& url, const platform::Headers&) {
            EXPECT_EQ(url.origin(), kOrigin);
            asked.push_back(method + " " + url.target);
            auto answer = site_answer(method, url.target, kOrigin);
            platform::HttpAnswer got;
            got.status = answer.response.status;
            got.headers = answer.response.headers;
            if (method == "GET") got.body = answer.response.body;
            return Fetched{got, answer.delay};
        };
    }

    std::vector<PageOutcome> audit_all() {
        Auditor run({}, fetch(), [] { return false; });
        std::vector<PageOutcome> outcomes;
        for (const auto& path : site_paths()) outcomes.push_back(run.audit(path, kOrigin + path));
        finish(outcomes);
        EXPECT_EQ(run.requests(), static_cast<int>(asked.size()));
        return outcomes;
    }
};

TEST_F(SeoSampleSite, EveryPlantedFaultIsFoundAndNoOther) {
    const std::map<std::string, std::vector<std::string>> planted{
        {"/", {}},
        {"/shop", {}},
        {"/blog", {}},
        {"/contact", {}},
        {"/cart", {}},
        {"/shop/assam", {"warning description: same meta description as http://shop.test/shop/sencha"}},
        {"/shop/sencha", {"warning description: same meta description as http://shop.test/shop/assam"}},
        {"/shop/earl-grey",
         {"warning images: 2 of 4 images have no alt text: /images/bergamot.svg, /images/dimbula.svg"}},
        {"/shop/teapot", {"error structured_data: is not JSON"}},
        {"/shop/kettle", {"warning headings: 2 h1"}},
        {"/shop/gift-box", {"error title: no title"}},
        {"/shop/matcha", {"warning title: more than 60", "error description: no meta description"}},
        {"/blog/water",
         {"warning headings: h4 \"How to measure it\" after h2", "warning headings: 1 heading is empty"}},
        {"/blog/first-flush", {"warning canonical: no canonical", "notice compression: uncompressed"}},
        {"/blog/storing-tea",
         {"error links: 2 internal links fail: http://shop.test/shop/tea-tin (404), "
          "http://shop.test/blog/tins-compared (404)",
          "notice links: http://shop.test/old-shop"}},
        {"/blog/cold-brew",
         {"warning canonical: another page: http://shop.test/blog/cold-brew-tea", "error canonical: answers 404",
          "error structured_data: no @context"}},
        {"/blog/tasting-notes", {"error canonical: 2 canonical addresses", "warning canonical: relative"}},
        {"/about",
         {"warning title: 2 titles", "warning description: fewer than 50", "warning lang: no lang",
          "warning viewport: no viewport", "warning charset: neither"}},
        {"/newsletter", {"error robots: meta robots says noindex", "warning robots: meta robots says nofollow"}},
        {"/sale", {"error robots: X-Robots-Tag says noindex"}},
        {"/staff/rota", {"error robots: robots.txt keeps Googlebot away by \"Disallow: /staff/\""}},
        {"/delivery", {"warning speed: took 1500 ms"}},
        {"/old-shop", {"notice redirects: (301) to http://shop.test/shop"}},
        {"/winter", {"warning redirects: 2 times", "notice redirects: (302)"}},
        {"/winter-2019", {"notice redirects: (301)"}},
        {"/loop-a", {"error redirects: in a loop: http://shop.test/loop-b leads back to http://shop.test/loop-a"}},
        {"/loop-b", {"error redirects: in a loop"}},
        {"/stairs/1", {"error redirects: more than 5 times"}},
        {"/stairs/2", {"error redirects: more than 5 times"}},
        {"/stairs/3", {"warning redirects: 5 times"}},
        {"/stairs/4", {"warning redirects: 4 times"}},
        {"/stairs/5", {"warning redirects: 3 times"}},
        {"/stairs/6", {"warning redirects: 2 times"}},
        {"/stairs/7", {"notice redirects: (301)"}},
        {"/gone", {"error status: answers 404"}},
    };
    const std::map<std::string, std::string> failures{{"/checkout", "answers 500"},
                                                      {"/price-list", "is text/csv, not HTML"}};
    std::set<std::string> seen;
    for (const auto& outcome : audit_all()) {
        if (const auto* failure = std::get_if<PageFailure>(&outcome)) {
            seen.insert(failure->key);
            ASSERT_TRUE(failures.contains(failure->key)) << failure->key << ": " << failure->what;
            EXPECT_EQ(failure->what, failures.at(failure->key));
            continue;
        }
        const auto& report = std::get<PageReport>(outcome);
        seen.insert(report.key);
        ASSERT_TRUE(planted.contains(report.key)) << report.key;
        const auto& expected = planted.at(report.key);
        EXPECT_EQ(report.findings.size(), expected.size())
            << report.key << ": " << ::testing::PrintToString(report.findings);
        for (const auto& fault : expected) {
            const auto blank = fault.find(' ');
            const auto colon = fault.find(": ");
            EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(),
                                    [&](const Finding& finding) {
                                        return name(finding.severity) == fault.substr(0, blank) &&
                                               name(finding.check) == fault.substr(blank + 1, colon - blank - 1) &&
                                               finding.detail.find(fault.substr(colon + 2)) != std::string::npos;
                                    }))
                << report.key << ": " << fault << "\nfound: " << ::testing::PrintToString(report.findings);
        }
        EXPECT_EQ(report.score.value == 100, expected.empty()) << report.key;
    }
    EXPECT_EQ(seen.size(), planted.size() + failures.size());
}

TEST_F(SeoSampleSite, ReportsWhatThePagesHold) {
    std::map<std::string, PageReport> pages;
    for (auto& outcome : audit_all())
        if (auto* report = std::get_if<PageReport>(&outcome)) pages[report->key] = *report;
    EXPECT_EQ(pages["/"].structured_data, (std::vector<std::string>{"Organization", "WebSite"}));
    EXPECT_EQ(pages["/shop/assam"].structured_data, std::vector<std::string>{"Product"});
    EXPECT_EQ(pages["/shop/assam"].title, "Assam Doomni, second flush | Kettle & Leaf");
    EXPECT_EQ(pages["/shop/assam"].canonical, "http://shop.test/shop/assam");
    EXPECT_EQ(pages["/blog/storing-tea"].links.external, 1);
    EXPECT_EQ(pages["/old-shop"].final_url, "http://shop.test/shop");
    EXPECT_GT(pages["/blog/first-flush"].words, 500U);
    EXPECT_EQ(pages["/loop-a"].score.value, 0);
    EXPECT_EQ(pages["/gone"].status, 404);
    // /cart knows no HEAD, so the link to it was asked again with GET, once.
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "HEAD /cart"), 1);
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "GET /cart"), 2);
}

TEST_F(SeoSampleSite, TwoAuditsSayTheSame) {
    const auto first = callback_of(audit_all(), 0);
    asked.clear();
    EXPECT_EQ(first.result_data, callback_of(audit_all(), 0).result_data);
    EXPECT_EQ(first.status, domain::CallbackStatus::partial);
}

TEST(SeoSite, AnswersReadersOnly) {
    EXPECT_EQ(site_answer("POST", "/", "http://x").response.status, 405);
    EXPECT_EQ(site_answer("GET", "/nowhere", "http://x").response.status, 404);
    EXPECT_EQ(site_answer("GET", "/images/any.svg", "http://x").response.headers.front().second, "image/svg+xml");
    for (const auto& path : site_paths()) {
        const auto body = site_answer("GET", path, "http://x:1").response.body;
        EXPECT_EQ(body.find("{site}"), std::string::npos) << path;
    }
    EXPECT_NE(site_answer("GET", "/shop", "http://x:1").response.body.find("http://x:1/shop"), std::string::npos);
}

}
}
