#include "subworkflows/seo_monitor/site.h"

#include "seo_sample_site_files.h"

namespace impresario::subworkflows::seo_monitor {

namespace {

struct Route {
    std::string_view path;
    /// A file of site/.
    std::string_view file;
};
constexpr Route kPages[] = {
    {"/", "index.html"},
    {"/shop", "shop.html"},
    {"/shop/assam", "assam.html"},
    {"/shop/sencha", "sencha.html"},
    {"/shop/earl-grey", "earl-grey.html"},
    {"/shop/teapot", "teapot.html"},
    {"/shop/kettle", "kettle.html"},
    {"/shop/gift-box", "gift-box.html"},
    {"/shop/matcha", "matcha.html"},
    {"/blog", "blog.html"},
    {"/blog/water", "water.html"},
    {"/blog/first-flush", "first-flush.html"},
    {"/blog/storing-tea", "storing-tea.html"},
    {"/blog/cold-brew", "cold-brew.html"},
    {"/blog/tasting-notes", "tasting-notes.html"},
    {"/about", "about.html"},
    {"/contact", "contact.html"},
    {"/newsletter", "newsletter.html"},
    {"/sale", "sale.html"},
    {"/delivery", "delivery.html"},
    {"/cart", "cart.html"},
    {"/staff/rota", "rota.html"},
};

struct Redirect {
    std::string_view path;
    int status;
    std::string_view to;
};
constexpr Redirect kRedirects[] = {
    {"/old-shop", 301, "/shop"},     {"/winter", 302, "/winter-2019"}, {"/winter-2019", 301, "/shop"},
    {"/loop-a", 302, "/loop-b"},     {"/loop-b", 302, "/loop-a"},      {"/stairs/1", 301, "/stairs/2"},
    {"/stairs/2", 301, "/stairs/3"}, {"/stairs/3", 301, "/stairs/4"},  {"/stairs/4", 301, "/stairs/5"},
    {"/stairs/5", 301, "/stairs/6"}, {"/stairs/6", 301, "/stairs/7"},  {"/stairs/7", 301, "/shop"},
};

std::string_view file(std::string_view name) {
    for (const auto& each : embedded::files)
        if (each.name == name) return each.text;
    return {};
}

std::string with_origin(std::string_view text, std::string_view origin) {
    constexpr std::string_view mark = "{site}";
    std::string filled;
    for (;;) {
        const auto at = text.find(mark);
        filled += text.substr(0, at);
        if (at == std::string_view::npos) return filled;
        filled += origin;
        text.remove_prefix(at + mark.size());
    }
}

}

SiteAnswer site_answer(std::string_view method, std::string_view path, std::string_view origin) {
    SiteAnswer answer;
    auto& response = answer.response;
    const auto send = [&](int status, std::string_view name, std::string_view type) {
        response.status = status;
        response.headers.emplace_back("content-type", type);
        response.body = with_origin(file(name), origin);
    };
    const auto refuse = [&](std::string_view allowed) {
        send(405, "", "text/plain; charset=utf-8");
        response.headers.emplace_back("allow", allowed);
        response.body = "only " + std::string(allowed) + "\n";
    };
    constexpr std::string_view html = "text/html; charset=utf-8";
    if (method != "GET" && method != "HEAD") {
        refuse("GET, HEAD");
        return answer;
    }
    // A shop system of the kind that never heard of HEAD.
    if (path == "/cart" && method == "HEAD") {
        refuse("GET");
        return answer;
    }
    for (const auto& redirect : kRedirects)
        if (redirect.path == path) {
            response.status = redirect.status;
            response.headers.emplace_back("location", redirect.to);
            return answer;
        }
    if (path == "/checkout") {
        send(500, "error.html", html);
    } else if (path == "/robots.txt") {
        send(200, "robots.txt", "text/plain; charset=utf-8");
    } else if (path == "/price-list") {
        send(200, "price-list.csv", "text/csv; charset=utf-8");
    } else if (path == "/style.css") {
        send(200, "style.css", "text/css; charset=utf-8");
    } else if (path.starts_with("/images/")) {
        send(200, "leaf.svg", "image/svg+xml");
    } else {
        for (const auto& page : kPages)
            if (page.path == path) send(200, page.file, html);
        if (response.headers.empty()) send(404, "not-found.html", html);
    }
    // Pages from before anybody thought of charsets, search results and patience.
    if (path == "/about") response.headers.front().second = "text/html";
    if (path == "/sale") response.headers.emplace_back("x-robots-tag", "googlebot: noindex");
    if (path == "/delivery") answer.delay = std::chrono::milliseconds{1500};
    return answer;
}

std::vector<std::string> site_paths() {
    std::vector<std::string> paths;
    for (const auto& page : kPages) paths.emplace_back(page.path);
    for (const auto& redirect : kRedirects) paths.emplace_back(redirect.path);
    for (const auto* path : {"/checkout", "/price-list", "/gone"}) paths.emplace_back(path);
    return paths;
}

}
