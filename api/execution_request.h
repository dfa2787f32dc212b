#pragma once
// What a request to run something asks for: one execution, or a batch of them. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "api/request_reader.h"
#include "priority_queue/queue_store.h"
#include "resource_manager/provider.h"
#include "subworkflows/catalogue.h"

namespace impresario::api {

/// What a request to enqueue says, or what is wrong with it.
struct Intent {
    std::vector<priority_queue::NewExecution> executions;
    domain::BatchId batch;
    std::vector<FieldFault> faults;
    /// A type that is not in the catalogue is among the faults.
    bool unknown_type = false;
};

/// `text` is a body that BodyReader::refuse_body has let pass.
Intent read_single(std::string_view text, const std::string& organization_id, const subworkflows::Catalogue& catalogue,
                   domain::TimePoint now);
/// 1 to `most` of them, all of one batch: the one that is named, or `fresh`.
Intent read_batch(std::string_view text, const std::string& organization_id, const subworkflows::Catalogue& catalogue,
                  domain::TimePoint now, const domain::BatchId& fresh, int most);

/// Takes from their inputs the keys that limits of their providers have there, once: they are kept with them.
void take_limit_keys(std::vector<priority_queue::NewExecution>& executions, const subworkflows::Catalogue& catalogue,
                     const std::vector<resource_manager::Provider>& providers);

/// Those that ask more than a limit of a provider ever gives: their input does, or the calls or items that their type
/// declares.
std::vector<FieldFault> never_granted(const std::vector<priority_queue::NewExecution>& executions, bool in_batch,
                                      const subworkflows::Catalogue& catalogue,
                                      const std::vector<resource_manager::Provider>& providers);

}
