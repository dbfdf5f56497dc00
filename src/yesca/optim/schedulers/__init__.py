"""The learning rate schedulers; their public home is `yesca.optim.lr_scheduler`."""
