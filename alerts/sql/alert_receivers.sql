select receiver, state from alert_receivers
