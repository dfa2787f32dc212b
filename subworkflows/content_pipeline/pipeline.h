#pragma once
// The service's work: one batch of documents, from trigger to callback.

#include "domain/callback.h"
#include "subworkflows/content_pipeline/draft_session.h"
#include "subworkflows/kit/run.h"

namespace impresario::subworkflows::content_pipeline {

/// Turns the documents of the run into drafts, one after the other, and stores the good ones together at the end.
/// `session` is this thread's, nullptr where drafts are kept in the result only. Nothing is stored of a run that was
/// stopped before its last document. Throws nothing that a document or the database did.
domain::Callback draft_batch(kit::Run& run, DraftSession* session);

}
