select exists (select from ledger_inbox)
