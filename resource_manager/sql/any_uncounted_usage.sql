select exists (select from usage_charges where over_calls is null)
