"""Bluetooth LE in the guest: BlueZ with an emulated adapter, and emulated cameras in its range."""
