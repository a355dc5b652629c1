"""Events to where people already get their alerts: Alertmanagers and webhooks."""
