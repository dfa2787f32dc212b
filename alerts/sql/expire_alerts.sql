-- What came from elsewhere and has not been said again.
update alerts set phase = 'resolved', ended_why = 'expired' where rule is null and phase <> 'resolved' and ends_at <= now()
