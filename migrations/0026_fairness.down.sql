drop table fairness_standings;
drop table fairness_versions;
drop table fairness;
