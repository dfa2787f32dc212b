#include "webhooks/signed_post.h"

#include <algorithm>

#include "platform/json_text.h"
#include "platform/redact.h"

namespace impresario::webhooks {

std::string loggable_answer(std::string_view body, const std::vector<const domain::Secret*>& secrets,
                            std::size_t bytes) {
    // Cut generously first: a secret across the edge must not survive half, with each of its bytes as \u0000.
    std::size_t longest = 0;
    for (const auto* secret : secrets) longest = std::max(longest, secret->reveal().size());
    const auto text = platform::redacted(platform::storable_text(body.substr(0, bytes + 6 * longest)), secrets);
    return std::string(platform::utf8_prefix(text, bytes));
}

platform::Task<Posted> post_signed(platform::HttpClient& client, platform::Clock& clock, SignedPost post) {
    Posted posted;
    posted.at = clock.now();
    const auto url = platform::parse_url(post.url);
    if (!url) {
        posted.outcome = EndpointFault{"the endpoint " + url.error().what};
        co_return posted;
    }
    auto headers = platform::signed_headers(*post.secrets, post.id, posted.at, post.body);
    headers.emplace_back("content-type", "application/json");
    for (auto& header : post.headers) headers.push_back(std::move(header));

    const auto begun = clock.steady();
    auto sending = post.not_after
                       ? client.send_before(*post.not_after, "POST", *url, std::move(headers), std::move(post.body))
                   : post.deadline ? client.send("POST", *url, std::move(headers), std::move(post.body), *post.deadline)
                                   : client.send("POST", *url, std::move(headers), std::move(post.body));
    const platform::HttpOutcome http = co_await std::move(sending);
    posted.duration = std::chrono::duration_cast<domain::Duration>(clock.steady() - begun);
    posted.outcome = classify(http, post.rules, clock.now());
    if (const auto* answer = std::get_if<platform::HttpAnswer>(&http)) {
        posted.status = answer->status;
        posted.address = answer->address;
        platform::add_query_secrets(post.url, post.also_secret);
        auto secrets = post.secrets->all();
        for (const auto& secret : post.also_secret) secrets.push_back(&secret);
        posted.answer = loggable_answer(answer->body, secrets);
    } else {
        posted.address = std::visit(
            [](const auto& failure) -> std::string {
                if constexpr (requires { failure.detail; }) return failure.address;
                return {};
            },
            http);
    }
    co_return posted;
}

}
