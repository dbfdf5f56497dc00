"""Settings, error texts and public names: what every room may lean on."""
