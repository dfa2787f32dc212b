select at, standings from fairness_standings
