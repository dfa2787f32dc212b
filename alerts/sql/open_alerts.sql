select @alert_columns@ from alerts where phase <> 'resolved' order by since, alert_id
