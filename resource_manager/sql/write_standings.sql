insert into fairness_standings (at, standings) select $1::timestamptz, $2 where exists (select from fairness)
on conflict (one) do update set at = excluded.at, standings = excluded.standings
