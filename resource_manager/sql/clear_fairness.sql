with gone as (delete from fairness returning version),
     forgotten as (delete from fairness_standings)
insert into fairness_versions (version, by, reason) select version + 1, $1, $2 from gone
