select receiver, state from alert_receivers where $1 = '' or receiver = $1
