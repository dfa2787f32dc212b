#include "subworkflows/revenue_optimizer/optimize.h"

#include <algorithm>

#include "subworkflows/revenue_optimizer/advice.h"
#include "subworkflows/revenue_optimizer/request_json.h"
#include "subworkflows/revenue_optimizer/result_json.h"

namespace impresario::subworkflows::revenue_optimizer {

namespace {

domain::Callback failure(std::string message, bool again) {
    domain::Callback callback;
    callback.status = domain::CallbackStatus::failed;
    callback.error_message = std::move(message);
    callback.retry_recommended = again;
    return callback;
}

template <class Item>
void drop_unwanted(std::vector<Item>& items, const kit::Run& run) {
    std::erase_if(items, [&](const Item& item) { return !run.wants(item.key); });
}

}

domain::Callback optimize(kit::Run& run) {
    auto request = read_request(run.trigger().input_data);
    if (!request) return failure(request.error().what, false);
    drop_unwanted(request->products, run);
    drop_unwanted(request->experiments, run);
    const auto total = static_cast<std::int64_t>(request->products.size() + request->experiments.size());
    if (total == 0) return failure("context/retry_items names no item of the input", false);

    Answers answers;
    for (const auto& member : request->unread)
        answers.warnings.push_back("unread_member: '" + member + "' is not known here");
    std::vector<domain::ItemOutcome> items;
    const auto answer = [&](const auto& item, auto& into) {
        run.progress(static_cast<std::int64_t>(items.size()), total, item.key);
        auto advice = advise(item, request->settings);
        if (!advice) {
            items.push_back(failed_item(item.key, explain(advice.error())));
            return;
        }
        into.push_back(std::move(*advice));
        items.push_back(completed_item(item.key));
    };
    for (const auto& product : request->products)
        if (!run.stopped()) answer(product, answers.products);
    for (const auto& experiment : request->experiments)
        if (!run.stopped()) answer(experiment, answers.experiments);

    const auto done = static_cast<std::int64_t>(items.size());
    if (done < total)
        return failure("stopped after " + std::to_string(done) + " of " + std::to_string(total) + " items", true);
    run.progress(total, total, "done");
    const auto failed = std::count_if(items.begin(), items.end(), [](const auto& item) { return item.failed; });
    domain::Callback callback;
    callback.items_processed = total;
    if (failed == total) {
        callback.status = domain::CallbackStatus::failed;
        callback.retry_recommended = false;
        callback.error_message = "none of the " + std::to_string(total) + " items could be answered";
        callback.error_data = error_json(callback.error_message, items);
        return callback;
    }
    callback.result_data = result_json(answers);
    if (failed > 0) {
        callback.status = domain::CallbackStatus::partial;
        callback.items = std::move(items);
    }
    return callback;
}

}
